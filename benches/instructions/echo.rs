//! The client of the echo server: a process of its own, so that its instructions are not counted.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Tells the process that it is a client: address, number of messages.
pub(crate) const CLIENT: &str = "LITEN_BENCH_ECHO_CLIENT";
const MESSAGE: usize = 64;
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether this process was a client, and has done its work.
pub(crate) fn client() -> bool {
    let Ok(order) = std::env::var(CLIENT) else { return false };
    let (address, messages) = order.split_once(' ').expect("an address and a number");
    let messages: usize = messages.parse().expect("a number of messages");
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_nodelay(true).expect("an ordinary option");
    stream.set_read_timeout(Some(PATIENCE)).expect("an ordinary option");
    let mut answer = [0; MESSAGE];
    for _ in 0..messages {
        stream.write_all(&[7; MESSAGE]).expect("the server reads");
        stream.read_exact(&mut answer).expect("the server answers");
    }
    true
}
