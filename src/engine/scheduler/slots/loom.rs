//! Models of the slots: those of guests, and what the watchdog notes in them.

use super::*;
use crate::engine::sync_shim::{both_ways, thread};
use crate::engine::task::loom::Plain;

/// Two threads come and go as guests: never in the same slot at once, and the second one in a slot goes on
/// from the counts of the first.
#[test]
fn guests_hand_their_slot_over_with_its_counts() {
    both_ways(|way| {
        let slots = Arc::new(Slots::new(0));
        let seats = [Plain::new(), Plain::new()];
        let visit = |slots: &Slots, seats: &[Plain; 2]| {
            let index = slots.take_guest().expect("there are eight");
            seats[index].write();
            slots.get(index).stats.spawned.add(1);
            slots.release_guest(index);
        };
        let other = {
            let (slots, seats) = (slots.clone(), seats.clone());
            thread::spawn(move || visit(&slots, &seats))
        };
        way.here();
        visit(&slots, &seats);
        other.join().expect("no panic");
        let spawned: u64 = slots.iter().map(|slot| slot.stats.spawned.get()).sum();
        assert_eq!((spawned, seats[0].read() + seats[1].read()), (2, 2));
        assert_eq!(slots.guests(0).count(), 0);
    });
}

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
