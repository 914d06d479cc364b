//! Many tasks that take their jobs from one queue.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use indicatif::{ProgressBar, ProgressStyle};
use tokio::task::JoinSet;

use crate::failure::Failure;

/// Lets tasks take jobs from one queue until the queue is empty, and returns their results in any
/// order. The first failure stops all tasks. If stderr is a terminal, `drain` shows a progress bar
/// there.
pub(crate) async fn drain<J, R, F>(
    title: &'static str,
    jobs: Vec<J>,
    workers: u16,
    work: impl Fn(J) -> F + Clone + Send + 'static,
) -> Result<Vec<R>, Failure>
where
    J: Send + 'static,
    R: Send + 'static,
    F: Future<Output = Result<R, Failure>> + Send,
{
    let bar = progress_bar(title, jobs.len());
    let queue = Queue(Arc::new(Mutex::new(jobs.into_iter())));
    let mut tasks = JoinSet::new();
    for _ in 0..workers {
        let (queue, work, bar) = (queue.clone(), work.clone(), bar.clone());
        tasks.spawn(async move {
            let mut results = Vec::new();
            while let Some(job) = queue.next() {
                results.push(work(job).await?);
                bar.inc(1);
            }
            Ok::<_, Failure>(results)
        });
    }
    let mut results = Vec::new();
    while let Some(finished) = tasks.join_next().await {
        results.extend(finished??);
    }
    bar.finish_and_clear();
    Ok(results)
}

struct Queue<J>(Arc<Mutex<std::vec::IntoIter<J>>>);

impl<J> Queue<J> {
    fn next(&self) -> Option<J> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).next()
    }
}

impl<J> Clone for Queue<J> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// A progress bar on stderr, if stderr is a terminal.
pub(crate) fn progress_bar(title: &'static str, jobs: usize) -> ProgressBar {
    let bar = ProgressBar::new(jobs as u64).with_message(title);
    match ProgressStyle::with_template("{msg:>9} {bar:40} {human_pos} of {human_len}, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
