//! Which column of a file holds what, by the names in its header.

use std::num::IntErrorKind;

use csv::StringRecord;

use crate::failure::Failure;

/// DynamoDB's limit for a partition key, in bytes.
const LONGEST_KEY: usize = 2048;

/// The columns that are used; others are ignored.
#[derive(Debug)]
pub(crate) struct Columns {
    count: usize,
    invoice: usize,
    sku: usize,
    quantity: usize,
    description: Option<usize>,
}

/// What a record says.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) invoice: String,
    pub(crate) sku: String,
    pub(crate) quantity: i64,
    pub(crate) description: Option<String>,
}

impl Columns {
    pub(crate) fn find(file: &str, header: &[String]) -> Result<Self, Failure> {
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
        Ok(Self {
            count: header.len(),
            invoice: needed("InvoiceNo")?,
            sku: needed("StockCode")?,
            quantity: needed("Quantity")?,
            description: position("Description")?,
        })
    }

    /// Reads a record, or says what is wrong with it.
    pub(crate) fn row(&self, record: &StringRecord) -> Result<Row, String> {
        if record.len() != self.count {
            return Err(format!("it has {} fields, the header has {}", record.len(), self.count));
        }
        let sku = text(&record[self.sku], "StockCode")?;
        if sku.len() > LONGEST_KEY {
            return Err(format!("StockCode is {} bytes long, a key at most {LONGEST_KEY}", sku.len()));
        }
        let described = self.description.map(|column| &record[column]).filter(|text| !text.trim().is_empty());
        Ok(Row {
            invoice: text(&record[self.invoice], "InvoiceNo")?,
            sku,
            quantity: whole_number(&record[self.quantity])?,
            description: described.map(str::to_owned),
        })
    }
}

/// Taken as it is written, but not if there is nothing to see.
fn text(field: &str, column: &str) -> Result<String, String> {
    if field.trim().is_empty() { Err(format!("{column} is empty")) } else { Ok(field.to_owned()) }
}

fn whole_number(field: &str) -> Result<i64, String> {
    field.trim().parse().map_err(|error: std::num::ParseIntError| match error.kind() {
        IntErrorKind::Empty => "Quantity is empty".to_owned(),
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => format!("Quantity {field:?} is beyond 64 bits"),
        _ => format!("Quantity {field:?} is not a whole number"),
    })
}
