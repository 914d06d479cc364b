//! The command in a pseudo-terminal.

#![expect(clippy::disallowed_methods, reason = "a test that hangs must end")]

use std::{process::ExitStatus, time::Duration};

use pty_process::{Command, Pty, Size, open};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::Child,
    time::timeout,
};
use vt100::Parser;

use super::{Engine, environment, masked};

/// The longest time until a screen is as expected.
const PATIENCE: Duration = Duration::from_mins(1);

/// The command in a terminal.
pub(crate) struct Terminal {
    pty: Pty,
    screen: Parser,
    child: Child,
}

impl Engine {
    /// Starts the command in a terminal of this size: rows, then columns.
    pub(crate) fn in_terminal(&self, args: &str, size: [u16; 2]) -> Terminal {
        self.in_terminal_with("LANG", "C.UTF-8", args, size)
    }

    /// Like `in_terminal`, with a variable in the environment.
    pub(crate) fn in_terminal_with(&self, name: &str, value: &str, args: &str, size: [u16; 2]) -> Terminal {
        let [rows, columns] = size;
        let (pty, pts) = open().unwrap();
        pty.resize(Size::new(rows, columns)).unwrap();
        let command = Command::new(env!("CARGO_BIN_EXE_dynalock")).args(args.split_whitespace()).kill_on_drop(true);
        let command =
            command.env_clear().envs(environment()).env("AWS_ENDPOINT_URL", self.server.url()).env(name, value);
        let child = command.spawn(pts).unwrap();
        Terminal { pty, screen: Parser::new(rows, columns, 0), child }
    }
}

impl Terminal {
    /// Waits until the screen contains this text. Returns the masked screen.
    pub(crate) async fn until(&mut self, text: &str) -> String {
        self.until_screen(|screen| screen.contains(text)).await
    }

    /// Waits until the masked screen fulfils the condition, and returns it.
    pub(crate) async fn until_screen(&mut self, is_expected: impl Fn(&str) -> bool) -> String {
        let read = async {
            loop {
                let screen = self.screen();
                if is_expected(&screen) {
                    return screen;
                }
                assert!(self.read().await, "the command has ended with the screen:\n{}", self.screen());
            }
        };
        let screen = timeout(PATIENCE, read).await;
        screen.unwrap_or_else(|error| panic!("{error}, the screen stays:\n{}", self.screen()))
    }

    /// Returns the lines of the screen, masked.
    pub(crate) fn screen(&self) -> String {
        masked(self.screen.screen().contents().trim_end())
    }

    /// Returns whether a full-screen program has the screen.
    pub(crate) fn is_full_screen(&self) -> bool {
        self.screen.screen().alternate_screen()
    }

    pub(crate) fn hides_cursor(&self) -> bool {
        self.screen.screen().hide_cursor()
    }

    pub(crate) fn has_colours(&self) -> bool {
        let screen = self.screen.screen();
        let (rows, columns) = screen.size();
        let mut cells = (0..rows).flat_map(|row| (0..columns).filter_map(move |column| screen.cell(row, column)));
        cells.any(|cell| cell.fgcolor() != vt100::Color::Default)
    }

    pub(crate) async fn write(&mut self, keys: &str) {
        self.pty.write_all(keys.as_bytes()).await.unwrap();
    }

    pub(crate) fn resize(&mut self, [rows, columns]: [u16; 2]) {
        self.screen.screen_mut().set_size(rows, columns);
        self.pty.resize(Size::new(rows, columns)).unwrap();
    }

    /// Waits for the end of the command.
    pub(crate) async fn end(&mut self) -> ExitStatus {
        let read = async { while self.read().await {} };
        timeout(PATIENCE, read).await.expect("the command does not end");
        self.child.wait().await.unwrap()
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Reads the next output. Returns `false` at the end of the command.
    async fn read(&mut self) -> bool {
        let mut bytes = [0; 4096];
        // A terminal without a process gives an error on Linux, and an empty read elsewhere.
        match self.pty.read(&mut bytes).await {
            Ok(0) | Err(_) => false,
            Ok(length) => {
                self.screen.process(&bytes[..length]);
                true
            }
        }
    }
}
