//! A selector without sources: a sleep in it ends when the bell rings, or when its time is over.

use crate::engine::sync_shim::{Arc, Condvar, Mutex, clock, pause};
use mio::event::Source;
use mio::{Events, Interest, Token};
use std::io;
use std::time::Duration;

pub(in crate::engine::driver) struct Poll(Registry);

pub(crate) struct Registry(Arc<Inner>);

pub(in crate::engine::driver) struct Bell(Arc<Inner>);

struct Inner {
    /// A ring is kept until the next poll, which uses it up.
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Poll {
    pub(in crate::engine::driver) fn new() -> io::Result<Self> {
        let inner = Inner { rung: Mutex::new(false), changed: Condvar::new() };
        Ok(Self(Registry(Arc::new(inner))))
    }

    pub(in crate::engine::driver) fn registry(&self) -> &Registry {
        &self.0
    }

    pub(in crate::engine::driver) fn poll(
        &mut self,
        _events: &mut Events,
        timeout: Option<Duration>,
    ) -> io::Result<()> {
        let inner = &self.0.0;
        let ends = match timeout {
            Some(Duration::ZERO) => true,
            // It may be over at any moment, whether or not a thread rings meanwhile.
            Some(timeout) if !clock::stands_still() => {
                pause(timeout);
                true
            }
            _ => false,
        };
        let mut rung = inner.rung.lock();
        while !ends && !*rung {
            inner.changed.wait(&mut rung);
        }
        *rung = false;
        Ok(())
    }
}

impl Registry {
    pub(in crate::engine::driver) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.clone()))
    }

    pub(in crate::engine::driver) fn register(
        &self,
        _: &mut (impl Source + ?Sized),
        _: Token,
        _: Interest,
    ) -> io::Result<()> {
        Err(io::Error::other("there are no sources under shuttle"))
    }

    pub(in crate::engine::driver) fn deregister(
        &self,
        _: &mut (impl Source + ?Sized),
    ) -> io::Result<()> {
        Err(io::Error::other("there are no sources under shuttle"))
    }
}

impl Bell {
    pub(in crate::engine::driver) fn new(registry: &Registry, _: Token) -> io::Result<Self> {
        Ok(Self(registry.0.clone()))
    }

    pub(in crate::engine::driver) fn wake(&self) -> io::Result<()> {
        *self.0.rung.lock() = true;
        self.0.changed.notify_all();
        Ok(())
    }
}
