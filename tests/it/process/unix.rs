//! Child processes: their ends, their pipes, what is left of them.
//!
//! The bodies run twice: as tests of their own, and all in one process in which the system gives no pidfd.

#![allow(unsafe_code)]

use crate::support::guard::{guarded, until, workers};
use crate::support::loopback::{bounded, pattern, poll_once};
use liten::future::join_all;
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::join;
use liten::process::{Child, Command};
use liten::runtime::{Builder, LocalRuntime, Runtime, is_rt_shutdown_err};
use liten::time::timeout;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::Stdio;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// A program that copies its stdin to its stdout, both of them pipes.
fn cat() -> Child {
    Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// A program that does not end by itself.
fn sleeper() -> Command {
    let mut command = Command::new("sleep");
    command.arg("100");
    command
}

/// What the system says that the process does; `None` if it has no such process. A zombie is "Z".
#[cfg(target_os = "linux")]
fn state(process: u32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // After the name, which is in parentheses and may contain some.
    let rest = &text[text.rfind(')')? + 2..];
    Some(rest[..1].to_owned())
}

#[cfg(not(target_os = "linux"))]
fn state(process: u32) -> Option<String> {
    let process = process.to_string();
    let ps = std::process::Command::new("ps").args(["-o", "state=", "-p", &process]).output();
    let text = String::from_utf8(ps.unwrap().stdout).unwrap();
    text.chars().next().map(String::from)
}

fn echoes_both_ways_at_once() {
    workers(2).block_on(async {
        let mut child = cat();
        let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let data = pattern(1 << 20);
        let mut received = Vec::new();
        let write = async {
            stdin.write_all(&data).await.unwrap();
            stdin.close().await.unwrap();
            assert_eq!(stdin.write(b"x").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        };
        let both = async { join!(write, stdout.read_to_end(&mut received)) };
        bounded(both).await.1.unwrap();
        assert!(received == data, "the bytes differ");
        assert!(bounded(child.wait()).await.unwrap().success());
    });
}

fn tells_how_it_ended() {
    workers(2).block_on(async {
        let mut child = shell("exit 7").spawn().unwrap();
        assert!(child.id().is_some());
        for _ in 0..3 {
            assert_eq!(bounded(child.wait()).await.unwrap().code(), Some(7));
        }
        assert_eq!(child.id(), None);
        assert_eq!(child.try_wait().unwrap().unwrap().code(), Some(7));
        child.start_kill().unwrap();
        bounded(child.kill()).await.unwrap();

        let status = bounded(shell("kill -TERM $$").status()).await.unwrap();
        assert_eq!((status.code(), status.signal()), (None, Some(libc::SIGTERM)));

        let mut child = sleeper().spawn().unwrap();
        assert!(child.try_wait().unwrap().is_none());
        bounded(child.kill()).await.unwrap();
        assert_eq!(bounded(child.wait()).await.unwrap().signal(), Some(libc::SIGKILL));

        // One that has ended before a task waits.
        let mut child = shell("exit 0").spawn().unwrap();
        let id = child.id().unwrap();
        until(|| state(id).as_deref() == Some("Z"));
        child.start_kill().unwrap();
        assert!(bounded(child.wait()).await.unwrap().success());
        let mut child = shell("exit 5").spawn().unwrap();
        until(|| child.try_wait().unwrap().is_some());
        assert_eq!(bounded(child.wait()).await.unwrap().code(), Some(5));
    });
}

fn collects_what_it_writes() {
    workers(2).block_on(async {
        let script = "seq 1 50000; echo wrong >&2; exit 3";
        let output = bounded(shell(script).stdin(Stdio::null()).output()).await.unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert_eq!(output.stderr, b"wrong\n");
        let numbers = String::from_utf8(output.stdout).unwrap();
        assert!(numbers.lines().map(|line| line.parse::<u32>().unwrap()).eq(1..=50_000));

        // Nothing is written to a child that reads to the end: its stdin is closed.
        let output = bounded(cat().wait_with_output()).await.unwrap();
        assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty());
        assert!(bounded(cat().wait()).await.unwrap().success());
    });
}

fn says_what_the_system_says_of_a_program_that_is_missing() {
    workers(1).block_on(async {
        let mut command = Command::new("/nowhere/no-such-program");
        for error in [
            command.spawn().unwrap_err(),
            command.status().await.unwrap_err(),
            command.output().await.unwrap_err(),
        ] {
            let std = std::process::Command::new("/nowhere/no-such-program").spawn().unwrap_err();
            assert_eq!(error.raw_os_error(), std.raw_os_error());
            assert_eq!(error.kind(), ErrorKind::NotFound);
        }
        let error = Command::new("true").current_dir("/nowhere").spawn().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    });
}

fn never_reads_its_stdin() {
    workers(2).block_on(async {
        let mut child = sleeper().stdin(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let id = child.id().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let data = pattern(1 << 20);
        let written = timeout(Duration::from_millis(20), stdin.write_all(&data)).await;
        assert!(written.is_err(), "there is no room for so much");
        assert!(poll_once(&mut pin!(stdin.write(&data))).await.is_none());
        let waited = timeout(Duration::from_millis(20), child.wait()).await;
        assert!(waited.is_err());
        // The task that writes is told when the child is gone.
        let writer = liten::spawn(async move { stdin.write_all(&data).await });
        drop(child);
        assert_eq!(bounded(writer).await.unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
        until(|| state(id).is_none());
    });
}

fn closes_its_stdout_early() {
    workers(2).block_on(async {
        let script = "printf bye; exec >&-; read line; exit 4";
        let mut child = shell(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut text = String::new();
        bounded(child.stdout.as_mut().unwrap().read_to_string(&mut text)).await.unwrap();
        assert_eq!(text, "bye");
        assert!(child.try_wait().unwrap().is_none(), "it waits for a line");
        child.stdin.as_mut().unwrap().write_all(b"line\n").await.unwrap();
        assert_eq!(bounded(child.wait()).await.unwrap().code(), Some(4));
    });
}

fn may_be_one_of_very_many() {
    workers(2).block_on(async {
        let children = (0..200).map(|number| async move {
            let mut child = shell(&format!("exit {}", number % 100)).spawn().unwrap();
            assert_eq!(child.wait().await.unwrap().code(), Some(number % 100));
        });
        bounded(join_all(children)).await;
        let mut tasks = Vec::new();
        for _ in 0..50 {
            tasks.push(liten::spawn(async { shell("echo x").output().await.unwrap().stdout }));
        }
        for task in tasks {
            assert_eq!(bounded(task).await.unwrap(), b"x\n");
        }
    });
}

fn leaves_nothing_when_it_is_dropped() {
    let runtime = workers(2);
    let ids: Vec<u32> = runtime.block_on(async {
        let mut ids = Vec::new();
        for number in 0..30 {
            // Some end before the drop, some after it, some have been waited for in vain.
            let script = if number % 3 == 0 { "exit 0" } else { "read line" };
            let mut child = shell(script).stdin(Stdio::piped()).spawn().unwrap();
            // Where the child reads, the end of this ends it.
            let stdin = child.stdin.take();
            let id = child.id().unwrap();
            ids.push(id);
            if number % 3 == 1 {
                assert!(poll_once(&mut pin!(child.wait())).await.is_none());
            } else if number % 2 == 0 {
                until(|| number % 3 != 0 || state(id).as_deref() == Some("Z"));
            }
            drop(child);
            drop(stdin);
        }
        let killed = sleeper().kill_on_drop(true).spawn().unwrap();
        ids.push(killed.id().unwrap());
        drop(killed);
        let mut waited = sleeper();
        let mut child = waited.kill_on_drop(true).spawn().unwrap();
        assert!(waited.get_kill_on_drop());
        ids.push(child.id().unwrap());
        assert!(poll_once(&mut pin!(child.wait())).await.is_none());
        liten::spawn(async move { drop(child) }).await.unwrap();
        ids
    });
    // Without another child, and while the runtime does nothing.
    until(|| ids.iter().all(|id| state(*id).is_none()));
    runtime.block_until_completion();
}

fn goes_on_when_it_is_dropped() {
    workers(1).block_on(async {
        let mut child = shell("read line; echo $line")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        drop(child);
        stdin.write_all(b"alive\n").await.unwrap();
        let mut text = String::new();
        bounded(stdout.read_to_string(&mut text)).await.unwrap();
        assert_eq!(text, "alive\n");
    });
}

fn is_waited_for_again_after_giving_up() {
    workers(2).block_on(async {
        let mut child = shell("read line; exit 9").stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        for _ in 0..5 {
            assert!(poll_once(&mut pin!(child.wait())).await.is_none());
            assert!(timeout(Duration::from_millis(2), child.wait()).await.is_err());
        }
        stdin.write_all(b"go\n").await.unwrap();
        assert_eq!(bounded(child.wait()).await.unwrap().code(), Some(9));
    });
}

fn writes_into_the_next_one() {
    workers(2).block_on(async {
        let mut first = shell("seq 1 100000").stdout(Stdio::piped()).spawn().unwrap();
        let between = Stdio::try_from(first.stdout.take().unwrap()).unwrap();
        let second =
            Command::new("wc").arg("-l").stdin(between).stdout(Stdio::piped()).spawn().unwrap();
        let (status, output) =
            bounded(async { join!(first.wait(), second.wait_with_output()) }).await;
        assert!(status.unwrap().success());
        assert_eq!(String::from_utf8(output.unwrap().stdout).unwrap().trim(), "100000");

        // The other way round: what is to be written to goes to the one that writes.
        let mut second = cat();
        let into = Stdio::try_from(second.stdin.take().unwrap()).unwrap();
        assert!(bounded(shell("echo there").stdout(into).status()).await.unwrap().success());
        assert_eq!(bounded(second.wait_with_output()).await.unwrap().stdout, b"there\n");
    });
}

fn outlives_its_runtime() {
    let start = |runtime: &Runtime, script: &str| {
        runtime.block_on(async { shell(script).stdin(Stdio::piped()).spawn().unwrap() })
    };
    let (first, second) = (workers(1), workers(1));
    let mut child = start(&first, "read line; exit 6");
    let stdin = child.stdin.take();
    let mut dropped = start(&first, "read line");
    let (id, stdin_of_dropped) = (dropped.id().unwrap(), dropped.stdin.take());
    drop(dropped);
    assert!(state(id).is_some());
    let mut other = start(&first, "read line; exit 7");
    let stdin_of_other = other.stdin.take();
    // One waits already when the runtime ends, and one begins afterwards.
    let waiting = second.spawn(async move { child.wait().await });
    drop(first);
    let outside = pin!(other.wait()).poll(&mut Context::from_waker(Waker::noop()));
    // Without a pidfd any runtime tells of the signal, and the second one is there.
    if let Poll::Ready(waited) = outside {
        let error = waited.unwrap_err();
        assert!(is_rt_shutdown_err(&error), "{error}");
    }
    drop((stdin, stdin_of_other));
    assert_eq!(second.block_on(bounded(waiting)).unwrap().unwrap().code(), Some(6));
    assert_eq!(second.block_on(bounded(other.wait())).unwrap().code(), Some(7));

    // No task is told of its end any more, and it leaves nothing all the same.
    drop(stdin_of_dropped);
    until(|| state(id).is_none());
}

/// It has ended before it is dropped, and its runtime has no thread that would fetch the event.
fn is_reaped_by_its_drop() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let (child, stdin) = runtime.block_on(async {
        let mut child = shell("read line").stdin(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        // Its waker is with the driver then.
        assert!(poll_once(&mut pin!(child.wait())).await.is_none());
        (child, stdin)
    });
    let id = child.id().unwrap();
    drop(stdin);
    until(|| state(id).as_deref() == Some("Z"));
    drop(child);
    assert_eq!(state(id), None);
}

/// Nothing happens afterwards that has to do with children.
fn leaves_nothing_when_the_end_of_its_runtime_kills_it() {
    let current_thread = || Builder::new_current_thread().build().unwrap();
    for runtime in [current_thread(), workers(1), current_thread(), workers(2)] {
        let ids: Vec<u32> = (0..3)
            .map(|_| {
                let _entered = runtime.enter();
                let mut child = sleeper().kill_on_drop(true).spawn().unwrap();
                let id = child.id().unwrap();
                drop(runtime.spawn(async move { child.wait().await }));
                id
            })
            .collect();
        runtime.block_on(liten::task::yield_now());
        drop(runtime);
        until(|| ids.iter().all(|id| state(*id).is_none()));
    }
}

/// It is kept by the program, and dropped when its runtime has long ended.
fn leaves_nothing_when_it_is_killed_after_its_runtime() {
    let runtime = workers(1);
    let child = runtime.block_on(async { sleeper().kill_on_drop(true).spawn().unwrap() });
    let id = child.id().unwrap();
    drop(runtime);
    drop(child);
    until(|| state(id).is_none());
}

/// It ends with the last of them, and one that is left later starts another.
#[cfg(target_os = "linux")]
#[test]
fn the_thread_that_waits_for_children_without_a_runtime_comes_and_goes() {
    let body = || {
        for _ in 0..3 {
            let runtime = workers(1);
            let start = || runtime.block_on(async { cat() });
            let (mut first, mut second) = (start(), start());
            let (ids, stdin) = ([first.id(), second.id()], first.stdin.take());
            let stdin_of_second = second.stdin.take();
            drop((first, second, runtime));
            crate::support::process::until_threads_are("liten-reaper", 1);
            // Each end is told, also while the other child lives on.
            drop(stdin);
            until(|| state(ids[0].unwrap()).is_none());
            assert!(state(ids[1].unwrap()).is_some());
            drop(stdin_of_second);
            until(|| state(ids[1].unwrap()).is_none());
            crate::support::process::until_threads_are("liten-reaper", 0);
        }
    };
    let name = "process::unix::the_thread_that_waits_for_children_without_a_runtime_comes_and_goes";
    guarded(|| crate::support::process::alone(name, body));
}

fn is_waited_for_in_other_runtimes() {
    let (first, second) = (workers(1), workers(2));
    let local = LocalRuntime::new().unwrap();
    let script = "read line; exit 2";
    let spawn = || shell(script).stdin(Stdio::piped()).spawn().unwrap();
    let children: Vec<_> = (0..8).map(|_| first.block_on(async { spawn() })).collect();
    let mut inputs = Vec::new();
    let mut tasks = Vec::new();
    for mut child in children {
        inputs.push(child.stdin.take());
        tasks.push(second.spawn(async move { child.wait().await.unwrap().code() }));
    }
    local.block_on(async {
        let mut child = spawn();
        drop(child.stdin.take());
        assert_eq!(bounded(child.wait()).await.unwrap().code(), Some(2));
    });
    drop(inputs);
    for task in tasks {
        assert_eq!(second.block_on(bounded(task)).unwrap(), Some(2));
    }
}

fn has_been_waited_for_by_other_code() {
    workers(1).block_on(async {
        let mut child = cat();
        let id = child.id().unwrap();
        drop(child.stdin.take());
        let id = libc::pid_t::try_from(id).unwrap();
        // SAFETY: it asks for no status, so nothing is written.
        assert_eq!(unsafe { libc::waitpid(id, std::ptr::null_mut(), 0) }, id);
        child.start_kill().expect("it is no error if it has ended already");
        let error = bounded(child.wait()).await.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ECHILD));
        assert!(child.try_wait().is_err());
    });
}

fn is_set_up_as_asked() {
    workers(1).block_on(async {
        let mut command = shell("echo $0 $ONE $TWO $THREE; pwd; echo $(ps -o pgid= -p $$) $$");
        // SAFETY: it does nothing.
        unsafe { command.pre_exec(|| Ok(())) };
        let path = std::env::var_os("PATH").unwrap();
        command.env("THREE", "x").env_clear().env("PATH", path).env("ONE", "1");
        command.envs([("TWO", "2"), ("THREE", "3")]).env_remove("THREE");
        command.arg0("called").current_dir("/").process_group(0);
        // SAFETY: these calls change nothing.
        let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
        command.uid(user).gid(group);
        let output = bounded(command.output()).await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[..2], ["called 1 2", "/"]);
        let (group, id) = lines[2].split_once(' ').unwrap();
        assert_eq!(group, id, "it leads a group of its own");
        assert_eq!(command.as_std().get_program(), "sh");
        assert_eq!(command.into_std().get_args().count(), 2);

        let mut command = shell("exit 0");
        // SAFETY: it does nothing but fail.
        unsafe { command.pre_exec(|| Err(ErrorKind::Unsupported.into())) };
        assert!(command.spawn().is_err());
    });
}

/// The traits of tokio, on the same pipes.
fn speaks_to_tokio() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    workers(1).block_on(async {
        let mut child = cat();
        let mut stdin = child.stdin.take().unwrap();
        AsyncWriteExt::write_all(&mut stdin, b"meow").await.unwrap();
        stdin.shutdown().await.unwrap();
        let mut text = String::new();
        let stdout = child.stdout.as_mut().unwrap();
        bounded(AsyncReadExt::read_to_string(stdout, &mut text)).await.unwrap();
        assert_eq!(text, "meow");
        assert!(bounded(child.wait()).await.unwrap().success());
    });
}

macro_rules! bodies {
    ($($body:ident)*) => {
        $(
            mod $body {
                #[test]
                fn with_what_the_system_has() {
                    super::guarded(super::$body);
                }
            }
        )*

        #[cfg(target_os = "linux")]
        const BODIES: &[(&str, fn())] = &[$((stringify!($body), $body),)*];
    };
}

bodies! {
    echoes_both_ways_at_once
    tells_how_it_ended
    collects_what_it_writes
    says_what_the_system_says_of_a_program_that_is_missing
    never_reads_its_stdin
    closes_its_stdout_early
    may_be_one_of_very_many
    leaves_nothing_when_it_is_dropped
    goes_on_when_it_is_dropped
    is_waited_for_again_after_giving_up
    writes_into_the_next_one
    outlives_its_runtime
    is_reaped_by_its_drop
    leaves_nothing_when_the_end_of_its_runtime_kills_it
    leaves_nothing_when_it_is_killed_after_its_runtime
    is_waited_for_in_other_runtimes
    has_been_waited_for_by_other_code
    is_set_up_as_asked
    speaks_to_tokio
}

#[test]
#[should_panic(expected = "outside a runtime")]
fn a_child_outside_a_runtime_panics() {
    let _ = Command::new("true").spawn();
}

/// Children, their pipes and the listener for `SIGCHLD` come and go.
#[cfg(target_os = "linux")]
fn no_descriptor_and_no_zombie_is_left() {
    use crate::support::process::{clocks, descriptors, have_clocks};
    // Those of other bodies end with their runtimes.
    until(|| clocks() == 0);
    let runtime = workers(2);
    runtime.block_on(have_clocks(1));
    let round = || {
        runtime.block_on(async {
            drop(cat());
            drop(sleeper().stdin(Stdio::piped()).kill_on_drop(true).spawn().unwrap());
            assert!(Command::new("/nowhere").stdin(Stdio::piped()).spawn().is_err());
            assert!(bounded(cat().wait_with_output()).await.unwrap().status.success());
        });
    };
    round();
    until(|| children().is_empty());
    let before = descriptors();
    for _ in 0..50 {
        round();
    }
    until(|| children().is_empty());
    // Not the same: when they were counted, one of the first round may have been about to be closed.
    until(|| descriptors() <= before);
}

/// The ids of all children of this process, zombies included.
#[cfg(target_os = "linux")]
fn children() -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap();
    let ids = processes.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    ids.filter(|id: &u32| {
        let text = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let fields = text.rfind(')').map(|end| text[end + 2..].split(' ').collect::<Vec<_>>());
        fields.is_some_and(|fields| fields[1] == std::process::id().to_string())
    })
    .collect()
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_is_left() {
    let test = "process::unix::nothing_is_left";
    guarded(|| crate::support::process::alone(test, no_descriptor_and_no_zombie_is_left));
}

/// Has the system say that it does not know a call, from now on, to this thread and those that it starts.
#[cfg(target_os = "linux")]
fn refuse(call: libc::c_long) {
    refuse_with(call, libc::ENOSYS);
}

/// As [`refuse`], with another error.
#[cfg(target_os = "linux")]
pub(crate) fn refuse_with(call: libc::c_long, error: libc::c_int) {
    // Load the number of the call; if it is that one, fail, else let it pass.
    let code = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut filter = [
        code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        code(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, call as u32),
        code(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | error as u32),
        code(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program is valid for the length of the call, which copies it; the call that it forbids may
    // fail anyway, and is made here with arguments that mean nothing.
    let refused = unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let set = libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program);
        assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
        libc::syscall(call, -1, -1)
    };
    assert_eq!(refused, -1);
    assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(error));
}

/// Old kernels and sandboxes: the end of a child is told by `SIGCHLD` alone.
#[cfg(target_os = "linux")]
#[test]
fn all_of_it_works_without_pidfds() {
    let body = || {
        refuse(libc::SYS_pidfd_open);
        for (name, body) in BODIES {
            println!("{name}");
            body();
        }
        no_descriptor_and_no_zombie_is_left();
    };
    guarded(|| {
        crate::support::process::alone("process::unix::all_of_it_works_without_pidfds", body)
    });
}

/// So that an id which is another process's by now does no harm.
#[cfg(target_os = "linux")]
#[test]
fn a_child_is_killed_by_its_descriptor_and_not_by_its_id() {
    let body = || {
        refuse(libc::SYS_kill);
        workers(1).block_on(async {
            let mut child = cat();
            bounded(child.kill()).await.unwrap();
            assert_eq!(child.wait().await.unwrap().signal(), Some(libc::SIGKILL));
        });
    };
    guarded(|| {
        crate::support::process::alone(
            "process::unix::a_child_is_killed_by_its_descriptor_and_not_by_its_id",
            body,
        )
    });
}
