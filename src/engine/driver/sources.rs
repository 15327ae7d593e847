//! The table from tokens to what is known about their sources.

use super::readiness::{Readiness, shutdown_error};
use crate::engine::slab::{Key, Slab, TOKEN_CAPACITY};
use crate::engine::sync_shim::Arc;
use mio::Token;
use std::io;

/// The table from tokens to what is known about their sources.
pub(super) struct Sources {
    table: Slab<Arc<Readiness>>,
    closed: bool,
}

impl Sources {
    pub(super) fn new() -> Self {
        Self { table: Slab::for_tokens(), closed: false }
    }

    pub(super) fn insert(&mut self, readiness: Arc<Readiness>) -> io::Result<Key> {
        if self.closed {
            return Err(shutdown_error());
        }
        if self.table.len() >= TOKEN_CAPACITY {
            return Err(io::Error::other("the driver's table of sources is full"));
        }
        Ok(self.table.insert(readiness))
    }

    pub(super) fn find(&self, token: Token) -> Option<&Readiness> {
        self.table.get(Key::from_usize(token.0)).map(|readiness| &**readiness)
    }

    /// Takes a source out. The caller drops the result without the lock: its drop may drop wakers.
    pub(super) fn remove(&mut self, key: Key) -> Option<Arc<Readiness>> {
        self.table.remove(key)
    }

    /// From now on nothing can be added. Returns what there was, to be shut down without the lock.
    pub(super) fn close(&mut self) -> Slab<Arc<Readiness>> {
        self.closed = true;
        std::mem::replace(&mut self.table, Slab::for_tokens())
    }

    /// Adds some sources to `list`: see [`Slab::list`].
    pub(super) fn list(
        &self,
        from: usize,
        count: usize,
        list: &mut Vec<Arc<Readiness>>,
    ) -> Option<usize> {
        self.table.list(from, count, |readiness| list.push(readiness.clone()))
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }
}
