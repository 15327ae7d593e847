//! The smallest program: a task that is spawned and awaited.
//!
//! ```sh
//! cargo run --example hello
//! ```
//!
//! It prints `hello from main` and `hello from a task`.

use std::io;

#[liten::main]
async fn main() -> io::Result<()> {
    let task = liten::spawn(async { "hello from a task" });
    println!("hello from main");
    // An error here would mean that the task has panicked.
    println!("{}", task.await?);
    Ok(())
}
