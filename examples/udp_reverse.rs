//! Waits for one datagram, sends it back reversed, and ends.
//!
//! ```sh
//! cargo run --example udp_reverse              # 127.0.0.1:8000, or the address given as the argument
//! printf bar | nc -u -w 1 127.0.0.1 8000       # in another terminal: prints rab
//! ```
//!
//! The buffer has room for ten bytes. What a longer datagram has beyond them is cut off (Windows reports that
//! as an error, which then ends the program).

use liten::net::UdpSocket;
use std::env;
use std::io;

#[liten::main]
async fn main() -> io::Result<()> {
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8000".to_owned());
    let socket = UdpSocket::bind(address).await?;
    println!("listening on {}", socket.local_addr()?);

    let mut buffer = [0; 10];
    let (length, peer) = socket.recv_from(&mut buffer).await?;
    let answer = &mut buffer[..length];
    answer.reverse();
    socket.send_to(answer, peer).await?;
    println!("answered {peer} with {length} bytes");
    Ok(())
}
