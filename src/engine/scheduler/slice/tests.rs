use super::Slices;
use super::imp::{SHORT, SHORTEST, choose, read, write};
use std::thread;

/// Runs `test` on a thread of its own, with the length of its slices; unless the system knows none.
fn on_a_thread(test: impl FnOnce(u64) + Send + 'static) {
    let run = || read().map(|attributes| test(attributes.sched_runtime));
    let _ = thread::spawn(run).join().expect("no panic");
}

fn length() -> u64 {
    read().expect("as before").sched_runtime
}

#[test]
fn a_thread_chooses_again_and_again() {
    on_a_thread(|usual| {
        let lengths = [
            (Slices::Usual, usual),
            (Slices::Short, usual.min(SHORT)),
            (Slices::Shortest, SHORTEST),
        ];
        for (slices, expected) in lengths.into_iter().chain(lengths.into_iter().rev()) {
            for _ in 0..2 {
                choose(slices);
                assert_eq!(length(), expected);
            }
        }
    });
}

#[test]
fn what_a_thread_starts_has_usual_slices() {
    on_a_thread(|usual| {
        choose(Slices::Shortest);
        assert_eq!(thread::spawn(length).join().expect("no panic"), usual);
        assert_eq!(length(), SHORTEST);
    });
}

#[test]
fn slices_that_the_program_has_set_stay() {
    on_a_thread(|_| {
        choose(Slices::Short);
        let own = 3 * SHORTEST;
        assert!(write(read().expect("as before"), own));
        for slices in [Slices::Usual, Slices::Short, Slices::Shortest] {
            choose(slices);
            assert_eq!(length(), own);
        }
    });
}
