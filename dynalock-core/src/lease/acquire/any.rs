//! Asking for one of several leases.

use std::{sync::Arc, time::Duration};

use super::{
    observer::ExpiryObserver,
    one::{AcquireSpec, Acquired, AttemptResult, Caller},
};
use crate::{
    clock,
    error::Error,
    lease::{held_grant::Acquirer, record::LockRecord},
};

/// Several locks, of which any will do: at least one.
pub(crate) struct AnySpec {
    pub(crate) locks: Vec<AcquireSpec>,
}

/// One of them on the way.
struct Candidate<'a> {
    spec: &'a AcquireSpec,
    owner: Arc<str>,
    observer: ExpiryObserver,
    /// What it said last; nothing if there is nothing to lock.
    record: Option<LockRecord>,
}

impl Acquirer for AnySpec {
    type Grant = Acquired;

    fn ask(&self, caller: &mut impl Caller) -> impl Future<Output = Result<Option<Acquired>, Error>> + Send {
        self.acquire(caller)
    }
}

impl AnySpec {
    /// Asks for each in turn, and waits until one of them may be free; nothing if the caller is gone.
    async fn acquire(&self, caller: &mut impl Caller) -> Result<Option<Acquired>, Error> {
        let candidate = |spec| Candidate { spec, owner: spec.owner(), observer: spec.observer(), record: None };
        let mut candidates: Vec<_> = self.locks.iter().map(candidate).collect();
        let granted = Self::acquire_one(&mut candidates, caller).await;
        let held = || candidates.iter().find(|candidate| candidate.record.is_some());
        granted.map_err(|error| match held() {
            Some(Candidate { spec, observer, .. }) => spec.at_the_end(error, observer),
            None => error,
        })
    }

    async fn acquire_one(
        candidates: &mut [Candidate<'_>],
        caller: &mut impl Caller,
    ) -> Result<Option<Acquired>, Error> {
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
            if let Some(error) = missing.filter(|_| candidates.iter().all(|candidate| candidate.record.is_none())) {
                return Err(error);
            }
            if !wait(candidates, caller).await? {
                return Ok(None);
            }
        }
    }
}

impl Candidate<'_> {
    async fn ask(&mut self) -> Result<Option<Acquired>, Error> {
        self.record = None;
        match self.spec.ask(&mut self.owner, &mut self.observer).await {
            Ok(AttemptResult::Acquired(granted)) => Ok(Some(granted)),
            Ok(AttemptResult::Denied(record)) => {
                self.record = Some(record);
                Ok(None)
            }
            Err(error) => {
                // The lease of a missing item was granted and released: a late copy of that release must not end a later grant.
                self.owner = self.spec.owner();
                Err(error)
            }
        }
    }

    /// Whether it may be free by now, by what is known or a cheap read.
    async fn may_be_free(&mut self) -> Result<bool, Error> {
        let Some(record) = &self.record else { return Ok(false) };
        if self.spec.left(record, &self.observer).is_zero() {
            self.observer.expects_the_end();
            return Ok(true);
        }
        match self.spec.look(&self.observer).await? {
            Some(seen) if seen.is_of_another(&self.owner) => {
                self.observer.watch(&seen);
                self.record = Some(seen);
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
        for Candidate { spec, observer, record, .. } in candidates.iter_mut() {
            if let Some(record) = record {
                observer.watch(record);
                pause = pause.min(spec.pause(record, observer));
            }
        }
        let held = candidates.iter().find_map(|candidate| candidate.record.as_ref().map(|record| (candidate, record)));
        let Some((first, record)) = held else { return Ok(true) };
        let left = first.observer.left();
        if left.is_zero() {
            return Err(first.spec.locked(record, &first.observer));
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
