//! Each host sends 64 bytes to the others and waits for their return, again and again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::rt::{AsyncReadExt, AsyncWriteExt, TcpListener, TcpStream, lookup, sleep, spawn};

const PORT: u16 = 7_001;
/// Connections from each host to each other one.
const LANES: usize = 8;

/// How many messages all hosts send together.
pub fn messages(hosts: usize, rounds: u64) -> u64 {
    (hosts * (hosts - 1) * LANES) as u64 * rounds * 2
}

pub async fn run(me: usize, hosts: usize, rounds: u64) {
    static DONE: AtomicUsize = AtomicUsize::new(0);
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await.unwrap();
    spawn(serve(listener));
    sleep(Duration::from_secs(1)).await;
    let mut lanes = Vec::new();
    for other in (0..hosts).filter(|other| *other != me) {
        let address = lookup(&format!("host{other}"), PORT).await;
        for _ in 0..LANES {
            lanes.push(spawn(async move {
                let mut stream = TcpStream::connect(address).await.unwrap();
                let mut buffer = [0; 64];
                for _ in 0..rounds {
                    stream.write_all(&[7; 64]).await.unwrap();
                    stream.read_exact(&mut buffer).await.unwrap();
                }
            }));
        }
    }
    for lane in lanes {
        lane.await.unwrap();
    }
    // A host that ends takes its server with it.
    DONE.fetch_add(1, Ordering::Relaxed);
    while DONE.load(Ordering::Relaxed) < hosts {
        sleep(Duration::from_millis(10)).await;
    }
}

async fn serve(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        spawn(async move {
            let mut buffer = [0; 64];
            while stream.read_exact(&mut buffer).await.is_ok() {
                if stream.write_all(&buffer).await.is_err() {
                    return;
                }
            }
        });
    }
}
