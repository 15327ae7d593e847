//! What runtimes say of their tasks.
//!
//! A runtime asks the C library for the value of [`KEY`], which no system has. Under simulation the
//! answer is the address of two functions. The runtime calls one of them before each poll of a task
//! or of a root, after each spawn, wake and end of a task, and first on each thread that polls, and the other one with
//! what shows its state. liten does, in `src/observe/simulation.rs`.

use std::ffi::{c_ulong, c_void};

use crate::real;
use crate::world::actor::current;
use crate::world::hosts::{Look, Offer};
use crate::world::tasks::{Touch, spawned};
use crate::world::{World, lock, turn};

/// "litensim" in ASCII. When [`Calls`] changes, so does the key: a runtime and a simulation that do
/// not fit each other must not meet.
const KEY: c_ulong = 0x6c69_7465_6e73_696d_u64 as c_ulong;

/// What the runtime may call. It has the same type, field by field.
#[repr(C)]
struct Calls {
    tell: unsafe extern "C" fn(u32, u64, *const u8, usize, usize),
    offer: unsafe extern "C" fn(Look, *const c_void),
}

static CALLS: Calls = Calls { tell, offer };

#[unsafe(no_mangle)]
unsafe extern "C" fn getauxval(kind: c_ulong) -> c_ulong {
    if kind == KEY && current().is_some() {
        return (&raw const CALLS).expose_provenance() as c_ulong;
    }
    // SAFETY: the call has no conditions.
    unsafe { real::getauxval(kind) }
}

/// A runtime of the calling thread's host may be looked at.
unsafe extern "C" fn offer(look: Look, subject: *const c_void) {
    if let Some(me) = current() {
        let mut world = lock();
        let host = world.actors[me.0].host;
        world.hosts[host].offers.push(Offer { look, subject });
    }
}

/// Something happens on this thread to the task of that number.
///
/// # Safety
///
/// `name` points to `length` bytes of UTF-8.
unsafe extern "C" fn tell(what: u32, task: u64, name: *const u8, length: usize, size: usize) {
    let Some(me) = current() else { return };
    match what {
        0 => {
            // SAFETY: the caller's promise.
            let name = unsafe { std::slice::from_raw_parts(name, length) };
            spawned(me, task, &String::from_utf8_lossy(name), size);
        }
        1 => {
            lock().touch_task(me, task, Touch::Woken);
        }
        2 => {
            turn::step_to_poll(me, task);
            note_poll(&mut lock());
        }
        3 => lock().forget_task(me, task),
        5 => note_poll(&mut turn::step_with(lock(), me)),
        _ => lock().actors[me.0].polls_tasks = true,
    }
}

fn note_poll(world: &mut World) {
    world.last_poll = Some((world.now, world.choices.decisions()));
}
