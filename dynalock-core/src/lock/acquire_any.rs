//! Asking for one of several leases.

use std::{sync::Arc, time::Duration};

use super::{
    acquire::{Asked, Asking, Caller, Granted},
    guard::Ask,
    mark::Mark,
    watcher::Watcher,
};
use crate::{clock, error::Error};

/// Several locks, of which any will do: at least one.
pub(super) struct AskingAny {
    pub(super) locks: Vec<Asking>,
}

/// One of them on the way.
struct Candidate<'a> {
    asking: &'a Asking,
    owner: Arc<str>,
    watcher: Watcher,
    /// What it said last; nothing if there is nothing to lock.
    mark: Option<Mark>,
}

impl Ask for AskingAny {
    type Grant = Granted;

    fn ask(&self, caller: &mut impl Caller) -> impl Future<Output = Result<Option<Granted>, Error>> + Send {
        self.acquire(caller)
    }
}

impl AskingAny {
    /// Asks for each in turn, and waits until one of them may be free; nothing if the caller is gone.
    async fn acquire(&self, caller: &mut impl Caller) -> Result<Option<Granted>, Error> {
        let candidate = |asking| Candidate { asking, owner: asking.owner(), watcher: asking.watcher(), mark: None };
        let mut candidates: Vec<_> = self.locks.iter().map(candidate).collect();
        let granted = Self::acquire_one(&mut candidates, caller).await;
        let held = || candidates.iter().find(|candidate| candidate.mark.is_some());
        granted.map_err(|error| match held() {
            Some(Candidate { asking, watcher, .. }) => asking.at_the_end(error, watcher),
            None => error,
        })
    }

    async fn acquire_one(candidates: &mut [Candidate<'_>], caller: &mut impl Caller) -> Result<Option<Granted>, Error> {
        loop {
            let mut missing = None;
            for candidate in &mut *candidates {
                match candidate.ask().await {
                    Ok(Some(granted)) => return Ok(Some(granted)),
                    Ok(None) => {}
                    Err(error @ Error::NotFound { .. }) => missing = Some(error),
                    Err(error) => return Err(error),
                }
            }
            if let Some(error) = missing.filter(|_| candidates.iter().all(|candidate| candidate.mark.is_none())) {
                return Err(error);
            }
            if !wait(candidates, caller).await? {
                return Ok(None);
            }
        }
    }
}

impl Candidate<'_> {
    async fn ask(&mut self) -> Result<Option<Granted>, Error> {
        self.mark = None;
        match self.asking.ask(&mut self.owner, &mut self.watcher).await {
            Ok(Asked::Granted(granted)) => Ok(Some(granted)),
            Ok(Asked::Refused(mark)) => {
                self.mark = Some(mark);
                Ok(None)
            }
            Err(error) => {
                // The lease of a missing item was granted and released: a late copy of that release must not end a later grant.
                self.owner = self.asking.owner();
                Err(error)
            }
        }
    }

    /// Whether it may be free by now, by what is known or a cheap read.
    async fn may_be_free(&mut self) -> Result<bool, Error> {
        let Some(mark) = &self.mark else { return Ok(false) };
        if self.asking.left(mark, &self.watcher).is_zero() {
            self.watcher.expects_the_end();
            return Ok(true);
        }
        match self.asking.look(&self.watcher).await? {
            Some(seen) if seen.is_of_another(&self.owner) => {
                self.watcher.watch(&seen);
                self.mark = Some(seen);
                Ok(false)
            }
            Some(_) | None => Ok(true),
        }
    }
}

/// Waits until one of them may be free; `false` if the caller is gone.
async fn wait(candidates: &mut [Candidate<'_>], caller: &mut impl Caller) -> Result<bool, Error> {
    loop {
        let mut pause = Duration::MAX;
        for Candidate { asking, watcher, mark, .. } in candidates.iter_mut() {
            if let Some(mark) = mark {
                watcher.watch(mark);
                pause = pause.min(asking.pause(mark, watcher));
            }
        }
        let held = candidates.iter().find_map(|candidate| candidate.mark.as_ref().map(|mark| (candidate, mark)));
        let Some((first, mark)) = held else { return Ok(true) };
        let left = first.watcher.left();
        if left.is_zero() {
            return Err(first.asking.locked(mark, &first.watcher));
        }
        if clock::within(pause.min(left), caller.gone()).await.is_some() {
            return Ok(false);
        }
        for candidate in candidates.iter_mut() {
            if candidate.may_be_free().await? {
                return Ok(true);
            }
        }
    }
}
