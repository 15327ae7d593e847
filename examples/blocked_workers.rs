//! What happens to all other tasks when some block their workers: measured delays, and which tasks are to
//! blame.
//!
//! ```sh
//! cargo run --release --example blocked_workers
//! ```
//!
//! First one worker is left free, then none. Each time a task that is queued behind a blocked worker, a timer
//! and a socket have to be served; what is printed is the worst of some rounds. With no worker left, the
//! runtime starts a spare one.

use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::net::{TcpListener, TcpStream};
use liten::runtime::{Builder, Runtime};
use liten::task::RunningTask;
use std::sync::mpsc;
use std::time::{Duration, Instant};

const WORKERS: usize = 4;
const ROUNDS: usize = 20;

fn main() -> std::io::Result<()> {
    for free in [1, 0] {
        let (mut worst, mut culprits) = ([Duration::ZERO; 3], Vec::new());
        for _ in 0..ROUNDS {
            let delays;
            (delays, culprits) = round(free)?;
            worst.iter_mut().zip(delays).for_each(|(worst, delay)| *worst = delay.max(*worst));
        }
        let [queued, timer, socket] = worst.map(|worst| worst.as_secs_f64() * 1e3);
        println!(
            "{free} of {WORKERS} workers free, worst of {ROUNDS}: \
             queued task {queued:.1} ms, timer {timer:.1} ms, socket {socket:.1} ms"
        );
        for task in culprits {
            println!("  a worker is blocked by {task}");
        }
    }
    Ok(())
}

/// The delays of a task in a blocked worker's queue, of a timer, and of a socket, with `free` workers free;
/// and which tasks block the others.
fn round(free: usize) -> std::io::Result<([Duration; 3], Vec<RunningTask>)> {
    let runtime = Builder::new_multi_thread().worker_threads(WORKERS).build()?;
    let (mut client, mut server) = runtime.block_on(connected())?;
    let (report, reported) = mpsc::channel();
    let late = move |which: usize, since: Instant| report.send((which, since.elapsed()));
    let (timer, socket, queued) = (late.clone(), late.clone(), late);
    drop(runtime.spawn(async move {
        let due = Instant::now() + Duration::from_millis(5);
        liten::time::sleep_until(due.into()).await;
        timer(1, due).expect("main waits");
    }));
    let (written, when) = mpsc::channel();
    drop(runtime.spawn(async move {
        server.read_exact(&mut [0]).await.expect("main writes");
        socket(2, when.recv().expect("main tells")).expect("main waits");
    }));
    let mut blocked = block(&runtime, WORKERS - free - 1);
    // The last one leaves a child behind in its queue.
    let (release, released) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    drop(runtime.spawn(async move {
        let start = Instant::now();
        drop(liten::spawn(async move { queued(0, start) }));
        tell.send(()).expect("main waits");
        let _ = released.recv();
    }));
    blocked.push(release);
    told.recv().expect("the task begins");
    written.send(Instant::now()).expect("the task lives");
    runtime.block_on(client.write_all(&[1]))?;
    let mut delays = [Duration::ZERO; 3];
    for (which, delay) in reported.iter().take(3) {
        delays[which] = delay;
    }
    // The tasks that have reported may need a moment to end.
    let culprits = loop {
        let running = runtime.metrics().running_tasks();
        if running.len() == WORKERS - free {
            break running;
        }
        std::thread::yield_now();
    };
    drop(blocked);
    Ok((delays, culprits))
}

/// Blocks `count` workers until the senders are dropped.
fn block(runtime: &Runtime, count: usize) -> Vec<mpsc::Sender<()>> {
    let (tell, told) = mpsc::channel();
    for _ in 0..count {
        let tell = tell.clone();
        drop(runtime.spawn(async move {
            let (release, released) = mpsc::channel();
            tell.send(release).expect("main waits");
            let _ = released.recv();
        }));
    }
    told.iter().take(count).collect()
}

async fn connected() -> std::io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = TcpStream::connect(listener.local_addr()?).await?;
    Ok((client, listener.accept().await?.0))
}
