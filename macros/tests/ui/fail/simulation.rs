//! Simulation is for tests, and what is said of it needs it.

#[liten::main(sim)]
async fn of_main() {}

#[liten::test(seeds = 3)]
async fn seeds_alone() {}

#[liten::test(workers = 3)]
async fn workers_alone() {}

#[liten::test(sim = true)]
async fn with_a_value() {}

#[liten::test(sim, seeds = 0)]
async fn no_seed() {}

#[liten::test(sim, workers = 0)]
async fn no_worker() {}

fn main() {}
