//! Threads: each one that a thread of the run creates is one of the run too.
//!
//! A program sees handles of ours and not the C library's. We join every thread ourselves, when it
//! has ended and before another one runs, and a handle of the C library may name another thread
//! afterwards.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use libc::{EINVAL, pthread_attr_t, pthread_key_t, pthread_t};

use crate::baton::Baton;
use crate::program::is_program;
use crate::real::{self, Start};
use crate::world::actor::{ActorId, State, Waits, current, set_current};
use crate::world::{Inside, lock, turn};

/// Our handles: the actor's place above this. No address of a thread in user space is so high.
const HANDLES: pthread_t = 0x7fff_0000_0000_0000;
/// How often the C library goes through the values that threads keep by keys:
/// `PTHREAD_DESTRUCTOR_ITERATIONS`.
const ROUNDS: usize = 4;

/// The key by which a thread learns that all its destructors have run.
static KEY: OnceLock<pthread_key_t> = OnceLock::new();

struct Birth {
    actor: ActorId,
    baton: Baton,
    start: Start,
    argument: *mut c_void,
}

/// Makes ready what threads of the run need. Called before the first of them exists.
pub(crate) fn prepare() {
    let _inside = Inside::new();
    let mut key = 0;
    // SAFETY: the place is ours, and the function takes what it will be given.
    let result = unsafe { libc::pthread_key_create(&raw mut key, Some(destroyed)) };
    assert_eq!(result, 0, "liten-sim: pthread_key_create failed");
    KEY.get_or_init(|| key);
}

/// The first function of each thread of the run.
extern "C" fn born(birth: *mut c_void) -> *mut c_void {
    let birth: *mut Birth = birth.cast();
    // SAFETY: `pthread_create` made it for this thread, which frees it below.
    let baton = unsafe { (*birth).baton };
    // Before its first turn a thread does nothing that another could notice, allocation included.
    baton.wait();
    let world = turn::begin_turn();
    // SAFETY: it came from a box, and no other thread has it.
    let Birth { actor, start, argument, .. } = *unsafe { Box::from_raw(birth) };
    drop(world);
    baton.begin();
    ask_for_round(1);
    set_current(Some(actor));
    let result = start(argument);
    lock().actors[actor.0].result = result;
    result
}

/// Called for each thread of the run when its own destructors run, once in each round.
unsafe extern "C" fn destroyed(round: *mut c_void) {
    let round = round.addr();
    if round < ROUNDS {
        ask_for_round(round + 1);
        return;
    }
    let Some(me) = current() else { return };
    // What is left of this thread is the C library's: it is no thread of the run any more.
    set_current(None);
    turn::end(lock(), me);
}

/// Has [`destroyed`] called for this thread in the next round of its destructors.
fn ask_for_round(round: usize) {
    if let Some(key) = KEY.get() {
        // SAFETY: the key exists. The value is a number and never followed.
        unsafe { libc::pthread_setspecific(*key, ptr::without_provenance(round)) };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let Some(me) = turn::step() else {
        // SAFETY: the caller's contract is the C library's.
        return unsafe { real::pthread_create(thread, attributes, start, argument) };
    };
    let mut world = lock();
    let host = world.host_of_next_thread();
    let actor = world.add_actor(host);
    world.actors[actor.0].baton.inherit(world.actors[me.0].baton);
    let birth = Box::into_raw(Box::new(Birth {
        actor,
        baton: world.actors[actor.0].baton,
        start,
        argument,
    }));
    let mut native = 0;
    // We join every thread, so each is made joinable, by a copy of what the caller asked for.
    // SAFETY: the attributes are null or valid, and the copy is used while the caller's are there.
    let mut own = unsafe { attributes.as_ref() }.copied();
    if let Some(own) = &mut own {
        // SAFETY: they are valid.
        unsafe { libc::pthread_attr_setdetachstate(own, libc::PTHREAD_CREATE_JOINABLE) };
    }
    let attributes = own.as_ref().map_or(ptr::null(), ptr::from_ref);
    drop(world);
    let result = {
        let _inside = Inside::new();
        // SAFETY: the attributes are the caller's, `born` takes a birth, and the place is ours.
        unsafe { real::pthread_create(&raw mut native, attributes, born, birth.cast()) }
    };
    let mut world = lock();
    if result != 0 {
        world.ready.retain(|id| *id != actor);
        world.actors[actor.0].state = State::Ended;
        // SAFETY: there is no thread that could have it.
        drop(unsafe { Box::from_raw(birth) });
        return result;
    }
    world.actors[actor.0].native = Some(native);
    // SAFETY: the caller gave a place for it.
    unsafe { thread.write(HANDLES + actor.0 as pthread_t) };
    0
}

fn actor_of(thread: pthread_t) -> Option<ActorId> {
    thread.checked_sub(HANDLES).map(|place| ActorId(place as usize))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int {
    let (Some(me), Some(other)) = (turn::step(), actor_of(thread)) else {
        // SAFETY: the caller's contract is the C library's.
        return unsafe { real::pthread_join(thread, result) };
    };
    let mut world = lock();
    if world.actors.len() <= other.0 {
        return EINVAL;
    }
    while world.actors[other.0].state != State::Ended {
        world.actors[other.0].joiner = Some(me);
        (world, _) = turn::sleep(world, me, Waits::Join(other), None);
    }
    if !result.is_null() {
        // SAFETY: the caller gave a place for it.
        unsafe { result.write(world.actors[other.0].result) };
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_detach(thread: pthread_t) -> c_int {
    match actor_of(thread) {
        // We join it in any case.
        Some(_) => 0,
        // SAFETY: the caller's contract is the C library's.
        None => unsafe { real::pthread_detach(thread) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int {
    // SAFETY: the call has no arguments.
    let own = unsafe { libc::pthread_self() } == thread;
    if let (Some(me), true) = (current(), own) {
        // SAFETY: the caller gave a string.
        let text = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
        lock().name_actor(me, &text);
        super::kernel::go_home();
    }
    // SAFETY: the caller's contract is the C library's.
    unsafe { real::pthread_setname_np(thread, name) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_yield() -> c_int {
    let Some(me) = turn::step() else {
        // SAFETY: the call has no arguments.
        return unsafe { real::sched_yield() };
    };
    turn::yield_turn(lock(), me);
    0
}

/// The end of a process. In a run it is the end of one host.
#[unsafe(no_mangle)]
unsafe extern "C" fn exit(status: c_int) -> ! {
    // A whole program ends in order, with its own handlers. The last of them ends the run.
    if current().is_some() && !is_program() {
        turn::exit_host(status);
    }
    // SAFETY: the caller's contract is the C library's.
    unsafe { real::exit(status) }
}

/// As `exit`, without what the C library does at the end. The same in a run.
#[unsafe(no_mangle)]
unsafe extern "C" fn _exit(status: c_int) -> ! {
    if current().is_some() {
        turn::exit_host(status);
    }
    // SAFETY: the system call ends the process.
    unsafe { real::syscall(libc::SYS_exit_group, status.into(), 0, 0, 0, 0, 0) };
    unreachable!("a process goes on after its end")
}
