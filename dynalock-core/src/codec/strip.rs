//! Removes the attributes that the library adds to items.

use super::Item;
use crate::{
    model::{LockModel, Model},
    version::{PATCHES, WRITES},
};

/// Returns a copy of the item without the lease and without the ids of patches.
pub(super) fn image(model: &Model, item: &Item) -> Item {
    let mut image = item.clone();
    strip_lease(model, &mut image);
    strip_patches(&mut image);
    image
}

/// Returns a copy of the item with only the attributes of the user's value, without any attribute
/// that the library adds.
pub(super) fn user_attributes(model: &Model, item: &Item) -> Item {
    let mut content = image(model, item);
    content.remove(model.version);
    content.remove(WRITES);
    content
}

pub(super) fn strip_patches(item: &mut Item) {
    // Each patch writes all eight attributes `_p0` to `_p7`, so an item without `_p0` has none of
    // them.
    if item.remove(PATCHES[0]).is_some() {
        for name in &PATCHES[1..] {
            item.remove(*name);
        }
    }
}

pub(super) fn strip_lease(model: &Model, item: &mut Item) {
    for name in model.lock.iter().flat_map(LockModel::names) {
        item.remove(name);
    }
}

/// Returns `true` if an item has both a version and write ids, which together identify the state of
/// the item.
pub(super) fn is_tracked(model: &Model, item: &Item) -> bool {
    item.contains_key(model.version) && item.contains_key(WRITES)
}
