//! The queue in the row: its entries, and what an acquisition is called there.

/// An acquisition: the process in the upper bits, how many it had before in the lower two. Fresh for each, as in the library.
pub(super) type Id = u8;

pub(super) const NOBODY: Id = u8::MAX;

pub(super) fn process_of(id: Id) -> usize {
    usize::from(id >> 2)
}

/// A place in the queue: whose it is, and when its enqueue was sent first, by the sender's clock.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    pub(super) id: Id,
    pub(super) sent: i8,
}

impl Entry {
    pub(super) const NONE: Self = Self { id: NOBODY, sent: 0 };
}

/// The entries, head first. The unused places are equal, so that equal queues are equal values.
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
