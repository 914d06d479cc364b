use std::collections::HashMap;

use fastrand::Rng;

use super::{
    Fault, Request,
    pages::{PageFault, Pages},
};

/// The planned faults, and the log of requests.
pub(super) struct Plan {
    /// The scripted faults for requests of any operation, by the number of the request.
    script: HashMap<usize, Fault>,
    /// The scripted faults for requests of one operation, by the name of the operation and the
    /// number of the request. The number of a request counts only requests of the same operation.
    script_on: HashMap<String, HashMap<usize, Fault>>,
    always: Option<Fault>,
    pages: Pages,
    random: Random,

    log: Vec<Request>,
    counts: HashMap<String, usize>,
}

/// The random faults and the rates of the random faults. Each request that may meet a random fault
/// draws one random number.
struct Random {
    rng: Rng,
    rates: Vec<(Fault, f64)>,
    only: Option<Vec<String>>,
}

impl Plan {
    pub(super) fn seeded(seed: u64) -> Self {
        Self {
            script: HashMap::new(),
            script_on: HashMap::new(),
            always: None,
            pages: Pages::default(),
            random: Random { rng: Rng::with_seed(seed), rates: Vec::new(), only: None },
            log: Vec::new(),
            counts: HashMap::new(),
        }
    }

    /// Logs a request, and returns the fault that the request meets.
    pub(super) fn next(&mut self, operation: &str, body: &[u8]) -> Option<Fault> {
        let fault = self.decide(operation, body);

        self.log.push(Request::new(operation, fault.clone(), body));
        *self.counts.entry(operation.to_owned()).or_default() += 1;

        fault
    }

    fn decide(&mut self, operation: &str, body: &[u8]) -> Option<Fault> {
        // A request draws a random number even if a scripted fault applies, so that the script does
        // not change the random faults of later requests.
        let drawn = self.random.draw(operation);
        let page = self.pages.next(operation, body);
        let scripted = self.script.remove(&self.log.len());
        let count = self.count(operation);
        let scripted_on = self.script_on.get_mut(operation).and_then(|script| script.remove(&count));

        let scripted = page.once.or(scripted_on).or(scripted);
        scripted.or(page.always).or_else(|| self.always.clone()).or(drawn)
    }

    pub(super) fn rate(&mut self, fault: Fault, rate: f64) {
        let rate = if rate.is_nan() { 0.0 } else { rate.clamp(0.0, 1.0) };

        self.random.rates.retain(|(known, _)| *known != fault);
        self.random.rates.push((fault, rate));
    }

    pub(super) fn only(&mut self, operations: Vec<String>) {
        self.random.only = Some(operations);
    }

    pub(super) fn script(&mut self, nth: usize, fault: Fault) {
        self.script.insert(self.log.len().saturating_add(nth), fault);
    }

    pub(super) fn script_on(&mut self, operation: &str, nth: usize, fault: Fault) {
        let at = self.count(operation).saturating_add(nth);

        self.script_on.entry(operation.to_owned()).or_default().insert(at, fault);
    }

    pub(super) fn script_page(&mut self, fault: PageFault) {
        self.pages.script(fault);
    }

    pub(super) fn always_on_page(&mut self, fault: PageFault) {
        self.pages.always(fault);
    }

    pub(super) fn always(&mut self, fault: Fault) {
        self.always = Some(fault);
    }

    pub(super) fn clear(&mut self) {
        self.script.clear();
        self.script_on.clear();
        self.always = None;
        self.pages.clear();
        self.random.rates.clear();
    }

    pub(super) fn log(&self) -> &[Request] {
        &self.log
    }

    pub(super) fn count(&self, operation: &str) -> usize {
        self.counts.get(operation).copied().unwrap_or_default()
    }
}

impl Random {
    fn draw(&mut self, operation: &str) -> Option<Fault> {
        let may_meet = self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == operation));
        if self.rates.is_empty() || !may_meet {
            return None;
        }

        let mut left = self.rng.f64();
        for (fault, rate) in &self.rates {
            if left < *rate {
                return Some(fault.clone());
            }
            left -= rate;
        }

        None
    }
}
