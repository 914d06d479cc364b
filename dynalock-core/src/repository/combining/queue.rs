//! The queues of one `Combining` handle, with the waiting calls of each key.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::call::BoxedQueuedCall;
use crate::{clock::Instant, key::Key};

/// The largest number of calls in one batch.
const MOST_CALLS: usize = 100;

/// The waiting calls of one key, in the order of their arrival.
pub(super) struct CallQueue<C> {
    waiting: VecDeque<C>,
    /// The largest number of calls in the next batch.
    most: usize,
    /// The end of the worker's pause after a batch with a conflict, or `None` if the worker does
    /// not pause.
    pauses_until: Option<Instant>,
}

/// Each queue exists as long as its worker, the task that combines the queued calls into writes.
pub(super) struct Queues<T>(Mutex<HashMap<Key, CallQueue<BoxedQueuedCall<T>>>>);

#[must_use]
pub(super) enum Entered {
    /// The queue has no worker, or its worker pauses. The caller starts a new worker, which begins
    /// its work at the time `pauses_until`, or immediately if `pauses_until` is `None`.
    First { pauses_until: Option<Instant> },
    /// The queue already has a worker, which takes the call.
    Behind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum AfterPause {
    SameWorker,
    AnotherWorker,
}

impl<C> CallQueue<C> {
    pub(super) fn fill(&mut self, batch: &mut Vec<C>) {
        let count = self.most.saturating_sub(batch.len()).min(self.waiting.len());
        batch.extend(self.waiting.drain(..count));
    }

    pub(super) fn put_back(&mut self, calls: Vec<C>) {
        for call in calls.into_iter().rev() {
            self.waiting.push_front(call);
        }
    }

    pub(super) fn halve(&mut self, calls: usize) {
        self.most = (calls / 2).max(1);
    }

    pub(super) fn pause_until(&mut self, end: Instant) {
        self.pauses_until = Some(end);
    }

    pub(super) fn double(&mut self) {
        self.most = (self.most * 2).min(MOST_CALLS);
    }
}

impl<T> Queues<T> {
    pub(super) fn enter(&self, key: &Key, call: BoxedQueuedCall<T>) -> Entered {
        match self.lock().entry(key.clone()) {
            Entry::Occupied(mut queue) => {
                let queue = queue.get_mut();
                queue.waiting.push_back(call);
                match queue.pauses_until.take() {
                    Some(until) => Entered::First { pauses_until: Some(until) },
                    None => Entered::Behind,
                }
            }
            Entry::Vacant(place) => {
                place.insert(CallQueue { waiting: VecDeque::from([call]), most: MOST_CALLS, pauses_until: None });
                Entered::First { pauses_until: None }
            }
        }
    }

    /// If no call waits, `next_batch` removes the queue, and the worker must end.
    pub(super) fn next_batch(&self, key: &Key) -> Option<Vec<BoxedQueuedCall<T>>> {
        let mut queues = self.lock();
        let mut batch = Vec::new();
        queues.get_mut(key)?.fill(&mut batch);
        if batch.is_empty() {
            queues.remove(key);
            return None;
        }
        Some(batch)
    }

    /// Ends the pause of a worker, unless a new call has started another worker.
    pub(super) fn end_pause(&self, key: &Key) -> AfterPause {
        match self.lock().get_mut(key).and_then(|queue| queue.pauses_until.take()) {
            Some(_) => AfterPause::SameWorker,
            None => AfterPause::AnotherWorker,
        }
    }

    /// Removes the queue of a worker that was dropped before the queue was empty.
    pub(super) fn close(&self, key: &Key) {
        let closed = self.lock().remove(key);
        // The destructor of a user's closure may add another call to a queue, so the mutex must be
        // unlocked before the waiting calls are dropped.
        drop(closed);
    }

    /// Only the worker of the key may call `Queues::change`, which changes the queue of the key.
    pub(super) fn change(&self, key: &Key, change: impl FnOnce(&mut CallQueue<BoxedQueuedCall<T>>)) {
        if let Some(queue) = self.lock().get_mut(key) {
            change(queue);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, CallQueue<BoxedQueuedCall<T>>>> {
        // No code of the user runs while the mutex is locked, so a panic in the user's code cannot
        // poison the mutex.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for Queues<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(calls: impl IntoIterator<Item = usize>) -> CallQueue<usize> {
        CallQueue { waiting: calls.into_iter().collect(), most: MOST_CALLS, pauses_until: None }
    }

    fn filled(queue: &mut CallQueue<usize>) -> Vec<usize> {
        let mut batch = Vec::new();
        queue.fill(&mut batch);
        batch
    }

    #[test]
    fn a_batch_has_the_first_calls_in_their_order() {
        for (waiting, taken) in [(0, 0), (1, 1), (99, 99), (100, 100), (101, 100), (1_000, 100)] {
            let mut queue = queue(0..waiting);
            assert_eq!(filled(&mut queue), (0..taken).collect::<Vec<_>>());
            assert_eq!(queue.waiting.len(), waiting - taken);
        }
    }

    #[test]
    fn a_batch_with_calls_takes_only_the_rest() {
        let mut queue = queue(2..1_000);
        let mut batch = vec![0, 1];
        queue.fill(&mut batch);
        assert_eq!(batch, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn calls_that_are_put_back_are_the_first_again() {
        let mut queue = queue(0..150);
        let mut batch = filled(&mut queue);
        let rest = batch.split_off(40);
        queue.put_back(rest);
        assert_eq!(filled(&mut queue), (40..140).collect::<Vec<_>>());
    }

    #[test]
    fn a_refused_batch_is_halved_until_each_call_is_alone_and_grows_again() {
        let mut queue = queue(0..1_000);
        for (refused, next) in [(100, 50), (50, 25), (25, 12), (3, 1), (1, 1)] {
            queue.halve(refused);
            let batch = filled(&mut queue);
            assert_eq!(batch.len(), next, "after {refused}");
            queue.put_back(batch);
        }
        for next in [2, 4, 8, 16, 32, 64, 100, 100] {
            queue.double();
            assert_eq!(queue.most, next);
        }
    }
}
