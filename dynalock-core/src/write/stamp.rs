use crate::version::{Incarnation, Repeats, WriteId};

/// The ids that one attempt of a write carries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteStamp {
    /// The id of the logical write.
    pub(crate) id: WriteId,
    /// The incarnation of an item that begins with this attempt.
    pub(crate) incarnation: Incarnation,
}

/// The stamps of one logical write. All attempts have the same id, and each attempt has another incarnation. A late copy of
/// a create may be applied after the item was deleted. Its incarnation then tells the new life from the former one.
#[derive(Debug)]
pub(crate) struct WriteStamps {
    pub(crate) id: WriteId,
    pub(crate) rng: fastrand::Rng,
    pub(crate) repeats: Repeats,
}

impl WriteStamps {
    pub(crate) fn next(&mut self) -> WriteStamp {
        WriteStamp { id: self.id, incarnation: Incarnation::draw(&mut self.rng) }
    }
}
