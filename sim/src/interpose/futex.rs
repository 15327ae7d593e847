//! `syscall`: the futexes on which the locks of Rust's library and of parking_lot wait, and what
//! else programs ask for by number.

use std::collections::VecDeque;
use std::ffi::{c_int, c_long, c_uint};

use libc::{
    CLOCK_MONOTONIC, CLOCK_REALTIME, EAGAIN, ENOSYS, ETIMEDOUT, FUTEX_CLOCK_REALTIME,
    FUTEX_CMP_REQUEUE, FUTEX_PRIVATE_FLAG, FUTEX_REQUEUE, FUTEX_WAIT, FUTEX_WAIT_BITSET,
    FUTEX_WAKE, FUTEX_WAKE_BITSET, epoll_event, timespec,
};

use super::clock::{span, when_shown};
use super::fail;
use crate::choices::{Chance, Kind};
use crate::network::{Errno, Nanos};
use crate::real;
use crate::world::actor::{ActorId, Waits, Wake, current};
use crate::world::{Guard, World, lock, turn};

/// # Safety
///
/// As for the C library's `syscall`: the arguments are what the call of this number takes.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    // SAFETY: the caller's contract is the system's. Each branch reads the arguments as the system
    // would.
    unsafe {
        match number {
            _ if current().is_none() => real::syscall(number, a, b, c, d, e, f),
            libc::SYS_futex => c_long::from(futex(
                a as *const u32,
                b as c_int,
                c as u32,
                d,
                e as *const u32,
                f as u32,
            )),
            libc::SYS_getrandom => {
                super::names::getrandom(a as *mut _, b as usize, c as c_uint) as c_long
            }
            libc::SYS_epoll_pwait2 => {
                let (events, timeout) = (b as *mut epoll_event, d as *const timespec);
                c_long::from(super::epoll::pwait2(a as c_int, events, c as c_int, timeout))
            }
            libc::SYS_getpid => super::process::process().unwrap_or(0).into(),
            libc::SYS_gettid => super::process::thread().unwrap_or(0).into(),
            libc::SYS_getcpu => super::process::getcpu(a as *mut _, b as *mut _).into(),
            libc::SYS_fcntl => super::descriptor::fcntl(a as c_int, b as c_int, c).into(),
            libc::SYS_ioctl => {
                let (request, argument) = (b as std::ffi::c_ulong, c as *mut std::ffi::c_void);
                super::descriptor::ioctl(a as c_int, request, argument).into()
            }
            libc::SYS_clock_gettime => {
                libc::clock_gettime(a as libc::clockid_t, b as *mut timespec).into()
            }
            _ => super::number::answered(number, [a, b, c, d, e, f]).unwrap_or_else(|| {
                super::kernel::prepare(number);
                real::syscall(number, a, b, c, d, e, f)
            }),
        }
    }
}

/// # Safety
///
/// As for the system's `futex`.
unsafe fn futex(
    word: *const u32,
    operation: c_int,
    value: u32,
    extra: c_long,
    to: *const u32,
    _bits: u32,
) -> c_int {
    let command = operation & !(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
    // A lock that all hosts share is open before its next holder is woken. A crash between the two
    // would lose that wake, so it waits until the wake is done.
    let step = match command {
        FUTEX_WAIT | FUTEX_WAIT_BITSET => turn::step(),
        _ => turn::step_anywhere(),
    };
    let Some(me) = step else { return fail(ENOSYS) };
    let result = match command {
        FUTEX_WAIT | FUTEX_WAIT_BITSET => {
            // SAFETY: the timeout is null or valid, and the word is one.
            unsafe { wait(me, word, value, command, operation, extra as *const timespec) }
        }
        FUTEX_WAKE | FUTEX_WAKE_BITSET => Ok(lock().wake_futex(word as usize, value as usize)),
        FUTEX_REQUEUE | FUTEX_CMP_REQUEUE => {
            let mut world = lock();
            let woken = world.wake_futex(word as usize, value as usize);
            let moved = world.requeue(word as usize, to as usize, extra as usize);
            Ok(woken + moved)
        }
        _ => Err(ENOSYS),
    };
    super::answer(result)
}

/// # Safety
///
/// `word` is readable, and `timeout` is null or valid.
unsafe fn wait(
    me: ActorId,
    word: *const u32,
    value: u32,
    command: c_int,
    operation: c_int,
    timeout: *const timespec,
) -> Result<c_int, Errno> {
    let mut world = lock();
    // SAFETY: as above. No other thread runs, so the comparison and the wait are one step.
    if unsafe { word.read_volatile() } != value {
        return Err(EAGAIN);
    }
    // SAFETY: as above.
    let time = unsafe { span(timeout)? };
    let deadline = time.map(|time| deadline(&world, command, operation, time));
    let address = word as usize;
    world.futexes.entry(address).or_default().push_back(me);
    match turn::sleep(world, me, Waits::Futex(address), deadline).1 {
        Wake::Ready => Ok(0),
        Wake::TimedOut => Err(ETIMEDOUT),
    }
}

/// A plain wait gives a span, the other kind a point in time.
fn deadline(world: &Guard, command: c_int, operation: c_int, time: Nanos) -> Nanos {
    if command == FUTEX_WAIT {
        return world.when(world.local_after(time));
    }
    let clock =
        if operation & FUTEX_CLOCK_REALTIME == 0 { CLOCK_MONOTONIC } else { CLOCK_REALTIME };
    world.when(when_shown(&world.hosts[world.running_host()], clock, time))
}

impl World {
    /// Wakes up to `most` of those that wait at `address`. Returns how many.
    fn wake_futex(&mut self, address: usize, most: usize) -> c_int {
        let mut woken = 0;
        while (woken as usize) < most {
            let Some(id) = self.next_of_futex(address) else { break };
            self.make_ready(id, Wake::Ready);
            woken += 1;
        }
        woken
    }

    /// Takes one that waits at `address`: the first, unless another one overtakes it. The system
    /// promises no order.
    fn next_of_futex(&mut self, address: usize) -> Option<ActorId> {
        let waiting = self.futexes.get(&address)?;
        let (count, first) = (waiting.len(), *waiting.front()?);
        let chance = if count > 1 { self.plan.overtake } else { Chance::NEVER };
        let mut place = 0;
        if chance != Chance::NEVER {
            let entity = self.actors[first.0].subject;
            let overtakes = self.choices.disturbs(Kind::Overtake, entity, chance);
            place = overtakes.map_or(0, |mut draw| draw.below(count as u64) as usize);
        }
        let id = self.futexes.get_mut(&address)?.remove(place);
        if count == 1 {
            self.futexes.remove(&address);
        }
        id
    }

    fn requeue(&mut self, from: usize, to: usize, most: usize) -> c_int {
        let Some(mut waiting) = self.futexes.remove(&from) else { return 0 };
        let rest = waiting.split_off(most.min(waiting.len()));
        for id in &waiting {
            if let crate::world::actor::State::Blocked(waits) = &mut self.actors[id.0].state {
                *waits = Waits::Futex(to);
            }
        }
        let moved = waiting.len() as c_int;
        self.futexes.entry(to).or_default().extend(waiting);
        if !rest.is_empty() {
            self.futexes.insert(from, rest);
        }
        moved
    }

    /// Takes an actor whose wait is over by its time off the queue that it is in.
    pub(crate) fn leave_futex(&mut self, address: usize, me: ActorId) {
        let is_there = |waiting: &VecDeque<ActorId>| waiting.contains(&me);
        // It may have been moved to another futex meanwhile.
        let place = if self.futexes.get(&address).is_some_and(is_there) {
            Some(address)
        } else {
            self.futexes.iter().find(|(_, waiting)| is_there(waiting)).map(|(place, _)| *place)
        };
        let Some(place) = place else { return };
        let Some(waiting) = self.futexes.get_mut(&place) else { return };
        waiting.retain(|id| *id != me);
        if waiting.is_empty() {
            self.futexes.remove(&place);
        }
    }
}
