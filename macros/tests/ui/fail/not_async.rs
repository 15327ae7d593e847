#[liten::main]
fn main() {}

#[liten::test]
fn test() {}
