#[liten::main]
struct Main;

#[liten::test]
pub mod tests {}

#[liten::main]
const N: u8 = 0;

fn main() {}
