#[liten::test]
#[test]
async fn short() {}

/// Order and attributes between do not matter.
#[liten::test]
#[allow(unused)]
#[::core::prelude::v1::test]
async fn long() {}

fn main() {}
