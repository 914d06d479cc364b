//! What is explored: who takes part, what may go wrong, and which line of the protocol is left out.

/// A deviation from the protocol that must break a property.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flaw {
    /// An eviction is not conditional on the beat that was seen.
    EvictIgnoresBeat,
    /// An eviction does not raise the fence.
    EvictKeepsFence,
    /// A holder counts its lease from the answer that granted it.
    CountsFromAnswer,
    /// A new head counts its lease from the read that showed itself as head.
    CountsFromOwnSight,
    /// A beat is not conditional on being the head.
    BeatIgnoresHead,
    /// A heartbeat that is sent again has the number that it had, which the row of a plain lock takes again, and the lease counts from the second
    /// sending.
    BeatAgainKeepsNumber,
    /// Leaving is not conditional on being the head.
    LeaveIgnoresHead,
    /// A waiter that gives up removes whoever is at its index.
    AbandonIgnoresId,
    /// A plain acquire does not ask for an empty queue.
    AcquireIgnoresQueue,
    /// An eviction is not conditional on the fence that was seen.
    EvictIgnoresFence,
    /// A beat is not conditional on the fence of its grant.
    BeatIgnoresFence,
    /// Nor on being the head.
    BeatIgnoresGrant,
    /// Nobody evicts.
    NobodyEvicts,
    /// A beat may repeat the number in the row, `<=` instead of `<`: the head after a plain lock repeats the last of that.
    BeatMayRepeat,
    /// An enqueue writes the time of the turn, too.
    EnqueueWritesTurn,
    /// A new head that goes by its last look does not stop to believe when its own clock shows that it is a ttl since its turn.
    HeadIgnoresTurn,
    /// A new head counts from its turn by its own clock, and does not subtract the skew.
    HeadIgnoresSkew,
    /// A new head that a poll has told of its turn counts from its last consistent look.
    PollKeepsLook,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Fair,
    Plain,
    /// Writes once where nobody holds the lock, which it does not take.
    Writer,
}

pub(super) const THREE: &[Kind] = &[Kind::Fair, Kind::Fair, Kind::Fair];
pub(super) const TWO: &[Kind] = &[Kind::Fair, Kind::Fair];
pub(super) const TWO_AND_PLAIN: &[Kind] = &[Kind::Fair, Kind::Fair, Kind::Plain];
pub(super) const ONE_AND_PLAIN: &[Kind] = &[Kind::Fair, Kind::Plain];

/// The rule by `_until`, or `_turn` and the time of the entry, and the wall clocks, which differ by the given ticks.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    pub(super) offsets: [i8; 3],
    pub(super) max_skew: i8,
}

#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fault that may be left out")]
pub(super) struct Rules {
    /// The processes: fair ones first.
    pub(super) kinds: &'static [Kind],
    /// How many acquisitions each makes, one after the other.
    pub(super) rounds: u8,
    pub(super) ttl: u8,
    /// How many heartbeats a holder may send, those counted that were lost. A fair one has one more where a plain one may have left
    /// its last in the row.
    pub(super) beats: u8,
    pub(super) max_queue: usize,
    /// How many requests may stay on the way in a second copy, to be applied at any later time.
    pub(super) copies: u8,
    /// How many replies may be lost.
    pub(super) losses: u8,
    pub(super) crashes: bool,
    /// Waiters may give up.
    pub(super) patience: bool,
    /// A request and the answer that grants a lease take time. If not, each is one step: the process hears of it at once, its lease
    /// counts from as late as can be, and others may time it out from as early as can be.
    pub(super) slow: bool,
    /// Eventually consistent reads may show the version before.
    pub(super) stale: bool,
    pub(super) clock: Option<Clock>,
    /// The release of the plain lock removes its last beat: in place of the strict condition of a beat.
    pub(super) release_clears_beat: bool,
    pub(super) flaw: Option<Flaw>,
}

impl Rules {
    /// Some processes, each of which acquires once; nothing is lost, requests take no time, and nobody crashes.
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

    /// The end of a lease whose request was sent at that time of the sender's clock.
    pub(super) fn until(&self, sent: i8) -> Option<i8> {
        self.clock.map(|_| sent + self.ttl.cast_signed())
    }

    /// By the clock that shows `now`, a lease has ended.
    pub(super) fn is_past(&self, until: Option<i8>, now: i8) -> bool {
        self.clock.zip(until).is_some_and(|(clock, until)| until + clock.max_skew < now)
    }

    /// The age of the lease of a head that has not beaten: of its base, but no later than its turn by its own clock; or of that turn and the
    /// skew, which is before anybody can have seen it there, whatever the base. Without clocks the base alone counts.
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

    /// How long a request is on the way before its age makes no further difference: to no clock is its lease alive.
    pub(super) fn oldest(&self) -> u8 {
        self.clock.map_or(self.ttl, |clock| {
            let [first, second, third] = clock.offsets;
            self.ttl + (clock.max_skew + 1 + first.max(second).max(third)).cast_unsigned()
        })
    }

    /// Two processes are interchangeable if this is the same.
    pub(super) fn group(&self, process: usize) -> u64 {
        match self.kinds.get(process) {
            Some(Kind::Fair) => self.offset(process).cast_unsigned().into(),
            Some(Kind::Plain) => 8 + u64::from(self.offset(process).cast_unsigned()),
            Some(Kind::Writer) => 16 + u64::from(self.offset(process).cast_unsigned()),
            None => 31,
        }
    }
}
