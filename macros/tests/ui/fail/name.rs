#[liten::main(name = 4)]
async fn number() {}

#[liten::main(name = b"bytes")]
async fn bytes() {}

#[liten::main(name = "zero\0byte")]
async fn zero_byte() {}

fn main() {}
