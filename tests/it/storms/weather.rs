use std::time::Duration;

use dynalock::{
    Expiry,
    local::{Fault, Faults},
};

use crate::support::{SKEW, millis, secs};

/// The rates and delays of the faults.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weather {
    /// The share of requests that meets each kind of fault.
    pub(crate) rate: f64,
    /// The maximum delay of a copy of a request.
    pub(crate) late: Duration,
    /// The share of requests that are slow.
    pub(crate) slow: f64,
    /// The share of requests that arrive at the end, after they were sent again.
    pub(crate) tardy: f64,
    pub(crate) expiry: Expiry,
}

impl Weather {
    pub(crate) const ROUGH: Self =
        Self { rate: 0.012, late: secs(6), slow: 0.012, tardy: 0.012, expiry: Expiry::Clock { max_skew: SKEW } };
    /// Requests are slow, and no request is lost.
    pub(crate) const CALM: Self = Self { rate: 0.0, slow: 0.4, tardy: 0.0, ..Self::ROUGH };
    pub(crate) const SLOW: Self = Self { slow: 0.4, ..Self::ROUGH };
    pub(crate) const TARDY: Self = Self { tardy: 0.3, ..Self::ROUGH };
    pub(crate) const OBSERVED: Self = Self { expiry: Expiry::Observed, ..Self::ROUGH };

    /// Returns the faults of one process.
    pub(crate) fn faults(self, seed: u64) -> Faults {
        let faults = [
            Fault::LoseRequest,
            Fault::LoseReply,
            Fault::ErrorAfterApply,
            Fault::GarbageAfterApply,
            Fault::ServerError,
            Fault::Throttle,
            Fault::TransactionConflict,
            Fault::NeverAnswer,
            Fault::NeverAnswerAfterApply,
            Fault::Delay(millis(30)),
            Fault::DeliverLate(millis(40)),
            Fault::DeliverLate(self.late / 4),
            Fault::DeliverTwice,
        ];
        let drawn = Faults::seeded(seed).rate(Fault::Delay(millis(900)), self.slow);
        let drawn = drawn.rate(Fault::DeliverLate(self.late), self.tardy);
        faults.into_iter().fold(drawn, |faults, fault| faults.rate(fault, self.rate))
    }
}
