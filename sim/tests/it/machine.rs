//! What a host sees of its machine.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::net::ToSocketAddrs;
use std::process::Command;
use std::thread;
use std::time::{Duration, SystemTime};

use liten_sim::{Check, check};

#[test]
fn the_date_is_that_of_the_run() {
    check(5, |sim| {
        sim.client("program", || {
            let first = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
            let now = SystemTime::now();
            let away = now.duration_since(first).unwrap_or_else(|error| error.duration());
            assert!(away < Duration::from_secs(1), "{away:?}");
        });
    });
}

#[test]
fn it_sees_as_many_processors_as_the_check_says() {
    Check::new().seeds(5).cpus(3).run(|sim| {
        sim.client("program", || assert_eq!(thread::available_parallelism().unwrap().get(), 3));
    });
}

#[test]
fn hosts_are_found_by_their_names() {
    check(5, |sim| {
        sim.host("other", || {});
        sim.client("program", || {
            let found: Vec<_> = "other:80".to_socket_addrs().unwrap().collect();
            assert_eq!(found.len(), 2);
            assert!(found[0].is_ipv4() && found[1].is_ipv6() && found[0].port() == 80);
            assert!("nobody:80".to_socket_addrs().is_err());
            assert!("localhost:1".to_socket_addrs().unwrap().all(|found| found.ip().is_loopback()));
        });
    });
}

#[test]
fn the_order_of_a_hash_map_is_that_of_the_seed() {
    // A run whose hash depends on the order is compared with a second one.
    check(16, |sim| {
        sim.client("program", || {
            let map: HashMap<u32, ()> = (0..100).map(|i| (i, ())).collect();
            for key in map.keys().take(10) {
                thread::sleep(Duration::from_millis(u64::from(*key)));
            }
        });
    });
}

#[test]
fn what_differs_from_run_to_run_is_hidden() {
    check(2, |sim| {
        sim.client("program", || {
            let read = fs::read_to_string("/proc/self/stat");
            assert_eq!(read.unwrap_err().kind(), ErrorKind::NotFound);
        });
    });
}

#[test]
#[should_panic(expected = "a child process, which a simulation does not have")]
fn a_child_process_is_refused() {
    check(2, |sim| {
        sim.client("program", || {
            let _ = Command::new("true").status();
        });
    });
}

#[test]
fn processes_threads_and_files_of_a_moment_have_names_of_the_run() {
    check(16, |sim| {
        sim.client("program", || {
            assert_eq!(std::process::id(), 1_001);
            let folder = std::env::temp_dir();
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{folder:?} is used by others");
            fs::create_dir(folder.join("once")).unwrap();
        });
    });
}

#[test]
fn a_scenario_has_hash_maps_of_the_seed_too() {
    check(16, |sim| {
        let map: HashMap<u32, ()> = (0..100).map(|i| (i, ())).collect();
        for key in map.keys().take(10) {
            thread::sleep(Duration::from_millis(u64::from(*key)));
        }
        sim.client("program", || {});
    });
}

#[test]
fn a_clock_may_be_ahead_and_behind() {
    check(3, |sim| {
        let read = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        let begun = read();
        sim.client("program", move || {
            let counted = std::time::Instant::now();
            thread::sleep(Duration::from_secs(10));
            let ahead = read() - begun;
            assert!((3_610..3_612).contains(&ahead), "{ahead}");
            thread::sleep(Duration::from_secs(10));
            let behind = begun - read();
            assert!((3_578..3_582).contains(&behind), "{behind}");
            assert!(counted.elapsed() < Duration::from_secs(21));
        });
        sim.set_clock_ahead("program", 3_600);
        thread::sleep(Duration::from_secs(15));
        sim.set_clock_ahead("program", -3_600);
    });
}
