//! The output of commands: text or JSON, with colours or without, and the progress of long commands.

mod grid;
mod progress;

use std::{
    env,
    io::{IsTerminal, Write, stdout},
    time::Duration,
};

use anstyle::{AnsiColor, Style};
use serde_json::Value;

pub(crate) use grid::{Grid, pairs};

use crate::{
    args::{Colour, Format},
    failure::Failure,
};

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const RED: Style = AnsiColor::Red.on_default();

/// The form of the output of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) is_json: bool,
    pub(crate) has_colours: bool,
}

impl Output {
    pub(crate) fn new(format: &Format) -> Self {
        let has_colours = match format.color {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => {
                let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
                stdout().is_terminal() && !is_set("NO_COLOR") && env::var_os("TERM").is_none_or(|term| term != "dumb")
            }
        };
        Self { is_json: format.json, has_colours }
    }

    /// Returns a text in the given style, if the output has colours.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.has_colours && style != PLAIN { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// Writes a text to stdout.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// Writes the single result of a command.
pub(crate) fn print_json(value: &Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}

/// Writes one of several results as a line.
pub(crate) fn print_json_line(value: &Value) -> Result<(), Failure> {
    print(&format!("{value}\n"))
}

pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a duration for people, rounded down, for example `4.2s`, `42s`, `3m 20s`, `2h 05m` or
/// `3d 4h`.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{seconds}.{}s", duration.subsec_millis() / 100),
        10..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h {:02}m", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{}d {}h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// Escapes the control characters in a stored text, because control characters could move the
/// cursor of the terminal or change its colours.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match char.is_control() {
            true => shown.extend(char.escape_default()),
            false => shown.push(char),
        }
    }
    shown
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_down() {
        let shown = |millis| duration(Duration::from_millis(millis));
        assert_eq!(shown(0), "0.0s");
        assert_eq!(shown(4_299), "4.2s");
        assert_eq!(shown(59_999), "59s");
        assert_eq!(shown(200_000), "3m 20s");
        assert_eq!(shown(7_500_000), "2h 05m");
        assert_eq!(shown(273_600_000), "3d 4h");
    }

    #[test]
    fn control_characters_of_a_name_do_not_reach_the_terminal() {
        assert_eq!(shown("a\u{1b}[31mb\nc"), "a\\u{1b}[31mb\\nc");
        assert_eq!(shown("größe 漢字"), "größe 漢字");
    }
}
