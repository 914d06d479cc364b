//! The programs of the shop as processes.

use std::{
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStderr, ChildStdout, Command},
    time::timeout,
};

const LONGEST: Duration = Duration::from_mins(1);

/// A running program, which is killed when the `Program` is dropped.
pub(crate) struct Program {
    child: Child,
    out: Lines<BufReader<ChildStdout>>,
    log: Lines<BufReader<ChildStderr>>,
}

impl Program {
    pub(crate) fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap()).lines();
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, out, log }
    }

    /// Returns the rest of the next printed line that starts with `start`.
    pub(crate) async fn printed(&mut self, start: &str) -> String {
        line_of(&mut self.out, |line| line.strip_prefix(start).map(str::to_owned)).await
    }

    /// Returns the next line of the log that contains `text`.
    pub(crate) async fn logged(&mut self, text: &str) -> String {
        line_of(&mut self.log, |line| line.contains(text).then(|| line.to_owned())).await
    }

    /// Sends SIGTERM, and returns how the program ended.
    pub(crate) async fn terminate(&mut self) -> ExitStatus {
        let process = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &process]).status().await.unwrap().success());
        timeout(LONGEST, self.child.wait()).await.expect("the program ends").unwrap()
    }
}

async fn line_of<R: tokio::io::AsyncBufRead + Unpin>(
    lines: &mut Lines<R>,
    found: impl Fn(&str) -> Option<String>,
) -> String {
    let search = async {
        let mut seen = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            match found(&line) {
                Some(line) => return line,
                None => seen.push(line),
            }
        }
        panic!("the program ended: {seen:#?}");
    };
    timeout(LONGEST, search).await.expect("the line comes")
}
