//! What the promises are held to, at the public boundary, on the in-process DynamoDB.

mod support;

mod contention;
