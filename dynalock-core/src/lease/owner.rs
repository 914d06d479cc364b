//! The owner text of a caller is `label:nonce`, or only `nonce` if the caller set no label. The
//! entry of a caller in a queue is the owner text with the suffix `/ttl/time`.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner<'a> {
    /// The label that the caller set, or the nonce if the caller set no label.
    pub(crate) label: &'a str,
    /// The random part of the owner text, or an empty text if a program that does not use
    /// dynalock wrote the owner.
    pub(crate) nonce: &'a str,
}

impl<'a> Owner<'a> {
    pub(crate) fn parse(stored: &'a str) -> Self {
        let owner = without_queue_suffix(stored);
        match owner.rsplit_once(':') {
            Some((label, nonce)) if is_nonce(nonce) => Self { label, nonce },
            None if is_nonce(owner) => Self { label: owner, nonce: owner },
            Some(_) | None => Self { label: owner, nonce: "" },
        }
    }
}

fn is_nonce(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A label may contain slashes, so the last two parts of the text count as a suffix only if both
/// parts are numbers.
fn without_queue_suffix(stored: &str) -> &str {
    let mut parts = stored.rsplitn(3, '/');
    let (Some(time), Some(ttl), Some(owner)) = (parts.next(), parts.next(), parts.next()) else { return stored };
    match (u64::from_str_radix(time, 16), ttl.parse::<u64>()) {
        (Ok(_), Ok(_)) => owner,
        (_, Err(_)) | (Err(_), _) => stored,
    }
}

#[cfg(test)]
mod tests {
    use super::Owner;

    #[test]
    fn the_label_and_the_nonce_are_parts_of_the_stored_owner() {
        const NONCE: &str = "0123456789abcdef";
        for (stored, label, nonce) in [
            ("alice:0123456789abcdef", "alice", NONCE),
            ("0123456789abcdef", NONCE, NONCE),
            ("host:8080:0123456789abcdef", "host:8080", NONCE),
            ("a/b/c:0123456789abcdef", "a/b/c", NONCE),
            ("a/1/2:0123456789abcdef/20000/19a", "a/1/2", NONCE),
            ("0123456789abcdef/20000/19a", NONCE, NONCE),
            ("another program", "another program", ""),
            ("another:program", "another:program", ""),
            ("", "", ""),
        ] {
            assert_eq!(Owner::parse(stored), Owner { label, nonce }, "{stored}");
        }
    }
}
