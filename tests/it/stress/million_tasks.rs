//! A million tasks at once, and then none: what a runtime has taken for them it uses again, or gives back.

use crate::runtime::system_limits::ONE_ARENA;
use crate::support::guard::{until, within, workers};
use crate::support::probe::{Count, OnDrop};
use crate::support::process::{alone_with, memory};
use std::time::Duration;

const MILLION: usize = 1_000_000;

/// What further rounds may add, since the allocator does as it likes: its smallest block per task would show.
const SLACK: usize = 24 << 20;

/// Half of them have waited when the end comes, the others have never been polled.
fn round() {
    let (runtime, dropped) = (workers(2), Count::default());
    let spawn = |count: usize| {
        for _ in 0..count {
            let guard = OnDrop(dropped.clone());
            drop(runtime.spawn(async move {
                let _guard = guard;
                std::future::pending::<()>().await;
            }));
        }
    };
    spawn(MILLION / 2);
    until(|| runtime.metrics().num_cold_tasks() == MILLION / 2);
    let release = crate::scheduler::steal::occupy(&runtime, 2);
    spawn(MILLION / 2);
    assert!(runtime.metrics().num_alive_tasks() >= MILLION);
    drop(release);
    drop(runtime);
    assert_eq!(dropped.get(), MILLION);
}

#[test]
fn a_million_tasks_leave_no_memory_behind() {
    within(Duration::from_secs(150), || {
        alone_with(
            "stress::million_tasks::a_million_tasks_leave_no_memory_behind",
            ONE_ARENA,
            || {
                round();
                let before = memory();
                round();
                round();
                let after = memory();
                assert!(after < before + SLACK, "{before} bytes, and then {after}");
            },
        );
    });
}
