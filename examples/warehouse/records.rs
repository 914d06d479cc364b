//! The records of a CSV file, with the physical line on which each begins.

use std::io::Cursor;

use csv::{ByteRecord, Position, Reader, ReaderBuilder, StringRecord};

/// Reads on after a record that cannot be read.
///
/// A record may span lines, inside quotes. Where a quote is not closed, everything up to the next one would be one record: such
/// a record is given up, and reading goes on with the line after the one on which it began.
pub(crate) struct Records<'f> {
    file: &'f [u8],
    reader: Reader<Cursor<&'f [u8]>>,
    /// A place in the file, and the number of its line.
    at: usize,
    line: u64,
}

impl<'f> Records<'f> {
    pub(crate) fn new(file: &'f [u8]) -> Self {
        let reader = ReaderBuilder::new().flexible(true).from_reader(Cursor::new(file));
        Self { file, reader, at: 0, line: 1 }
    }

    /// The names of the columns without the blanks around them; nothing if the file is empty.
    pub(crate) fn header(&mut self) -> Option<Vec<String>> {
        // Reading from memory does not fail.
        let header = self.reader.byte_headers().ok().filter(|header| !header.is_empty())?;
        Some(header.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect())
    }

    /// Counts the lines up to a place in the file.
    fn line_of(&mut self, place: usize) -> u64 {
        self.line += self.file[self.at..place].iter().map(|&byte| u64::from(byte == b'\n')).sum::<u64>();
        self.at = place;
        self.line
    }

    /// The end of the line on which a record begins, if the record goes on after it because a quote is not closed.
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
        // The line breaks in front are those of the record before, and of empty lines.
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

/// Whether each quoted field ends with its closing quote. The reader would take what follows as a part of the field.
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

/// What follows the closing quote; two quotes are one that belongs to the text.
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
