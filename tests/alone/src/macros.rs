//! The two attributes.

#[liten::main(worker_threads = 1)]
async fn doubled(number: u32) -> u32 {
    liten::spawn(async move { 2 * number }).await.unwrap()
}

#[test]
fn main_makes_a_runtime() {
    assert_eq!(doubled(4), 8);
}

#[liten::test]
async fn tests_have_a_runtime() {
    assert_eq!(liten::task::spawn_local(async { 1 + 1 }).await.unwrap(), 2);
}
