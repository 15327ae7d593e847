#[liten::test(start_paused = 1)]
async fn number() {}

#[liten::test(start_paused = "true")]
async fn string() {}

#[liten::main(start_paused = yes)]
async fn word() {}

#[liten::test(start_paused)]
async fn nothing() {}

#[liten::test(start_paused = true, start_paused = false)]
async fn twice() {}

fn main() {}
