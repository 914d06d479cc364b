//! The chapters as text.

use std::{
    fs,
    path::{Path, PathBuf},
};

pub(super) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub(super) fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Returns the text of a chapter.
pub(super) fn chapter(name: &str) -> String {
    read(&root().join("docs/src").join(name))
}

/// Returns the lines of a text that are not in a block of code.
pub(super) fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Returns the cells of the first table under a heading, without the row of the titles.
pub(super) fn table(chapter: &str, heading: &str) -> Vec<Vec<String>> {
    let under = prose(chapter).skip_while(|line| *line != heading);
    let rows = under.skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|')).skip(2);
    let cells = |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    let table: Vec<_> = rows.map(cells).collect();
    assert!(!table.is_empty(), "no table under {heading}");
    table
}
