//! Load for an echo server: many connections that are all open at once, and every byte is checked.
//!
//! ```sh
//! cargo run --release --example echo_server -- 127.0.0.1:7878
//! cargo run --release --example echo_load -- 127.0.0.1:7878 1000 10      # ADDR CONNECTIONS MESSAGES
//! ```
//!
//! Each connection sends that many messages of 1 byte to 64 KiB; sizes and contents look random, but are the
//! same in every run. It ends by itself, with an error at the first wrong byte, otherwise with one line:
//!
//! ```text
//! 1000 connections, 10000 messages, 327680000 bytes came back in 2.1 s
//! ```
//!
//! Each connection is a descriptor here and one in the server: `ulimit -n` has to allow them.

use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::net::TcpStream;
use liten::sync::{Barrier, Semaphore};
use liten::task::JoinSet;
use liten::time::{Duration, Instant, timeout};
use liten::try_join;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::{env, io};

const LARGEST: usize = 64 * 1024;

/// How many messages are under way at a time, on all connections together. Without a bound, thousands of
/// connections times 64 KiB would fill the memory of both sides and of the kernel between them.
const UNDER_WAY: usize = 256;

/// After this the server hangs.
const LIMIT: Duration = Duration::from_secs(300);

/// What all connections share.
struct Load {
    address: SocketAddr,
    messages: usize,
    /// Every message is a piece of this.
    bytes: Vec<u8>,
    under_way: Semaphore,
    all_open: Barrier,
}

#[liten::main]
async fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, connections, messages] = arguments.as_slice() else {
        return Err(usage());
    };
    let address = address.parse().map_err(|_| usage())?;
    let connections = connections.parse::<NonZeroUsize>().map_err(|_| usage())?.get();
    let messages = messages.parse::<NonZeroUsize>().map_err(|_| usage())?.get();
    let load = Arc::new(Load {
        address,
        messages,
        bytes: Random(0).bytes(2 * LARGEST),
        under_way: Semaphore::new(UNDER_WAY),
        all_open: Barrier::new(connections),
    });
    let start = Instant::now();
    let bytes = timeout(LIMIT, run(load, connections)).await??;
    let (total, seconds) = (connections * messages, start.elapsed().as_secs_f64());
    println!(
        "{connections} connections, {total} messages, {bytes} bytes came back in {seconds:.1} s"
    );
    Ok(())
}

fn usage() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "usage: echo_load ADDR CONNECTIONS MESSAGES")
}

/// Runs all connections and returns how many bytes came back. The first error ends all.
async fn run(load: Arc<Load>, connections: usize) -> io::Result<usize> {
    let mut clients = JoinSet::new();
    for seed in 1..=connections as u64 {
        clients.spawn(client(Arc::clone(&load), Random(seed)));
    }
    let mut bytes = 0;
    let mut streams = Vec::new();
    while let Some(client) = clients.join_next().await {
        let (stream, received) = client??;
        bytes += received;
        // No client leaves before the last one has been served.
        streams.push(stream);
    }
    Ok(bytes)
}

/// Runs one connection; returns it, still open, and how many bytes came back.
async fn client(load: Arc<Load>, mut random: Random) -> io::Result<(TcpStream, usize)> {
    // To connect counts as a message: so many at once fit into the queue of a listener.
    let permit = load.under_way.acquire().await.expect("never closed");
    let stream = TcpStream::connect(load.address).await?;
    stream.set_nodelay(true)?;
    let mut bytes = load.exchange(&stream, &mut random).await?;
    drop(permit);

    load.all_open.wait().await;
    for _ in 1..load.messages {
        let _permit = load.under_way.acquire().await.expect("never closed");
        bytes += load.exchange(&stream, &mut random).await?;
    }
    Ok((stream, bytes))
}

impl Load {
    /// Sends one message, waits for the answer, compares, and returns the length.
    async fn exchange(&self, stream: &TcpStream, random: &mut Random) -> io::Result<usize> {
        let length = 1 + random.below(LARGEST);
        let start = random.below(LARGEST);
        let message = &self.bytes[start..start + length];
        let mut answer = vec![0; length];
        // At the same time: a server whose answer is not read does not read on either.
        let (mut reader, mut writer) = (stream, stream);
        try_join!(writer.write_all(message), reader.read_exact(&mut answer))?;
        if answer != message {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "other bytes came back"));
        }
        Ok(length)
    }
}

/// A splitmix64 generator: small, and good enough from any seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }
}
