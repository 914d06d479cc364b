//! Finds the columns of a file by the names in its header.

use std::num::IntErrorKind;

use csv::StringRecord;

use crate::{args::Mode, failure::Failure, money::Money};

/// DynamoDB's limit for a partition key, in bytes.
const LONGEST_KEY: usize = 2048;

/// The columns that the program uses. The program ignores all further columns.
#[derive(Debug)]
pub(crate) struct Columns {
    count: usize,
    invoice: usize,
    sku: usize,
    quantity: usize,
    description: Option<usize>,
    order: Option<OrderColumns>,
}

/// The columns that only orders need.
#[derive(Debug)]
struct OrderColumns {
    price: Option<usize>,
    customer: Option<usize>,
}

/// The content of a record.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) invoice: String,
    pub(crate) sku: String,
    pub(crate) quantity: i64,
    pub(crate) description: Option<String>,
    pub(crate) price: Option<Money>,
    pub(crate) customer: Option<String>,
}

impl Columns {
    pub(crate) fn find(file: &str, header: &[String], mode: Mode) -> Result<Self, Failure> {
        let position = |column: &'static str| {
            let mut positions = (0..header.len()).filter(|&index| header[index] == column);
            match (positions.next(), positions.next()) {
                (_, Some(_)) => Err(Failure::TwoColumns { file: file.to_owned(), column }),
                (position, None) => Ok(position),
            }
        };
        let needed = |column| {
            let found = || header.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
            position(column)?.ok_or_else(|| Failure::NoColumn { file: file.to_owned(), column, found: found() })
        };
        let order = match mode {
            Mode::Update | Mode::Patch | Mode::Naive => None,
            Mode::Transaction => {
                Some(OrderColumns { price: position("UnitPrice")?, customer: position("CustomerID")? })
            }
        };
        Ok(Self {
            count: header.len(),
            invoice: needed("InvoiceNo")?,
            sku: needed("StockCode")?,
            quantity: needed("Quantity")?,
            description: position("Description")?,
            order,
        })
    }

    /// Reads a record, or returns the reason why the record is invalid.
    pub(crate) fn row(&self, record: &StringRecord) -> Result<Row, String> {
        if record.len() != self.count {
            return Err(format!("it has {} fields, the header has {}", record.len(), self.count));
        }
        let filled =
            |column: Option<usize>| column.map(|column| &record[column]).filter(|text| !text.trim().is_empty());
        let sku = key(text(&record[self.sku], "StockCode")?, "StockCode")?;
        let invoice = text(&record[self.invoice], "InvoiceNo")?;
        let (price, customer) = match &self.order {
            None => (None, None),
            Some(columns) => {
                key(invoice.as_str(), "InvoiceNo")?;
                let customer = filled(columns.customer).map(|customer| key(customer, "CustomerID")).transpose()?;
                (filled(columns.price).map(price).transpose()?, customer)
            }
        };
        Ok(Row {
            invoice,
            sku,
            quantity: whole_number(&record[self.quantity])?,
            description: filled(self.description).map(str::to_owned),
            price,
            customer: customer.map(str::to_owned),
        })
    }
}

/// Returns the text unchanged, or an error if the text contains only blanks.
fn text(field: &str, column: &str) -> Result<String, String> {
    if field.trim().is_empty() { Err(format!("{column} is empty")) } else { Ok(field.to_owned()) }
}

/// Returns a text that becomes a key, or an error if the text is too long for a key.
fn key<T: AsRef<str>>(text: T, column: &str) -> Result<T, String> {
    match text.as_ref().len() {
        length if length > LONGEST_KEY => Err(format!("{column} is {length} bytes long, a key at most {LONGEST_KEY}")),
        _ => Ok(text),
    }
}

fn price(field: &str) -> Result<Money, String> {
    field.trim().parse().map_err(|reason| format!("UnitPrice {field:?} {reason}"))
}

fn whole_number(field: &str) -> Result<i64, String> {
    field.trim().parse().map_err(|error: std::num::ParseIntError| match error.kind() {
        IntErrorKind::Empty => "Quantity is empty".to_owned(),
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => format!("Quantity {field:?} is beyond 64 bits"),
        _ => format!("Quantity {field:?} is not a whole number"),
    })
}
