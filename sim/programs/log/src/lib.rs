//! A log that three nodes keep. An entry is acknowledged when two of the three have it.
//!
//! The first node leads until it is lost. Then the client lets the follower with the longer log lead.

use std::io::{Error, ErrorKind, Result};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{interval, sleep};

const FOLLOWERS: [&str; 2] = ["two", "three"];
/// A follower writes to its disk so often. One write takes all entries that have come.
const FLUSH: Duration = Duration::from_millis(50);

/// How often the client writes.
const EVERY: Duration = Duration::from_millis(20);

/// When a follower acknowledges an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Acknowledges {
    /// Wrong: the entry is not in the log yet.
    WhenItHasCome,
    WhenItIsInTheLog,
}

/// An entry, and the task to tell that it is in the log.
type Append = (u64, oneshot::Sender<()>);
/// An entry, and where a follower's answer goes.
type Copy = (u64, mpsc::Sender<()>);

#[derive(Default)]
struct Log {
    entries: Vec<u64>,
    /// A node that leads takes no more entries from the leader before it.
    leads: bool,
}

#[tokio::main]
pub async fn follower(acknowledges: Acknowledges) -> Result<()> {
    let log = Arc::new(Mutex::new(Log::default()));
    let (queue, queued) = mpsc::channel(1_000);
    tokio::spawn(keep_writing(log.clone(), queued));
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(follow(stream, log.clone(), queue.clone(), acknowledges));
    }
}

async fn keep_writing(log: Arc<Mutex<Log>>, mut queued: mpsc::Receiver<Append>) {
    let mut ticks = interval(FLUSH);
    loop {
        ticks.tick().await;
        let mut log = log.lock().unwrap();
        while let Ok((entry, done)) = queued.try_recv() {
            if !log.leads {
                log.entries.push(entry);
                let _ = done.send(());
            }
        }
    }
}

async fn follow(
    stream: TcpStream,
    log: Arc<Mutex<Log>>,
    queue: mpsc::Sender<Append>,
    acknowledges: Acknowledges,
) -> Result<()> {
    let mut peer = BufReader::new(stream);
    loop {
        let answer = match receive(&mut peer).await?.split_once(' ') {
            Some(("append", entry)) => {
                let (done, is_done) = oneshot::channel();
                queue.send((number(entry)?, done)).await.map_err(Error::other)?;
                if acknowledges == Acknowledges::WhenItIsInTheLog {
                    is_done.await.map_err(Error::other)?;
                }
                "done".to_owned()
            }
            Some(("tell", "length")) => log.lock().unwrap().entries.len().to_string(),
            Some(("lead", _)) => {
                let mut log = log.lock().unwrap();
                log.leads = true;
                format!("{:?}", log.entries)
            }
            _ => return Err(ErrorKind::InvalidData.into()),
        };
        send(&mut peer, &answer).await?;
    }
}

#[tokio::main]
pub async fn leader() -> Result<()> {
    let mut followers = Vec::new();
    for name in FOLLOWERS {
        let (queue, queued) = mpsc::channel(1_000);
        followers.push(queue);
        tokio::spawn(replicate(name, queued));
    }
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    let (stream, _) = listener.accept().await?;
    let mut client = BufReader::new(stream);
    let mut entries = Vec::new();
    loop {
        let entry = number(&receive(&mut client).await?)?;
        entries.push(entry);
        let (done, mut is_done) = mpsc::channel(FOLLOWERS.len());
        for queue in &followers {
            queue.send((entry, done.clone())).await.map_err(Error::other)?;
        }
        // This node has the entry. With one more it is a majority.
        is_done.recv().await;
        send(&mut client, "done").await?;
    }
}

/// Sends one entry after the other to one follower.
async fn replicate(name: &str, mut queued: mpsc::Receiver<Copy>) -> Result<()> {
    let mut follower = connect(name).await;
    while let Some((entry, done)) = queued.recv().await {
        ask(&mut follower, &format!("append {entry}")).await?;
        let _ = done.send(()).await;
    }
    Ok(())
}

/// Writes until the leader is lost. Then all that was acknowledged must be in the log of the next leader.
///
/// # Panics
///
/// When it is not.
#[tokio::main]
pub async fn client() -> Result<()> {
    let mut leader = connect("one").await;
    let mut acknowledged = 0;
    let mut ticks = interval(EVERY);
    while ask(&mut leader, &(acknowledged + 1).to_string()).await.is_ok() {
        acknowledged += 1;
        ticks.tick().await;
    }
    let mut longest = (0, FOLLOWERS[0]);
    for name in FOLLOWERS {
        let length = number(&ask(&mut connect(name).await, "tell length").await?)?;
        longest = longest.max((length, name));
    }
    let (length, name) = longest;
    let log = ask(&mut connect(name).await, "lead now").await?;
    assert!(
        length >= acknowledged,
        "{acknowledged} entries were acknowledged; {name}, which leads now, has {length}: {log}"
    );
    Ok(())
}

async fn connect(name: &str) -> BufReader<TcpStream> {
    loop {
        match TcpStream::connect((name, 80)).await {
            Ok(stream) => return BufReader::new(stream),
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn ask(peer: &mut BufReader<TcpStream>, question: &str) -> Result<String> {
    send(peer, question).await?;
    receive(peer).await
}

async fn send(peer: &mut BufReader<TcpStream>, line: &str) -> Result<()> {
    peer.write_all(format!("{line}\n").as_bytes()).await
}

async fn receive(peer: &mut BufReader<TcpStream>) -> Result<String> {
    let mut line = String::new();
    peer.read_line(&mut line).await?;
    match line.strip_suffix('\n') {
        Some(line) => Ok(line.to_owned()),
        None => Err(ErrorKind::UnexpectedEof.into()),
    }
}

fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| ErrorKind::InvalidData.into())
}
