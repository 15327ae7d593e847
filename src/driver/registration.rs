//! A source's entry with the driver: the system's selector on one side, the table of sources on the
//! other.
//!
//! A source is registered once, edge-triggered, for all directions it will ever be used in: no
//! system call per wait. The token is the key in the table, with its generation. An event fetched
//! before the deregistration and dispatched after it therefore finds nothing, even if a new source
//! has taken the place (model `a_late_event_never_reaches_the_next_source_in_the_place`).

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;

use std::io;

use mio::Token;
use mio::event::Source;

use super::Driver;
use super::readiness::{Readiness, shutdown_error};
use crate::slab::{Key, Slab, TOKEN_CAPACITY};
use crate::sync_shim::Arc;

/// The table from tokens to what is known about their sources.
pub(super) struct Sources {
    table: Slab<Arc<Readiness>>,
    closed: bool,
}

impl Sources {
    pub(super) fn new() -> Self {
        Self { table: Slab::for_tokens(), closed: false }
    }

    fn insert(&mut self, readiness: Arc<Readiness>) -> io::Result<Key> {
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

    /// From now on nothing can be added. Returns what there was, to be shut down outside the lock.
    pub(super) fn close(&mut self) -> Slab<Arc<Readiness>> {
        self.closed = true;
        std::mem::replace(&mut self.table, Slab::for_tokens())
    }

    #[cfg(all(test, not(liten_shuttle)))]
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }
}

/// A registered source. The source itself is kept by the caller, which deregisters it before it is
/// closed; dropping the registration without that only takes it out of the table.
pub(crate) struct Registration {
    driver: Arc<Driver>,
    key: Key,
    readiness: Arc<Readiness>,
}

impl Driver {
    /// Registers a source.
    ///
    /// # Errors
    ///
    /// The driver has been shut down, or the system refuses the source (regular files, for one).
    pub(crate) fn register(
        self: &Arc<Self>,
        source: &mut (impl Source + ?Sized),
        interest: mio::Interest,
    ) -> io::Result<Registration> {
        let readiness = Arc::new(Readiness::new(interest));
        let key = self.sources.lock().insert(readiness.clone())?;
        // From here on the drop of the registration takes the entry out again. Entered in the table
        // before the system knows of it: the first event may come while `register` has not
        // returned. A close in between is no harm, the readiness has been told.
        let registration = Registration { driver: self.clone(), key, readiness };
        self.registry.register(source, Token(key.to_usize()), interest)?;
        Ok(registration)
    }
}

impl Registration {
    pub(crate) fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// For sources that come out of this one, such as accepted connections.
    pub(crate) fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }

    /// Takes the source out of the system's selector and out of the table. Events already fetched
    /// find nothing.
    ///
    /// # Errors
    ///
    /// The system does not know the source (any more). The table entry is gone in any case.
    pub(crate) fn deregister(&self, source: &mut (impl Source + ?Sized)) -> io::Result<()> {
        let deregistered = self.driver.registry.deregister(source);
        self.leave_table();
        deregistered
    }

    fn leave_table(&self) {
        // The guard ends with the statement: dropping the entry may drop wakers, and they may run a
        // task's own code.
        let removed = self.driver.sources.lock().table.remove(self.key);
        drop(removed);
    }
}

impl Drop for Registration {
    /// Without effect after `deregister`: the key is stale then.
    fn drop(&mut self) {
        self.leave_table();
    }
}
