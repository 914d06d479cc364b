//! The terminal while a user watches.

use std::{future::Future, io, time::Duration};

use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures_util::StreamExt;
use ratatui::DefaultTerminal;

use super::{
    Watched,
    view::{View, last_scroll},
};
use crate::{clock, failure::Failure, lock::Lock, output::Output};

/// The time between two frames. The screen shows the remaining time of a lease in tenths of a
/// second.
const FRAME: Duration = Duration::from_millis(250);

/// The answers that are on the screen.
struct Shown {
    locks: Vec<Lock>,
    read: clock::Instant,
    /// The failure of the last read, or `None` if DynamoDB answered the read.
    failure: Option<String>,
    scroll: usize,
}

/// The action that a key stands for.
enum KeyAction {
    Leave,
    Scroll(isize),
    Nothing,
}

/// A guard of the terminal, which restores the terminal in its drop.
struct Screen(DefaultTerminal);

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

pub(super) async fn run(watched: &Watched, interval: Duration, output: Output) -> Result<(), Failure> {
    // A failure before the first frame ends the command with the exit code of the failure.
    let locks = watched.read().await?;
    let mut shown = Shown { locks, read: clock::now(), failure: None, scroll: 0 };
    let mut screen = Screen(ratatui::try_init()?);
    let mut events = EventStream::new();
    let mut reading = Box::pin(read_later(watched, interval));
    let mut ended = Box::pin(ended());
    loop {
        shown.draw(&mut screen.0, watched, interval, output)?;
        tokio::select! {
            event = events.next() => match event.transpose()? {
                None => return Ok(()),
                Some(Event::Key(key)) => match action_of(key) {
                    KeyAction::Leave => return Ok(()),
                    KeyAction::Scroll(rows) => shown.scroll(rows, screen.0.size()?.height),
                    KeyAction::Nothing => {}
                },
                // The next frame has the new size of the terminal.
                Some(_) => {}
            },
            read = &mut reading => {
                shown.take(read);
                reading = Box::pin(read_later(watched, interval));
            }
            () = &mut ended => return Ok(()),
            () = clock::sleep(FRAME) => {}
        }
    }
}

async fn read_later(watched: &Watched, interval: Duration) -> dynalock::Result<Vec<Lock>> {
    clock::sleep(interval).await;
    watched.read().await
}

/// Waits for SIGTERM, so that the program can restore the terminal before it ends.
#[cfg(unix)]
fn ended() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};

    let terminate = signal(SignalKind::terminate());
    async {
        match terminate {
            Ok(mut terminate) => drop(terminate.recv().await),
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
fn ended() -> impl Future<Output = ()> {
    std::future::pending()
}

fn action_of(key: KeyEvent) -> KeyAction {
    if key.kind == KeyEventKind::Release {
        return KeyAction::Nothing;
    }
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => KeyAction::Leave,
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => KeyAction::Leave,
        KeyCode::Down | KeyCode::Char('j') => KeyAction::Scroll(1),
        KeyCode::Up | KeyCode::Char('k') => KeyAction::Scroll(-1),
        KeyCode::PageDown => KeyAction::Scroll(10),
        KeyCode::PageUp => KeyAction::Scroll(-10),
        _ => KeyAction::Nothing,
    }
}

impl Shown {
    fn take(&mut self, read: dynalock::Result<Vec<Lock>>) {
        match read {
            Ok(locks) => (self.locks, self.read, self.failure) = (locks, clock::now(), None),
            // The last answer stays on the screen, with its age.
            Err(error) => self.failure = Some(Failure::from(error).to_string()),
        }
    }

    fn scroll(&mut self, rows: isize, height: u16) {
        let last = last_scroll(&self.locks, height);
        self.scroll = self.scroll.min(last).saturating_add_signed(rows).min(last);
    }

    fn draw(
        &self,
        terminal: &mut DefaultTerminal,
        watched: &Watched,
        interval: Duration,
        output: Output,
    ) -> io::Result<()> {
        let age = self.read.elapsed();
        let locks: Vec<_> = self.locks.iter().map(|lock| lock.clone().after(age)).collect();
        let view = View {
            title: &watched.title(),
            nothing: watched.nothing(),
            interval,
            locks: &locks,
            age,
            failure: self.failure.as_deref(),
            scroll: self.scroll,
            has_colours: output.has_colours,
        };
        terminal.draw(|frame| view.draw(frame)).map(drop)
    }
}
