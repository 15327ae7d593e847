//! What runtimes say of their tasks.
//!
//! A runtime asks the C library for the value of [`KEY`], which no system has. Under simulation the
//! answer is the address of a function, and the runtime calls it before each poll, after each
//! spawn, wake and end of a task, and first on each thread that polls. liten does, in
//! `src/observe/simulation.rs`.

use std::ffi::c_ulong;

use crate::real;
use crate::world::actor::current;
use crate::world::tasks::{Touch, spawned};
use crate::world::{lock, turn};

/// "litensim" in ASCII.
const KEY: c_ulong = 0x6c69_7465_6e73_696d_u64 as c_ulong;

#[unsafe(no_mangle)]
unsafe extern "C" fn getauxval(kind: c_ulong) -> c_ulong {
    if kind == KEY && current().is_some() {
        let tell: unsafe extern "C" fn(u32, u64, *const u8, usize, usize) = tell;
        return tell as usize as c_ulong;
    }
    // SAFETY: the call has no conditions.
    unsafe { real::getauxval(kind) }
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
        1 => lock().touch_task(me, task, Touch::Woken),
        2 => turn::step_to_poll(me, task),
        3 => lock().forget_task(me, task),
        _ => lock().actors[me.0].polls_tasks = true,
    }
}
