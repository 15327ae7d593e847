//! What [hyper](https://hyper.rs) asks of a runtime: [`LitenExecutor`], [`LitenTimer`], and its I/O traits.
//!
//! hyper's I/O traits are on the sockets themselves: a [`TcpStream`](crate::net::TcpStream), a `UnixStream`,
//! their halves and [`Async`](crate::io::Async) go into `serve_connection` and `handshake` as they are.
//! [`LitenIo`] is for everything else that reads and writes through `futures-io`, such as a TLS stream.
//!
//! hyper has timeouts of its own, and it can keep them only if it is given a timer: always give it one. One
//! that is set without a timer panics, and the one for reading the head of a request, 30 seconds unless
//! told otherwise, is silently not there.
//!
//! # Examples
//!
//! A server for one connection, and a client:
//!
//! ```
//! use hyper::body::{Bytes, Incoming};
//! use hyper::{Request, Response};
//! use http_body_util::{BodyExt, Empty, Full};
//! use liten::hyper::{LitenExecutor, LitenTimer};
//! use liten::net::{TcpListener, TcpStream};
//!
//! async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
//!     Ok(Response::new(Full::from("hello")))
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! # liten::block_on(async {
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let address = listener.local_addr()?;
//! liten::spawn(async move {
//!     let (stream, _peer) = listener.accept().await?;
//!     let service = hyper::service::service_fn(hello);
//!     let mut http = hyper_util::server::conn::auto::Builder::new(LitenExecutor::new());
//!     http.http1().timer(LitenTimer::new());
//!     http.http2().timer(LitenTimer::new());
//!     http.serve_connection(stream, service).await
//! });
//!
//! let stream = TcpStream::connect(address).await?;
//! let (mut client, connection) = hyper::client::conn::http1::handshake(stream).await?;
//! liten::spawn(connection);
//! let request = Request::get("/").header("host", "localhost").body(Empty::<Bytes>::new())?;
//! let answer = client.send_request(request).await?;
//! assert_eq!(answer.into_body().collect().await?.to_bytes(), "hello");
//! # Ok(())
//! # })
//! # }
//! ```

mod adapter;
mod executor;
mod timer;

pub use self::adapter::LitenIo;
pub use self::executor::LitenExecutor;
pub use self::timer::LitenTimer;
