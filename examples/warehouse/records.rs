//! The records of a CSV file, with the physical line on which each record begins.

use std::io::Cursor;

use csv::{ByteRecord, Position, Reader, ReaderBuilder, StringRecord};

/// The iterator continues after a record that cannot be read.
///
/// A record may span several lines inside quotes. If a quote is not closed, everything up to the
/// next quote would be one record. The program skips the line with the open quote, and reads the
/// next line as a new record.
pub(crate) struct Records<'f> {
    file: &'f [u8],
    reader: Reader<Cursor<&'f [u8]>>,
    /// A position in the file, and the number of its line.
    at: usize,
    line: u64,
}

impl<'f> Records<'f> {
    pub(crate) fn new(file: &'f [u8]) -> Self {
        let reader = ReaderBuilder::new().flexible(true).from_reader(Cursor::new(file));
        Self { file, reader, at: 0, line: 1 }
    }

    /// Returns the names of the columns without the blanks around them. Returns an empty list if
    /// the file is empty.
    pub(crate) fn header(&mut self) -> Option<Vec<String>> {
        // Reading from memory does not fail.
        let header = self.reader.byte_headers().ok().filter(|header| !header.is_empty())?;
        Some(header.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect())
    }

    /// Counts the lines up to a position in the file.
    fn line_of(&mut self, place: usize) -> u64 {
        self.line += self.file[self.at..place].iter().map(|&byte| u64::from(byte == b'\n')).sum::<u64>();
        self.at = place;
        self.line
    }

    /// Returns the end of the first line of a record, if the record has a second line because a
    /// quote is not closed.
    fn unclosed(&self, start: usize, end: usize) -> Option<usize> {
        let text = self.file[start..end].trim_ascii_end();
        let end_of_line = start + text.iter().position(|&byte| byte == b'\n')?;
        (!quotes_enclose_fields(text)).then_some(end_of_line)
    }
}

impl Iterator for Records<'_> {
    type Item = (u64, Result<StringRecord, String>);

    fn next(&mut self) -> Option<Self::Item> {
        let mut record = ByteRecord::new();
        let before = place(self.reader.position());
        if !self.reader.read_byte_record(&mut record).ok()? {
            return None;
        }
        let end = place(self.reader.position());
        // Line breaks before the record are the ends of the previous record and of empty lines.
        let breaks = self.file[before..end].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let start = before + breaks;
        let line = self.line_of(start);

        if let Some(end_of_line) = self.unclosed(start, end) {
            let mut position = Position::new();
            position.set_byte(end_of_line as u64);
            self.reader.seek(position).ok()?;
            return Some((line, Err("a quote is not closed".to_owned())));
        }
        let record = StringRecord::from_byte_record(record);
        Some((line, record.map_err(|error| format!("field {} is not UTF-8", error.utf8_error().field() + 1))))
    }
}

fn place(position: &Position) -> usize {
    usize::try_from(position.byte()).unwrap_or(usize::MAX)
}

/// Returns whether each quoted field ends with its closing quote. The CSV reader would treat text
/// after the closing quote as a part of the field.
fn quotes_enclose_fields(mut record: &[u8]) -> bool {
    loop {
        let rest = match record.strip_prefix(b"\"") {
            Some(quoted) => after_quoted(quoted),
            None => record.iter().position(|&byte| byte == b',').map(|end| &record[end..]).or(Some(&[])),
        };
        match rest {
            Some([]) => return true,
            Some([b',', next @ ..]) => record = next,
            Some(_) | None => return false,
        }
    }
}

/// Returns the text after the closing quote. Two adjacent quotes stand for
/// one quote in the text.
fn after_quoted(mut text: &[u8]) -> Option<&[u8]> {
    loop {
        let quote = text.iter().position(|&byte| byte == b'"')?;
        text = &text[quote + 1..];
        match text.strip_prefix(b"\"") {
            Some(rest) => text = rest,
            None => return Some(text),
        }
    }
}
