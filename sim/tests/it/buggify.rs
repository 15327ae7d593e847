//! Places at which a program asks whether it should misbehave.

use std::thread;
use std::time::Duration;

use liten_sim::{Check, buggify, check};

use crate::reports::{report, says};

#[test]
fn outside_of_a_run_no_place_fires() {
    assert!((0..1_000).all(|_| !buggify!() && !buggify!("named")));
}

/// A read that may be short.
fn read(most: usize) -> usize {
    if buggify!("short read") { most / 2 } else { most }
}

fn read_without_a_name(most: usize) -> usize {
    if buggify!() { most / 2 } else { most }
}

/// What a check says that finds `read` to be short.
fn found(read: fn(usize) -> usize) -> String {
    report(move || {
        Check::new().seeds(50).minimise_for(Duration::from_secs(300)).run(move |sim| {
            sim.client("program", move || {
                let bytes: usize = (0..20).map(|_| read(8)).sum();
                assert_eq!(bytes, 160, "a read was short");
            });
        });
    })
}

#[test]
fn the_report_names_the_place_and_its_host() {
    let said = found(read);
    says(&said, &["a read was short", "  smallest", "1 of ", "without this the run passes"]);
    says(&said, &["buggify: it::buggify: short read on program, "]);
}

#[test]
fn a_place_without_a_name_is_known_by_its_function() {
    says(&found(read_without_a_name), &["buggify: it::buggify::read_without_a_name on program, "]);
}

#[test]
fn a_question_is_no_step() {
    Check::new().seeds(20).run(|sim| {
        sim.client("program", move || {
            let before = sim.now();
            (0..100).for_each(|_| _ = buggify!("asked for nothing"));
            assert_eq!(sim.now(), before);
        });
    });
}

#[test]
fn no_place_fires_when_the_run_has_settled() {
    check(20, |sim| {
        sim.client("program", || {
            thread::sleep(Duration::from_secs(1));
            for _ in 0..1_000 {
                assert!(!buggify!("late"));
            }
        });
        sim.settle(Duration::from_secs(10));
    });
}
