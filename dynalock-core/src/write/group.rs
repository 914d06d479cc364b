use std::{collections::HashMap, hash::Hash};

/// Groups values by key. The groups, and the values of each group, keep the order of `keyed`.
pub(crate) fn groups<K: Hash + Eq, V>(keyed: impl ExactSizeIterator<Item = (K, V)>) -> Vec<Vec<V>> {
    let mut places = HashMap::with_capacity(keyed.len());
    let mut groups: Vec<Vec<V>> = Vec::with_capacity(keyed.len());
    for (key, value) in keyed {
        let place = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(value),
            None => groups.push(vec![value]),
        }
    }
    groups
}
