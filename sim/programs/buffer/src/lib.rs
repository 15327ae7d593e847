//! Callers of a service behind a buffer, whose connection breaks.
//!
//! The worker of the buffer ends when the service fails. The callers that wait for room must hear of it. In
//! tower they did not between the commits ddc64e8d (#476) and 43c44922 (#480), which lie between the releases
//! 0.3.1 and 0.4.0; zebra kept a copy of it for longer. No release has the bug, so `own` is a buffer of the
//! same design. Those of 0.3.1 and 0.4.0 run in the same program.

mod own;

use std::fmt::Debug;
use std::future::{Future, poll_fn};
use std::io::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::sleep;
use tower_service::Service;

pub use own::AtTheEnd;

/// How many requests wait in the buffer.
const BOUND: usize = 1;
/// How many tasks ask, and how often each.
const CALLERS: usize = 4;
const CALLS: u64 = 40;

/// Which buffer stands before the service.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Own(AtTheEnd),
    Tower0_3_1,
    Tower0_4_0,
}

/// Answers each number with the next one.
#[tokio::main]
pub async fn server() -> Result<(), Error> {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            while let Ok(number) = stream.read_u64().await {
                sleep(Duration::from_millis(1)).await;
                stream.write_u64(number + 1).await?;
            }
            Ok::<_, Error>(())
        });
    }
}

/// A connection to the server that has one request under way at a time.
pub struct Server {
    stream: Option<TcpStream>,
    /// The connection comes back when the answer is there.
    back: Option<oneshot::Receiver<TcpStream>>,
}

impl Service<u64> for Server {
    type Response = u64;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<u64, Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if let Some(back) = &mut self.back {
            let stream = ready!(Pin::new(back).poll(cx));
            self.back = None;
            self.stream = stream.ok();
        }
        let is_connected = self.stream.is_some();
        Poll::Ready(if is_connected { Ok(()) } else { Err(Error::other("no connection")) })
    }

    fn call(&mut self, request: u64) -> Self::Future {
        let mut stream = self.stream.take().expect("a call before the service was ready");
        let (give_back, back) = oneshot::channel();
        self.back = Some(back);
        let asked = tokio::spawn(async move {
            stream.write_u64(request).await?;
            let answer = stream.read_u64().await?;
            let _ = give_back.send(stream);
            Ok(answer)
        });
        Box::pin(async { asked.await.map_err(Error::other)? })
    }
}

/// Returns when each caller has its answers, or knows that it gets none.
#[tokio::main]
pub async fn client(kind: Kind) {
    let stream = loop {
        match TcpStream::connect("server:80").await {
            Ok(stream) => break stream,
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    };
    let server = Server { stream: Some(stream), back: None };
    match kind {
        Kind::Own(at_the_end) => all_call(own::Buffer::new(server, BOUND, at_the_end)).await,
        Kind::Tower0_3_1 => {
            let (buffer, worker) = tower_0_3::buffer::Buffer::pair(server, BOUND);
            tokio::spawn(worker);
            all_call(buffer).await;
        }
        Kind::Tower0_4_0 => all_call(tower_0_4::buffer::Buffer::new(server, BOUND)).await,
    }
}

/// Keeps the handles of the callers until all of them have ended.
async fn all_call<B>(buffer: B)
where
    B: Service<u64, Response = u64, Error: Debug + Send, Future: Send> + Clone + Send + 'static,
{
    let callers: Vec<_> = (0..CALLERS).map(|_| tokio::spawn(calls(buffer.clone()))).collect();
    let mut ended = Vec::new();
    for caller in callers {
        ended.push(caller.await.expect("a caller"));
    }
}

/// Gives the handle back when all is asked or the first request has failed.
async fn calls<B>(mut buffer: B) -> B
where
    B: Service<u64, Response = u64, Error: Debug>,
{
    for number in 0..CALLS {
        if poll_fn(|cx| buffer.poll_ready(cx)).await.is_err() {
            break;
        }
        match buffer.call(number).await {
            Ok(answer) => assert_eq!(answer, number + 1),
            Err(_) => break,
        }
        sleep(Duration::from_millis(1)).await;
    }
    buffer
}
