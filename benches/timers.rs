//! What a timer costs that is dropped before it fires, and how long ten thousand take that fire at once.

#[path = "contest/clock.rs"]
mod clock;
#[path = "contest/row.rs"]
mod row;
#[path = "contest/runtimes.rs"]
mod runtimes;
#[path = "contest/sleeps.rs"]
mod sleeps;
#[path = "contest/stage.rs"]
mod stage;

fn main() {
    let mut criterion = stage::criterion();
    // Two tasks at once need two workers.
    let workers = num_cpus::get().max(2);
    stage::run(&mut criterion, "timers", workers, sleeps::rows(), sleeps::rows(), sleeps::rows());
    criterion.final_summary();
}
