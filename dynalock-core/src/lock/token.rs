use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::grip::Grip;

/// A held lock without its guard, to be resumed elsewhere: [`Held::detach`](crate::Held::detach). It survives a trip to another process
/// as a string (`Display`, `FromStr`, serde), and whoever has it has the lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockToken {
    pub(super) name: Arc<str>,
    pub(super) owner: Arc<str>,
    pub(super) fence: u64,
    pub(super) beat: u64,
    pub(super) ttl: Duration,
}

/// The text is no token of a lock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a token of a lock: it was cut, edited, or made by something else")]
pub struct ParseLockTokenError;

impl LockToken {
    pub(super) fn of(name: &Arc<str>, grip: &Grip) -> Self {
        Self {
            name: Arc::clone(name),
            owner: Arc::clone(&grip.owner),
            fence: grip.fence,
            beat: grip.last_beat(),
            ttl: grip.terms.ttl,
        }
    }

    /// The name of the lock.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The fence of the grant.
    pub fn fence(&self) -> u64 {
        self.fence
    }
}

/// `<fence>-<beat>-<ttl in milliseconds>-<bytes of the owner>-<owner><name>`
impl std::fmt::Display for LockToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, owner, fence, beat, ttl } = self;
        write!(f, "{fence}-{beat}-{}-{}-{owner}{name}", ttl.as_millis(), owner.len())
    }
}

impl std::str::FromStr for LockToken {
    type Err = ParseLockTokenError;

    fn from_str(text: &str) -> Result<Self, ParseLockTokenError> {
        let mut parts = text.splitn(5, '-');
        let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok()).ok_or(ParseLockTokenError);
        let (fence, beat, ttl, length) = (number()?, number()?, number()?, number()?);
        let rest = parts.next().ok_or(ParseLockTokenError)?;
        let length = usize::try_from(length).map_err(|_| ParseLockTokenError)?;
        let (owner, name) = rest.split_at_checked(length).ok_or(ParseLockTokenError)?;
        if owner.is_empty() || name.is_empty() {
            return Err(ParseLockTokenError);
        }
        Ok(Self { name: name.into(), owner: owner.into(), fence, beat, ttl: Duration::from_millis(ttl) })
    }
}

impl Serialize for LockToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LockToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}
