//! The progress of a command that waits for DynamoDB.

use std::{future::Future, pin::pin, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};

use super::Output;
use crate::clock;

/// A command that ends within this time shows no progress.
const DELAY: Duration = Duration::from_millis(500);

/// The time between two frames of the spinner.
const FRAME: Duration = Duration::from_millis(100);

impl Output {
    /// Runs `work`. While `work` takes longer than [`DELAY`], stderr shows a spinner, the text
    /// `what` and the elapsed time. Nothing is shown if stderr is no terminal, or if the output is
    /// JSON.
    pub(crate) async fn during<T>(self, what: String, work: impl Future<Output = T>) -> T {
        if self.is_json {
            return work.await;
        }
        let mut work = pin!(work);
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = clock::sleep(DELAY) => {}
        }
        // The spinner of `indicatif` draws nothing if stderr is no terminal.
        let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})").expect("a valid template");
        let spinner = ProgressBar::new_spinner().with_style(style).with_message(what).with_elapsed(DELAY);
        spinner.enable_steady_tick(FRAME);
        let done = work.await;
        spinner.finish_and_clear();
        done
    }
}
