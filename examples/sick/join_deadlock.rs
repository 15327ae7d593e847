//! Two tasks, each of which waits for the end of the other.
//!
//! ```sh
//! cargo run --example sick_join_deadlock
//! ```
//!
//! The page says which tasks wait for each other, and that it is proven. The cure is to let a third one wait
//! for both, or to wait for a message and not for an end.

mod ward;

use liten::sync::oneshot;
use liten::task::JoinHandle;
use std::io;

fn main() -> io::Result<()> {
    ward::run(&mut ward::settings(), || {
        let (to_reader, handle_of_writer) = oneshot::channel::<JoinHandle<()>>();
        let (to_writer, handle_of_reader) = oneshot::channel::<JoinHandle<()>>();
        let reader = liten::spawn(async move {
            let writer = handle_of_writer.await.expect("main sends it");
            writer.await.expect("it does not panic");
        });
        let writer = liten::spawn(async move {
            let reader = handle_of_reader.await.expect("main sends it");
            reader.await.expect("it does not panic");
        });
        to_reader.send(writer).expect("the reader waits for it");
        to_writer.send(reader).expect("the writer waits for it");
        Ok(())
    })
}
