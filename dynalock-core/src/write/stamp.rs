use crate::version::{Incarnation, WriteId};

/// The ids that one attempt of a write contains.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteStamp {
    /// The id of the logical write.
    pub(crate) id: WriteId,
    /// The incarnation of the item, if this attempt creates it.
    pub(crate) incarnation: Incarnation,
}

/// The generator of the ids of one logical write. All attempts have the same write id, and each
/// attempt has its own incarnation. If a late copy of a create is applied after the item was
/// deleted, the incarnation distinguishes the new item from the deleted item.
#[derive(Debug)]
pub(crate) struct WriteStamps {
    pub(crate) id: WriteId,
    pub(crate) rng: fastrand::Rng,
}

impl WriteStamps {
    pub(crate) fn next(&mut self) -> WriteStamp {
        WriteStamp { id: self.id, incarnation: Incarnation::draw(&mut self.rng) }
    }
}
