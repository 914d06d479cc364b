use std::sync::{Mutex, MutexGuard, PoisonError};

/// The progress of one combined call, which the caller and the worker of the call share.
#[derive(Debug, Default)]
pub(super) struct CallProgress(Mutex<Progress>);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) phase: Phase,
    /// The number of requests that the batches of the call have sent, including a write in flight.
    pub(super) attempts: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// No write in flight contains the change of the call. DynamoDB has refused each write that
    /// contained the change of the call.
    #[default]
    Waiting,
    /// The write of the call's batch is in flight, and may have been applied.
    Frozen,
    /// The caller has dropped the future of the call, or the call has reached its deadline.
    Left,
}

impl CallProgress {
    pub(super) fn freeze(&self, attempts: u32) {
        self.advance(Progress { phase: Phase::Frozen, attempts: attempts.saturating_add(1) });
    }

    pub(super) fn thaw(&self) {
        let attempts = self.lock().attempts;
        self.advance(Progress { phase: Phase::Waiting, attempts });
    }

    /// Returns the progress of the call at the moment when the caller stops waiting.
    pub(super) fn leave(&self) -> Progress {
        let mut progress = self.lock();
        let before = *progress;
        progress.phase = Phase::Left;
        before
    }

    pub(super) fn is_left(&self) -> bool {
        self.lock().phase == Phase::Left
    }

    fn advance(&self, next: Progress) {
        let mut progress = self.lock();
        if progress.phase != Phase::Left {
            *progress = next;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    enum Step {
        Freeze,
        Thaw,
        Leave,
    }
    use Step::{Freeze, Leave, Thaw};

    fn after(steps: &[Step]) -> Progress {
        let progress = CallProgress::default();
        for step in steps {
            match step {
                Freeze => progress.freeze(4),
                Thaw => progress.thaw(),
                Leave => assert_ne!(progress.leave().phase, Phase::Left),
            }
        }
        progress.leave()
    }

    #[test]
    fn a_caller_that_leaves_learns_whether_its_call_may_have_an_effect() {
        for (steps, phase, attempts) in [
            (&[][..], Phase::Waiting, 0),
            (&[Freeze], Phase::Frozen, 5),
            (&[Freeze, Thaw], Phase::Waiting, 5),
            (&[Freeze, Thaw, Freeze], Phase::Frozen, 5),
            (&[Leave], Phase::Left, 0),
            (&[Leave, Freeze], Phase::Left, 0),
            (&[Freeze, Leave, Thaw], Phase::Left, 5),
        ] {
            assert_eq!(after(steps), Progress { phase, attempts });
        }
    }
}
