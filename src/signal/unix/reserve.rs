//! A pair of sockets that the process keeps for the runtime that finds no descriptor for one.
//!
//! A program that runs out of descriptors still wants to end at ctrl-c, and to hear of the end of its
//! children. So each runtime that is made keeps a pair ready, unless there is one. A runtime that listens for
//! its first signal opens a pair of its own, and takes the one in reserve only if the system refuses that.
//!
//! Rejected: to open a runtime's pair when the runtime is made, as tokio does. Most runtimes never listen,
//! and a process may have many.
//!
//! A forked child shares the sockets of the pair with its parent, and would read the parent's bytes. So a
//! process takes no pair that another one has opened. It does not close that either: what the child has done
//! to its descriptors since the fork is not known, and the numbers may belong to others by now.
//!
//! The fork may come while another thread of the parent has the lock, which the child then never gets. The
//! thread that makes a runtime therefore leaves the reserve alone when the lock is taken: the other one fills
//! it.

use crate::runtime::lost_lock::lock_unless_lost;
use parking_lot::Mutex;
use std::io;
use std::mem;
use std::os::unix::net::UnixStream;
use std::process;

pub(super) type Pair = (UnixStream, UnixStream);

/// The pair and the process that has opened it.
static RESERVE: Mutex<Option<(u32, Pair)>> = Mutex::new(None);

/// Keeps a pair ready. Where the system refuses one, the next runtime tries again.
pub(crate) fn keep_pair() {
    let Some(mut reserve) = RESERVE.try_lock() else { return };
    let home = process::id();
    if reserve.as_ref().is_none_or(|(opened_by, _)| *opened_by != home) {
        mem::forget(reserve.take());
        *reserve = open().ok().map(|pair| (home, pair));
    }
}

/// Opens a pair, or takes the one in reserve.
///
/// # Errors
///
/// The system's, if there is none in reserve either.
pub(super) fn pair() -> io::Result<Pair> {
    open().or_else(|error| {
        let kept = lock_unless_lost(|| RESERVE.try_lock())
            .and_then(|mut reserve| reserve.take_if(|(opened_by, _)| *opened_by == process::id()));
        kept.map(|(_, pair)| pair).ok_or(error)
    })
}

/// Neither end waits.
fn open() -> io::Result<Pair> {
    let (receiver, sender) = UnixStream::pair()?;
    receiver.set_nonblocking(true)?;
    sender.set_nonblocking(true)?;
    Ok((receiver, sender))
}
