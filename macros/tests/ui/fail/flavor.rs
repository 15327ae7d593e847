#[liten::main(flavor = "multithread")]
async fn typo() {}

#[liten::main(flavor = "local")]
async fn of_tokio() {}

#[liten::main(flavor = "threaded_scheduler")]
async fn of_old_tokio() {}

#[liten::main(flavor = current_thread)]
async fn without_quotes() {}

#[liten::main(flavor = 1)]
async fn number() {}

fn main() {}
