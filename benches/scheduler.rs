//! What a spawn, a wake, a yield and a join cost, beside tokio and smol.
//!
//! Two groups: as many workers as there are CPUs, and four, which is what tokio's own benches use.

#[path = "contest/families.rs"]
#[allow(dead_code, reason = "only what the scheduler's rows send over")]
mod families;
#[path = "contest/row.rs"]
mod row;
#[path = "contest/runtimes.rs"]
mod runtimes;
#[path = "contest/stage.rs"]
mod stage;
#[path = "contest/tasks.rs"]
mod tasks;
#[path = "contest/yields.rs"]
mod yields;

fn main() {
    let mut criterion = stage::criterion();
    let cpus = num_cpus::get();
    let mut counts = vec![cpus, 4];
    counts.dedup();
    for workers in counts {
        stage::run(
            &mut criterion,
            &format!("{workers} workers"),
            workers,
            tasks::rows(workers),
            tasks::rows(workers),
            tasks::rows(workers),
        );
    }
    criterion.final_summary();
}
