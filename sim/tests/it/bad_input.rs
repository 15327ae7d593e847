//! What a run cannot give, and programs that break off: the report says what it was.

use std::fs::File;
use std::io::Read;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use liten::io::{Async, Fd};
use liten_sim::{Check, Sim, check};

use crate::reports::{report, says};

/// The report of a run of one client that fails.
fn report_of(main: fn()) -> String {
    report(move || check(1, move |sim| sim.client("program", main)))
}

#[liten::main(worker_threads = 1)]
async fn waits_for(fd: i32) {
    assert!(fd >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the caller has made it, and uses it no more.
    let _ = Async::new(Fd::new(unsafe { OwnedFd::from_raw_fd(fd) }));
}

/// A socket of the kernel's, as a program has it that makes its calls by inline assembly.
#[cfg(target_arch = "x86_64")]
fn socket_past_the_library() -> i32 {
    let fd: i64;
    // SAFETY: the call takes no pointers, and the kernel changes these registers only.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_socket => fd,
            in("rdi") i64::from(libc::AF_INET),
            in("rsi") i64::from(libc::SOCK_STREAM | libc::SOCK_NONBLOCK),
            in("rdx") 0i64,
            out("rcx") _,
            out("r11") _,
        );
    }
    fd as i32
}

const NOT_MADE_IN_IT: &str = "to wait for a descriptor that was not made in it, which a simulation";

#[cfg(target_arch = "x86_64")]
#[test]
fn a_socket_of_the_kernel() {
    let said = report_of(|| waits_for(socket_past_the_library()));
    says(&said, &["with seed 0", "host program", NOT_MADE_IN_IT]);
}

#[test]
fn a_descriptor_that_stands_for_nothing_in_the_run() {
    // SAFETY: the call has no conditions.
    let said = report_of(|| waits_for(unsafe { libc::inotify_init1(libc::IN_NONBLOCK) }));
    says(&said, &["with seed 0", "host program", NOT_MADE_IN_IT]);
}

#[test]
fn a_file_cannot_be_waited_for_and_nothing_comes_from_standard_input() {
    check(2, |sim| {
        sim.client("program", || {
            liten::block_on(async {
                let file = File::open("/etc/hosts").unwrap();
                let Err(error) = Async::new(Fd::new(file)) else {
                    panic!("the kernel refuses it too")
                };
                assert_eq!(error.raw_os_error(), Some(libc::EPERM));
            });
            assert_eq!(std::io::stdin().read(&mut [0; 8]).unwrap(), 0);
        });
    });
}

#[test]
fn the_page_of_insight_is_served_in_the_run() {
    #[liten::main(worker_threads = 1)]
    async fn shown() {
        let _page = liten::insight::serve("0.0.0.0:80");
        liten::time::sleep(Duration::from_secs(1)).await;
    }
    check(16, |sim| {
        sim.host("shown", shown);
        sim.client("program", || {
            thread::sleep(Duration::from_millis(100));
            assert!(TcpStream::connect("shown:80").is_err(), "it shows itself to other machines");
        });
    });
}

#[test]
fn a_host_that_is_not_there() {
    check(2, |sim| {
        sim.client("program", || {
            assert!(("nowhere", 80).to_socket_addrs().is_err());
            assert!(TcpStream::connect("nowhere:80").is_err());
        });
    });
    let calls: [fn(Sim); 4] = [
        |sim| sim.crash("nowhere"),
        |sim| sim.restart("nowhere"),
        |sim| sim.pause("nowhere"),
        |sim| sim.partition("nowhere", "else"),
    ];
    // All reports first: in the child of a later check, earlier ones fail with a word only.
    for said in calls.map(|call| report(move || check(1, call))) {
        says(&said, &["with seed 0", "host scenario", "bad_input.rs", "no host named `nowhere`"]);
    }
}

#[test]
fn tasks_that_are_alive_at_the_end() {
    #[liten::main]
    async fn leaves_tasks() {
        for _ in 0..10 {
            liten::spawn(std::future::pending::<()>());
            liten::spawn(async {
                loop {
                    liten::task::yield_now().await;
                }
            });
        }
        liten::spawn_blocking(|| thread::sleep(Duration::from_millis(5)));
    }
    check(16, |sim| sim.client("program", leaves_tasks));
}

struct Breaks;

impl Drop for Breaks {
    fn drop(&mut self) {
        panic!("a destructor breaks");
    }
}

#[test]
fn a_panic_in_a_destructor() {
    let said = report_of(|| drop(Breaks));
    says(&said, &["with seed 0", "host program", "bad_input.rs", "a destructor breaks"]);
}

#[test]
fn a_panic_during_another_one() {
    let said = report_of(|| {
        let _breaks = Breaks;
        panic!("the first one");
    });
    // The process aborts.
    says(&said, &["with seed 0", "crashed: signal 6", "the first one", "a destructor breaks"]);
}

#[test]
fn a_panic_in_a_blocking_job() {
    #[liten::main(worker_threads = 1)]
    async fn job() {
        liten::spawn_blocking(|| panic!("a job breaks")).await.unwrap();
    }
    let said = report_of(job);
    says(&said, &["with seed 0", "host program", "bad_input.rs", "a job breaks"]);
}

#[test]
fn an_exit_in_a_host() {
    // For a host that is no client, that is the end of its main function.
    check(2, |sim| {
        sim.host("server", || std::process::exit(3));
        sim.client("program", move || {
            thread::sleep(Duration::from_secs(1));
            assert!(sim.has_ended("server"));
        });
    });
    let said = report_of(|| std::process::exit(3));
    says(&said, &["with seed 0", "host program", "exit", "3"]);
}

#[test]
fn a_thread_that_cannot_be_made() {
    static HAS_RUN: AtomicBool = AtomicBool::new(false);
    let too_large = || thread::Builder::new().stack_size(1 << 46);
    check(4, move |sim| {
        sim.client("program", move || {
            assert!(too_large().spawn(|| ()).is_err());
            // The run goes on with other threads.
            thread::spawn(|| HAS_RUN.store(true, Ordering::Relaxed)).join().unwrap();
            assert!(HAS_RUN.load(Ordering::Relaxed));
        });
    });
    let said = report(move || {
        Check::new().seeds(1).run(move |sim| {
            sim.client("program", move || drop(too_large().spawn(|| ()).expect("a thread")));
        });
    });
    says(&said, &["with seed 0", "host program", "bad_input.rs", "a thread: "]);
}
