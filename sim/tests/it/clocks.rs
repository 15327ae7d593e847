//! Clocks that are fast, slow or wrong.

use std::io::Read;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::{Condvar, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use liten_sim::{Check, Sim, check};

use crate::reports::{report, says};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

/// Lets `wait` take a random time, again and again, and measures it by the host's own clock.
fn waits(sim: Sim, wait: impl Fn(Duration)) {
    for _ in 0..50 {
        let asked = Duration::from_nanos(sim.random_below(200_000_000));
        let begun = Instant::now();
        wait(asked);
        let waited = begun.elapsed();
        assert!(waited >= asked, "{waited:?} and not {asked:?}");
        assert!(waited < asked + 400 * MILLISECOND, "{waited:?} and not {asked:?}");
    }
}

/// Gives `host` another rate now and then: a hundredth as fast, or almost twice as fast.
fn disturbed(sim: Sim, host: &str) {
    while !sim.has_ended(host) {
        sleep(Duration::from_nanos(sim.random_below(100_000_000)));
        sim.set_clock_drift(host, sim.random_below(1_980_000) as i32 - 990_000);
    }
}

/// No thread wakes early by its own clock, whatever its rate is and becomes.
fn no_wait_is_short(wait: fn(Duration)) {
    Check::new().seeds(15).limit(Duration::from_secs(100_000)).run(move |sim| {
        sim.client("program", move || waits(sim, wait));
        disturbed(sim, "program");
    });
}

#[test]
fn a_sleep_is_never_short() {
    no_wait_is_short(sleep);
}

#[test]
fn a_wait_for_a_condition_is_never_short() {
    no_wait_is_short(|time| {
        let (lock, condition) = (Mutex::new(()), Condvar::new());
        let held = lock.lock().unwrap();
        let (_held, result) = condition.wait_timeout_while(held, time, |()| true).unwrap();
        assert!(result.timed_out());
    });
}

#[test]
fn a_receive_timeout_is_never_short() {
    no_wait_is_short(|time| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        // The option counts microseconds, and zero means for ever.
        socket.set_read_timeout(Some(time + Duration::from_micros(1))).unwrap();
        assert!(socket.recv(&mut [0]).is_err());
    });
}

#[test]
fn a_timer_descriptor_is_never_early() {
    no_wait_is_short(|time| {
        // SAFETY: the calls take what they ask for, and the places are ours.
        unsafe {
            let fd = libc::timerfd_create(libc::CLOCK_MONOTONIC, 0);
            let value = libc::timespec { tv_sec: 0, tv_nsec: 1 + i64::from(time.subsec_nanos()) };
            let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            let set = libc::itimerspec { it_value: value, it_interval: zero };
            assert_eq!(libc::timerfd_settime(fd, 0, &raw const set, std::ptr::null_mut()), 0);
            let mut count = 0_u64;
            assert_eq!(libc::read(fd, (&raw mut count).cast(), 8), 8);
            libc::close(fd);
        }
    });
}

#[test]
fn timers_of_runtimes_are_never_early() {
    Check::new().seeds(10).limit(Duration::from_secs(100_000)).run(|sim| {
        sim.client("program", move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            waits(sim, |time| runtime.block_on(async { tokio::time::sleep(time).await }));
            let runtime = liten::runtime::Runtime::new().unwrap();
            waits(sim, |time| runtime.block_on(async { liten::time::sleep(time).await }));
        });
        disturbed(sim, "program");
    });
}

#[test]
fn a_periodic_timer_keeps_the_time_of_its_host() {
    check(10, |sim| {
        sim.client("fast", || {
            let begun = Instant::now();
            // SAFETY: the calls take what they ask for, and the places are ours.
            unsafe {
                let fd = libc::timerfd_create(libc::CLOCK_MONOTONIC, 0);
                let second = libc::timespec { tv_sec: 1, tv_nsec: 0 };
                let set = libc::itimerspec { it_value: second, it_interval: second };
                libc::timerfd_settime(fd, 0, &raw const set, std::ptr::null_mut());
                for tick in 1..=20 {
                    let mut count = 0_u64;
                    libc::read(fd, (&raw mut count).cast(), 8);
                    let late = begun.elapsed() - tick * SECOND;
                    assert!(count == 1 && late < 50 * MILLISECOND, "{count} {late:?}");
                }
            }
        });
        sim.set_clock_drift("fast", 500_000);
        sleep(5 * SECOND);
        sim.set_clock_drift("fast", -500_000);
    });
}

#[test]
fn a_fast_host_is_done_sooner() {
    check(10, |sim| {
        for host in ["fast", "slow"] {
            sim.host(host, || sleep(10 * SECOND));
        }
        sim.set_clock_drift("fast", 250_000);
        sim.set_clock_drift("slow", -200_000);
        let begun = sim.now();
        while !sim.has_ended("fast") {
            sleep(MILLISECOND);
        }
        let fast = sim.now() - begun;
        assert!(fast >= 8 * SECOND - MILLISECOND && fast < 8 * SECOND + SECOND / 10, "{fast:?}");
        sleep(begun + 12 * SECOND - sim.now());
        assert!(!sim.has_ended("slow"));
        sleep(SECOND);
        assert!(sim.has_ended("slow"));
    });
}

#[test]
fn a_wait_that_has_begun_ends_by_the_new_rate() {
    check(10, |sim| {
        sim.host("program", || sleep(10 * SECOND));
        sim.set_clock_drift("program", 0);
        sleep(5 * SECOND);
        sim.set_clock_drift("program", -500_000);
        sleep(9 * SECOND);
        assert!(!sim.has_ended("program"), "5 s and half of 9 s");
        sim.set_clock_drift("program", 1_000_000);
        sleep(SECOND);
        assert!(sim.has_ended("program"), "and twice 1 s");
    });
}

#[test]
fn a_date_that_is_set_is_that_of_the_run() {
    check(10, |sim| {
        sim.client("reader", || {
            sleep(10 * SECOND);
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
            let ahead = since - Duration::from_secs(1_767_225_600 + 3_600);
            // Its ten seconds were seven of the run, and the date was three seconds too far.
            assert!(ahead >= 10 * SECOND - SECOND / 10 && ahead < 11 * SECOND, "{ahead:?}");
        });
        sim.set_clock_drift("reader", 1_000_000);
        sleep(3 * SECOND);
        sim.set_clock_drift("reader", 0);
        sim.set_clock_ahead("reader", 3_603);
    });
}

/// How far two hosts are apart after a thousand seconds, by their own clocks, and at first by their
/// dates.
fn apart(sim: Sim) -> (Duration, Duration) {
    let told = std::sync::Arc::new(Mutex::new(Vec::new()));
    for host in ["one", "other"] {
        let told = told.clone();
        sim.client(host, move || {
            let date = SystemTime::now();
            let begun = Instant::now();
            let listener = TcpListener::bind("0.0.0.0:80").unwrap();
            let accepted = listener.accept().unwrap().0;
            told.lock().unwrap().push((date, begun.elapsed(), accepted.as_raw_fd()));
        });
    }
    sleep(1_000 * SECOND);
    for host in ["one", "other"] {
        let mut stream = TcpStream::connect((host, 80)).unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
    }
    let told = told.lock().unwrap();
    let dates = told[0].0.duration_since(told[1].0).unwrap_or_else(|error| error.duration());
    (dates, told[0].1.abs_diff(told[1].1))
}

#[test]
fn the_seed_decides_about_clocks() {
    let fails_with = |holds: fn(Duration, Duration) -> bool| {
        report(move || {
            Check::new().seeds(60).minimise_for(Duration::ZERO).limit(2_000 * SECOND).run(
                move |sim| {
                    let (dates, clocks) = apart(sim);
                    assert!(!holds(dates, clocks), "it is so");
                },
            );
        })
    };
    // Each of these fails with its first seed of the kind.
    let said = [
        fails_with(|_, clocks| clocks > 50 * MILLISECOND),
        fails_with(|_, clocks| clocks < 5 * MILLISECOND),
        fails_with(|dates, _| dates > 100 * MILLISECOND),
    ];
    for said in &said {
        says(said, &["it is so"]);
    }
}

#[test]
fn a_drawn_rate_that_a_failure_needs_is_named() {
    let said = report(|| {
        let check = Check::new().seeds(60).minimise_for(Duration::from_secs(300));
        check.limit(2_000 * SECOND).run(|sim| {
            let (_, clocks) = apart(sim);
            assert!(clocks < 100 * MILLISECOND, "a lease is over for one alone");
        });
    });
    says(&said, &["a lease is over for one alone", ": 1 of ", "clock: o", " ppm, 0.0"]);
}
