//! Each host tells the next ones every 100 ms that it is there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::rt::{UdpSocket, interval, lookup, sleep, spawn};

const PORT: u16 = 7_000;
const SPAN: Duration = Duration::from_millis(100);

/// Host number `me` of `hosts` sends `beats` beats to each of the `peers` hosts that follow it.
pub async fn run(me: usize, hosts: usize, peers: usize, beats: u64) {
    static DONE: AtomicUsize = AtomicUsize::new(0);
    let socket = Arc::new(UdpSocket::bind(("0.0.0.0", PORT)).await.unwrap());
    // The other hosts have begun then.
    sleep(Duration::from_secs(1)).await;
    let mut to = Vec::new();
    for next in 1..=peers {
        to.push(lookup(&format!("host{}", (me + next) % hosts), PORT).await);
    }
    let got = Arc::new(AtomicU64::new(0));
    let (receiver, count) = (socket.clone(), got.clone());
    spawn(async move {
        let mut buffer = [0; 64];
        while let Ok((length, _)) = receiver.recv_from(&mut buffer).await {
            assert_eq!(length, 16);
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let mut every = interval(SPAN);
    for _ in 0..beats {
        every.tick().await;
        for address in &to {
            socket.send_to(&[7; 16], *address).await.unwrap();
        }
    }
    DONE.fetch_add(1, Ordering::Relaxed);
    while DONE.load(Ordering::Relaxed) < hosts {
        sleep(SPAN).await;
    }
    sleep(SPAN).await;
    // One host's first beats may come before another one listens.
    let (got, sent) = (got.load(Ordering::Relaxed), beats * peers as u64);
    assert!(got <= sent && got + 20 * peers as u64 >= sent, "{got} of {sent} beats came");
}
