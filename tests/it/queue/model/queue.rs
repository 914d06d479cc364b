//! The queue in the row: its entries, and the ids of acquisitions.

/// The id of an acquisition. The upper bits are the process, and the lower two bits are the number
/// of its earlier acquisitions. Each acquisition has a new id, as in the library.
pub(super) type Id = u8;

pub(super) const NOBODY: Id = u8::MAX;

pub(super) fn process_of(id: Id) -> usize {
    usize::from(id >> 2)
}

/// A place in the queue: its acquisition, and the first time at which its enqueue was sent, by the
/// sender's clock.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    pub(super) id: Id,
    pub(super) sent: i8,
}

impl Entry {
    pub(super) const NONE: Self = Self { id: NOBODY, sent: 0 };
}

/// The entries, with the head first. The unused places are equal, so that equal queues are equal
/// values.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Queue(pub(super) [Entry; 4]);

impl Queue {
    pub(super) fn head(self) -> Id {
        self.0[0].id
    }

    pub(super) fn ids(self) -> [Id; 4] {
        self.0.map(|entry| entry.id)
    }

    pub(super) fn len(self) -> usize {
        self.position(NOBODY).unwrap_or(self.0.len())
    }

    pub(super) fn position(self, id: Id) -> Option<usize> {
        self.0.iter().position(|entry| entry.id == id)
    }

    pub(super) fn has(self, id: Id) -> bool {
        self.position(id).is_some()
    }

    pub(super) fn append(&mut self, entry: Entry) {
        let end = self.len();
        self.0[end] = entry;
    }

    pub(super) fn remove(&mut self, place: usize) {
        self.0.copy_within(place + 1.., place);
        self.0[3] = Entry::NONE;
    }
}
