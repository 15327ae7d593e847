//! Files are the machine's own. What tells of this process and this machine is hidden, because it
//! differs from run to run.

use std::ffi::{CStr, c_char, c_int, c_long, c_uint};
use std::mem::zeroed;

use libc::{
    AT_FDCWD, AT_SYMLINK_NOFOLLOW, ENOENT, F_GETFL, F_SETFL, LOCK_NB, O_ACCMODE, O_CLOEXEC,
    O_NOFOLLOW, O_NONBLOCK, O_PATH, O_RDONLY, O_RDWR, O_WRONLY, S_IFIFO, S_IFMT, fstat, fstatat,
    size_t, ssize_t, stat,
};

use super::descriptor::wait_for;
use super::{answer, fail};
use crate::network::Errno;
use crate::objects::Kind;
use crate::objects::fifo::Opening;
use crate::real;
use crate::world::actor::{ActorId, Waits, current};
use crate::world::{lock, turn};

/// How long a thread waits before it tries to lock a file again, in nanoseconds.
const PAUSE: u64 = 1_000_000;

/// Folders whose files show what threads do, how busy the machine is, and what it is allowed. The
/// maps of memory stay: stack traces are made with them, and runs have the same.
fn is_hidden(path: &CStr) -> bool {
    let path = path.to_bytes();
    let of_process =
        path.starts_with(b"/proc/") && !path.ends_with(b"/maps") && !path.ends_with(b"/exe");
    let is_random = path == b"/dev/random" || path == b"/dev/urandom";
    of_process || is_random || path.starts_with(b"/sys/")
}

/// # Safety
///
/// As for the C library's `openat`. `open` is the call that was made.
unsafe fn open_in_run(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    open: impl FnOnce() -> c_int,
) -> c_int {
    if current().is_none() {
        return open();
    }
    // SAFETY: the caller gave a string.
    if is_hidden(unsafe { CStr::from_ptr(path) }) {
        return fail(ENOENT);
    }
    // SAFETY: the caller's contract is the C library's.
    if flags & O_PATH == 0 && unsafe { is_fifo(folder, path, flags) } {
        // SAFETY: as above.
        return unsafe { open_fifo(folder, path, flags) };
    }
    open()
}

/// # Safety
///
/// As for the C library's `openat`.
unsafe fn is_fifo(folder: c_int, path: *const c_char, flags: c_int) -> bool {
    let follows = if flags & O_NOFOLLOW == 0 { 0 } else { AT_SYMLINK_NOFOLLOW };
    // SAFETY: all zeros are a valid value.
    let mut found: stat = unsafe { zeroed() };
    // SAFETY: the caller gave a string, and the place is ours.
    let result = unsafe { fstatat(folder, path, &raw mut found, follows) };
    result == 0 && found.st_mode & S_IFMT == S_IFIFO
}

/// Opens a named pipe. The kernel's own is opened too, for the descriptor, and never waits: the
/// run says what waits, and for whom.
///
/// # Safety
///
/// As for the C library's `openat`, for an existing file.
unsafe fn open_fifo(folder: c_int, path: *const c_char, flags: c_int) -> c_int {
    let Some(me) = turn::step() else { return fail(ENOENT) };
    let access = flags & O_ACCMODE;
    // SAFETY: the caller gave a string. The descriptors are ours until one of them is returned.
    unsafe {
        // The kernel refuses a writer without a reader. Both rights are asked for, so a program may
        // be refused that may only write.
        let reader = match access {
            O_WRONLY => real::openat(folder, path, O_RDWR | O_NONBLOCK | O_CLOEXEC, 0),
            _ => 0,
        };
        if reader < 0 {
            return -1;
        }
        let fd = real::openat(folder, path, flags | O_NONBLOCK, 0);
        if access == O_WRONLY {
            real::close(reader);
        }
        if fd < 0 {
            return -1;
        }
        if flags & O_NONBLOCK == 0 {
            let now = real::fcntl(fd, F_GETFL, 0);
            real::fcntl(fd, F_SETFL, c_long::from(now & !O_NONBLOCK));
        }
        let opening = Opening {
            reads: access != O_WRONLY,
            writes: access != O_RDONLY,
            may_wait: flags & O_NONBLOCK == 0,
        };
        let opened = wait_for_partner(me, fd, opening);
        if opened.is_err() {
            real::close(fd);
        }
        answer(opened.map(|()| fd))
    }
}

/// Lets the run open the named pipe behind `fd`, and waits until the other side is open.
fn wait_for_partner(me: ActorId, fd: c_int, opening: Opening) -> Result<(), Errno> {
    // SAFETY: all zeros are a valid value, and the place is ours.
    let file = unsafe {
        let mut found: stat = zeroed();
        fstat(fd, &raw mut found);
        (found.st_dev, found.st_ino)
    };
    let mut world = lock();
    let id = world.open_fifo(fd, file, opening)?;
    while world.fifo_waits(id) {
        (world, _) = wait_for(world, me, &[id], None);
    }
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: the caller's contract is the C library's. Where no mode is meant, it is not looked
    // at.
    unsafe { open_in_run(AT_FDCWD, path, flags, || real::open64(path, flags, mode)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: as above.
    unsafe { open_in_run(AT_FDCWD, path, flags, || real::open64(path, flags, mode)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn openat(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: c_uint,
) -> c_int {
    // SAFETY: as above.
    unsafe { open_in_run(folder, path, flags, || real::openat(folder, path, flags, mode)) }
}

/// The number of a socket in the kernel differs from run to run, and leads to nothing: its own is
/// never connected. So the link of its descriptor says what it is in the run.
#[unsafe(no_mangle)]
unsafe extern "C" fn readlink(path: *const c_char, into: *mut c_char, room: size_t) -> ssize_t {
    turn::end_if_doomed();
    // SAFETY: the caller gave a string.
    let socket = current().and_then(|_| socket_behind(unsafe { CStr::from_ptr(path) }));
    let Some(link) = socket else {
        // SAFETY: the caller's contract is the C library's.
        return unsafe { real::readlink(path, into, room) };
    };
    let length = link.len().min(room);
    // SAFETY: the caller gave this much room.
    unsafe { into.copy_from_nonoverlapping(link.as_ptr().cast(), length) };
    length as ssize_t
}

/// What the link `path` says, if it is that of a descriptor of a socket of the run.
fn socket_behind(path: &CStr) -> Option<String> {
    let fd = path.to_str().ok()?.strip_prefix("/proc/self/fd/")?.parse().ok()?;
    let world = lock();
    let id = world.objects.of_descriptor(fd)?;
    let is_socket = matches!(world.objects.get(id)?.kind, Kind::Socket(_));
    is_socket.then(|| format!("socket:[{}]", world.describe(id)))
}

/// The run knows of the paths that sockets are bound to. Only some of them are files.
#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    turn::end_if_doomed();
    // SAFETY: the caller gave a string.
    if current().is_some() && lock().unlink_unix(unsafe { CStr::from_ptr(path) }.to_bytes()) {
        return 0;
    }
    // SAFETY: the caller's contract is the C library's.
    unsafe { real::unlink(path) }
}

/// The kernel would stop the only thread that runs. So a thread asks again until it gets the lock.
#[unsafe(no_mangle)]
unsafe extern "C" fn flock(fd: c_int, operation: c_int) -> c_int {
    let Some(me) = turn::step() else {
        // SAFETY: the call takes no pointers.
        return unsafe { real::flock(fd, operation) };
    };
    loop {
        // SAFETY: the call takes no pointers. The place of `errno` is this thread's.
        let (result, errno) =
            unsafe { (real::flock(fd, operation | LOCK_NB), *libc::__errno_location()) };
        if result == 0 {
            let mut world = lock();
            let host = world.running_host();
            world.locked_files.retain(|(_, locked)| *locked != fd);
            if operation & libc::LOCK_UN == 0 {
                world.locked_files.push((host, fd));
            }
        }
        if result == 0 || errno != libc::EWOULDBLOCK || operation & LOCK_NB != 0 {
            return if result == 0 { 0 } else { fail(errno) };
        }
        let world = lock();
        let until = world.now + PAUSE;
        turn::sleep(world, me, Waits::Sleep, Some(until));
    }
}
