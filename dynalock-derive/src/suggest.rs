//! Finds the nearest known word for a misspelled word.

/// The keys of `#[dynalock(..)]`, each with the words that other libraries use for the same
/// purpose.
const OTHER_WORDS: &[(&str, &[&str])] = &[
    ("partition_key", &["hash_key", "hash", "pk", "primary_key", "partition", "key", "id"]),
    ("sort_key", &["range_key", "range", "sk", "rk", "sort"]),
    ("table", &["table_name", "name"]),
    ("version", &["version_attribute", "version_attr", "versioned", "rev", "revision", "lock_version", "etag"]),
    ("write_ids", &["writes", "ids", "ring"]),
    ("crate", &["krate", "crate_path", "path"]),
    ("separate", &["tombstone"]),
];

pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    other_word(word, known).or_else(|| misspelled(word, known))
}

fn other_word<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let (ours, _) = OTHER_WORDS.iter().find(|(_, others)| others.contains(&word))?;
    known.iter().copied().find(|key| key == ours)
}

fn misspelled<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|key| (distance(word, key), *key))
        .filter(|(distance, key)| *distance <= key.len().div_ceil(3))
        .min()
        .map(|(_, key)| key)
}

/// Returns the edit distance of two words: the number of bytes to insert, remove or replace.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_words_of_others_and_misspellings_are_recognised() {
        let known = ["partition_key", "sort_key", "version"];
        for (word, expected) in [
            ("hash_key", Some("partition_key")),
            ("range_key", Some("sort_key")),
            ("partiton_key", Some("partition_key")),
            ("partitionkey", Some("partition_key")),
            ("sortkey", Some("sort_key")),
            ("versoin", Some("version")),
            ("index", None),
        ] {
            assert_eq!(nearest(word, &known), expected, "{word}");
        }
    }
}
