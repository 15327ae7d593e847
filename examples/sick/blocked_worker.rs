//! A task that reads from a socket of std's: the call blocks, and with it the task's worker.
//!
//! ```sh
//! cargo run --example sick_blocked_worker
//! ```
//!
//! The page says for how long, in which system call on which socket, and where the task was spawned. The
//! cure is a socket of liten's, or `spawn_blocking`.

mod ward;

use std::io::{self, Read};
use std::net::{TcpListener, TcpStream};

fn main() -> io::Result<()> {
    ward::run(&mut ward::settings(), || {
        // A server that never answers: connections wait in the queue of its listener.
        let server = TcpListener::bind("127.0.0.1:0")?;
        let stream = TcpStream::connect(server.local_addr()?)?;
        drop(liten::spawn(async move {
            let _open = server;
            first_byte(stream)
        }));
        Ok(())
    })
}

fn first_byte(mut stream: TcpStream) -> io::Result<u8> {
    let mut byte = [0];
    stream.read_exact(&mut byte)?;
    Ok(byte[0])
}
