//! The protocol of the fair queue, model-checked: each interleaving of a few processes on one row,
//! with each pause, crash and loss.
//!
//! # What is modelled
//!
//! - [`row`]: the attributes, and each conditional request as one atomic step.
//! - [`queue`]: the entries in the row.
//! - [`process`]: the knowledge of a process, its possible next requests ([`wish`]), and its
//!   reaction to answers. Each process may pause at any point for any time.
//! - [`world`]: all processes, the requests that can still arrive, and time. Time passes in ticks,
//!   and a ttl is two or three ticks. The model stores only ages up to the ttl, so the number of
//!   states is finite. Fences are stored relative to the fence of the row.
//! - [`rules`]: the possible faults of an exploration: a lost reply (the request is sent again), a
//!   second copy of a request that arrives at any later time, a crash, a waiter that gives up, an
//!   outdated read, clocks that differ. A rule can also leave out one part of the protocol.
//! - [`property`]: the properties that must hold. [`explore`] finds the shortest path to a state
//!   that violates a property. If all properties hold, it finds a state from which the live
//!   processes cannot all be served without a further fault.
//! - [`tickets`]: the published queue in two steps, which violates a property.
//!
//! # What the protocol says
//!
//! The model needs these rules. [`breaks`] contains a counterexample for each rule:
//!
//! - Each grant has a **fence**. An eviction requires the head, its beat and the fence that the
//!   observer read. The removal of an expired plain owner, and its takeover by observation, also
//!   require the owner, its beat and the fence;
//! - **A heartbeat requires the fence of its grant**, and its number must be above the stored
//!   number. A plain holder leaves its last number in the row, and a head continues from that
//!   number. A request that is sent again gets a new number. If a heartbeat is refused and the row
//!   has the same fence, a later heartbeat was first. If the row has another fence, the grant is
//!   lost, and an orphaned grant is released;
//! - **Only leave and evict write the turn**, as the time at which they were sent. An entry
//!   contains the time at which its enqueue was first sent. The turn and the time of an entry do
//!   not change while the entry is the head. With the clock rule, the lease of a head without a
//!   heartbeat has ended when a ttl and the skew have passed since the later one of the two times.
//!   The lease of a head with a heartbeat has ended when the later one of that end and `_until`,
//!   and the skew, have passed;
//! - **A new head believes to hold the lock for a ttl**. This time counts from its last consistent
//!   read that showed another head, or from its enqueue or eviction. The belief ends at the latest
//!   when the head's own clock shows a ttl since its turn or its entry. With clocks, a head may
//!   believe for a ttl **less the skew** since the later one of the two times, independent of its
//!   reads. A caller with the clock rule evicts only after a ttl and the skew, and an observer
//!   cannot have seen the head before its turn. A lost reply, or a cheap read that may be outdated,
//!   is therefore sufficient to enter. **After a cheap read, only the turn counts**, because the
//!   read may show an earlier stay at the head that ended before the last consistent read. If all
//!   these times are over, the head sends a heartbeat before it enters;
//! - Each caller that waits, acquires or wants to write evicts heads whose lease has ended. With
//!   clocks, it uses the clock rule or its own observation.
//!
//! # What it costs
//!
//! A live head can lose its turn. This happens if it sends no heartbeat within a ttl after both its
//! enqueue and its turn **were sent**. If requests take longer than a ttl and the skew, this may
//! happen at once: by a slow enqueue, or by the slow leave of another caller. The head learns of
//! the loss, and no other caller believes to hold the lock in the meantime. Without clocks, the
//! time counts from the arrival of the requests. See [`property`].
//!
//! # What is simpler than the world
//!
//! - If requests are not [`slow`](rules::Rules::slow), each request is one step with its answer.
//!   This allows more than the network does: a lease counts from the latest possible time, and an
//!   observer counts from the earliest possible time. For the same reason, a cheap read is always
//!   one step.
//! - The arrival of an answer is a separate step only if the answer grants or renews a lease. A
//!   delayed read is a read and then a pause.
//! - A holder sends at most two heartbeats, and each process acquires once or twice.
//! - A holder whose lease has ended may renew it, if the row still contains it. The library gives
//!   up earlier.
//! - A refused enqueue is sent again with the same id and a new time. The library also uses a new
//!   id.
//! - Processes with the same role are interchangeable. Of the states that differ only in their
//!   names, one is explored.

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
