/// The result of a successful [`Repository::delete`](super::Repository::delete).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deleted {
    /// `true` if the call of `delete` certainly deleted the item. If DynamoDB's reply to the delete
    /// was lost and the item no longer exists, `certain` is `false`, because another caller may
    /// have deleted the item.
    pub certain: bool,
}

impl Deleted {
    /// The result of a delete, if DynamoDB's reply shows that the call deleted the item.
    pub const CERTAIN: Self = Self { certain: true };
}
