use tokio::sync::watch;

/// The running background tasks. Each task has a key, for example the id of a lock's row. With
/// [`done`](Self::done), a call can wait until all tasks with a given key have ended.
#[derive(Debug)]
pub(crate) struct PendingWork<K>(watch::Sender<Vec<K>>);

/// A running background task owns its `PendingGuard`. When the `PendingGuard` is dropped, the task
/// counts as ended.
#[derive(Debug)]
pub(crate) struct PendingGuard<K: PartialEq> {
    all: watch::Sender<Vec<K>>,
    key: K,
}

impl<K: Clone + PartialEq> PendingWork<K> {
    pub(crate) fn begin(&self, key: K) -> PendingGuard<K> {
        self.0.send_modify(|keys| keys.push(key.clone()));
        PendingGuard { all: self.0.clone(), key }
    }

    /// Waits until no background task with the key `key` is running.
    pub(crate) async fn done(&self, key: &K) {
        // The wait cannot fail, because `self` owns the sender of the channel.
        let _ = self.0.subscribe().wait_for(|keys| !keys.contains(key)).await;
    }
}

impl<K> Default for PendingWork<K> {
    fn default() -> Self {
        Self(watch::Sender::new(Vec::new()))
    }
}

impl<K: PartialEq> Drop for PendingGuard<K> {
    fn drop(&mut self) {
        self.all.send_modify(|keys| {
            // Two tasks may have the same key, so each guard removes only one copy of the key from
            // the list.
            if let Some(place) = keys.iter().position(|key| *key == self.key) {
                keys.swap_remove(place);
            }
        });
    }
}
