//! What goes on between a [`File`](super::File) and the blocking pool: one call at a time, and one beside it.
//!
//! The user sees one position. The system's position may be ahead of it, by the bytes that were read and
//! not taken (`ahead`). A call that needs the two to be equal calls [`Shared::realign`] first, on the thread
//! of the pool.
//!
//! | call | before | after it has been made |
//! |---|---|---|
//! | read | `ahead` is empty | what was read is in `ahead`, also if no call waits for it |
//! | write | realigns | the bytes are in the file, or the error waits for the next call that may report it |
//! | seek | realigns, or forgets `ahead` if the new position does not depend on it | |
//! | cut or fill (`set_len`) | realigns | what is unwritten behind the new end is gone, too |
//! | others | as they need | |
//!
//! # A write that has failed
//!
//! The user was told that the bytes are written, so they are kept, and the place for them (`out` and
//! `place`). `Ok` from a flush or a sync says that no such bytes are left. So the state is this, after the
//! error itself has been reported:
//!
//! | call | with unwritten bytes |
//! |---|---|
//! | flush, close, sync | tries to write them: that error, or `Ok` if they are in the file now |
//! | write | the same, and accepts more only then, so that what is kept stays bounded |
//! | read, seek, `metadata`, … | made as without them: the bytes have a place, wherever the position is |
//! | `set_len` | what lay behind the new end is cut off, as if it had been written before |
//! | `into_std`, drop | the bytes are lost |
//!
//! Rejected: to forget them with the error, as tokio does. The second flush then says `Ok`, and the data are
//! lost. To try them before each read and seek: a file that cannot be written could not be read any more. To
//! return the first error for ever: a log would not go on when the disk has room again.
//!
//! # Callers that are dropped
//!
//! A read may last for ever (of a pipe, of a terminal), also when its caller has been dropped. What concerns
//! neither contents nor position is therefore not kept waiting by a read: it is made beside it. It waits for
//! all other calls, and all but reads wait for it.
//!
//! A caller that was dropped leaves its call behind. The next caller waits for that one first, and deals
//! with what came of it ([`Traffic::poll_settle`]): what was read stays in `ahead`, an error of a write is
//! kept.
//! A call that was queued and never made (the runtime ended) has changed nothing: the buffers are shared
//! with it, not given to it, so `ahead` is still there.

use super::buffer::Buffer;
use crate::engine::sync_shim::Mutex;
use crate::engine::task::JoinHandle;
use crate::fs::{AtShutdown, not_made, start};
use crate::io::wait;
use crate::runtime::context;
use std::fs::File;
use std::future::Future;
use std::io::{self, ErrorKind, Seek, SeekFrom};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// What the calls on the pool have in common with their user. The lock is held by the one call that is
/// being made, or else by the user, so no call waits for it.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) std: File,
    buffers: Mutex<Buffers>,
}

#[derive(Debug, Default)]
struct Buffers {
    /// Read and not taken.
    ahead: Buffer,
    /// To be written. Between two calls: accepted and not written, because a write has failed.
    out: Buffer,
    /// Where `out` belongs if a write of it has failed. `None`: none has, or the file has no position.
    place: Option<u64>,
}

/// The call that is under way, and what is known of earlier ones.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    call: Option<Call>,
    /// The call that is beside it.
    beside: Option<JoinHandle<io::Result<u64>>>,
    /// The error of a write or sync that no call waited for.
    error: Option<io::Error>,
    /// Where the last seek has led to.
    position: u64,
}

#[derive(Debug)]
struct Call {
    kind: Kind,
    /// The number is the position if it is a seek.
    job: JoinHandle<io::Result<u64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    Seek(SeekFrom),
    /// Its error is about data that were written.
    Sync,
    /// It concerns neither contents nor position.
    Beside,
    Other,
}

impl Kind {
    /// Whether its error is kept if no call waits for it.
    fn is_kept(self) -> bool {
        matches!(self, Self::Write | Self::Sync)
    }
}

impl Shared {
    pub(super) fn new(std: File) -> Arc<Self> {
        Arc::new(Self { std, buffers: Mutex::new(Buffers::default()) })
    }

    /// Puts the system's position where the user's is.
    ///
    /// What has no position (a pipe, a terminal) has nothing to realign: what was read ahead stays the next
    /// to be read, whatever is written. So has what answers a seek with a success and moves nothing (a
    /// timerfd, many a device); it is known by a position that reading has not moved either.
    pub(super) fn realign(&self) -> io::Result<()> {
        self.realign_locked(&mut self.buffers.lock())
    }

    fn realign_locked(&self, buffers: &mut Buffers) -> io::Result<()> {
        if buffers.ahead.is_empty() {
            return Ok(());
        }
        let position = match (&self.std).stream_position() {
            Err(error) if error.kind() == ErrorKind::NotSeekable => return Ok(()),
            position => position?,
        };
        if let Some(users) = position.checked_sub(buffers.ahead.bytes().len() as u64) {
            (&self.std).seek(SeekFrom::Start(users))?;
            buffers.ahead.clear();
        }
        Ok(())
    }

    fn read(&self, limit: usize) -> io::Result<()> {
        self.buffers.lock().ahead.fill(limit, |room| wait::read_when_ready(&mut &self.std, room))
    }

    /// Writes what is to be written; keeps what it cannot write.
    fn write(&self) -> io::Result<()> {
        let buffers = &mut *self.buffers.lock();
        self.realign_locked(buffers)?;
        let users = match buffers.place {
            // A write of these bytes has failed, and the position may be another one since.
            Some(place) => Some((&self.std).stream_position()?).filter(|now| *now != place),
            None => None,
        };
        if let (Some(_), Some(place)) = (users, buffers.place) {
            (&self.std).seek(SeekFrom::Start(place))?;
        }
        let result = self.write_out(&mut buffers.out);
        // Of an error here only the position is wrong, and a file that was sought a moment ago has none.
        buffers.place = result.as_ref().err().and_then(|_| (&self.std).stream_position().ok());
        if let Some(users) = users {
            (&self.std).seek(SeekFrom::Start(users))?;
        }
        result
    }

    fn write_out(&self, out: &mut Buffer) -> io::Result<()> {
        while !out.is_empty() {
            match wait::write(&mut &self.std, out.bytes())? {
                0 => return Err(ErrorKind::WriteZero.into()),
                count => out.consume(count),
            }
        }
        Ok(())
    }

    /// Cuts the file off, or fills it up.
    pub(super) fn set_len(&self, size: u64) -> io::Result<()> {
        let buffers = &mut *self.buffers.lock();
        // What was read ahead may be cut off.
        self.realign_locked(buffers)?;
        self.std.set_len(size)?;
        if let Some(place) = buffers.place {
            let left = size.saturating_sub(place).try_into().unwrap_or(usize::MAX);
            buffers.out.truncate(left);
            // The next bytes that are accepted go to where the position is.
            buffers.place = buffers.place.filter(|_| !buffers.out.is_empty());
        }
        Ok(())
    }

    /// Whether a write has failed, and bytes that were accepted are not in the file. Not while a call is
    /// made.
    fn has_unwritten(&self) -> bool {
        !self.buffers.lock().out.is_empty()
    }

    fn seek(&self, to: SeekFrom) -> io::Result<u64> {
        let buffers = &mut *self.buffers.lock();
        if let SeekFrom::Current(_) = to {
            self.realign_locked(buffers)?;
            if !buffers.ahead.is_empty() {
                return Err(ErrorKind::NotSeekable.into());
            }
        }
        let position = (&self.std).seek(to)?;
        buffers.ahead.clear();
        Ok(position)
    }
}

impl Traffic {
    pub(super) fn is_busy(&self) -> bool {
        self.call.is_some() || self.beside.is_some()
    }

    /// Sends a call to the pool. There must be none under way, but for a read if it is one beside it.
    pub(super) fn start(
        &mut self,
        kind: Kind,
        shared: &Arc<Shared>,
        call: impl FnOnce(&Shared) -> io::Result<u64> + Send + 'static,
    ) -> io::Result<()> {
        // The writer has been told that it is done.
        let at_shutdown = if kind == Kind::Write { AtShutdown::Make } else { AtShutdown::Cancel };
        let shared = Arc::clone(shared);
        let job = start(at_shutdown, move || call(&shared))?;
        if kind == Kind::Beside {
            debug_assert!(self.beside.is_none(), "one call at a time");
            self.beside = Some(job);
        } else {
            debug_assert!(self.call.is_none(), "one call at a time");
            self.call = Some(Call { kind, job });
        }
        Ok(())
    }

    /// Waits for the call that is under way. `None`: there is none.
    pub(super) fn poll_call(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<(Kind, io::Result<u64>)>> {
        let Some(call) = &mut self.call else {
            return Poll::Ready(None);
        };
        let result = ready!(Pin::new(&mut call.job).poll(cx));
        let kind = call.kind;
        self.call = None;
        let result = result.unwrap_or_else(|error| Err(not_made(error)));
        if let (Kind::Seek(_), Ok(position)) = (kind, &result) {
            self.position = *position;
        }
        Poll::Ready(Some((kind, result)))
    }

    /// Waits for the call that is beside the others. `None`: there is none.
    pub(super) fn poll_beside(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<u64>>> {
        let Some(job) = &mut self.beside else {
            return Poll::Ready(None);
        };
        let result = ready!(Pin::new(job).poll(cx));
        self.beside = None;
        Poll::Ready(Some(result.unwrap_or_else(|error| Err(not_made(error)))))
    }

    /// Waits until nothing is under way, and keeps the errors that concern data.
    pub(super) fn poll_settle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let call = ready!(self.poll_call(cx));
        self.keep(call);
        self.poll_beside(cx).map(drop)
    }

    /// Waits until a call of this kind may be made.
    pub(super) fn poll_room(&mut self, cx: &mut Context<'_>, kind: Kind) -> Poll<()> {
        let reads = self.call.as_ref().is_some_and(|call| call.kind == Kind::Read);
        if reads && kind == Kind::Beside {
            return self.poll_beside(cx).map(drop);
        }
        self.poll_settle(cx)
    }

    /// Waits for the call of this kind that has been [started](Self::start).
    pub(super) fn poll_own(&mut self, cx: &mut Context<'_>, kind: Kind) -> Poll<io::Result<()>> {
        let result = if kind == Kind::Beside {
            ready!(self.poll_beside(cx))
        } else {
            ready!(self.poll_call(cx)).map(|(_, result)| result)
        };
        Poll::Ready(result.map_or(Ok(()), |result| result.map(drop)))
    }

    fn keep(&mut self, call: Option<(Kind, io::Result<u64>)>) {
        match call {
            // The first one says best what happened.
            Some((kind, Err(error))) if kind.is_kept() => drop(self.error.get_or_insert(error)),
            _ => {}
        }
    }

    /// Reports the error of a write that no call waited for, once.
    pub(super) fn report(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Waits until there is something to take, at most `wanted` bytes of it (at most `limit` are read
    /// ahead); lets `take` have it and say how much it has taken. Takes nothing at the end of the file.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        shared: &Arc<Shared>,
        (wanted, limit): (usize, usize),
        take: impl FnOnce(&[u8]),
    ) -> Poll<io::Result<usize>> {
        loop {
            match ready!(self.poll_call(cx)) {
                // Also at the end of the file, where nothing has been read.
                Some((Kind::Read, result)) => drop(result?),
                Some(other) => {
                    self.keep(Some(other));
                    continue;
                }
                None if wanted == 0 => return Poll::Ready(Ok(0)),
                None if shared.buffers.lock().ahead.is_empty() => {
                    let limit = wanted.min(limit);
                    self.start(Kind::Read, shared, move |shared| shared.read(limit).map(|()| 0))?;
                    continue;
                }
                None => {}
            }
            let ahead = &mut shared.buffers.lock().ahead;
            let count = wanted.min(ahead.bytes().len());
            take(&ahead.bytes()[..count]);
            ahead.consume(count);
            return Poll::Ready(Ok(count));
        }
    }

    /// Accepts at most `limit` bytes, and starts to write them.
    pub(super) fn poll_write<'a>(
        &mut self,
        cx: &mut Context<'_>,
        shared: &Arc<Shared>,
        parts: impl IntoIterator<Item = &'a [u8]>,
        limit: usize,
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_flush(cx, shared))?;
        let count = shared.buffers.lock().out.put(parts, limit);
        if count > 0 {
            let started = self.start_write(shared);
            if started.is_err() {
                // The caller is told that they are not accepted.
                shared.buffers.lock().out.clear();
            }
            started?;
        }
        Poll::Ready(Ok(count))
    }

    /// Waits until everything that was accepted has been written; tries once more what could not be.
    pub(super) fn poll_flush(
        &mut self,
        cx: &mut Context<'_>,
        shared: &Arc<Shared>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_settle(cx));
            self.report()?;
            if !shared.has_unwritten() {
                return Poll::Ready(Ok(()));
            }
            if !context::is_inside() {
                let text = "bytes are left that could not be written; flush the file in a runtime";
                return Poll::Ready(Err(io::Error::other(text)));
            }
            self.start_write(shared)?;
        }
    }

    fn start_write(&mut self, shared: &Arc<Shared>) -> io::Result<()> {
        self.start(Kind::Write, shared, |shared| shared.write().map(|()| 0))
    }

    pub(super) fn start_seek(&mut self, shared: &Arc<Shared>, to: SeekFrom) -> io::Result<()> {
        self.start(Kind::Seek(to), shared, move |shared| shared.seek(to))
    }

    /// Waits for the seek that is under way, if there is one; returns where the last one has led to.
    pub(super) fn poll_sought(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        // tokio calls this before it starts a seek, and then nothing may be under way.
        ready!(self.poll_beside(cx));
        let call = ready!(self.poll_call(cx));
        if let Some((Kind::Seek(_), result)) = call {
            return Poll::Ready(result);
        }
        self.keep(call);
        Poll::Ready(Ok(self.position))
    }

    /// Changes the position. A seek to the same place that is under way already is taken for this one: it
    /// is, if this is not the first poll, and two cannot be told apart.
    pub(super) fn poll_seek(
        &mut self,
        cx: &mut Context<'_>,
        shared: &Arc<Shared>,
        to: SeekFrom,
    ) -> Poll<io::Result<u64>> {
        if self.call.as_ref().is_none_or(|call| call.kind != Kind::Seek(to)) {
            ready!(self.poll_settle(cx));
            self.start_seek(shared, to)?;
        }
        self.poll_sought(cx)
    }
}
