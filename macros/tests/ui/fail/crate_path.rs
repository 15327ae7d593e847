#[liten::main(crate = 4)]
async fn number() {}

#[liten::main(crate = "")]
async fn empty() {}

#[liten::main(crate = "not a path")]
async fn words() {}

#[liten::main(crate = liten::<u8>)]
async fn generics() {}

fn main() {}
