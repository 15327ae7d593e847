#[liten::main(workers = 4)]
async fn guess() {}

#[liten::main(colour = "red")]
async fn nonsense() {}

#[liten::test(paused = true)]
async fn paused() {}

#[liten::test(unhandled_panic = "shutdown_runtime")]
async fn unhandled_panic() {}

#[liten::main(core_threads = 4)]
async fn core_threads() {}

#[liten::main(basic_scheduler)]
async fn basic_scheduler() {}

#[liten::main(threaded_scheduler)]
async fn threaded_scheduler() {}

#[liten::main(multi_thread)]
async fn bare_flavor() {}

#[liten::main(thread_name = "web")]
async fn thread_name() {}

#[liten::main(max_blocking_threads = 4)]
async fn builder_only() {}

fn main() {}
