//! Reading and writing.
//!
//! # Which traits
//!
//! A socket of liten implements two families of traits: those of futures-io (re-exported in
//! [`liten::io`](crate::io)), and with the feature `tokio-io` those of tokio, directly and without a
//! wrapper. With the feature `hyper` it has hyper's too. So a library takes the socket as it is.
//!
//! Methods such as `read_exact` and `write_all` come from the extension traits. Import those of *one*
//! family per file: both have methods of the same names.
//!
//! ```
//! # fn main() -> std::io::Result<()> {
//! # liten::block_on(async {
//! use liten::io::{AsyncReadExt, AsyncWriteExt};
//! use liten::net::{TcpListener, TcpStream};
//!
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let address = listener.local_addr()?;
//! let server = liten::spawn(async move {
//!     let (mut stream, _peer) = listener.accept().await?;
//!     let mut request = [0; 4];
//!     stream.read_exact(&mut request).await?;
//!     stream.write_all(b"pong").await
//! });
//!
//! let mut client = TcpStream::connect(address).await?;
//! client.write_all(b"ping").await?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer).await?;
//! assert_eq!(answer, "pong");
//! server.await.expect("it did not panic")
//! # })
//! # }
//! ```
//!
//! # One task reads, another one writes
//!
//! [`TcpStream::into_split`](crate::net::TcpStream::into_split) gives two halves that tasks can take. A
//! shared reference will do as well: `&TcpStream` reads and writes.
//!
//! # Small reads and writes
//!
//! Each read of a socket is a system call. [`BufReader`](crate::io::BufReader) and
//! [`BufWriter`](crate::io::BufWriter) save them; a `BufWriter` has to be flushed.
//!
//! ```
//! # liten::block_on(async {
//! use liten::io::{AsyncBufReadExt, BufReader, Cursor};
//! use liten::future::StreamExt;
//!
//! let mut lines = BufReader::new(Cursor::new("one\ntwo\n")).lines();
//! let mut seen = Vec::new();
//! while let Some(line) = lines.next().await {
//!     seen.push(line.expect("the cursor does not fail"));
//! }
//! assert_eq!(seen, ["one", "two"]);
//! # });
//! ```
//!
//! # A peer that does not answer
//!
//! Nothing in the network promises an answer. Give each conversation a [`timeout`](crate::time::timeout),
//! and each line and frame a largest size: [`AsyncReadExt::take`](crate::io::AsyncReadExt::take) does it
//! for a reader.
//!
//! ```
//! # liten::block_on(async {
//! use liten::io::AsyncReadExt;
//! use liten::time::{Duration, timeout};
//!
//! let (_silent, mut near) = liten::io::duplex(64);
//! let mut buf = [0; 16];
//! assert!(timeout(Duration::from_millis(5), near.read(&mut buf)).await.is_err());
//! # });
//! ```
//!
//! # Without a network
//!
//! [`duplex`](crate::io::duplex) is a connection within the process: code that is generic over the traits
//! can be tested with it.
//!
//! # Anything else that can be polled
//!
//! [`Async`](crate::io::Async) ties a source to the runtime's driver: on Unix every file descriptor that
//! epoll or kqueue takes, as [`Fd`](crate::io::Fd) shows.
