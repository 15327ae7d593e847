//! HTTPS, both sides: a server with a certificate that it makes for itself, and a client that trusts it.
//!
//! ```sh
//! cargo run -p real --example https serve        # [ADDRESS [FILE]], by default 127.0.0.1:3443 and
//!                                                # certificate.pem, which is written for the clients
//! curl --cacert certificate.pem https://localhost:3443/
//! cargo run -p real --example https get 127.0.0.1:3443 localhost certificate.pem
//! ```
//!
//! rustls knows no sockets; futures-rustls puts it on anything that reads and writes through the traits of
//! futures-io, as liten's `TcpStream` does. HTTP is as little as it can be: one request and one answer per
//! connection.

use futures_rustls::pki_types::ServerName;
use futures_rustls::{TlsAcceptor, TlsConnector};
use liten::io::{self, AsyncRead, AsyncReadExt, AsyncWriteExt};
use liten::net::{TcpListener, TcpStream};
use liten::time::{Duration, sleep, timeout};
use real::certificate;
use std::env;
use std::net::Shutdown;
use std::path::Path;
use std::sync::Arc;

/// The longest head of a request, and the longest answer that the client takes.
const HEAD: u64 = 8 * 1024;
const ANSWER: u64 = 1024 * 1024;
/// How long the other side may take for one step: the handshake, its request or answer, the end.
const PATIENCE: Duration = Duration::from_secs(3);

#[liten::main]
async fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve"] => serve("127.0.0.1:3443", "certificate.pem").await,
        ["serve", address] => serve(address, "certificate.pem").await,
        ["serve", address, file] => serve(address, file).await,
        ["get", address, name, file] => {
            print!("{}", get(address, name, file).await?);
            Ok(())
        }
        _ => Err(io::Error::other("usage: https serve [ADDRESS [FILE]] | get ADDRESS NAME FILE")),
    }
}

async fn serve(address: &str, file: &str) -> io::Result<()> {
    let mut config = certificate::server(Path::new(file))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let acceptor = acceptor.clone();
                liten::spawn(async move {
                    match attend(&stream, &acceptor).await {
                        Ok(request) => println!("{peer} {request}"),
                        Err(error) => println!("{peer} failed: {error}"),
                    }
                    part(&stream).await;
                });
            }
            Err(error) => {
                // No descriptors left, perhaps: give somebody time to leave.
                eprintln!("accept: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Answers one request and returns its first line.
async fn attend(stream: &TcpStream, acceptor: &TlsAcceptor) -> io::Result<String> {
    let mut tls = timeout(PATIENCE, acceptor.accept(stream)).await??;
    let head = timeout(PATIENCE, head(&mut tls)).await??;
    let request = head.lines().next().unwrap_or_default().to_owned();
    let (status, body) = match request.split(' ').collect::<Vec<_>>()[..] {
        ["GET", path, version] if version.starts_with("HTTP/1.") => {
            ("200 OK", format!("you asked for {path}\n"))
        }
        _ => ("400 Bad Request", "GET is all I know\n".to_owned()),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    timeout(PATIENCE, async {
        tls.write_all(answer.as_bytes()).await?;
        // Tells the client that this is all, so that nobody can cut the answer off unnoticed.
        tls.close().await
    })
    .await??;
    Ok(request)
}

/// Reads up to the empty line that ends the head of a request.
async fn head(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<String> {
    let mut stream = stream.take(HEAD);
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        let length = stream.read(&mut buffer).await?;
        if length == 0 {
            let wrong = if stream.limit() == 0 { "is too long" } else { "has no end" };
            return Err(io::Error::other(format!("the head of the request {wrong}")));
        }
        head.extend_from_slice(&buffer[..length]);
    }
    String::from_utf8(head).map_err(io::Error::other)
}

/// Ends the connection, and waits until the client has ended it too: closing a socket with bytes unread
/// would reset the connection, and the client could lose what it was told last.
async fn part(stream: &TcpStream) {
    // Errors mean that the client was quicker.
    let _ = stream.shutdown(Shutdown::Write);
    let _ = timeout(PATIENCE, io::copy(stream, &mut io::sink())).await;
}

/// Fetches `/` from the server at `address`, if it proves by a certificate in `file` to be `name`.
async fn get(address: &str, name: &str, file: &str) -> io::Result<String> {
    let connector = TlsConnector::from(Arc::new(certificate::client(Path::new(file))?));
    let server = ServerName::try_from(name.to_owned()).map_err(io::Error::other)?;
    let stream = timeout(PATIENCE, TcpStream::connect(address)).await??;
    let mut tls = timeout(PATIENCE, connector.connect(server, stream)).await??;
    let request = format!("GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n");
    timeout(PATIENCE, async {
        tls.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        // An error if the server ends without saying so: the answer could have been cut off.
        tls.take(ANSWER).read_to_string(&mut answer).await?;
        Ok(answer)
    })
    .await?
}
