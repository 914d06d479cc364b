//! The tests of the promises, at the public boundary.
//!
//! `conformance` tests items, alone and in transactions, on any DynamoDB: on the engine in the
//! process, or on the DynamoDB at the URL in `DYNALOCK_ENDPOINT`. The other tests need features
//! that only the engine in the process has: paused time, files, speed.
//!
//! # Known defects of mappers and locks, and the test of each that concerns items and transactions
//!
//! | defect | test |
//! |---|---|
//! | an unreachable endpoint, or any failure, is a success | `faults::outcomes` (every write under every fault), `transactions::outcomes` (the same of transactions); `faults::outages` |
//! | a value in memory is new before its write was acknowledged | `a_value_is_new_only_when_its_write_was_acknowledged`, `a_value_whose_write_failed_is_at_its_old_version_and_can_be_written_again`, `a_value_is_new_only_when_its_transaction_was_acknowledged` |
//! | a transaction on the same item panics | `a_transaction_on_the_same_item_is_waited_for`, `a_transaction_that_does_not_end_is_a_typed_error` |
//! | create guards on the version attribute | `create_over_an_unversioned_item_returns_it_and_leaves_it_as_it_is` |
//! | an own write is a conflict after a lost reply | `conformance::lost_reply`, `faults::losses`, `transactions::{outcomes, tokens}` |
//! | version 0, or the first one, is never updated | `versions_that_others_wrote_are_updated` |
//! | an item without a version is updated unchecked | `adoption_fails_if_..` in `conformance::unversioned` |
//! | delete is unchecked | `a_stale_value_is_a_conflict_with_the_current_item_or_with_nothing`, `adoption_fails_if_any_other_attribute_was_changed` |
//! | batch writes skip the check and keep the old number | `all_kinds_happen_together_in_any_order`, `what_each_operation_left_can_be_written_again_without_a_read`, `a_conflict_in_the_middle_is_the_result_of_its_item_alone` |
//! | operations are regrouped on the wire: reasons do not match the calls | `each_kind_that_fails_alone_is_the_one_to_blame_in_any_order`, `merged_operations_share_their_reason` |
//! | any failed condition is "exists", a cancellation a failed condition | `every_code_of_a_cancellation_means_what_it_says`, `what_is_refused_for_good_is_sent_once`, `transactions::cancellations` (every code, alone and mixed) |
//! | unprocessed keys of a batch are dropped | `unprocessed_keys_are_asked_for_until_none_is_left`, `items_that_were_left_are_sent_until_none_is_left`, `items_that_are_always_left_have_an_error_at_the_deadline` |
//! | a transaction depends on reads that are not checked | `conformance::transaction::{reads, skew}`, `transactions::{skew, transfers}` |
//! | a heartbeat whose reply was lost loses the lock | `no_lease_is_lost_over_twenty_heartbeats_with_lost_replies`; `the_storm_shows_heartbeats_on_the_beat_before_to_lose_leases` |
//! | the first error of a heartbeat ends the lease silently | `six_seconds_of_trouble_do_not_end_a_lease_of_ten`, `a_heartbeat_that_is_refused_for_its_credentials_is_sent_again` |
//! | the fence starts again after a release | `the_fence_grows_over_releases_and_crashes`, `the_fence_grows_over_a_row_that_was_deleted`, `a_name_that_was_retired_goes_on_above_its_fence` |
//! | seconds compared with milliseconds, N written and S read | `other_attributes_and_the_payload_survive`, `a_lock_whose_holder_died_is_taken_over_after_its_ttl_and_the_skew` |
//! | acquire wipes the row, release deletes it | `other_attributes_and_the_payload_survive` |
//! | a release without a condition frees the next holder's lock | `a_paused_holder_is_told_and_refused_after_a_takeover`, `the_storm_shows_releases_without_a_condition` |
//! | a heartbeat revives a lock that was released or taken over | `a_late_heartbeat_revives_no_lock_that_was_released_or_taken_over` |
//! | a nested acquire returns the same lock | `a_lock_is_not_granted_twice_to_one_handle_or_task` |
//! | retries without a pause | `a_retry_is_never_without_a_pause_and_pauses_grow`, `each_sleep_is_followed_by_a_read_and_four_times_as_many_immediate_attempts` |

#![expect(clippy::unwrap_used, reason = "the cases are functions, and a test panics where it fails")]
#![expect(clippy::assigning_clones, reason = "a test assigns what a user would assign")]

mod storms;
mod support;

mod conformance;

mod batches;
mod combining;
mod contention;
mod costs;
mod explain;
mod faults;
mod files;
mod futures;
mod guide;
mod handlers;
mod leases;
mod locks;
mod messages;
mod query;
mod queue;
mod settings;
mod tables;
mod traces;
mod transactions;
