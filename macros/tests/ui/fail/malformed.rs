#[liten::main(flavor)]
async fn no_value() {}

#[liten::main(name =)]
async fn nothing_after_equals() {}

#[liten::main(worker_threads(4))]
async fn parentheses() {}

#[liten::main(, name = "a")]
async fn comma_first() {}

#[liten::main("multi_thread")]
async fn value_only() {}

fn main() {}
