//! The worker: packs orders, one job at a time, each under a lease.
//!
//! Any number of workers can run at the same time. If a worker dies, its job stays leased until the
//! lease ends. After the end of the lease, another worker takes the job over. Because the last
//! write of a job requires the lease, a worker that was only paused cannot finish a job that
//! another worker has taken over.

use std::{future::Future, pin::pin, time::Duration};

use dynalock::{Error, LeaseGuard, Result, Wait};
use tokio::time::sleep;

use crate::{
    Shop,
    job::{Job, State},
};

/// The number of open jobs that a worker looks at. Other workers may have leased some of the open
/// jobs.
const CANDIDATES: usize = 25;

/// The longest time for which a worker that hangs keeps its job.
const LONGEST: Duration = Duration::from_mins(10);

/// A worker.
#[derive(Debug, Clone)]
pub struct Worker {
    /// The tables of the shop.
    pub shop: Shop,
    /// The name of the worker, which other callers see as the holder of a job.
    pub name: String,
    /// The time that it takes to pack an order.
    pub packing: Duration,
    /// The pause after which a worker that has found no job looks again.
    pub idle: Duration,
}

impl Worker {
    /// Works until `stop` completes. After `stop`, the worker releases an unfinished job, so that
    /// another worker can take the job at once.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        let mut stop = pin!(stop);
        loop {
            // A worker that stops waits for `take`. If the worker dropped the future of `take`, the
            // process could end before `take` releases a lease that it has just acquired.
            let taken = self.take().await.unwrap_or_else(|error| {
                tracing::error!(%error, "no job could be taken");
                None
            });
            let Some(lease) = taken else {
                tokio::select! {
                    () = sleep(self.idle) => continue,
                    () = &mut stop => return,
                }
            };
            // `run` drops the work as soon as the lease may be lost. Heartbeats renew the lease.
            let ended = tokio::select! {
                packed = lease.run(self.pack(&lease)) => match packed {
                    Ok(()) => self.finish(lease).await,
                    Err(lost) => Err(lost),
                },
                () = &mut stop => return self.give_back(lease).await,
            };
            if let Err(error) = ended {
                tracing::error!(%error, "a job was not finished; a worker will take it again");
            }
        }
    }

    /// Leases the first free job.
    ///
    /// # Errors
    ///
    /// The database does not answer.
    pub async fn take(&self) -> Result<Option<LeaseGuard<Job>>> {
        let jobs = &self.shop.jobs;
        let open = jobs.query_index(Job::INDEX.by_state, State::Open).limit(CANDIDATES).collect().await?;
        if open.is_empty() {
            return Ok(None);
        }
        let request = jobs.lock_any(open).owner(self.name.as_str()).wait(Wait::No).max_hold(LONGEST);
        match request.await {
            Ok(lease) if lease.state == State::Open => {
                let (job, fence, after_crash) = (&lease.id, lease.fence(), lease.acquired_after_crash().is_some());
                tracing::info!(job, fence, after_crash, "took a job");
                Ok(Some(lease))
            }
            // The index showed an old state of the job. The item under the lease shows that the job
            // is already done.
            Ok(lease) => lease.release().await.map(|_| None),
            Err(Error::Locked(_) | Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The work itself. If a worker dies after the work and before the last write, another worker
    /// does the work again.
    async fn pack(&self, job: &Job) {
        sleep(self.packing).await;
        tracing::info!(job = job.id, "packed");
    }

    /// Finishes a job. One unit of work marks the order as packed and the job as done.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`]: another worker has taken the job over, and nothing was written.
    pub async fn finish(&self, lease: LeaseGuard<Job>) -> Result<()> {
        let (shop, held) = (&self.shop, &lease);
        dynalock::transact(&shop.client, |tx| async move {
            tx.guard(held); // DynamoDB refuses the whole unit of work if this worker has lost its lease
            let Some(mut job) = tx.get(&shop.jobs, held.id.as_str()).await? else { return Ok(()) };
            job.state = match tx.get(&shop.orders, (held.customer.clone(), held.order.clone())).await? {
                Some(mut order) => {
                    order.packed = true;
                    tx.update(&shop.orders, order);
                    State::Done
                }
                None => State::Failed,
            };
            tx.update(&shop.jobs, job);
            Ok::<_, Error>(())
        })
        .await?;
        lease.release().await.map(drop)
    }

    async fn give_back(&self, lease: LeaseGuard<Job>) {
        let job = lease.id.clone();
        match lease.release().await {
            Ok(_) => tracing::info!(job, "released"),
            Err(error) => tracing::warn!(job, %error, "not released; its lease will end"),
        }
    }
}
