//! A model of what the watchdog notes in a slot.

use super::*;
use crate::engine::sync_shim::{both_ways, thread};

/// The watchdog has found a worker stuck, and then finds it in a later poll. A reader that knows of the later
/// one does not take the time of the first for it.
#[test]
fn the_time_of_one_poll_is_not_taken_for_that_of_the_next() {
    both_ways(|way| {
        let slots = Arc::new(Slots::new(1));
        slots.get(0).note_stall(1, Duration::from_secs(9));
        let watchdog = {
            let slots = slots.clone();
            thread::spawn(move || slots.get(0).note_stall(2, Duration::ZERO))
        };
        way.here();
        assert_eq!(slots.get(0).stalled_for(2), Duration::ZERO);
        watchdog.join().expect("no panic");
        assert_eq!(slots.get(0).stalled_for(1), Duration::ZERO, "it has moved");
    });
}
