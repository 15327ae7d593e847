//! Two tasks that take the same two locks, each in the order of its own.
//!
//! ```sh
//! cargo run --example sick_lock_deadlock
//! ```
//!
//! The page says which tasks wait for locks that the other one holds, and that it is proven. The cure is one
//! order in which all tasks take them, or one lock for both.

mod ward;

use liten::sync::{Barrier, Mutex};
use std::io;
use std::sync::Arc;

fn main() -> io::Result<()> {
    ward::run(&mut ward::settings(), || {
        let accounts = Arc::new([Mutex::new(100), Mutex::new(100)]);
        // Without it they would meet only now and then, as in life.
        let both_hold_one = Arc::new(Barrier::new(2));
        let first = (accounts.clone(), both_hold_one.clone());
        drop(liten::spawn(async move { transfer(&first.0[0], &first.0[1], &first.1).await }));
        let second = (accounts, both_hold_one);
        drop(liten::spawn(async move { transfer(&second.0[1], &second.0[0], &second.1).await }));
        Ok(())
    })
}

async fn transfer(from: &Mutex<i64>, to: &Mutex<i64>, both_hold_one: &Barrier) {
    let mut from = from.lock().await;
    both_hold_one.wait().await;
    let mut to = to.lock().await;
    *from -= 1;
    *to += 1;
}
