use super::Slices;
use super::imp::{DEFAULT, SHORT, SHORTEST, choose, read, set};
use std::thread;

/// Runs `test` on a thread of its own that has the system's slices, with their length; unless the system
/// knows none, or a thread may not choose.
fn on_a_thread(test: impl FnOnce(u64) + Send + 'static) {
    let run = || {
        if set(SHORTEST) && set(DEFAULT) {
            test(length());
        } else {
            println!("not tested: a thread may not choose its slices here");
        }
    };
    thread::spawn(run).join().expect("no panic");
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
fn a_thread_gives_up_what_it_has_inherited_from_a_worker() {
    on_a_thread(|usual| {
        choose(Slices::Short);
        let inherited = thread::spawn(|| {
            let before = length();
            choose(Slices::Usual);
            [before, length()]
        });
        let of_worker = length();
        assert_eq!(inherited.join().expect("no panic"), [of_worker, usual]);
        assert_eq!(length(), of_worker);
    });
}

#[test]
fn what_a_helper_starts_inherits_nothing() {
    on_a_thread(|usual| {
        choose(Slices::Shortest);
        assert_eq!(thread::spawn(length).join().expect("no panic"), usual);
    });
}

#[test]
fn slices_that_the_program_has_set_stay() {
    on_a_thread(|_| {
        choose(Slices::Short);
        let own = 3 * SHORTEST;
        assert!(set(own));
        for slices in [Slices::Usual, Slices::Short, Slices::Shortest] {
            choose(slices);
            assert_eq!(length(), own);
        }
    });
}
