//! A log in memory that says of its entries that they are written only after a while, as a disk
//! does.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use openraft::OptionalSend;
use openraft::alias::{EntryOf, LogIdOf, VoteOf};
use openraft::storage::{IOFlushed, LogState, RaftLogStorage};
use openraft_memstore::{MemLogStore, TypeConfig};
use tokio::sync::mpsc;
use tokio::time::sleep;

pub struct Disk {
    log: Arc<MemLogStore>,
    unwritten: mpsc::UnboundedSender<IOFlushed<TypeConfig>>,
}

impl Disk {
    pub fn new(log: Arc<MemLogStore>) -> Self {
        let (unwritten, queue) = mpsc::unbounded_channel();
        tokio::spawn(write(queue));
        Self { log, unwritten }
    }
}

/// Writes all that waits at once. That takes up to eight milliseconds.
async fn write(mut queue: mpsc::UnboundedReceiver<IOFlushed<TypeConfig>>) {
    while let Some(first) = queue.recv().await {
        let mut batch = vec![first];
        while let Ok(next) = queue.try_recv() {
            batch.push(next);
        }
        sleep(Duration::from_millis(rand::random_range(0..9))).await;
        batch.into_iter().for_each(|flushed| flushed.io_completed(Ok(())));
    }
}

impl RaftLogStorage<TypeConfig> for Disk {
    type LogReader = Arc<MemLogStore>;

    async fn get_log_state(&mut self) -> io::Result<LogState<TypeConfig>> {
        self.log.get_log_state().await
    }

    async fn get_log_reader(&mut self) -> Self::LogReader {
        Arc::clone(&self.log)
    }

    async fn save_vote(&mut self, vote: &VoteOf<TypeConfig>) -> io::Result<()> {
        self.log.save_vote(vote).await
    }

    async fn append<I>(&mut self, entries: I, flushed: IOFlushed<TypeConfig>) -> io::Result<()>
    where
        I: IntoIterator<Item = EntryOf<TypeConfig>> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        self.log.append(entries, IOFlushed::noop()).await?;
        self.unwritten.send(flushed).map_err(io::Error::other)
    }

    async fn truncate_after(&mut self, last: Option<LogIdOf<TypeConfig>>) -> io::Result<()> {
        self.log.truncate_after(last).await
    }

    async fn purge(&mut self, last: LogIdOf<TypeConfig>) -> io::Result<()> {
        self.log.purge(last).await
    }
}
