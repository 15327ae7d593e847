//! What a program says about itself while it is run.

use crate::world::actor::current;
use crate::world::lock;
use crate::world::turn::end_if_doomed;

/// Fails the run when the condition does not hold, also in a task whose panic its runtime would
/// catch. Outside of a run the condition is not evaluated.
///
/// ```
/// let (sent, received) = (2, 2);
/// liten_sim::always!(received <= sent, "{received} received, {sent} sent");
/// ```
#[macro_export]
macro_rules! always {
    ($holds:expr, $($message:tt)+) => {
        if $crate::is_running() && !$holds {
            let message = ::std::format!($($message)+);
            $crate::fail(::std::format!("{}:{}: {message}", ::std::file!(), ::std::line!()));
        }
    };
}

/// Notes whether a condition was met in this run. The summary of all seeds says in how many it was,
/// so that a test that never reaches what it is about is seen.
///
/// ```
/// let retries = 1;
/// liten_sim::sometimes!(retries > 0, "a request is tried again");
/// ```
#[macro_export]
macro_rules! sometimes {
    ($met:expr, $name:expr) => {
        if $crate::is_running() {
            $crate::note_sometimes($met, $name);
        }
    };
}

/// Returns whether the calling thread is one of a run.
pub fn is_running() -> bool {
    current().is_some()
}

/// Does what [`always!`] is for.
#[doc(hidden)]
pub fn fail(message: String) -> ! {
    end_if_doomed();
    lock().end_failed(message)
}

/// Does what [`sometimes!`] is for.
#[doc(hidden)]
pub fn note_sometimes(met: bool, name: &str) {
    let mut world = lock();
    match world.sometimes.get_mut(name) {
        Some(known) => *known |= met,
        None => {
            world.sometimes.insert(name.to_owned(), met);
        }
    }
}
