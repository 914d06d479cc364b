//! The settings of an exploration: its processes, its faults, and the part of the protocol that is
//! left out.

/// A deviation from the protocol that must violate a property.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flaw {
    /// An eviction does not require the beat that was seen.
    EvictIgnoresBeat,
    /// An eviction does not raise the fence.
    EvictKeepsFence,
    /// A holder counts its lease from the answer that granted it.
    CountsFromAnswer,
    /// A new head counts its lease from the read that showed it as the head.
    CountsFromOwnSight,
    /// A heartbeat does not require that its sender is the head.
    BeatIgnoresHead,
    /// A heartbeat that is sent again keeps its number, which the row of a plain lock accepts
    /// again. The lease counts from the second sending.
    BeatAgainKeepsNumber,
    /// A leave does not require that its sender is the head.
    LeaveIgnoresHead,
    /// A waiter that gives up removes any entry at its index.
    AbandonIgnoresId,
    /// A plain acquire does not require an empty queue.
    AcquireIgnoresQueue,
    /// An eviction does not require the fence that was seen.
    EvictIgnoresFence,
    /// A heartbeat does not require the fence of its grant.
    BeatIgnoresFence,
    /// A heartbeat requires neither the fence nor the head.
    BeatIgnoresGrant,
    /// No process evicts a head.
    NobodyEvicts,
    /// A heartbeat may repeat the number in the row (`<=` instead of `<`). The head after a plain
    /// lock repeats the last number of the plain holder.
    BeatMayRepeat,
    /// An enqueue also writes the time of the turn.
    EnqueueWritesTurn,
    /// A new head that uses its last read continues to believe after its own clock shows a ttl
    /// since its turn.
    HeadIgnoresTurn,
    /// A new head counts from its turn by its own clock, and does not subtract the skew.
    HeadIgnoresSkew,
    /// A new head that knows its turn from a cheap read counts from its last consistent read.
    PollKeepsLook,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Fair,
    Plain,
    /// The process writes once while no process holds the lock, and does not acquire it.
    Writer,
}

pub(super) const THREE: &[Kind] = &[Kind::Fair, Kind::Fair, Kind::Fair];
pub(super) const TWO: &[Kind] = &[Kind::Fair, Kind::Fair];
pub(super) const TWO_AND_PLAIN: &[Kind] = &[Kind::Fair, Kind::Fair, Kind::Plain];
pub(super) const ONE_AND_PLAIN: &[Kind] = &[Kind::Fair, Kind::Plain];

/// The clock rule: it uses `_until`, or `_turn` and the time of the entry. The wall clocks differ
/// by the given ticks.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    pub(super) offsets: [i8; 3],
    pub(super) max_skew: i8,
}

#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fault that may be left out")]
pub(super) struct Rules {
    /// The processes. Fair processes come first.
    pub(super) kinds: &'static [Kind],
    /// The number of acquisitions of each process, one after the other.
    pub(super) rounds: u8,
    pub(super) ttl: u8,
    /// The maximum number of heartbeats of a holder, including lost ones. A fair holder has one
    /// more if a plain holder may have left its last number in the row.
    pub(super) beats: u8,
    pub(super) max_queue: usize,
    /// The maximum number of requests with a second copy that arrives at any later time.
    pub(super) copies: u8,
    /// The maximum number of lost replies.
    pub(super) losses: u8,
    pub(super) crashes: bool,
    /// Waiters may give up.
    pub(super) patience: bool,
    /// A request and the answer that grants a lease take time. Without this setting, each request
    /// is one step. The process gets the answer at once, its lease counts from the latest possible
    /// time, and other processes may count from the earliest possible time.
    pub(super) slow: bool,
    /// Eventually consistent reads may show the previous version.
    pub(super) stale: bool,
    pub(super) clock: Option<Clock>,
    /// The release of the plain lock removes its last beat. This replaces the strict condition of a
    /// heartbeat.
    pub(super) release_clears_beat: bool,
    pub(super) flaw: Option<Flaw>,
}

impl Rules {
    /// Returns the rules for some processes that acquire once. No reply is lost, requests take no
    /// time, and no process crashes.
    pub(super) const fn calm(kinds: &'static [Kind]) -> Self {
        Self {
            kinds,
            rounds: 1,
            ttl: 2,
            beats: 2,
            max_queue: 4,
            copies: 0,
            losses: 0,
            crashes: false,
            patience: false,
            slow: false,
            stale: false,
            clock: None,
            release_clears_beat: false,
            flaw: None,
        }
    }

    pub(super) fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    pub(super) fn last_beat(&self, kind: Kind) -> u8 {
        self.beats + u8::from(kind == Kind::Fair && self.kinds.contains(&Kind::Plain))
    }

    /// Returns the end of a lease whose request was sent at this time of the sender's clock.
    pub(super) fn until(&self, sent: i8) -> Option<i8> {
        self.clock.map(|_| sent + self.ttl.cast_signed())
    }

    /// Returns whether a lease has ended by a clock that shows `now`.
    pub(super) fn is_past(&self, until: Option<i8>, now: i8) -> bool {
        self.clock.zip(until).is_some_and(|(clock, until)| until + clock.max_skew < now)
    }

    /// Returns the age of the lease of a head without a heartbeat. The age counts from the start of
    /// the lease, at the latest from the head's turn by the head's own clock. The age may also
    /// count from this turn plus the skew, because no observer can have seen the process as the
    /// head before this moment. Without clocks, only the start counts.
    pub(super) fn age_at_head(&self, base: u8, turned: Option<i8>) -> u8 {
        let Some((clock, turned)) = self.clock.zip(turned) else { return base };
        let age = |time: i8| time.clamp(0, self.ttl.cast_signed()).cast_unsigned();
        let skew = if self.has(Flaw::HeadIgnoresSkew) { 0 } else { clock.max_skew };
        let known = if self.has(Flaw::HeadIgnoresTurn) { base } else { base.max(age(turned)) };
        known.min(age(turned + skew))
    }

    pub(super) fn offset(&self, process: usize) -> i8 {
        self.clock.map_or(0, |clock| clock.offsets[process])
    }

    /// Returns the age from which a running request makes no further difference, because its lease
    /// has ended by all clocks.
    pub(super) fn oldest(&self) -> u8 {
        self.clock.map_or(self.ttl, |clock| {
            let [first, second, third] = clock.offsets;
            self.ttl + (clock.max_skew + 1 + first.max(second).max(third)).cast_unsigned()
        })
    }

    /// Returns a key that is equal for two interchangeable processes.
    pub(super) fn group(&self, process: usize) -> u64 {
        match self.kinds.get(process) {
            Some(Kind::Fair) => self.offset(process).cast_unsigned().into(),
            Some(Kind::Plain) => 8 + u64::from(self.offset(process).cast_unsigned()),
            Some(Kind::Writer) => 16 + u64::from(self.offset(process).cast_unsigned()),
            None => 31,
        }
    }
}
