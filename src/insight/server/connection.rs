//! One connection: one request, one answer, each within a time.

use super::answer::{Answer, Status};
use super::page::{Page, Reply};
use super::request::{LARGEST_HEAD, is_complete};
use crate::io::{Async, Interest};
use crate::observe::spare_descriptors::give_back;
use crate::time::{Duration, timeout};
use mio::net::TcpStream;
use std::cell::Cell;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::rc::Rc;

/// For the whole head.
const HEAD_TIME: Duration = Duration::from_secs(5);

/// For the whole answer. What does not read it by then is stuck, or never meant to.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// How long we read on after the answer, and how much: a connection that is closed while something has not
/// been read is reset, and the answer may be lost with it.
const LINGER_TIME: Duration = Duration::from_secs(1);
const MOST_LINGERED: usize = 4 * 1024 * 1024;

/// `is_trusted` says while we answer a request that has brought the token.
pub(super) async fn serve(stream: TcpStream, page: Rc<Page>, is_trusted: Rc<Cell<bool>>) {
    if let Ok(stream) = Async::new(stream) {
        let stream = Connected(Some(stream));
        // An error means that the other side is gone, or might as well be: there is nothing to tell it.
        _ = exchange(stream.get(), &page, &is_trusted).await;
    }
}

/// A connection whose descriptor is given back at its end, also if it is ended from outside.
struct Connected(Option<Async<TcpStream>>);

impl Connected {
    fn get(&self) -> &Async<TcpStream> {
        self.0.as_ref().expect("only `drop` takes it out")
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        let stream = self.0.take().map(Async::into_inner);
        stream.into_iter().flatten().for_each(give_back);
    }
}

async fn exchange(
    stream: &Async<TcpStream>,
    page: &Rc<Page>,
    is_trusted: &Cell<bool>,
) -> io::Result<()> {
    let reply = match timeout(HEAD_TIME, read_head(stream)).await {
        Ok(head) => match head? {
            Head::Complete(head) => {
                if page.asks_what_is_wrong(&head) {
                    is_trusted.set(true);
                    page.prepare().await;
                }
                page.answer(&head)
            }
            Head::TooLarge => Reply::Now(Answer::refusal(Status::HeadTooLarge)),
            Head::Ended => return Ok(()),
        },
        Err(_) => Reply::Now(Answer::refusal(Status::Timeout)),
    };
    let answer = match reply {
        Reply::Now(answer) => answer,
        Reply::Later(answer) => {
            is_trusted.set(true);
            answer.await
        }
    };
    is_trusted.set(answer.is_trusted);
    let written = timeout(ANSWER_TIME, write(stream, answer)).await;
    is_trusted.set(false);
    written??;
    stream.get_ref().shutdown(Shutdown::Write)?;
    timeout(LINGER_TIME, read_rest(stream)).await?
}

enum Head {
    Complete(Vec<u8>),
    TooLarge,
    /// The other side closed before it was complete.
    Ended,
}

async fn read_head(stream: &Async<TcpStream>) -> io::Result<Head> {
    let mut head = Vec::new();
    let mut part = [0; 2048];
    while head.len() < LARGEST_HEAD {
        let before = head.len();
        let count = read(stream, &mut part).await?;
        head.extend_from_slice(&part[..count]);
        if is_complete(&head, before) {
            return Ok(Head::Complete(head));
        }
        if count == 0 {
            return Ok(Head::Ended);
        }
    }
    Ok(Head::TooLarge)
}

async fn read_rest(stream: &Async<TcpStream>) -> io::Result<()> {
    let mut part = [0; 2048];
    let mut left = MOST_LINGERED;
    while left > 0 {
        match read(stream, &mut part).await? {
            0 => break,
            count => left = left.saturating_sub(count),
        }
    }
    Ok(())
}

async fn read(stream: &Async<TcpStream>, buffer: &mut [u8]) -> io::Result<usize> {
    stream.async_io(Interest::READABLE, |mut stream| stream.read(buffer)).await
}

async fn write(stream: &Async<TcpStream>, answer: Answer) -> io::Result<()> {
    let head = answer.head();
    for mut part in [head.as_bytes(), answer.body()] {
        while !part.is_empty() {
            let sent = stream.async_io(Interest::WRITABLE, |mut stream| stream.write(part)).await?;
            if sent == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            part = &part[sent..];
        }
    }
    Ok(())
}
