use crate::version::{Incarnation, WriteId};

/// The ids in the request of one attempt of a write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteStamp {
    /// The write id, which all attempts of the write share.
    pub(crate) id: WriteId,
    /// The incarnation of the item, if the attempt creates the item. An incarnation is a random id
    /// that distinguishes an item from an earlier item with the same key.
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
    /// Makes the `WriteStamps` of a write with a random write id.
    pub(crate) fn draw(mut rng: fastrand::Rng) -> Self {
        Self { id: WriteId::draw(&mut rng), rng }
    }

    pub(crate) fn next(&mut self) -> WriteStamp {
        WriteStamp { id: self.id, incarnation: Incarnation::draw(&mut self.rng) }
    }
}
