use crate::version::{Incarnation, WriteId};

/// The write id and the incarnation in the request of one attempt of a write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteStamp {
    /// The write id, which all attempts of the write share.
    pub(crate) id: WriteId,
    /// The random id (incarnation) of the item, if the attempt creates the item. The incarnation
    /// distinguishes the item from an earlier item with the same key.
    pub(crate) incarnation: Incarnation,
}

/// Makes the [`WriteStamp`] of each attempt of one write. All attempts of the write share one write
/// id. Each attempt of a create gives the new item a different incarnation (a random id). If
/// DynamoDB applies a delayed duplicate of the create request after a delete of the item, the
/// incarnation distinguishes the new item from the deleted item.
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
