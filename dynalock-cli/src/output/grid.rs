//! Aligned tables.

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::{BOLD, Output, shown};

/// A table with titles, whose columns are as wide as their widest cell.
#[derive(Debug)]
pub(crate) struct Grid {
    rows: Vec<Vec<Cell>>,
}

#[derive(Debug)]
struct Cell {
    text: String,
    style: Style,
}

impl Grid {
    pub(crate) fn new(titles: &[&str]) -> Self {
        let titles = titles.iter().map(|title| Cell { text: (*title).to_owned(), style: BOLD });
        Self { rows: vec![titles.collect()] }
    }

    /// Adds a row. Each cell has its text and its style.
    pub(crate) fn row<'a>(&mut self, cells: impl IntoIterator<Item = (&'a str, Style)>) {
        let cells = cells.into_iter().map(|(text, style)| Cell { text: shown(text), style });
        self.rows.push(cells.collect());
    }

    pub(crate) fn to_text(&self, output: Output) -> String {
        let columns = self.rows[0].len();
        let width = |column: usize| self.rows.iter().map(|row| row[column].text.width()).max().unwrap_or(0);
        let widths: Vec<_> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                text += &output.paint(cell.style, &cell.text);
                let gap = match column + 1 == columns {
                    true => 0,
                    false => widths[column] - cell.text.width() + 2,
                };
                text.extend(std::iter::repeat_n(' ', gap));
            }
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
        }
        text
    }
}

/// Returns lines of a name and a value each, with the values in one column.
pub(crate) fn pairs<'a>(output: Output, pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let pairs: Vec<_> = pairs.into_iter().collect();
    let width = pairs.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
    let line = |(name, value): &(&str, String)| {
        let gap = " ".repeat(width - name.width() + 2);
        format!("{}{gap}{value}\n", output.paint(BOLD, name))
    };
    pairs.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::{
        super::{GREEN, PLAIN, RED},
        *,
    };

    fn grid() -> Grid {
        let mut grid = Grid::new(&["NAME", "STATE"]);
        grid.row([("漢字", GREEN), ("held", GREEN)]);
        grid.row([("a long name", PLAIN), ("", RED)]);
        grid
    }

    #[test]
    fn columns_are_aligned_by_the_width_on_the_terminal() {
        let output = Output { is_json: false, has_colours: false };
        assert_eq!(grid().to_text(output), "NAME         STATE\n漢字         held\na long name\n");
    }

    #[test]
    fn colours_do_not_change_the_alignment() {
        let output = Output { is_json: false, has_colours: true };
        let text = grid().to_text(output);
        assert_eq!(text.lines().nth(1), Some("\u{1b}[32m漢字\u{1b}[0m         \u{1b}[32mheld\u{1b}[0m"));
    }
}
