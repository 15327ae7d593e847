//! Models of `SetOnce`: no task waits for a value that is there, and one value is set.

use super::*;
use crate::engine::sync_shim::{Arc, block_on, both_ways, thread};

#[test]
fn each_task_that_waits_gets_the_value() {
    ::loom::model(|| {
        let once = Arc::new(SetOnce::new());
        let waits = {
            let once = once.clone();
            thread::spawn(move || *block_on(once.wait()))
        };
        let sets = {
            let once = once.clone();
            thread::spawn(move || once.set(1).is_ok())
        };
        assert_eq!(*block_on(once.wait()), 1);
        assert_eq!(waits.join().expect("no panic"), 1);
        assert!(sets.join().expect("no panic"));
    });
}

#[test]
fn one_of_two_values_is_set() {
    both_ways(|way| {
        let once = Arc::new(SetOnce::new());
        let sets = {
            let once = once.clone();
            thread::spawn(move || once.set(1).is_ok())
        };
        way.here();
        let mine = once.set(2);
        let value = *block_on(once.wait());
        assert_eq!(mine.is_ok(), value == 2);
        assert_eq!(sets.join().expect("no panic"), value == 1);
    });
}
