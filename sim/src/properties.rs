//! What a program says about itself while it is run.

use std::any::type_name;

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

/// Returns whether the program should misbehave here, as a seed decides; `false` outside of a run.
///
/// Ask at a place where something rare may happen that the program must survive: a full buffer, a
/// short read, a timeout that comes early, a cache that has nothing. Each place is armed in one run
/// of four, and there it fires one time of four. The report of a failure names the places that it
/// needs, and none fires after [`Sim::settle`](crate::Sim::settle).
///
/// A place is known by its module and the literal that the macro is given or, without one, by the
/// function around it. Lines do not count, so a seed keeps its meaning when lines are added. Two
/// places of one name are one: both are armed, or none is.
///
/// Outside of a run it costs a look at two variables of the thread.
///
/// # Examples
///
/// ```
/// fn room(left: usize) -> usize {
///     // A buffer that is nearly full must only make the program slower.
///     if liten_sim::buggify!("nearly full") { left.min(1) } else { left }
/// }
///
/// fn is_cached() -> bool {
///     !liten_sim::buggify!()
/// }
///
/// assert_eq!(room(8), 8);
/// assert!(is_cached());
/// ```
#[macro_export]
macro_rules! buggify {
    () => {
        $crate::is_running() && {
            fn here() {}
            $crate::misbehaves($crate::function_of(&here))
        }
    };
    ($name:literal) => {
        $crate::is_running()
            && $crate::misbehaves(::std::concat!(::std::module_path!(), ": ", $name))
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

/// Does what [`buggify!`] is for. It is no step: the thread keeps its turn.
#[doc(hidden)]
pub fn misbehaves(place: &str) -> bool {
    let mut world = lock();
    let world = &mut *world;
    let actor = &world.actors[world.running.0];
    // What the threads of a crashed host do until they end is no part of the run any more.
    !actor.is_doomed && world.places.fires(&mut world.choices, &world.hosts[actor.host].name, place)
}

/// The path of the function in which `_here` is declared.
#[doc(hidden)]
pub fn function_of<T>(_here: &T) -> &'static str {
    let path = type_name::<T>();
    path.rsplit_once("::").map_or(path, |(function, _)| function)
}
