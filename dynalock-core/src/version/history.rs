use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::{PATCHES, ring::Ring, ring_of, version_in};

/// The last writes of an item. An item contains the ids of its last writes and patches, but not the
/// earlier values of its attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteHistory {
    /// The version of the item, or `None` if the item has no version.
    pub version: Option<u64>,
    /// The incarnation of the item: a random id that distinguishes the item from earlier items with
    /// the same key. `incarnation` is `None` if the item has no attribute `_writes`.
    pub incarnation: Option<[u8; 8]>,
    /// The time in the attribute `_writes`, in seconds since the epoch: the time of the last write
    /// that stored its time. `last_time` is `None` if `_writes` contains no time. A patch, or a
    /// write with an idempotency token of the caller, does not change the time in `_writes`.
    pub last_time: Option<u32>,
    /// The ids of the last writes of the item, newest first.
    pub writes: Vec<RememberedWrite>,
    /// The ids of the last patches of the item, newest first.
    pub patches: Vec<[u8; 8]>,
}

/// A write whose id an item contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RememberedWrite {
    /// The bytes of the write id in the item.
    pub id: [u8; 8],
    /// `true` if the library derived the write id from an idempotency token of the caller.
    pub is_of_token: bool,
}

impl WriteHistory {
    /// Reads the write history from the attributes of an item. `version` is the name of the
    /// attribute that contains the version.
    pub fn read(item: &HashMap<String, AttributeValue>, version: &str) -> Self {
        let ring = ring_of(item);
        let ids = ring.iter().flat_map(Ring::ids);
        // An item with fewer than eight patches has empty values in some of the attributes for
        // patch ids.
        let patch = |name: &&str| item.get(*name)?.as_b().ok()?.as_ref().try_into().ok();
        Self {
            version: version_in(item, version),
            incarnation: ring.as_ref().map(|ring| *ring.incarnation().as_bytes()),
            last_time: ring.as_ref().and_then(Ring::time),
            writes: ids.map(|id| RememberedWrite { id: id.0, is_of_token: id.is_of_token() }).collect(),
            patches: PATCHES.iter().filter_map(patch).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::primitives::Blob;

    use super::{
        super::ring::tests::{incarnation, ring_at},
        *,
    };

    fn item(ring: &Ring, patches: &[&[u8]]) -> HashMap<String, AttributeValue> {
        let bytes = |bytes: &[u8]| AttributeValue::B(Blob::new(bytes));
        let mut item: HashMap<_, _> =
            PATCHES.iter().zip(patches).map(|(name, id)| ((*name).to_owned(), bytes(id))).collect();
        item.insert("_version".to_owned(), AttributeValue::N("7".to_owned()));
        item.insert("_writes".to_owned(), bytes(ring.as_bytes()));
        item
    }

    #[test]
    fn a_history_has_the_ids_of_writes_and_of_patches() {
        let ring = ring_at(Some(1_800_000_000), 9, &[3, 0x81]);
        let history = WriteHistory::read(&item(&ring, &[&[5; 8], &[4; 8], &[]]), "_version");
        let write = |id, is_of_token| RememberedWrite { id: [id; 8], is_of_token };
        assert_eq!(
            history,
            WriteHistory {
                version: Some(7),
                incarnation: Some(*incarnation(9).as_bytes()),
                last_time: Some(1_800_000_000),
                writes: vec![write(3, false), write(0x81, true)],
                patches: vec![[5; 8], [4; 8]],
            }
        );
    }

    #[test]
    fn an_item_of_another_program_has_no_history() {
        let history = WriteHistory::read(&HashMap::new(), "_version");
        assert_eq!((history.version, history.incarnation, history.last_time), (None, None, None));
        assert_eq!((history.writes, history.patches), (vec![], vec![]));
    }
}
