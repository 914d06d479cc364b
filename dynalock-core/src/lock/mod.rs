//! Locks: leases that `DynamoDB` itself protects.
//!
//! A lock is a row of a table, and a lease of it ends by itself unless its holder renews it. This page is the protocol: another program that
//! follows it, in whatever language, can share locks with this one.
//!
//! # The row
//!
//! | attribute | type | meaning |
//! |---|---|---|
//! | `name` | S, the key | the lock, and behind it, after U+001F, its namespace if it has one |
//! | `_owner` | S | who holds it: a label, and a nonce for each grant; absent if nobody does, or the head of the queue |
//! | `_fence` | N | the number of the last grant, of the last but one while a queue is there; grows by one with each, and starts at the time of day |
//! | `_beat` | N | the number of the holder's last heartbeat, 0 at a grant |
//! | `_until` | N | when the lease ends, in milliseconds of the Unix epoch by the holder's clock |
//! | `_released` | S | the owner of the last release, by which a late copy of its request is refused; in the queue where one may come |
//! | `_crashed` | N | reserved: a row may still carry it; no request reads, writes or removes it |
//! | `_queue` | L of S | the fair queue: its head holds the lock, the others wait |
//! | `_turn` | N | when the head last changed for another, in epoch milliseconds by the clock of who did it |
//! | `payload` | B | what a holder has left |
//!
//! The lease of an item is kept in the same attributes, under the names that `#[lockable]` gives them: in the item itself, or in a row of its own
//! with `#[lockable(separate)]`, whose key is that of the item with `#lock` after its last value. That row asks for nothing but itself: the item is
//! read after the grant, and the lease of nothing released again. A write of the item is a `TransactWriteItems` with the row then: everybody
//! else checks that there is no `_owner`, and the holder that `_owner = :me AND _fence = :f`, where it also renews or releases. A check that met a
//! lease that has ended is made anew as a write that removes `_owner` and `_until`, if that has still ended: else a late heartbeat would revive
//! the lease after the write.
//!
//! Rows of locks are never deleted but by [`Locks::retire`]. Time to live must not be switched on: it would delete a lock that is
//! held, or begin its fence anew.
//!
//! # The requests
//!
//! All are `UpdateItem` with a condition, and `ALL_OLD` for its failure.
//!
//! 1. **Acquire**: `SET _owner = :me, _beat = 0, _until = :t, _fence = if_not_exists(_fence, :now) + 1` if there is no `_owner` or its lease has
//!    ended, nobody stands in `_queue`, and `_released <> :me`; with `REMOVE _queue, _turn`. `:me` is fresh for each
//!    grant. The fence follows from the row that the answer carries, and so does whether the holder before has died.
//! 2. **Acquire, refused, and `_owner` is `:me`**: an earlier copy whose reply was lost was granted. One heartbeat, and the lease counts from
//!    that; not from the copy, for nobody knows when that arrived.
//! 3. **Heartbeat**: `SET _beat = :k, _until = :t` if `_owner = :me AND _fence = :f AND _beat < :k`, with a higher `:k` for each request, every third
//!    of a ttl. A heartbeat whose reply was lost is sent again with a higher `:k`.
//!    A heartbeat that is refused while the row has `:me` and `:f` was overtaken by a later heartbeat. It is sent again
//!    after a pause, with a beat 2^20 above the later one. If the row has `:me` under another fence, a late copy of the
//!    acquire made a ghost, and the lease is lost. A process that resumes a token begins 2^20 above the beat in the
//!    token, so the late heartbeats of the dead process are always lower and cannot restore an earlier end.
//!    If `_beat` is no number, or the highest one, the holder gets [`Error::Corrupt`](crate::Error::Corrupt).
//! 4. **Release**: `SET _released = :me REMOVE _owner, _until` if `_owner = :me`. A refusal means that the lock was released or lost before. The
//!    condition names no fence: a late copy of the acquire may have brought the owner back under another one, and this ends that grant, too.
//! 5. **Wait**: who was refused sleeps until the lease can have ended, looking by eventually consistent reads meanwhile, and asks again.
//! 6. **All or none**: the acquires of several locks in one `TransactWriteItems` under a `ClientRequestToken`, then one consistent read of
//!    the fences. Owners that have died are taken away before, as before a queue. Who is refused holds nothing, waits for the taken ones in the
//!    order of their names, and asks for all again.
//!
//! A request that was throttled, lost or answered by an error of the server is sent again; the conditions make that harmless.
//!
//! # The fair queue
//!
//! First come, first served. To take a number and to enter with it as two requests is not exclusive: a process that stands still between
//! them lets a later number in, and enters itself then. Here the number is the place in a list, and taken by entering.
//!
//! 1. **Enter**: `SET _queue = list_append(if_not_exists(_queue, :empty), :me), _fence = if_not_exists(_fence, :now)` if there is no `_owner`, `:me`
//!    is not in the queue, it is not full, and `_released <> :me`. `:me` is `label:nonce/ttl/now`: the ttl in milliseconds, and the time of the
//!    request in hexadecimal epoch milliseconds. A copy of it does nothing. Who comes into an empty queue has the lock by this.
//! 2. **The head holds the lock**; its fence is `_fence + 1`. Heartbeats and protected writes are as above, if `_queue[0] = :me AND _fence = :f - 1`, and
//!    there is no `_beat` or a lower one.
//! 3. **Leave**: `REMOVE _queue[0], _beat, _until, _released SET _fence = _fence + 1, _turn = :now` if `_queue[0] = :me`: the next
//!    one holds it by the same write, and nobody comes between. Who knows of nobody behind looks once more, by an eventually consistent read, and leaves by
//!    `REMOVE _queue, _turn` instead of the place, if there is no `_queue[1]` either: then the fence is all that is left. Where an answer shows a
//!    queue in which nobody stands any more, `REMOVE _queue, _turn, _released` follows, if it is empty still under that `_fence`; so it does after a
//!    write of the holder that ends its lease as well, which leaves `_released = :me` to be known by. One whose enqueue was in doubt, so that a copy
//!    may come yet, leaves `_released = :me`, too.
//! 4. **Give up** (the wait is over, or its caller is gone): `REMOVE _queue[i]` if `_queue[i] = :me`, with the place that a refusal shows if it was
//!    another; a head leaves. A client that cannot reach
//!    `DynamoDB` tries that for ten minutes, or for a ttl if that is longer, with a pause of up to a second. Meanwhile its further calls for this
//!    queue wait for that, or end with their deadline: a client that is cut off stands in a queue once, however often it asks.
//! 5. **Evict**, by whoever waits, asks, or wants to write: `REMOVE _queue[0], _beat, _until SET _fence = _fence + 1, _turn = :now` if `_queue[0]`,
//!    `_fence`, `_beat` and `_until` are as they were seen, and its lease has ended; of a head with nobody behind, all of the queue, as above.
//!    Before anybody enters, an owner that has died is taken away by `REMOVE _owner, _until, _beat` if its `_fence` is as it was seen, and its
//!    lease has ended.
//! 6. **Wait**: one read of the row, a fortieth of a ttl (at most a quarter of a second) times the place, at most a sixth of a ttl, and jittered by half of that. That of
//!    the next in the queue is consistent; and who is not in the row looks again by a consistent read before it says [`Error::Evicted`](crate::Error::Evicted).
//! 7. **Enter several queues**: in one `TransactWriteItems`, with one `:me`. Of two who want several of the same locks one stands before the other in
//!    all of them, so no two wait for each other. The locks whose turn has come are kept while the others are waited for.
//!
//! The head has the lock for its ttl since `_turn` or the time in its entry, whichever is later, and until `_until` if that is later still. While the
//! head has not beaten, an `_until` in the row is not its own: another program has left it. `_turn` and the entry
//! stay as they are while it is the head. It counts its lease from that by its own clock, or from *before* its last consistent read that showed
//! another head (or its enqueue), whichever is earlier; or from the former less `max_skew`, if that is later. If half of it is past already, it
//! beats before it enters. By observation, the head's own ttl counts, not the watcher's. Who waits with [`Expiry::Clock`] goes by either rule.
//!
//! A waiter that dies costs nothing until its turn, and then a ttl at most: nobody is skipped who shows itself in time. One that was taken out
//! because it did not, learns it. The model in `tests/it/queue/model` goes through all that three processes can do, with stalls, lost
//! replies, late copies and crashes at every step, and through what breaks without each part.
//!
//! An acquisition costs two write units with a ttl of 20 seconds while the row is below a kilobyte: about 25 who wait, with short names. With a ttl of 2 seconds it
//! costs 2.35, since there are more heartbeats. Where nobody waits, the look before
//! leaving is half a read unit.
//!
//! # When a lease has ended
//!
//! - [`Expiry::Clock`]: `_until + max_skew` is past by the asker's clock, which the condition of the acquire carries. **Assumed**: the
//!   clocks of all machines differ by at most `max_skew` at any moment.
//! - [`Expiry::Observed`]: holder, fence, beat and end were the same for a whole ttl of the watcher's monotonic clock, from *after* the answer
//!   that showed them first; the condition is that they still are. **Assumed**: monotonic clocks run equally fast, and all have the same ttl.
//!
//! The holder counts its lease from *before* it sent the request that renewed it, on its monotonic clock.
//!
//! # Why there are no two
//!
//! A grant needs a row without an owner, or with one whose lease has ended. Only the holder's own release, an operator, or
//! who may take its lease over removes an owner.
//! Every `_until` in the row was written by a request of the holder, and is at least a ttl after the moment from which the holder counts if that
//! request was the last to be acknowledged; no older one can be put back, since its beat is lower, also that of another process that has used
//! the same grant. So when the asker's clock shows
//! `_until + max_skew`, the holder's own shows more than `_until`, and it has stopped to believe: [`LockGuard::lost`] has ended,
//! [`LockGuard::run`] has dropped the work. By observation: the last beat was sent before the watcher saw it, so the holder's ttl ends first.
//!
//! The fence grows with every grant, in the same write. A write in `DynamoDB` that is conditional on `_owner = :me AND _fence = :f`, in one
//! transaction with a check of the row, cannot come from anybody but the holder, whatever clocks and processes do.
//!
//! A storm of lost, late and doubled messages, pauses, kills and cancelled calls holds the code to this (`tests/it/locks/storm.rs`), and shows for
//! each of these parts what breaks without it.
//!
//! # What is not guaranteed
//!
//! - **A process that stands still** does not notice that its lease ends. Work outside of `DynamoDB` may go on after its end; what it works on
//!   should refuse a lower fence than it has seen. Even so it lets a stale write through until the new holder has written once.
//! - **A ghost**: a copy of an acquire that arrives after its caller has given up may be granted to nobody. It costs one ttl and the skew.
//! - **A turn, to whose requests take longer than a ttl**: where clocks are asked, a head that has not beaten is dead a ttl after its enqueue, and the
//!   leave of who was before it, were *sent*. It learns that it was taken out.
//! - **Fairness**, but in the queue: of several who wait for a plain lock, any may be next; and while a queue is there, all who ask
//!   plainly wait for its end. A ghost that a late copy of an enqueue has left in a queue costs it one ttl.
//! - **Clocks that differ by more than `max_skew`** break [`Expiry::Clock`] when they differ by more than that and what is left of the
//!   lease between two heartbeats. The fence protects all the same what checks it.
//! - **A release that arrives late**: a process sends a release and dies, and another process resumes its token. The release ends the lock when it
//!   arrives, and the second process learns it by its next heartbeat.
//! - **An item that is deleted under its lease**, by time to live, by `delete_unchecked` or by another program, takes the lease with it. If it is
//!   created and leased again before the next heartbeat of the first holder, two callers believe to hold it until that heartbeat is refused.
//!   `DynamoDB` refuses the writes of the first holder at once. With `#[lockable(separate)]` the lease stays, since it is in another row.
//! - **A row that was retired**: an acquire that was sent before [`Locks::retire`] deleted the row, and arrives after that, begins the fence at the
//!   time at which it was sent. That may be below fences of the deleted row if the request was on its way for more than a minute.
//! - **A program that does not know the queue** and takes the lock by `_owner` while a head holds it.
//! - **Global tables**: a condition is checked in one Region. All users of a lock must use the same Region.
//! - **To learn of a death**: [`LockGuard::acquired_after_crash`] knows only of a holder that the same call has taken out.
//! - **A runtime that is blocked** sends no heartbeats, and watches no [`LockGuard::lost`]; blocking work belongs on `spawn_blocking`. Where that cannot
//!   be, [`Heartbeat::Thread`] sends them from a thread of its own, with connections of its own.
//! - **An operator** who breaks a lock, or a program that writes the row without these conditions.

mod name;
mod options;
mod policy;
mod queue;
mod record;
mod row;

mod acquire;
mod acquire_all;
mod acquire_all_fair;
mod acquire_any;
mod acquire_fair;
mod departure;
mod grant;
mod leave;
mod observer;

mod guard;
mod held;
mod held_all;
mod info;
mod item;
mod lease;
mod leased;
mod list;
mod locks;
mod operator;
mod order;
mod queued;
mod request;
mod token;

pub use held::LockGuard;
pub use held_all::LockSetGuard;
pub use info::{LockInfo, Waiter};
pub use item::LeaseRequest;
pub use lease::LeaseGuard;
pub use leased::Guard;
pub use list::LockList;
pub use locks::Locks;
pub(crate) use options::LeaseOptions;
pub use options::{Expiry, Heartbeat, Wait};
pub use order::{AnyOne, AnyOrder, Fair};
pub(crate) use policy::LeasePolicy;
pub use queued::{QueueStatus, QueueTicket};
pub use request::Acquire;
pub use token::{LockToken, ParseLockTokenError};
