#[liten::main]
pub const async fn constant() {}

fn main() {}
