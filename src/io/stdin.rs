//! Standard input: one thread for the process, which reads when it is asked to.
//!
//! Not on the blocking pool: a read of a terminal may last for ever, and the end of a runtime waits for what
//! runs there. No runtime owns this thread; the process ends without waiting for it.
//!
//! Nothing is lost: what the thread has read stays in the one buffer of the process until a call takes
//! it, whichever call asked for it. It reads once per request, and no more than was asked for, so that the
//! rest stays in the buffer of std, for other readers of the same input.
//!
//! No wake is lost, because everything happens under one lock: a reader that finds nothing leaves its waker
//! and the request in the same critical section, and the thread stores what it has read and takes the wakers
//! in another. The request is followed by an unpark, which a thread that is about to park finds.
//!
//! The thread does not come along into a forked child, so the first request there starts another one. It is
//! parked and not asleep on a condition variable, because that one's list of sleepers does come along: a
//! signal would go to the thread that is not there. If the parent's thread was reading, the child has std's
//! lock of the standard input in a locked state, and reads from the descriptor instead.

use crate::engine::wakers;
use crate::io::wait;
use parking_lot::Mutex;
use std::io;
use std::process;
use std::task::{Context, Poll, Waker};
use std::thread::{self, Thread};

/// The most that one request reads, in bytes: what tokio reads at once, too.
const MOST: usize = 2 * 1024 * 1024;

/// The standard input of the process; see [`stdin`].
#[derive(Debug)]
pub struct Stdin {
    /// Under which its waker is kept.
    number: u64,
}

/// Returns the standard input of the process.
///
/// All handles read from one place: each byte goes to one of them. A read that has begun goes on by itself if
/// no call waits for it any more, and what it brings is there for the next call. It does not hold up the end
/// of a runtime or of the process.
///
/// In a forked child it works as in the parent, and both read from the same place. What std has buffered is
/// not seen there if the parent was reading during the fork.
///
/// An input in non-blocking mode, which another process may have set, is waited for as one in blocking mode.
/// (tokio's standard input returns `WouldBlock` then.)
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
    /// The thread that reads, and the process that has started it.
    reader: Option<(u32, Thread)>,
    /// A thread of a parent had it during the fork.
    is_std_locked: bool,
    /// How many bytes it shall read at most; 0: none.
    wanted: usize,
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
    reader: None,
    is_std_locked: false,
    wanted: 0,
    chunk: Vec::new(),
    position: 0,
    end: None,
    waiting: Vec::new(),
    handles: 0,
});

impl Stdin {
    /// Reads some bytes, as `AsyncRead` does.
    #[doc(hidden)]
    pub fn poll_input(&mut self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
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
        let reader = input.reader()?;
        if input.wanted == 0 {
            input.wanted = buf.len().min(MOST);
        }
        let before = match input.waiting.iter_mut().find(|(number, _)| *number == self.number) {
            Some((_, kept)) => Some(std::mem::replace(kept, waker)),
            None => {
                input.waiting.push((self.number, waker));
                None
            }
        };
        drop(input);
        reader.unpark();
        wakers::guard(|| drop(before));
        Poll::Pending
    }
}

#[cfg(feature = "futures-io")]
impl crate::io::AsyncRead for Stdin {
    fn poll_read(
        self: std::pin::Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().poll_input(cx, buf)
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
    /// The thread that reads, started if this process has none.
    fn reader(&mut self) -> io::Result<Thread> {
        let process = process::id();
        match &self.reader {
            Some((home, thread)) if *home == process => return Ok(thread.clone()),
            _ => {}
        }
        // In the parent `wanted` lasts as long as the read. Children of this process inherit the lock, too.
        self.is_std_locked |= self.reader.is_some() && self.wanted != 0;
        let read = if self.is_std_locked { read_past_std } else { read_as_std };
        let start = thread::Builder::new().name("liten-stdin".to_owned());
        let thread = start.spawn(move || read_when_asked(read))?.thread().clone();
        if self.reader.replace((process, thread.clone())).is_some() {
            // Wakers of the parent's tasks, whose runtime has no threads here: calling or dropping one could
            // wait for a lock that one of them held.
            std::mem::forget(std::mem::take(&mut self.waiting));
        }
        Ok(thread)
    }

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

/// How the thread reads.
type Source = fn(&mut [u8]) -> io::Result<usize>;

fn read_as_std(buf: &mut [u8]) -> io::Result<usize> {
    wait::read(&mut io::stdin().lock(), buf)
}

/// Without std's lock and buffer.
#[cfg(unix)]
fn read_past_std(buf: &mut [u8]) -> io::Result<usize> {
    use std::os::fd::AsFd;
    wait::read(&mut std::fs::File::from(io::stdin().as_fd().try_clone_to_owned()?), buf)
}

/// Nothing forks here.
#[cfg(not(unix))]
fn read_past_std(buf: &mut [u8]) -> io::Result<usize> {
    read_as_std(buf)
}

fn read_when_asked(source: Source) {
    let mut buf = Vec::new();
    loop {
        let wanted = INPUT.lock().wanted;
        if wanted == 0 {
            thread::park();
            continue;
        }
        buf.resize(wanted, 0);
        let read = source(&mut buf);
        let mut input = INPUT.lock();
        input.wanted = 0;
        match read {
            Ok(0) => input.end = Some(Ok(())),
            Ok(count) => {
                buf.truncate(count);
                // The memory of the chunk before, which was taken.
                std::mem::swap(&mut input.chunk, &mut buf);
                input.position = 0;
            }
            Err(error) => input.end = Some(Err(error)),
        }
        let waiting = std::mem::take(&mut input.waiting);
        drop(input);
        wakers::wake_all(&mut waiting.into_iter().map(|(_, waker)| waker).collect());
    }
}
