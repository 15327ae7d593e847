#[liten::main(flavor = "multi_thread", worker_threads = 2, flavor = "multi_thread")]
async fn flavor() {}

#[liten::main(crate = "liten", crate = "liten")]
async fn crates() {}

fn main() {}
