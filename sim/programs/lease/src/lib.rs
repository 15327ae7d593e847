//! A lock with a lease does not keep a paused holder from writing.
//!
//! The holder is paused for longer than its lease, and another takes the lock. The first one goes on and
//! writes what it has worked out before the pause. etcd #11456 was of this kind. The storage can refuse it,
//! when each holder has a token that grows.

use std::io::{Error, ErrorKind, Result};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::select;
use tokio::time::{interval, sleep};

/// How long a holder that is not heard of keeps the lock.
const LEASE: Duration = Duration::from_millis(300);
/// How often a worker adds one to what is stored.
const ADDS: u64 = 10;

/// What the storage looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Storage {
    /// Wrong: nothing but the value.
    Unfenced,
    /// The token too. It refuses a holder when it has seen a later one.
    Fenced,
}

#[derive(Default)]
struct Lock {
    /// Grows with each new holder.
    token: u64,
    until: Option<Instant>,
}

impl Lock {
    /// Answers `acquire` with a token, or with 0 when the lock is taken. Answers `renew TOKEN` and `release
    /// TOKEN` with the token, or with 0 when its lease is over.
    fn answer(&mut self, word: &str, token: u64) -> u64 {
        let now = Instant::now();
        let is_held = self.until.is_some_and(|until| now < until);
        match (word, is_held) {
            ("acquire", false) => {
                self.token += 1;
                self.until = Some(now + LEASE);
                self.token
            }
            ("renew", true) if token == self.token => {
                self.until = Some(now + LEASE);
                token
            }
            ("release", true) if token == self.token => {
                self.until = None;
                token
            }
            _ => 0,
        }
    }
}

#[tokio::main]
pub async fn lock_service() -> Result<()> {
    let lock = Arc::new(Mutex::new(Lock::default()));
    serve(move |words| {
        let token = words.get(1).copied().map_or(Ok(0), number)?;
        Ok(lock.lock().unwrap().answer(words[0], token).to_string())
    })
    .await
}

/// Answers `read TOKEN` with the value, and `write TOKEN VALUE` with `done`.
#[tokio::main]
pub async fn storage(kind: Storage) -> Result<()> {
    // The value, and the latest token.
    let stored = Arc::new(Mutex::new((0, 0)));
    serve(move |words| {
        let mut stored = stored.lock().unwrap();
        let token = number(words[1])?;
        if kind == Storage::Fenced && token < stored.1 {
            return Ok("stale".to_owned());
        }
        stored.1 = token;
        match words[0] {
            "read" => Ok(stored.0.to_string()),
            "write" => {
                stored.0 = number(words[2])?;
                Ok("done".to_owned())
            }
            _ => Err(ErrorKind::InvalidData.into()),
        }
    })
    .await
}

/// Adds one to the value, again and again, and each time under the lock.
#[tokio::main]
pub async fn worker() -> Result<()> {
    let mut lock = connect("lock").await;
    let mut storage = connect("storage").await;
    let mut added = 0;
    while added < ADDS {
        let token = number(&ask(&mut lock, "acquire").await?)?;
        if token == 0 {
            sleep(Duration::from_millis(20)).await;
            continue;
        }
        select! {
            was_added = add(&mut storage, token) => {
                added += u64::from(was_added?);
                ask(&mut lock, &format!("release {token}")).await?;
            }
            lost = keep(token) => {
                // What was under way may have been done or not. A program of use would look.
                lost?;
                storage = connect("storage").await;
            }
        }
    }
    Ok(())
}

/// Whether the storage has taken the new value.
async fn add(storage: &mut BufReader<TcpStream>, token: u64) -> Result<bool> {
    let value = ask(storage, &format!("read {token}")).await?;
    let Ok(value) = value.parse::<u64>() else { return Ok(false) };
    sleep(Duration::from_millis(50)).await; // The work.
    Ok(ask(storage, &format!("write {token} {}", value + 1)).await? == "done")
}

/// Returns when the lease is lost.
async fn keep(token: u64) -> Result<()> {
    let mut lock = connect("lock").await;
    let mut ticks = interval(LEASE / 3);
    while ask(&mut lock, &format!("renew {token}")).await? != "0" {
        ticks.tick().await;
    }
    Ok(())
}

/// Compares what is stored with what was added, when the workers have ended.
///
/// # Panics
///
/// When a value was written over.
#[tokio::main]
pub async fn auditor(workers: u64) -> Result<()> {
    let mut storage = connect("storage").await;
    let value = number(&ask(&mut storage, &format!("read {}", u64::MAX)).await?)?;
    let added = workers * ADDS;
    assert!(
        value >= added,
        "{added} were added under the lock, and {value} are stored: two had the lock at once"
    );
    Ok(())
}

/// Answers each line on each connection.
async fn serve(
    answer: impl FnMut(&[&str]) -> Result<String> + Clone + Send + 'static,
) -> Result<()> {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(answer_lines(BufReader::new(stream), answer.clone()));
    }
}

async fn answer_lines(
    mut peer: BufReader<TcpStream>,
    mut answer: impl FnMut(&[&str]) -> Result<String>,
) -> Result<()> {
    loop {
        let line = receive(&mut peer).await?;
        let words: Vec<&str> = line.split(' ').collect();
        let answer = answer(&words)?;
        send(&mut peer, &answer).await?;
    }
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
    text.parse().map_err(|_| Error::from(ErrorKind::InvalidData))
}
