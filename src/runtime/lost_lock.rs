//! Locks that live in statics, in a forked child.
//!
//! A thread of the parent may have held one when the process was forked. In the child no thread releases it,
//! so it is lost. What a process can do without does not wait for such a lock.
//!
//! In such a child each call takes the whole limit: this is not for what is done often. Rejected: to limit
//! the attempts. On a busy machine each yield may take as long as the threads run that wait for the core, and
//! on an idle one a hundred of them are over before a holder that has lost its core has it back.

use std::thread;
use std::time::{Duration, Instant};

/// A holder that has lost its core mostly has it back by then.
const LIMIT: Duration = Duration::from_millis(20);

/// Takes a lock by `try_lock`. `None` if no thread seems to release it.
pub(crate) fn lock_unless_lost<G>(try_lock: impl Fn() -> Option<G>) -> Option<G> {
    let mut locked = try_lock();
    if locked.is_none() {
        let begin = Instant::now();
        while locked.is_none() && begin.elapsed() < LIMIT {
            thread::yield_now();
            locked = try_lock();
        }
    }
    locked
}
