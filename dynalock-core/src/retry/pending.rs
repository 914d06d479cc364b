use tokio::sync::watch;

/// The background work that is still running. Each piece of work has a key, and a later call with
/// the same key waits until the work has ended.
#[derive(Debug)]
pub(crate) struct PendingWork<K>(watch::Sender<Vec<K>>);

/// One piece of background work. The work ends when this guard is dropped.
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

    /// Waits until no work is pending for this key.
    pub(crate) async fn done(&self, key: &K) {
        // The wait cannot fail, because the sender lives as long as `self`.
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
            // Two pieces of work may have the same key, so the guard removes the key only once.
            if let Some(place) = keys.iter().position(|key| *key == self.key) {
                keys.swap_remove(place);
            }
        });
    }
}
