//! A QUIC server that gives back what comes on its streams and in its datagrams.
//!
//! ```sh
//! cargo run -p real --example quic_echo               # [ADDRESS [FILE]], by default 127.0.0.1:4433 and
//!                                                     # certificate.pem, which is written for the clients
//! cargo run -p real --example quic_client_tokio -- 127.0.0.1:4433 certificate.pem 20
//! ```
//!
//! Interrupted (ctrl-c), it tells all clients before it ends.
//!
//! quinn brings the protocol and asks for a runtime through a trait, which `real::quinn` implements on
//! liten. The client of the second line runs on tokio.

use liten::io;
use liten::select;
use liten::signal;
use liten::time::{Duration, timeout};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Connection, ConnectionError, Endpoint, EndpointConfig, Incoming};
use quinn::{RecvStream, SendStream, ServerConfig, TransportConfig};
use real::certificate;
use real::quinn::LitenRuntime;
use std::env;
use std::error::Error;
use std::net::UdpSocket;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

/// How long a client may be silent.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many streams a client may have open, and how many bytes of each may be on their way.
const STREAMS: u32 = 64;
const WINDOW: u32 = 256 * 1024;
/// The longest piece of a stream that is given back at once.
const PIECE: usize = 64 * 1024;

#[liten::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:4433".to_owned());
    let file = arguments.next().unwrap_or_else(|| "certificate.pem".to_owned());

    let mut tls = certificate::server(Path::new(&file))?;
    tls.alpn_protocols = vec![b"echo".to_vec()];
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(Some(PATIENCE.try_into()?));
    transport.max_concurrent_bidi_streams(STREAMS.into()).max_concurrent_uni_streams(0_u8.into());
    transport.stream_receive_window(WINDOW.into());
    config.transport_config(Arc::new(transport));
    let socket = UdpSocket::bind(address)?;
    let runtime = Arc::new(LitenRuntime);
    let endpoint = Endpoint::new(EndpointConfig::default(), Some(config), socket, runtime)?;
    println!("listening on {}", endpoint.local_addr()?);

    let mut interrupted = pin!(signal::ctrl_c());
    loop {
        select! {
            // In this order ctrl-c is listened for before the first client is served.
            biased;
            result = &mut interrupted => {
                result?;
                break;
            }
            incoming = endpoint.accept() => match incoming {
                Some(incoming) => drop(liten::spawn(report(incoming))),
                None => break,
            },
        }
    }
    endpoint.close(0_u8.into(), b"the server ends");
    // Until all clients know. Nothing is lost if one does not want to: it will miss us.
    let _ = timeout(PATIENCE, endpoint.wait_idle()).await;
    Ok(())
}

async fn report(incoming: Incoming) {
    let peer = incoming.remote_address();
    match attend(incoming).await {
        Ok(summary) => println!("{peer} left: {summary}"),
        Err(error) => println!("{peer} failed: {error}"),
    }
}

/// Echoes until one of both sides closes the connection.
async fn attend(incoming: Incoming) -> Result<String, ConnectionError> {
    let Ok(connection) = timeout(PATIENCE, incoming).await else {
        return Err(ConnectionError::TimedOut);
    };
    let connection = connection?;
    println!("{} came", connection.remote_address());
    let mut streams = 0;
    let error = loop {
        select! {
            stream = connection.accept_bi() => match stream {
                Ok((send, receive)) => {
                    streams += 1;
                    // An error means that the client has given the stream up; it knows that.
                    liten::spawn(async move { echo(send, receive).await.ok() });
                }
                Err(error) => break error,
            },
            datagram = connection.read_datagram() => match datagram {
                // Datagrams may get lost anyway, and this one found no room.
                Ok(datagram) => drop(connection.send_datagram(datagram)),
                Err(error) => break error,
            },
        }
    };
    match error {
        ConnectionError::ApplicationClosed(_) | ConnectionError::LocallyClosed => {
            Ok(summary(&connection, streams))
        }
        error => Err(error),
    }
}

/// Gives back each piece of a stream before it takes the next one: a client that does not read is not read.
async fn echo(mut send: SendStream, mut receive: RecvStream) -> io::Result<()> {
    while let Some(chunk) = receive.read_chunk(PIECE, true).await? {
        send.write_chunk(chunk.bytes).await?;
    }
    send.finish()?;
    Ok(())
}

fn summary(connection: &Connection, streams: usize) -> String {
    let sent = connection.stats().udp_tx;
    format!("{streams} streams, {} packets in {} system calls", sent.datagrams, sent.ios)
}
