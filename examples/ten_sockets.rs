//! Ten UDP sockets and one packet: how many of the ten futures are polled?
//!
//! ```sh
//! cargo run --example ten_sockets
//! ```
//!
//! That depends on which future is told about the wake:
//!
//! ```text
//! polls per packet with join_all: 10
//! polls per packet with spawn: 1
//! polls per packet with FuturesUnordered: 1
//! ```
//!
//! `join!` and `join_all` are one task with one waker, so they cannot know whose packet has come and poll
//! every child (`join_all` up to thirty; with more it uses a set). A spawned task has a waker of its own. So
//! has each child of a `FuturesUnordered`, for one allocation per child, without being a task.
//!
//! Everything runs on one thread here, so that a poll has ended when the next task counts.

use liten::future::{FuturesUnordered, StreamExt, join_all};
use liten::net::UdpSocket;
use liten::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use liten::task::{spawn_local, yield_now};
use liten::time::{Duration, timeout};
use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::rc::Rc;

const SOCKETS: usize = 10;
const PACKETS: usize = 100;

#[liten::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let mut ten = Ten::bind().await?;
    let joined = spawn_local(join_all(ten.children()));
    println!("polls per packet with join_all: {}", ten.polls_per_packet().await?);
    joined.abort();

    let mut ten = Ten::bind().await?;
    let spawned: Vec<_> = ten.children().map(spawn_local).collect();
    println!("polls per packet with spawn: {}", ten.polls_per_packet().await?);
    spawned.iter().for_each(|child| child.abort());

    let mut ten = Ten::bind().await?;
    let mut set: FuturesUnordered<_> = ten.children().collect();
    let unordered = spawn_local(async move { while set.next().await.is_some() {} });
    println!("polls per packet with FuturesUnordered: {}", ten.polls_per_packet().await?);
    unordered.abort();
    Ok(())
}

struct Ten {
    sockets: Vec<Rc<UdpSocket>>,
    /// How often any of the children has been polled.
    polls: Rc<Cell<usize>>,
    /// Carries what each child has received.
    sender: UnboundedSender<io::Result<usize>>,
    receiver: UnboundedReceiver<io::Result<usize>>,
}

impl Ten {
    async fn bind() -> io::Result<Self> {
        let mut sockets = Vec::new();
        for _ in 0..SOCKETS {
            sockets.push(Rc::new(UdpSocket::bind("127.0.0.1:0").await?));
        }
        let (sender, receiver) = unbounded_channel();
        Ok(Self { sockets, polls: Rc::default(), sender, receiver })
    }

    /// A future per socket that receives for ever.
    fn children(&self) -> impl Iterator<Item = impl Future<Output = ()> + 'static> {
        self.sockets.iter().map(|socket| {
            let child = receive(Rc::clone(socket), self.sender.clone());
            counted(Rc::clone(&self.polls), child)
        })
    }

    /// Sends packets to one socket after the other, each when the one before has been received.
    async fn polls_per_packet(&mut self) -> io::Result<f64> {
        // The first poll of each child comes before any packet.
        while self.polls.get() < SOCKETS {
            yield_now().await;
        }
        self.polls.set(0);
        let client = UdpSocket::bind("127.0.0.1:0").await?;
        for socket in self.sockets.iter().cycle().take(PACKETS) {
            client.send_to(b"packet", socket.local_addr()?).await?;
            // UDP may lose a packet.
            let received = timeout(Duration::from_secs(5), self.receiver.recv()).await?;
            received.expect("`self` has a sender")?;
        }
        Ok(self.polls.get() as f64 / PACKETS as f64)
    }
}

async fn receive(socket: Rc<UdpSocket>, received: UnboundedSender<io::Result<usize>>) {
    let mut buffer = [0; 16];
    while received.send(socket.recv(&mut buffer).await).is_ok() {}
}

async fn counted<F: Future>(polls: Rc<Cell<usize>>, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|cx| {
        polls.set(polls.get() + 1);
        future.as_mut().poll(cx)
    })
    .await
}
