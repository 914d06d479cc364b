//! The chapters of the guide. The documentation tests compile and run the code of the chapters.

#[doc = include_str!("../docs/src/introduction.md")]
mod introduction {}

#[doc = include_str!("../docs/src/quickstart.md")]
mod quickstart {}

#[doc = include_str!("../docs/src/choosing.md")]
mod choosing {}

#[doc = include_str!("../docs/src/conflicts.md")]
mod conflicts {}

#[doc = include_str!("../docs/src/transactions.md")]
mod transactions {}

#[doc = include_str!("../docs/src/patches.md")]
mod patches {}

#[doc = include_str!("../docs/src/queries.md")]
mod queries {}

#[doc = include_str!("../docs/src/locks.md")]
mod locks {}

#[doc = include_str!("../docs/src/tables.md")]
mod tables {}

#[doc = include_str!("../docs/src/errors.md")]
mod errors {}

#[doc = include_str!("../docs/src/service.md")]
mod service {}

#[doc = include_str!("../docs/src/testing.md")]
mod testing {}

#[doc = include_str!("../docs/src/costs.md")]
mod costs {}

#[doc = include_str!("../docs/src/observability.md")]
mod observability {}

#[doc = include_str!("../docs/src/aws.md")]
mod aws {}

#[doc = include_str!("../docs/src/command_line.md")]
mod command_line {}

#[doc = include_str!("../docs/src/mappers.md")]
mod mappers {}

#[doc = include_str!("../docs/src/comparison.md")]
mod comparison {}
