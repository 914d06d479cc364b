//! One frame of the screen. The functions are pure.

use std::time::Duration;

use ratatui::{
    Frame,
    layout::Rect,
    style::{Color, Modifier, Style},
    text::{Line, Span},
};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::{
    lock::{Lock, Waiter},
    output::{duration, shown},
};

/// The number of lines of the screen that show no lock and no waiter: the title, the column titles,
/// and two lines at the bottom.
const OTHER_LINES: u16 = 4;

/// The content of a frame.
pub(super) struct View<'a> {
    pub(super) title: &'a str,
    /// The text of a screen without locks.
    pub(super) nothing: &'a str,
    pub(super) interval: Duration,
    pub(super) locks: &'a [Lock],
    /// The time since the locks were read.
    pub(super) age: Duration,
    /// The failure of the last read.
    pub(super) failure: Option<&'a str>,
    /// The number of rows above the first visible row.
    pub(super) scroll: usize,
    pub(super) has_colours: bool,
}

/// One row: a lock or a waiter.
struct Row {
    name: String,
    owner: String,
    state: &'static str,
    time: String,
    /// The fence of a lock, or the ticket of a waiter.
    number: String,
    colour: Color,
}

/// The widths of the columns. A column without a width is not shown.
struct Widths {
    name: usize,
    owner: usize,
    state: usize,
    time: usize,
    number: usize,
}

/// Returns the largest scroll position, at which the last row is at the bottom of the screen.
pub(super) fn last_scroll(locks: &[Lock], height: u16) -> usize {
    let rows: usize = locks.iter().map(|lock| 1 + lock.waiters.len()).sum();
    rows.saturating_sub(body_height(height))
}

fn body_height(height: u16) -> usize {
    usize::from(height.saturating_sub(OTHER_LINES))
}

impl View<'_> {
    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let lines = self.lines(usize::from(area.width), area.height);
        for (line, y) in lines.iter().zip(0..area.height) {
            frame.render_widget(line, Rect { y: area.y + y, height: 1, ..area });
        }
    }

    /// Returns all lines of the screen.
    fn lines(&self, width: usize, height: u16) -> Vec<Line<'static>> {
        let widths = Widths::of(width);
        let body = body_height(height);
        let rows: Vec<_> = self.locks.iter().flat_map(rows).collect();
        let first = self.scroll.min(last_scroll(self.locks, height));
        let visible = rows.iter().skip(first).take(body);
        let mut lines = vec![self.title_line(width), widths.titles(self.style(Color::Reset, Modifier::BOLD))];
        lines.extend(visible.map(|row| widths.line(row, self.style(row.colour, Modifier::empty()))));
        if rows.is_empty() && body > 0 {
            lines.push(Line::from(format!(" {}", self.nothing)));
        }
        let bottom = usize::from(height.saturating_sub(2));
        lines.truncate(bottom);
        lines.resize(bottom, Line::default());
        lines.push(self.summary(first, body.min(rows.len() - first), rows.len(), width));
        lines.push(self.footer(width));
        lines
    }

    fn title_line(&self, width: usize) -> Line<'static> {
        let interval = format!(" every {}s ", self.interval.as_secs_f64());
        let title = fit(&format!(" {}", self.title), width.saturating_sub(interval.width()));
        Line::styled(fit(&format!("{title}{interval}"), width), self.style(Color::Reset, Modifier::REVERSED))
    }

    fn summary(&self, first: usize, visible: usize, rows: usize, width: usize) -> Line<'static> {
        let in_state = |state| self.locks.iter().filter(|lock| lock.state() == state).count();
        let waiting: usize = self.locks.iter().map(|lock| lock.waiters.len()).sum();
        let [held, expired, free] = ["held", "expired", "free"].map(in_state);
        let part = match visible < rows {
            true => format!("; rows {} to {} of {rows}", first + 1, first + visible),
            false => String::new(),
        };
        let text = format!(" {held} held, {expired} expired, {free} free, {waiting} waiting{part}");
        Line::from(fit(&text, width))
    }

    fn footer(&self, width: usize) -> Line<'static> {
        match self.failure {
            None => Line::styled(fit(" q quit  ↑ ↓ scroll", width), self.style(Color::DarkGray, Modifier::empty())),
            Some(failure) => {
                let text = format!(" no answer for {}: {}", duration(self.age), shown(failure));
                Line::styled(fit(&text, width), self.style(Color::Red, Modifier::BOLD))
            }
        }
    }

    fn style(&self, colour: Color, modifier: Modifier) -> Style {
        // The screen uses reverse video and bold even without colours.
        let style = Style::default().add_modifier(modifier);
        if self.has_colours { style.fg(colour) } else { style }
    }
}

fn rows(lock: &Lock) -> Vec<Row> {
    let colour = match lock.state() {
        "held" => Color::Green,
        "expired" => Color::Red,
        _ => Color::DarkGray,
    };
    let name = match &lock.namespace {
        Some(namespace) => format!("{} ({})", shown(&lock.name), shown(namespace)),
        None => shown(&lock.name),
    };
    let holder = lock.holder.as_ref();
    let of_lock = Row {
        name,
        owner: holder.map(|holder| shown(&holder.owner)).unwrap_or_default(),
        state: lock.state(),
        time: holder.map(|holder| duration(holder.remaining)).unwrap_or_default(),
        number: lock.fence.to_string(),
        colour,
    };
    let waiters = lock.waiters.iter().enumerate().map(|(behind, waiter)| waiting(behind + 1, waiter));
    std::iter::once(of_lock).chain(waiters).collect()
}

fn waiting(position: usize, waiter: &Waiter) -> Row {
    Row {
        name: format!("{position:4}."),
        owner: shown(&waiter.owner),
        state: "waits",
        time: waiter.since_entry.map(duration).unwrap_or_default(),
        number: shown(&waiter.ticket),
        colour: Color::Yellow,
    }
}

impl Widths {
    fn of(width: usize) -> Self {
        let (state, time, number) = match width {
            0..30 => (0, 0, 0),
            30..45 => (0, 8, 0),
            45..70 => (7, 8, 0),
            _ => (7, 8, 20),
        };
        // Each column has a space in front of it.
        let gaps = 2 + [state, time, number].iter().filter(|width| **width > 0).count();
        let left = width.saturating_sub(state + time + number + gaps);
        let owner = left * 2 / 5;
        Self { name: left - owner, owner, state, time, number }
    }

    fn titles(&self, style: Style) -> Line<'static> {
        let titles = Row {
            name: "LOCK".to_owned(),
            owner: "OWNER".to_owned(),
            state: "STATE",
            time: "TIME".to_owned(),
            number: "FENCE OR TICKET".to_owned(),
            colour: Color::Reset,
        };
        Line::styled(self.line(&titles, style).to_string(), style)
    }

    fn line(&self, row: &Row, style: Style) -> Line<'static> {
        let cell = |text: &str, width: usize| if width == 0 { String::new() } else { format!(" {}", fit(text, width)) };
        let before = cell(&row.name, self.name) + &cell(&row.owner, self.owner);
        let state = cell(row.state, self.state);
        // The time has the colour of the state, because a narrow screen has no column for the
        // state.
        let time = cell(&row.time, self.time);
        Line::from(vec![
            Span::from(before),
            Span::styled(state + &time, style),
            Span::from(cell(&row.number, self.number)),
        ])
    }
}

/// Returns the text with exactly `width` columns. The end of a longer text is replaced by `…`.
fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return format!("{text}{}", " ".repeat(width - text.width()));
    }
    let mut cut = String::new();
    let mut left = width.saturating_sub(1);
    for char in text.chars() {
        let taken = char.width().unwrap_or(0);
        if taken > left {
            break;
        }
        left -= taken;
        cut.push(char);
    }
    if width > 0 {
        cut.push('…');
    }
    cut.extend(std::iter::repeat_n(' ', left));
    cut
}

#[cfg(test)]
mod tests;
