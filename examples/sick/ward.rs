//! What all sick programs have in common: a page about themselves, healthy work beside the sickness, and an
//! end.

use liten::insight;
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::net::{TcpListener, TcpStream};
use liten::runtime::Builder;
use liten::time::{interval, timeout};
use std::time::Duration;
use std::{env, io, thread};

const USAGE: &str = "usage: NAME [SECONDS]";

/// Settings of the runtime that [`run`] makes.
pub(crate) fn settings() -> Builder {
    let mut settings = Builder::new_multi_thread();
    settings.worker_threads(2);
    settings
}

/// Runs `sicken` in a runtime that does healthy work, and shows it on a page for so many seconds as the first
/// argument says, or 60.
///
/// The page is where `LITEN_INSIGHT` says, or else at a port that is free. Its address is on standard error.
pub(crate) fn run(
    settings: &mut Builder,
    sicken: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let seconds = match env::args().nth(1).map(|argument| argument.parse()) {
        None => 60,
        Some(Ok(seconds)) => seconds,
        Some(Err(_)) => return Err(io::Error::new(io::ErrorKind::InvalidInput, USAGE)),
    };
    let runtime = settings.build()?;
    let entered = runtime.enter();
    // With the variable, the runtime has opened the page by itself.
    let page = match env::var_os("LITEN_INSIGHT") {
        None => Some(insight::serve("127.0.0.1:0")?),
        Some(_) => None,
    };
    runtime.block_on(work())?;
    sicken()?;
    thread::sleep(Duration::from_secs(seconds));
    drop((page, entered));
    // Some of them never end by themselves.
    runtime.shutdown_background();
    Ok(())
}

/// Starts what a healthy program does: clients that ask a server every 20 ms and expect an answer in time.
async fn work() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    drop(liten::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            drop(liten::spawn(timely(answer(stream))));
        }
    }));
    for _ in 0..8 {
        let stream = TcpStream::connect(address).await?;
        drop(liten::spawn(ask(stream)));
    }
    Ok(())
}

async fn timely<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(Duration::from_secs(300), work).await?
}

async fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut question = [0; 5];
    loop {
        stream.read_exact(&mut question).await?;
        stream.write_all(&question).await?;
    }
}

async fn ask(mut stream: TcpStream) -> io::Result<()> {
    let mut ticks = interval(Duration::from_millis(20));
    let mut answer = [0; 5];
    loop {
        ticks.tick().await;
        stream.write_all(b"hello").await?;
        timely(stream.read_exact(&mut answer)).await?;
    }
}
