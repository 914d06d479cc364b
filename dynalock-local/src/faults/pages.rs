use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use serde_json::Value;

use super::Fault;

/// The page numbers of queries and scans, and the scripted faults for pages.
#[derive(Default)]
pub(super) struct Pages {
    numbers: Numbers,
    once: Vec<PageFault>,
    always: Vec<PageFault>,
}

pub(super) struct PageFault {
    pub(super) operation: String,
    /// The number of the requested page. The first page has the number 0.
    pub(super) page: usize,
    pub(super) fault: Fault,
}

/// The faults that a test has set for the page of one request.
#[derive(Default)]
pub(super) struct Due {
    pub(super) once: Option<Fault>,
    pub(super) always: Option<Fault>,
}

impl Pages {
    pub(super) fn script(&mut self, fault: PageFault) {
        self.once.push(fault);
    }

    pub(super) fn always(&mut self, fault: PageFault) {
        self.always.push(fault);
    }

    pub(super) fn clear(&mut self) {
        self.once.clear();
        self.always.clear();
    }

    /// Finds the page number of a request, and returns the faults that a test has set for this
    /// page.
    pub(super) fn next(&mut self, operation: &str, body: &[u8]) -> Due {
        if !matches!(operation, "Query" | "Scan") {
            return Due::default();
        }
        let page = self.numbers.next(operation, body);
        let is_due = |known: &PageFault| known.operation == operation && known.page == page;

        Due {
            once: self.once.iter().position(is_due).map(|at| self.once.remove(at).fault),
            always: self.always.iter().find(|known| is_due(known)).map(|known| known.fault.clone()),
        }
    }
}

/// For each query, the page numbers of its start keys. Two requests count as requests of the same
/// query if they differ only in the start key and the limit.
#[derive(Default)]
struct Numbers(HashMap<u64, HashMap<u64, usize>>);

impl Numbers {
    /// Returns the page number of a request. A request without a start key has the page number 0,
    /// and each new start key gets the next number. A retry has the page number of the first
    /// attempt.
    fn next(&mut self, operation: &str, body: &[u8]) -> usize {
        let mut request: Value = serde_json::from_slice(body).unwrap_or_default();
        let start = request.as_object_mut().and_then(|request| {
            // The limit does not identify a query, because a caller may request fewer items in
            // later requests of the same query.
            request.remove("Limit");
            request.remove("ExclusiveStartKey").filter(|key| !key.is_null())
        });
        let known = self.0.entry(fingerprint(&(operation, request))).or_default();

        match start {
            None => {
                known.clear();
                0
            }
            Some(start) => {
                let next = known.len() + 1;
                *known.entry(fingerprint(&start)).or_insert(next)
            }
        }
    }
}

fn fingerprint(content: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}
