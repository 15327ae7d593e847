//! A client for `quic_echo` on quinn's own runtime, tokio: nothing of liten is in it.
//!
//! It sends streams of different lengths at the same time and some datagrams, and compares what comes back.
//! `cargo run -p real --example quic_client_tokio -- ADDRESS FILE STREAMS`; FILE is the server's certificate.
//! With 0 streams it starts one, and then waits until the server has enough.

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint};
use real::certificate;
use std::env;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The longest stream.
const LENGTH: usize = 1024 * 1024;
/// Where in the content a stream may begin.
const OFFSETS: usize = 256;
const DATAGRAMS: u8 = 10;

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, file, streams] = &arguments[..] else {
        return Err("usage: quic_client_tokio ADDRESS FILE STREAMS".into());
    };
    let streams: usize = streams.parse()?;

    let mut tls = certificate::client(Path::new(file))?;
    tls.alpn_protocols = vec![b"echo".to_vec()];
    let mut endpoint = Endpoint::client("127.0.0.1:0".parse()?)?;
    endpoint
        .set_default_client_config(ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?)));
    let connection = endpoint.connect(address.parse()?, "localhost")?.await?;
    if streams == 0 {
        let (mut send, _receive) = connection.open_bi().await?;
        send.write_all(b"the beginning of something").await?;
        // From this line on the server may end.
        println!("connected");
        println!("{}", connection.closed().await);
        return Ok(());
    }
    println!("connected");

    // Made once: work that is not the connection's would keep its workers from answering the server.
    let content = (0..LENGTH + OFFSETS).map(|index: usize| ((index * 31) ^ (index >> 8)) as u8);
    let content = Arc::new(content.collect::<Vec<u8>>());
    let mut tasks = JoinSet::new();
    for number in 0..streams {
        tasks.spawn(stream(connection.clone(), number, Arc::clone(&content)));
    }
    let mut bytes = 0;
    while let Some(length) = tasks.join_next().await {
        bytes += length??;
    }
    for number in 0..DATAGRAMS {
        datagram(&connection, number).await?;
    }
    println!("{streams} streams, {bytes} bytes, {DATAGRAMS} datagrams");
    connection.close(0_u8.into(), b"done");
    endpoint.wait_idle().await;
    Ok(())
}

/// Sends a stream of a length that looks random, reads at the same time, and returns the length.
async fn stream(
    connection: Connection,
    number: usize,
    content: Arc<Vec<u8>>,
) -> Result<usize, Failure> {
    // One is as long as can be, one is empty; the others are shorter, or it would take long.
    let length = match number {
        0 => LENGTH,
        1 => 0,
        _ => number.wrapping_mul(0x9e37_79b9) % (LENGTH / 4),
    };
    // No two have the same bytes at the same place.
    let range = number % OFFSETS..number % OFFSETS + length;
    let (mut send, mut receive) = connection.open_bi().await?;
    let writer = tokio::spawn({
        let (content, range) = (Arc::clone(&content), range.clone());
        async move {
            send.write_all(&content[range]).await?;
            send.finish()?;
            Ok::<_, Failure>(())
        }
    });
    let echo = receive.read_to_end(LENGTH + 1).await?;
    writer.await??;
    if echo == content[range] {
        return Ok(length);
    }
    Err(format!("stream {number} came back different").into())
}

/// Sends a datagram, again and again until it comes back, because datagrams may get lost.
async fn datagram(connection: &Connection, number: u8) -> Result<(), Failure> {
    let content = vec![number; 100 + usize::from(number)];
    loop {
        connection.send_datagram(content.clone().into())?;
        let Ok(echo) = timeout(Duration::from_millis(500), connection.read_datagram()).await else {
            continue;
        };
        let echo = echo?;
        if echo == content {
            return Ok(());
        }
        // Unless it is a late one of those before.
        if echo[0] >= number {
            return Err(format!("datagram {number} came back different").into());
        }
    }
}
