//! HTTPS, both sides: a server with a certificate that it makes for itself, and a client that trusts it.
//!
//! ```sh
//! cargo run -p real --example https futures serve      # [ADDRESS [FILE]], by default 127.0.0.1:3443 and
//!                                                      # certificate.pem, which is written for the clients
//! curl --cacert certificate.pem https://localhost:3443/
//! cargo run -p real --example https futures get 127.0.0.1:3443 localhost certificate.pem
//! ```
//!
//! rustls knows no sockets. futures-rustls puts it on streams with the I/O traits of futures-io, and
//! tokio-rustls (say `tokio` instead of `futures`) on those with tokio's; liten's `TcpStream` has both.
//! hyper has a third pair of traits: `LitenIo` and `TokioIo` lead there. Neither needs a tokio runtime.

use http_body_util::{BodyExt, Empty, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::rt::{Read, Write};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use liten::hyper::{LitenIo, LitenTimer};
use liten::io;
use liten::net::{TcpListener, TcpStream};
use liten::time::{Duration, sleep, timeout};
use real::certificate;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ServerConfig};
use std::convert::Infallible;
use std::env;
use std::error::Error;
use std::net::{Shutdown, SocketAddr};
use std::path::Path;
use std::sync::Arc;

/// The longest head of a request, and the longest answer that the client takes.
const HEAD: usize = 8 * 1024;
const ANSWER: usize = 1024 * 1024;
/// How long the other side may take for one step: the handshake, a request or an answer, the end.
const PATIENCE: Duration = Duration::from_secs(3);

type Failure = Box<dyn Error + Send + Sync>;

/// Which library stands between rustls and the socket.
#[derive(Clone, Copy)]
enum Glue {
    Futures,
    Tokio,
}

#[liten::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (glue, arguments) = match arguments.split_first() {
        Some((&"futures", rest)) => (Glue::Futures, rest),
        Some((&"tokio", rest)) => (Glue::Tokio, rest),
        _ => return Err(USAGE.into()),
    };
    match arguments {
        ["serve"] => serve(glue, "127.0.0.1:3443", "certificate.pem").await,
        ["serve", address] => serve(glue, address, "certificate.pem").await,
        ["serve", address, file] => serve(glue, address, file).await,
        ["get", address, name, file] => {
            println!("{}", get(glue, address, name, file).await?);
            Ok(())
        }
        _ => Err(USAGE.into()),
    }
}

const USAGE: &str = "usage: https futures|tokio serve [ADDRESS [FILE]] | get ADDRESS NAME FILE";

async fn serve(glue: Glue, address: &str, file: &str) -> Result<(), Failure> {
    let mut config = certificate::server(Path::new(file))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let config = Arc::new(config);
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let config = Arc::clone(&config);
                liten::spawn(async move {
                    if let Err(error) = attend(glue, config, stream, peer).await {
                        // hyper keeps the cause apart.
                        let cause = error.source().map(|cause| format!(": {cause}"));
                        println!("{peer} failed: {error}{}", cause.unwrap_or_default());
                    }
                });
            }
            Err(error) => {
                // No descriptors left, perhaps: give clients time to leave.
                eprintln!("accept: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Answers a client's requests until it goes, or does none for some time.
async fn attend(
    glue: Glue,
    config: Arc<ServerConfig>,
    stream: TcpStream,
    peer: SocketAddr,
) -> Result<(), Failure> {
    // Both libraries give the stream back when the handshake fails.
    let refused = match glue {
        Glue::Futures => {
            let handshake = futures_rustls::TlsAcceptor::from(config).accept(stream);
            match timeout(PATIENCE, handshake.into_fallible()).await? {
                Ok(stream) => return answer_all(LitenIo::new(stream), peer).await,
                Err(refused) => refused,
            }
        }
        Glue::Tokio => {
            let handshake = tokio_rustls::TlsAcceptor::from(config).accept(stream);
            match timeout(PATIENCE, handshake.into_fallible()).await? {
                Ok(stream) => return answer_all(TokioIo::new(stream), peer).await,
                Err(refused) => refused,
            }
        }
    };
    let (error, stream) = refused;
    part(&stream).await;
    Err(error.into())
}

async fn answer_all<S>(stream: S, peer: SocketAddr) -> Result<(), Failure>
where
    S: Read + Write + Unpin + Send + 'static,
{
    let service = service_fn(|request| async move {
        println!("{peer} {} {}", request.method(), request.uri());
        Ok::<_, Infallible>(answer(&request))
    });
    hyper::server::conn::http1::Builder::new()
        .timer(LitenTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(HEAD)
        .serve_connection(stream, service)
        .await?;
    Ok(())
}

fn answer(request: &Request<Incoming>) -> Response<Full<Bytes>> {
    if request.method() == Method::GET {
        return Response::new(Full::from(format!("you asked for {}\n", request.uri())));
    }
    let mut answer = Response::new(Full::from("GET is all I know\n"));
    *answer.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    answer
}

/// Ends the connection, and waits until the client has ended it too: closing a socket with bytes unread
/// would reset the connection, and the client could lose what it was told last.
async fn part(stream: &TcpStream) {
    // Errors mean that the client was quicker.
    let _ = stream.shutdown_std(Shutdown::Write);
    let _ = timeout(PATIENCE, io::copy(stream, &mut io::sink())).await;
}

/// Fetches `/` from the server at `address`, if it proves by a certificate in `file` to be `name`.
async fn get(glue: Glue, address: &str, name: &str, file: &str) -> Result<String, Failure> {
    let config: Arc<ClientConfig> = Arc::new(certificate::client(Path::new(file))?);
    let server = ServerName::try_from(name.to_owned())?;
    let stream = timeout(PATIENCE, TcpStream::connect(address)).await??;
    match glue {
        Glue::Futures => {
            let handshake = futures_rustls::TlsConnector::from(config).connect(server, stream);
            let stream = timeout(PATIENCE, handshake).await??;
            timeout(PATIENCE, fetch(LitenIo::new(stream), name)).await?
        }
        Glue::Tokio => {
            let handshake = tokio_rustls::TlsConnector::from(config).connect(server, stream);
            let stream = timeout(PATIENCE, handshake).await??;
            timeout(PATIENCE, fetch(TokioIo::new(stream), name)).await?
        }
    }
}

async fn fetch<S>(stream: S, name: &str) -> Result<String, Failure>
where
    S: Read + Write + Unpin + Send + 'static,
{
    let (mut client, connection) = hyper::client::conn::http1::handshake(stream).await?;
    // An error of the connection is an error of the answer too.
    liten::spawn(async move { connection.await.ok() });
    let request = Request::get("/").header("host", name).body(Empty::<Bytes>::new())?;
    let (head, body) = client.send_request(request).await?.into_parts();
    // An error if the server ends without saying so: the answer could have been cut off.
    let body = Limited::new(body, ANSWER).collect().await?.to_bytes();
    Ok(format!("{:?} {}\n{}", head.version, head.status, String::from_utf8_lossy(&body)))
}
