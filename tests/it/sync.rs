//! Locks and channels.

mod basics;
mod broadcast;
mod connection_pool;
mod locks;
mod models;
mod mpsc;
mod notify;
mod oneshot;
mod panicking_wakers;
mod watch;
