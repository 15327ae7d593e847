//! What the runner asks of Linux and std does not offer. All unsafe code of the runner is here.

use std::io;
use std::mem;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;

/// The cores that this process may use. Empty when the system does not tell.
pub(super) fn allowed_cores() -> Vec<usize> {
    // SAFETY: `cpu_set_t` is an array of integers, for which zeroes are a value.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: `set` is as large as the size given, and lives during the call.
    if unsafe { libc::sched_getaffinity(0, mem::size_of_val(&set), &mut set) } != 0 {
        return Vec::new();
    }
    let all = 8 * mem::size_of_val(&set);
    // SAFETY: `core` is below the number of bits of the set.
    (0..all).filter(|core| unsafe { libc::CPU_ISSET(*core, &set) }).collect()
}

/// Whether this process may switch off the random addresses of its children. Containers often
/// refuse it.
pub(super) fn addresses_can_be_fixed() -> bool {
    // The personality belongs to a thread. So the attempt is made in one that ends with it.
    thread::spawn(fix_addresses).join().unwrap_or(false)
}

fn fix_addresses() -> bool {
    // SAFETY: `personality` takes an integer and touches no memory of the process.
    let before = unsafe { libc::personality(0xffff_ffff) };
    let wanted = before | libc::ADDR_NO_RANDOMIZE;
    // SAFETY: as above.
    before >= 0 && unsafe { libc::personality(wanted as libc::c_ulong) } >= 0
}

/// Gives the child its own process group, one core, fixed addresses, and an end with its parent.
///
/// The kernel sends the signal for the parent's end when the *thread* ends that started the child.
/// So that thread must wait for the child.
pub(super) fn prepare(command: &mut Command, core: Option<usize>) {
    command.process_group(0);
    // SAFETY: zeroes are a value of `cpu_set_t`.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    if let Some(core) = core {
        // SAFETY: `allowed_cores` gave the number, so it is below the number of bits of the set.
        unsafe { libc::CPU_SET(core, &mut set) };
    }
    // SAFETY: `getpid` takes nothing and cannot fail.
    let parent = unsafe { libc::getpid() };
    let in_child = move || {
        // A refusal costs the run its fixed addresses only. `addresses_can_be_fixed` tells the user
        // about it.
        fix_addresses();
        // SAFETY: both calls read `set` or integers, and neither allocates or locks.
        unsafe {
            // A run on several cores is slower, not wrong. So a refusal is no error.
            if core.is_some() {
                libc::sched_setaffinity(0, mem::size_of_val(&set), &set);
            }
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        // The parent may have ended before the signal was asked for.
        // SAFETY: `getppid` takes nothing and cannot fail.
        if unsafe { libc::getppid() } != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(())
    };
    // SAFETY: the closure makes system calls only. It takes no lock and no memory, so it may run
    // after a fork.
    unsafe { command.pre_exec(in_child) };
}

/// Waits until the child has ended and leaves it unreaped. Until it is reaped, no other
/// process gets its id.
pub(super) fn wait_for_end(child: u32) -> Result<(), String> {
    loop {
        // SAFETY: `siginfo_t` is plain data, for which zeroes are a value.
        let mut info: libc::siginfo_t = unsafe { mem::zeroed() };
        // SAFETY: `info` lives during the call, and the kernel writes to nothing else.
        let rc =
            unsafe { libc::waitid(libc::P_PID, child, &mut info, libc::WEXITED | libc::WNOWAIT) };
        if rc == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(format!("wait for the child {child}: {error}"));
        }
    }
}

/// Kills the child and every process that it started. The caller has not reaped the child yet.
pub(super) fn kill_group(child: u32) {
    // An error means that the group is gone already. SAFETY: `kill` takes integers. The child is
    // unreaped, so the number is still that of its group.
    unsafe { libc::kill(-(child as libc::pid_t), libc::SIGKILL) };
}
