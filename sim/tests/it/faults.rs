//! Crashes, partitions, pauses and what heals them.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use liten_sim::check;

const SECOND: Duration = Duration::from_secs(1);

/// Sends a byte every 100 ms to each client.
fn beats() {
    let listener = TcpListener::bind("0.0.0.0:80").unwrap();
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        while stream.write_all(&[1]).is_ok() {
            sleep(SECOND / 10);
        }
    }
}

/// The longest time between two bytes, until the connection ends or `most` has gone by.
fn longest_gap(most: Duration) -> (Duration, Option<ErrorKind>) {
    let mut stream = TcpStream::connect("server:80").unwrap();
    let (begun, mut last, mut gap) = (Instant::now(), Instant::now(), Duration::ZERO);
    while begun.elapsed() < most {
        match stream.read(&mut [0; 100]) {
            Ok(0) => return (gap, None),
            Ok(_) => {}
            Err(error) => return (gap, Some(error.kind())),
        }
        gap = gap.max(last.elapsed());
        last = Instant::now();
    }
    (gap, None)
}

#[test]
fn a_partition_is_a_gap_and_the_bytes_come_after_it() {
    check(20, |sim| {
        sim.host("server", beats);
        sleep(SECOND);
        sim.client("client", || {
            let (gap, error) = longest_gap(10 * SECOND);
            assert!(error.is_none() && gap > 2 * SECOND && gap < 8 * SECOND, "{gap:?} {error:?}");
        });
        sleep(SECOND);
        sim.partition("server", "client");
        sleep(2 * SECOND);
        sim.heal("server", "client");
    });
}

#[test]
fn a_paused_host_does_nothing_and_goes_on() {
    check(20, |sim| {
        sim.host("server", beats);
        sleep(SECOND);
        sim.client("client", || {
            let (gap, error) = longest_gap(10 * SECOND);
            assert!(error.is_none() && gap > 2 * SECOND && gap < 3 * SECOND, "{gap:?} {error:?}");
        });
        sleep(SECOND);
        sim.pause("server");
        sleep(2 * SECOND);
        sim.resume("server");
    });
}

#[test]
fn a_crash_ends_connections_and_a_restart_runs_main_again() {
    static STARTS: AtomicU32 = AtomicU32::new(0);
    check(20, |sim| {
        sim.host("server", || {
            STARTS.fetch_add(1, Ordering::SeqCst);
            beats();
        });
        sleep(SECOND);
        sim.client("client", || {
            let (_, error) = longest_gap(60 * SECOND);
            assert!(matches!(error, None | Some(ErrorKind::ConnectionReset)), "{error:?}");
            sleep(2 * SECOND);
            assert_eq!(STARTS.load(Ordering::SeqCst), 2);
            longest_gap(SECOND);
        });
        sleep(SECOND);
        sim.crash("server");
        sleep(SECOND);
        sim.restart("server");
    });
}

#[test]
fn a_host_without_power_says_nothing_until_it_is_back() {
    check(20, |sim| {
        sim.host("server", beats);
        sleep(SECOND);
        sim.client("client", || {
            let mut stream = TcpStream::connect("server:80").unwrap();
            stream.set_read_timeout(Some(5 * SECOND)).unwrap();
            while stream.read(&mut [0; 100]).is_ok() {}
            // Now the machine is up again and does not know the connection.
            stream.write_all(&[1]).unwrap();
            let error = stream.read(&mut [0; 100]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        });
        sleep(SECOND);
        sim.power_off("server");
        sleep(SECOND);
        sim.restart("server");
    });
}

#[test]
fn what_a_client_left_of_its_threads_is_gone_with_it() {
    check(10, |sim| {
        sim.client("one", || {
            std::thread::spawn(|| {
                loop {
                    sleep(SECOND);
                }
            });
        });
        sim.client("two", || std::process::exit(0));
    });
}

#[test]
fn a_hundred_crashes_leave_no_descriptor() {
    check(1, |sim| {
        sim.host("server", crowd);
        sleep(SECOND);
        for _ in 0..100 {
            sim.crash("server");
            sim.restart("server");
            sleep(SECOND);
        }
    });
}

/// Some threads, a listener and a runtime.
#[liten::main(worker_threads = 3)]
async fn crowd() {
    let listener = liten::net::TcpListener::bind("0.0.0.0:80").await.unwrap();
    // The first free number. It does not grow when earlier ones were given back.
    use std::os::fd::AsRawFd;
    assert!(listener.as_raw_fd() < 40, "{}", listener.as_raw_fd());
    let _ = listener.accept().await;
}

#[test]
#[should_panic(expected = "not at rest 30s after all disturbances ended: client")]
fn what_never_recovers_is_found_by_settle() {
    check(20, |sim| {
        sim.host("server", beats);
        sleep(SECOND);
        // It waits for ever for a host that is not there.
        sim.client("client", || sleep(1_000 * SECOND));
        sim.settle(30 * SECOND);
    });
}

thread_local! {
    static MARK: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

#[test]
fn what_statics_point_to_in_a_crashed_host_stays() {
    static SHARED: std::sync::atomic::AtomicPtr<std::cell::Cell<u32>> =
        std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
    check(5, |sim| {
        sim.host("one", || {
            MARK.set(7);
            MARK.with(|mark| SHARED.store(std::ptr::from_ref(mark).cast_mut(), Ordering::SeqCst));
            sleep(1_000 * SECOND);
        });
        sleep(SECOND);
        sim.crash("one");
        sim.client("two", || {
            let threads = [(); 20].map(|()| std::thread::spawn(|| MARK.set(8)));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            // SAFETY: this is what is tested.
            let mark = unsafe { &*SHARED.load(Ordering::SeqCst) };
            assert_eq!(mark.get(), 7, "the memory of a crashed thread was used again");
        });
    });
}

#[test]
fn a_crash_leaves_no_lock_of_the_process_behind() {
    // parking_lot, on which liten's locks stand, reads the clock while it holds one of its own.
    check(20, |sim| {
        sim.host("busy", || blocking_jobs(u32::MAX));
        for _ in 0..5 {
            sleep(SECOND / 100);
            sim.crash("busy");
            sim.restart("busy");
        }
        sim.client("other", || blocking_jobs(20));
    });
}

#[liten::main(worker_threads = 2)]
async fn blocking_jobs(count: u32) {
    for _ in 0..count {
        liten::task::spawn_blocking(std::thread::yield_now).await.unwrap();
        liten::time::sleep(SECOND / 1_000).await;
    }
}

#[test]
fn a_host_that_crashes_while_it_is_paused_starts_again() {
    check(5, |sim| {
        sim.host("server", beats);
        sim.pause("server");
        sim.crash("server");
        sim.restart("server");
        sleep(SECOND);
        sim.client("client", || {
            assert_eq!(longest_gap(SECOND).1, None);
        });
    });
}

#[test]
fn a_host_may_let_faults_happen_too() {
    check(5, |sim| {
        sim.host("server", beats);
        sim.client("client", move || {
            sleep(SECOND);
            sim.crash("server");
            assert!(sim.has_ended("server"));
        });
    });
}

#[test]
fn a_crash_leaves_the_standard_streams_to_others() {
    check(30, |sim| {
        sim.host("talks", || {
            loop {
                // It may stand in the reading of the clock, just before it prints.
                println!("{:?}", Instant::now());
            }
        });
        for _ in 0..10 {
            sleep(SECOND / 1_000);
            sim.crash("talks");
            sim.restart("talks");
        }
        sim.client("other", || println!("heard"));
    });
}

#[test]
fn a_host_that_crashed_does_not_speak_for_the_next_one() {
    static CRASHES: AtomicU32 = AtomicU32::new(0);
    check(30, |sim| {
        sim.client("client", || {
            let crashes = CRASHES.load(Ordering::SeqCst);
            for _ in 0..100_000 {
                // It stands here when it crashes.
                let _now = Instant::now();
                assert_eq!(CRASHES.load(Ordering::SeqCst), crashes, "the dead speak");
            }
        });
        sleep(SECOND / 100);
        // No other thread runs between the two.
        CRASHES.fetch_add(1, Ordering::SeqCst);
        sim.crash("client");
        sim.restart("client");
    });
}

/// A runtime that listens for signals, for which tokio has a static pair of sockets.
#[tokio::main]
async fn listens_for_signals() {
    let mut signals =
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::user_defined1()).unwrap();
    let _ = tokio::time::timeout(SECOND, signals.recv()).await;
}

#[test]
fn descriptors_in_statics_outlive_the_host_that_made_them() {
    check(10, |sim| {
        sim.host("first", listens_for_signals);
        sleep(SECOND / 2);
        sim.host("second", listens_for_signals);
        sleep(SECOND / 10);
        sim.crash("first");
        sim.restart("first");
        sim.client("third", listens_for_signals);
    });
}

#[test]
fn a_crash_unlocks_files() {
    static LOCKED: AtomicU32 = AtomicU32::new(0);
    check(5, |sim| {
        sim.host("holder", || {
            let path = std::env::temp_dir().join("locked");
            let file = std::fs::File::create(path).unwrap();
            // SAFETY: the call takes no pointers.
            let result =
                unsafe { libc::flock(std::os::fd::AsRawFd::as_raw_fd(&file), libc::LOCK_EX) };
            assert_eq!(result, 0);
            LOCKED.fetch_add(1, Ordering::SeqCst);
            sleep(1_000 * SECOND);
        });
        sleep(SECOND);
        sim.crash("holder");
        sim.restart("holder");
        sleep(SECOND);
        assert_eq!(LOCKED.load(Ordering::SeqCst), 2);
    });
}
