use std::{sync::Arc, time::Duration};

use super::{clause::AfterWrite, grant::Grant, record::LockRecord, row::HeartbeatFields};
use crate::{
    clock,
    error::{Error, Lost, Spent, Unavailable},
    random,
    retry::{Answered, Attempts, Backoff, CallCost, Connection, Limits, Purpose},
    telemetry::{self, in_lease},
};

/// The maximum pause between two heartbeats of a call such as `extend`. Without this maximum, the
/// pause would be `ttl / 40`, which is minutes for a ttl of hours.
const LONGEST_PAUSE_OF_CALLS: Duration = Duration::from_millis(250);

enum BeatResult {
    Renewed,
    /// DynamoDB refused the heartbeat, because the lock's row already had an equal or higher
    /// heartbeat number, for example from another process with the same lock token.
    Overtaken,
}

impl Grant {
    /// Sends heartbeats until DynamoDB applies one heartbeat, until the lease ends, or until the
    /// deadline.
    pub(crate) async fn beat(&self) -> Result<(), Error> {
        self.renew(&self.connection, None, self.deadline, self.pause_of_calls()).await
    }

    pub(crate) async fn beat_with(&self, payload: Option<&[u8]>) -> Result<(), Error> {
        self.renew(&self.connection, payload, Duration::MAX, self.pause_of_calls()).await
    }

    fn pause_of_calls(&self) -> Duration {
        self.pause().min(LONGEST_PAUSE_OF_CALLS)
    }

    fn pause(&self) -> Duration {
        self.options.ttl / 40
    }

    async fn renew(
        &self,
        connection: &Arc<Connection>,
        payload: Option<&[u8]>,
        deadline: Duration,
        pause: Duration,
    ) -> Result<(), Error> {
        let started = clock::now();
        let left = || deadline.saturating_sub(clock::now().duration_since(started));
        let mut requests = 0;
        let call_cost = CallCost::begin_call(connection.meter.as_ref(), None);
        loop {
            if let Some(lost) = self.lost_now() {
                return Err(Error::Lost(lost));
            }
            let result = match left() {
                Duration::ZERO => None,
                left => {
                    requests += 1;
                    clock::within(left, self.beat_once(call_cost.clone(), connection, payload)).await
                }
            };
            let Some(result) = result else {
                let cost = call_cost.map(|call_cost| call_cost.cost());
                let spent = Spent::new(requests, clock::now().duration_since(started)).with_cost(cost);
                return Err(Error::Exhausted { spent, last: Box::new(Error::Unavailable(Unavailable::Timeout)) });
            };
            match result {
                Ok(BeatResult::Renewed) => return Ok(()),
                Ok(BeatResult::Overtaken) => {}
                Err(lost @ Error::Lost(_)) => return Err(lost),
                Err(error) => {
                    telemetry::heartbeat_failed(&self.row.table, &error);
                    self.lease().trouble = Some(error.to_string().into());
                    if let Error::Rejected(_)
                    | Error::Misconfigured(_)
                    | Error::TableNotFound { .. }
                    | Error::TableMismatch { .. }
                    | Error::Corrupt { .. } = error
                    {
                        return Err(error);
                    }
                }
            }
            // Without a pause between heartbeats, two processes with the same lock token would send
            // heartbeats in a tight loop. Without jitter, the holders of many locks would repeat
            // their throttled heartbeats at the same time.
            let pause = Backoff::jittered(pause, &mut random::generator());
            clock::sleep(pause.min(self.remaining()).min(left())).await;
        }
    }

    async fn beat_once(
        &self,
        call_cost: Option<Arc<CallCost>>,
        connection: &Arc<Connection>,
        payload: Option<&[u8]>,
    ) -> Result<BeatResult, Error> {
        let beat = self.next_beat();
        // The timeout of a heartbeat leaves time for another heartbeat before the lease ends, but
        // lets a slow request succeed.
        let patience = (self.options.ttl / 10).max((self.options.ttl / 4).min(Duration::from_millis(500)));
        let limits = Limits { attempt_timeout: patience, deadline: self.options.ttl, ..Limits::of_one_request() };
        // The renewed lease counts from a time before the holder sends the heartbeat.
        let sent = clock::now();
        let mut attempts = Attempts::on(call_cost, connection, limits).with_purpose(Purpose::Heartbeat);
        let answer = attempts.write(|| {
            let beat = HeartbeatFields { fence: self.fence, number: beat, until: self.options.until(), payload };
            self.row.beat(self.kind, &self.owner, &beat)
        });
        match answer.await? {
            Answered::Applied(before) => {
                self.renewed(sent);
                self.lease().waiters = LockRecord::of(&self.row.layout, before.as_ref()).waiters();
                Ok(BeatResult::Renewed)
            }
            // The holder's own delete has probably deleted the row. If another caller has deleted
            // the row, the error of the holder's delete reports the loss of the lease.
            Answered::Refused(None) if self.lease().ends == AfterWrite::Delete => {
                Err(Error::Lost(self.lose(Lost::Released)))
            }
            Answered::Refused(met) => {
                self.learn(met.as_ref());
                self.lease_error(met.as_ref()).map_or(Ok(BeatResult::Overtaken), Err)
            }
        }
    }

    /// Sends heartbeats until the lock is lost, until the guard of the lock is dropped, or until
    /// the lock has been held for `max_hold`.
    pub(crate) async fn keep(self: Arc<Self>, over: Arc<Connection>) {
        // The heartbeat task has only a weak reference to the grant, so a dropped guard ends the
        // heartbeats.
        let grant = Arc::downgrade(&self);
        let mut rng = random::generator();
        let ttl = self.options.ttl;
        // The next heartbeat is due a third of a ttl after the last acknowledged heartbeat was
        // sent.
        let next = |remaining: Duration| remaining.saturating_sub(ttl / 3 * 2).max(ttl / 40);
        let mut pause = next(self.remaining());
        let last = self.options.max_hold.and_then(|longest| self.granted.checked_add(longest));
        drop(self);
        loop {
            clock::sleep(pause.mul_f64(0.9 + 0.2 * rng.f64())).await;
            let Some(grant) = grant.upgrade() else { return };
            if last.is_some_and(|last| clock::now() >= last) {
                return;
            }
            let renewal = grant.renew(&over, None, Duration::MAX, grant.pause());
            let table = Arc::clone(&grant.row.table);
            pause = match in_lease(&grant.span, "heartbeat", table, renewal).await {
                Ok(()) => next(grant.remaining()),
                Err(Error::Lost(_)) => return,
                // The cause of the error, for example expired credentials, may be temporary.
                Err(_) => ttl / 12,
            };
        }
    }
}
