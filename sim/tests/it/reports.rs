//! What a failed run says.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use liten_sim::{Check, check};

/// The report of a check that fails.
pub(crate) fn report(check: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let payload = std::panic::catch_unwind(check).expect_err("the check passes");
    payload.downcast_ref::<String>().cloned().unwrap_or_default()
}

pub(crate) fn says(report: &str, parts: &[&str]) {
    for part in parts {
        assert!(report.contains(part), "the report lacks `{part}`:\n{report}");
    }
}

#[inline(never)]
fn lock_both(first: &Mutex<()>, second: &Mutex<()>) {
    let _first = first.lock();
    // As something does that logs. The thread may lose its turn here.
    let _now = Instant::now();
    let _second = second.lock();
}

#[test]
fn two_locks_in_two_orders() {
    let said = report(|| {
        Check::new().seeds(200).minimise_for(Duration::from_secs(300)).run(|sim| {
            sim.client("program", || {
                let locks = Arc::new((Mutex::new(()), Mutex::new(())));
                let other = locks.clone();
                let thread = thread::Builder::new()
                    .name("other".to_owned())
                    .spawn(move || lock_both(&other.1, &other.0));
                lock_both(&locks.0, &locks.1);
                thread.unwrap().join().unwrap();
            });
        });
    });
    says(
        &said,
        &[
            "no thread can run, and no timer or packet is under way",
            "program/main/1: waits for a lock",
            "program/other/1: waits for a lock",
            "in it::reports::lock_both",
            "in 3 of 3 runs",
            "1 of ",
            "without this the run passes",
            "LITEN_SIM_SEED=",
        ],
    );
}

#[test]
fn a_task_that_waits_for_ever() {
    let said = report(|| {
        check(1, |sim| {
            sim.client("program", || {
                let runtime = liten::runtime::Builder::new_multi_thread().worker_threads(1).build();
                runtime.unwrap().block_on(async {
                    liten::task::spawn(waits_for_ever()).await.unwrap();
                });
            });
        });
    });
    says(
        &said,
        &[
            "program/main/1: waits for a lock, a condition or to be unparked",
            "where tasks wait, just before the end:",
            "    program: task ",
            "reports::waits_for_ever",
            "    program: root, the future of block_on, waits in",
            "the last poll of a task or of a block_on began at 0.",
            "LITEN_SIM_ONLY=none LITEN_SIM_SEED=0 ",
            "(stops that run at decision ",
        ],
    );
    assert!(!said.contains("backtrace::"), "{said}");
}

#[test]
fn a_root_of_which_nothing_holds_a_waker() {
    let said = report(|| {
        check(1, |sim| {
            sim.client("program", || {
                let runtime = liten::runtime::Builder::new_multi_thread().worker_threads(1).build();
                let mut polled = false;
                runtime.unwrap().block_on(std::future::poll_fn(move |_| {
                    let ready = std::mem::replace(&mut polled, true);
                    if ready { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
                }));
            });
        });
    });
    says(&said, &["nothing held a waker of it: it could never be woken"]);
}

#[test]
fn the_last_events_of_the_smallest_run_are_told() {
    let said = report(|| {
        check(20, |sim| {
            sim.host("server", || {
                let socket = std::net::UdpSocket::bind("0.0.0.0:7").unwrap();
                let _ = socket.recv(&mut [0; 8]);
            });
            sim.client("client", || {
                let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
                socket.send_to(b"hello\n", "server:7").unwrap();
                println!("sent");
                let start = Instant::now();
                thread::sleep(Duration::from_millis(5));
                panic!("after {:?}", start.elapsed());
            });
        });
    });
    says(
        &said,
        &[
            "the last events:",
            "s  client → server: datagram of 6 bytes \"hello\\n\" from port ",
            "s  client prints: sent",
            "s  client/main/1: a timer wakes it",
            "s  client/main/1 panics",
            // The time in the message differs with what holds the thread up. The place does not.
            "fails without any disturbance",
        ],
    );
    assert!(!said.contains("stack backtrace:\n   0: liten_sim"), "{said}");
}

#[test]
fn connections_are_told_by_the_names_of_hosts_and_with_what_they_carried() {
    let said = report(|| {
        Check::new().seeds(1).minimise_for(Duration::ZERO).run(|sim| {
            sim.host("db", || {
                let listener = TcpListener::bind("0.0.0.0:6379").unwrap();
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_exact(&mut [0; 3]).unwrap();
                stream.write_all(b"ok").unwrap();
                let _ = listener.accept();
            });
            sim.client("client", || {
                let mut stream = loop {
                    match TcpStream::connect("db:6379") {
                        Ok(stream) => break stream,
                        Err(_) => thread::sleep(Duration::from_millis(1)),
                    }
                };
                let link = format!("/proc/self/fd/{}", stream.as_raw_fd());
                let link = std::fs::read_link(link).unwrap();
                assert!(link.to_string_lossy().ends_with("with db:6379]"), "{link:?}");
                stream.write_all(b"hello").unwrap();
                stream.read_exact(&mut [0; 3]).unwrap();
            });
        });
    });
    says(
        &said,
        &[
            "db/main/1: waits for connections to port 6379",
            "client/main/1: waits for the connection of port 32",
            " with db:6379",
            " wrote 5 bytes, of which db:6379 read 3; db:6379 wrote 2, of which client:",
            " read 2\n",
        ],
    );
}

async fn waits_for_ever() {
    let (_sender, receiver) = liten::sync::oneshot::channel::<()>();
    let _ = receiver.await;
}

#[test]
fn a_thread_that_never_gives_its_turn_back() {
    let said = report(|| {
        Check::new().seeds(1).minimise_for(Duration::ZERO).run(|sim| {
            sim.client("program", || {
                loop {
                    std::hint::spin_loop();
                }
            });
        });
    });
    says(&said, &["program/main/1, which computes without a call to the system"]);
}

#[test]
fn a_run_that_takes_too_long_of_its_time() {
    let said = report(|| {
        Check::new().seeds(1).limit(Duration::from_secs(100)).run(|sim| {
            sim.client("program", || {
                loop {
                    thread::sleep(Duration::from_secs(1));
                }
            });
        });
    });
    says(&said, &["not at its end after 100 s of virtual time", "program/main/1: sleeps"]);
}

#[test]
fn a_property_fails_the_run_also_where_its_panic_would_be_caught() {
    let said = report(|| {
        check(1, |sim| {
            sim.client("program", || {
                let _ = thread::spawn(|| liten_sim::always!(1 > 2, "{} is not more", 1)).join();
            });
        });
    });
    says(&said, &["reports.rs", "1 is not more"]);
}

#[test]
fn a_fault_that_is_not_needed_is_left_out() {
    let said = report(|| {
        check(1, |sim| {
            sim.host("one", || thread::sleep(Duration::from_secs(100)));
            sim.host("two", || thread::sleep(Duration::from_secs(100)));
            sim.client("client", || thread::sleep(Duration::from_secs(10)));
            sim.crash("one");
            sim.partition("one", "two");
            sim.pause("client");
            sim.settle(Duration::from_secs(5));
        });
    });
    // The client sleeps for longer than it may, whatever else happens.
    says(&said, &["fails without any disturbance"]);
}

#[test]
fn a_panic_of_a_task_that_nobody_awaits() {
    let said = report(|| {
        Check::new().seeds(1).panics_fail().run(|sim| {
            sim.client("program", || {
                let _ = thread::spawn(|| panic!("unseen")).join();
            });
        });
    });
    says(&said, &["reports.rs", "unseen"]);
}

#[test]
fn a_run_that_goes_on_and_on() {
    let run = || {
        report(|| {
            let check = Check::new().seeds(1).minimise_for(Duration::ZERO);
            let check = check.real_limit(Duration::from_secs(3));
            check.limit(Duration::from_secs(1_000_000_000)).run(|sim| {
                sim.client("program", || {
                    loop {
                        thread::sleep(Duration::from_secs(1));
                    }
                });
            });
        })
    };
    // If the system does not let the run say so in time, it counts as hung: then once more. In the child of
    // a later check, the report of an earlier one is empty.
    let said = (0..3).map(|_| run()).find(|said| !said.is_empty() && !said.contains("hung: "));
    let said = said.expect("a report that is not of a hung run");
    says(&said, &["not at its end after 1 s of real time", "program/main/1"]);
}

#[test]
fn each_check_of_a_test_runs_its_own_scenario() {
    // All reports first: in the child of a later check, earlier ones fail with a word only.
    let said: Vec<String> = (0..3)
        .map(|wanted| {
            report(move || {
                check(1, move |sim| sim.client("program", move || assert_eq!(wanted, 7)));
            })
        })
        .collect();
    let other = report(|| check(1, |sim| sim.fail("by another scenario")));
    for (wanted, said) in said.iter().enumerate() {
        says(said, &[&format!("left: {wanted}")]);
    }
    says(&other, &["by another scenario"]);
}

/// Two tests with one scenario run beside each other.
fn fails_with(number: u32) {
    let said = report(move || {
        check(1, move |sim| sim.client("program", move || assert_eq!(number, 7)));
    });
    says(&said, &[&format!("left: {number}")]);
}

#[test]
fn one_of_two_tests_that_share_a_scenario() {
    fails_with(1);
}

#[test]
fn the_other_of_two_tests_that_share_a_scenario() {
    fails_with(2);
}

/// The output of a test of this program that is run alone, with these variables.
fn output_of(test: &str, variables: &[(&str, &str)]) -> String {
    let program = std::env::current_exe().unwrap();
    let mut command = std::process::Command::new(program);
    command.args(["--exact", test]).envs(variables.iter().copied());
    let output = command.output().unwrap();
    [output.stdout, output.stderr]
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .concat()
}

#[test]
fn a_run_stops_to_be_looked_at() {
    let said = output_of(
        "runtimes::connections_echo_on_liten",
        &[("LITEN_SIM_SEED", "1"), ("LITEN_SIM_STOP", "-400")],
    );
    says(
        &said,
        &[
            "`runtimes::connections_echo_on_liten` has stopped with seed 1",
            "stopped, as LITEN_SIM_STOP says",
            "scenario/main/1: the scenario, waits for the clients",
            "client/main/1: waits for a lock, a condition or to be unparked, in",
            "in 0.",
            "liten-sim: a runtime of server:",
            "liten-sim: a runtime of client:",
            // Of the list of sockets.
            "socket:[connections to port ",
            // Of the await trees.
            "tests/it/runtimes.rs",
        ],
    );
    for noise in ["/proc/self/net", "backtrace::", "liten::engine::driver"] {
        assert!(!said.contains(noise), "{noise}:\n{said}");
    }
}

#[test]
fn a_stop_needs_a_seed() {
    let said = output_of("runtimes::connections_echo_on_liten", &[("LITEN_SIM_STOP", "5")]);
    says(&said, &["LITEN_SIM_STOP stops the run of LITEN_SIM_SEED, which is not set"]);
}
