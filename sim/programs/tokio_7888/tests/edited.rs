//! A seed that fails still fails when something else in the program is edited.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::Duration;

use liten_sim::{Check, Sim};

/// How many seeds that fail are tried again with each edit.
const FAILING: usize = 10;

/// Whether the program fails with this seed.
fn fails(seed: u64, edit: u8) -> bool {
    let check = Check::new().seeds(1).first_seed(seed).minimise_for(Duration::ZERO);
    let scenario = move |sim: Sim| {
        sim.client("program", move || {
            tokio_7888::EDIT.store(edit, Ordering::Relaxed);
            tokio_7888::main();
        });
    };
    catch_unwind(AssertUnwindSafe(|| check.run(scenario))).is_err()
}

#[test]
fn nine_of_ten_failing_seeds_fail_after_an_edit() {
    let failing = (0..1_000).filter(|seed| fails(*seed, 0)).take(FAILING);
    let tried = failing.flat_map(|seed| [1, 2, 3, 4].map(|edit| fails(seed, edit)));
    let tried: Vec<bool> = tried.collect();
    let still = tried.iter().filter(|fails| **fails).count();
    println!("{still} of {} fail", tried.len());
    assert_eq!(tried.len(), 4 * FAILING);
    assert!(still * 10 >= tried.len() * 9, "{still} of {}", tried.len());
}
