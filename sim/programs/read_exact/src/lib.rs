//! `read_exact` in a `select!`: when the timer is first, the bytes that it has read are gone.
//!
//! iroh #2572 and pgwire-replication #6 were of this kind.

use std::io::{ErrorKind, Result};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::select;
use tokio::time::{interval, sleep};

const FRAMES: u32 = 200;
/// A frame is its length in four bytes, and then its content.
const HEAD: usize = 4;
const LONGEST: usize = 2_000;

/// How the client reads frames.
#[derive(Clone, Copy, Debug)]
pub enum Reads {
    /// Wrong: a part of a frame is kept in a future that `select!` drops.
    IntoTheFuture,
    /// A part of a frame is kept with the connection.
    IntoTheConnection,
}

/// Sends frames. Each holds its own number, many times.
#[tokio::main]
pub async fn server() -> Result<()> {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            for number in 0..FRAMES {
                let content = number.to_be_bytes().repeat(1 + number as usize % 100);
                stream.write_all(&(content.len() as u32).to_be_bytes()).await?;
                stream.write_all(&content).await?;
                sleep(Duration::from_millis(1)).await;
            }
            Result::Ok(())
        });
    }
}

struct Connection {
    stream: TcpStream,
    /// What has come of the next frame.
    part: Vec<u8>,
}

impl Connection {
    /// Not to be dropped before it is ready.
    async fn frame_into_the_future(&mut self) -> Result<Vec<u8>> {
        let mut head = [0; HEAD];
        self.stream.read_exact(&mut head).await?;
        let mut content = vec![0; length(head)];
        self.stream.read_exact(&mut content).await?;
        Ok(content)
    }

    /// May be dropped at any time.
    async fn frame_into_the_connection(&mut self) -> Result<Vec<u8>> {
        loop {
            if let Some(head) = self.part.first_chunk() {
                let end = HEAD + length(*head);
                if self.part.len() >= end {
                    let frame: Vec<u8> = self.part.drain(..end).collect();
                    return Ok(frame[HEAD..].to_vec());
                }
            }
            if self.stream.read_buf(&mut self.part).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }

    async fn frame(&mut self, reads: Reads) -> Result<Vec<u8>> {
        match reads {
            Reads::IntoTheFuture => self.frame_into_the_future().await,
            Reads::IntoTheConnection => self.frame_into_the_connection().await,
        }
    }
}

fn length(head: [u8; HEAD]) -> usize {
    let length = u32::from_be_bytes(head) as usize;
    assert!(
        length <= LONGEST,
        "the head of a frame says that {length} bytes follow: the stream is out of step"
    );
    length
}

/// Reads all frames. Every few milliseconds it does something else.
///
/// # Panics
///
/// When a frame is not the next one.
#[tokio::main]
pub async fn client(reads: Reads) -> Result<()> {
    let mut connection = Connection { stream: connect().await, part: Vec::new() };
    let mut ticks = interval(Duration::from_millis(5));
    let mut next = 0;
    while next < FRAMES {
        select! {
            frame = connection.frame(reads) => {
                let frame = frame?;
                let right = frame.chunks(4).all(|number| number == next.to_be_bytes());
                assert!(right, "frame {next} has another's bytes: the stream is out of step");
                next += 1;
            }
            _ = ticks.tick() => {} // A keep-alive, statistics and so on.
        }
    }
    Ok(())
}

async fn connect() -> TcpStream {
    loop {
        match TcpStream::connect("server:80").await {
            Ok(stream) => return stream,
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
}
