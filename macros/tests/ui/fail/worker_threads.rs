#[liten::main(worker_threads = 0)]
async fn zero() {}

#[liten::main(worker_threads = "4")]
async fn string() {}

#[liten::main(worker_threads = -1)]
async fn negative() {}

#[liten::main(worker_threads = 2.5)]
async fn fraction() {}

#[liten::main(worker_threads = COUNT * 2)]
async fn expression() {}

#[liten::main(worker_threads = 99999999999999999999999)]
async fn too_large() {}

#[liten::main(worker_threads = 2, flavor = "current_thread")]
async fn without_workers() {}

#[liten::test(worker_threads = 2)]
async fn default_of_tests() {}

fn main() {}
