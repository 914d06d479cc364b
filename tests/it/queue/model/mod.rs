//! The fair queue's protocol, model-checked: every interleaving of a few processes on one row, with every stall, crash and loss.
//!
//! # What is modelled
//!
//! - [`row`]: the attributes, and each conditional request as one atomic step.
//! - [`queue`]: the entries in the row.
//! - [`process`]: what a process knows, what it may send next ([`wish`]), and what it makes of the answer. Any process may stall anywhere, for any
//!   time: nothing obliges it to take its next step.
//! - [`world`]: all of them, the requests that are still on their way, and time. Time passes in ticks, a ttl is two or three. Only ages are
//!   kept, up to the ttl, so the states are finitely many; fences are kept relative to the row's.
//! - [`rules`]: what may go wrong in an exploration: a lost reply (the request is sent again), a second copy of a request that arrives at any
//!   later time, a crash, a waiter that gives up, a stale read, clocks that differ. And one line of the protocol that is left out.
//! - [`property`]: what must hold. [`explore`] finds the shortest way to a state where it does not; or, if all hold, a state from which the live
//!   ones cannot all be served any more without a further fault.
//! - [`tickets`]: the published queue in two steps, which breaks.
//!
//! # What the protocol says
//!
//! Requests that this model needs to be as they are, each with its counterexample in [`breaks`]:
//!
//! - every grant has a **fence**. An eviction is conditional on the head, its beat and the fence that the watcher saw; so are the clear and the
//!   observed takeover of a dead plain owner;
//! - **a beat is conditional on the fence of its grant**, and its number is strictly above the row's. A plain holder leaves its last number
//!   behind, and a head goes on from that. A request that is sent again gets a new number. A refusal under the
//!   own fence means that a later beat was first; under another that the grant is lost, and its ghost is given back;
//! - **only leave and evict write the turn**, as the time at which they were sent. An entry carries the time at which its enqueue was sent
//!   first, and neither changes while somebody is the head. By the clock rule a head that has not beaten is dead when a ttl and the skew have
//!   passed since the later of the two; one that has beaten, when the later of that end and `_until`, and the skew, have passed;
//! - **a new head believes for a ttl** since it sent its last consistent look that showed another head (or its enqueue, or its evict), and no
//!   longer than until its own clock shows a ttl since its turn or its entry. With clocks it may, whatever it has looked at, believe until its
//!   own clock shows a ttl **less the skew** since the later of the two: who goes by that rule evicts after a ttl and the skew, and who observes
//!   cannot have seen it there before the turn. So a lost reply, or a poll that may be old, is enough to enter. **By a poll only the turn
//!   counts**, not the look: the poll may show an earlier stay at the head, that was ended before the look. If all that is over, it beats
//!   before it enters;
//! - whoever waits, asks, or wants to write evicts dead heads. With clocks, it goes by that rule or by what it has observed.
//!
//! # What it costs
//!
//! A head is skipped though it lives if it has not beaten within a ttl since both its enqueue and its turn **were sent**. Where requests
//! take longer than a ttl and the skew, that may be at once: a slow enqueue, or the slow leave of another. It learns of it, and nobody else
//! believes meanwhile. Without clocks the time counts from when they arrive. See [`property`].
//!
//! # What is simpler than the world
//!
//! - Where requests are not [`slow`](rules::Rules::slow), each is one step with its answer. That allows more than the network does: a lease
//!   counts from as late as can be, and a watcher's time from as early as can be. For the same reason a poll is always one step.
//! - An answer on its way is a step of its own only where it grants or renews a lease. A delayed read is a read and then a stall.
//! - A holder sends two beats at most, and each process acquires once or twice.
//! - A holder that let its lease pass may renew it, if the row still says so. The library gives up earlier.
//! - An enqueue that was refused is sent anew under the same id, with a new time. The library takes a new id, too.
//! - Processes that take part in the same way are interchangeable: of the states that differ by their names one is explored.

mod rules;

mod queue;
mod row;

mod process;
mod wish;

mod world;

mod property;

mod canon;
mod lock;

mod explore;

mod breaks;
mod holds;
mod tickets;
