//! Standard input: one thread for the process, which reads when it is asked to.
//!
//! Not on the blocking pool: a read of a terminal may last for ever, and the end of a runtime waits for what
//! runs there. This thread belongs to nobody; the process ends without it.
//!
//! Nothing is lost: what the thread has read stays in the one buffer of the process until somebody takes
//! it, whoever asked for it. It reads once per request, so that other readers of the same input lose at most
//! what was asked for here.
//!
//! No wake is lost, because everything happens under one lock: a reader that finds nothing leaves its waker
//! and the request in the same critical section, and the thread stores what it has read and takes the wakers
//! in another.

use crate::wakers;
use parking_lot::{Condvar, Mutex};
use std::io::{self, ErrorKind, Read};
use std::task::{Context, Poll, Waker};
use std::thread;

/// How much one request reads: what the buffer of std's standard input holds.
const CHUNK: usize = 8 * 1024;

/// The standard input of the process; see [`stdin`].
#[derive(Debug)]
pub struct Stdin {
    /// Under which its waker is kept.
    number: u64,
}

/// Returns the standard input of the process.
///
/// All handles read from one place: each byte goes to one of them. A read that has begun goes on by itself
/// if nobody waits for it any more, and what it brings is there for the next one. It does not hold up the end
/// of a runtime or of the process.
///
/// Made for interaction. For a program that only processes its input, reading it with `std::io::stdin` in
/// [`spawn_blocking`](crate::spawn_blocking) is faster.
///
/// # Cancel safety
///
/// Reading some bytes is cancel safe, see [`io`](crate::io).
///
/// # Errors
///
/// Reading returns the errors of the operating system, and one if the thread that reads cannot be started.
///
/// # Examples
///
/// ```no_run
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::io::{AsyncBufReadExt, BufReader, stdin};
///
/// let mut name = String::new();
/// BufReader::new(stdin()).read_line(&mut name).await?;
/// println!("hello {}", name.trim());
/// # Ok(())
/// # })
/// # }
/// ```
pub fn stdin() -> Stdin {
    let mut input = INPUT.lock();
    input.handles += 1;
    Stdin { number: input.handles }
}

struct Input {
    /// The thread that reads has been started.
    started: bool,
    /// It shall read.
    wanted: bool,
    /// What it has read, from `position` on.
    chunk: Vec<u8>,
    position: usize,
    /// It read nothing: the end, or an error. Told once; the next request asks again, because a terminal goes
    /// on after its end of file.
    end: Option<io::Result<()>>,
    /// The last waker of each handle that waits.
    waiting: Vec<(u64, Waker)>,
    /// How many handles there have been.
    handles: u64,
}

static INPUT: Mutex<Input> = Mutex::new(Input {
    started: false,
    wanted: false,
    chunk: Vec::new(),
    position: 0,
    end: None,
    waiting: Vec::new(),
    handles: 0,
});
static WANTED: Condvar = Condvar::new();

impl Stdin {
    pub(in crate::io) fn poll_take(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        // A waker is user code when it is cloned or dropped: not under the lock.
        let waker = cx.waker().clone();
        let mut input = INPUT.lock();
        if let Some(result) = input.take(buf) {
            drop(input);
            return Poll::Ready(result);
        }
        if !input.started {
            thread::Builder::new().name("liten-stdin".to_owned()).spawn(read_when_asked)?;
            input.started = true;
        }
        input.wanted = true;
        let before = match input.waiting.iter_mut().find(|(number, _)| *number == self.number) {
            Some((_, kept)) => Some(std::mem::replace(kept, waker)),
            None => {
                input.waiting.push((self.number, waker));
                None
            }
        };
        drop(input);
        WANTED.notify_one();
        wakers::guard(|| drop(before));
        Poll::Pending
    }
}

impl Drop for Stdin {
    fn drop(&mut self) {
        let mut input = INPUT.lock();
        let place = input.waiting.iter().position(|(number, _)| *number == self.number);
        let stale = place.map(|place| input.waiting.swap_remove(place));
        drop(input);
        wakers::guard(|| drop(stale));
    }
}

impl Input {
    /// What is there. `None`: it has yet to be read.
    fn take(&mut self, buf: &mut [u8]) -> Option<io::Result<usize>> {
        let rest = &self.chunk[self.position..];
        if rest.is_empty() {
            return Some(self.end.take()?.map(|()| 0));
        }
        let count = rest.len().min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        self.position += count;
        Some(Ok(count))
    }
}

fn read_when_asked() {
    let mut buf = vec![0; CHUNK];
    loop {
        let mut input = INPUT.lock();
        while !input.wanted {
            WANTED.wait(&mut input);
        }
        drop(input);
        let read = loop {
            match io::stdin().lock().read(&mut buf) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        let mut input = INPUT.lock();
        input.wanted = false;
        match read {
            Ok(0) => input.end = Some(Ok(())),
            Ok(count) => {
                input.chunk.clear();
                input.chunk.extend_from_slice(&buf[..count]);
                input.position = 0;
            }
            Err(error) => input.end = Some(Err(error)),
        }
        let waiting = std::mem::take(&mut input.waiting);
        drop(input);
        wakers::wake_all(&mut waiting.into_iter().map(|(_, waker)| waker).collect());
    }
}
