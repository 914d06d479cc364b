use crate::version::{Incarnation, WriteId};

#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteStamp {
    pub(crate) id: WriteId,
    /// The random id that an item gets if the attempt creates the item.
    pub(crate) incarnation: Incarnation,
}

/// Makes the [`WriteStamp`] of each attempt of one write. Each attempt of a create has a different
/// incarnation (the random id of the new item). If DynamoDB applies a delayed duplicate of the
/// create after a delete of the item, the incarnation distinguishes the new item from the deleted
/// item.
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
