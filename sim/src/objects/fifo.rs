//! Named pipes. Their files are real ones, which all hosts see; what is written stays in the run.
//!
//! As on a folder that machines share, a named pipe connects programs of one machine alone.
//!
//! | opened for | without `O_NONBLOCK` | with it |
//! |---|---|---|
//! | reading | waits until it is opened for writing | at once |
//! | writing | waits until it is opened for reading | at once, or `ENXIO` if it is not open for that |
//! | both | at once | at once |

use std::ffi::c_int;

use libc::{ENXIO, dev_t, ino_t};

use super::pipe::{Pipe, PipeId};
use super::{ERR, HUP, IN, Kind, OUT, ObjectId};
use crate::network::Errno;
use crate::world::World;
use crate::world::actor::Wake;

/// The host of a named pipe, and its file.
pub(crate) type Place = (usize, dev_t, ino_t);

/// One opening of a named pipe.
#[derive(Clone, Copy)]
pub(crate) struct Fifo {
    pub(crate) pipe: PipeId,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    place: Place,
    /// How often the other side had been opened, if it was not open and this opening waits.
    waits_since: Option<u64>,
    /// The same, where it does not wait. The end is not told before there has been a writer.
    quiet_since: Option<u64>,
}

/// How a named pipe is opened.
#[derive(Clone, Copy)]
pub(crate) struct Opening {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) may_wait: bool,
}

impl Pipe {
    /// What `poll` says of an opening.
    pub(super) fn fifo_readiness(&self, fifo: &Fifo) -> u32 {
        let mut bits = 0;
        if fifo.reads {
            if !self.is_empty() {
                bits |= IN;
            }
            if self.writers.is_empty() && fifo.quiet_since != Some(self.writers_ever) {
                bits |= HUP;
            }
        }
        if fifo.writes {
            if self.is_writable() {
                bits |= OUT;
            }
            if self.readers.is_empty() {
                bits |= ERR;
            }
        }
        bits
    }
}

impl World {
    /// Opens the named pipe of `file` on the running host, as `fd`. Where it has to wait for the
    /// other side, [`World::fifo_waits`] says so.
    pub(crate) fn open_fifo(
        &mut self,
        fd: c_int,
        file: (dev_t, ino_t),
        opening: Opening,
    ) -> Result<ObjectId, Errno> {
        let Opening { reads, writes, may_wait } = opening;
        let place = (self.running_host(), file.0, file.1);
        let known = self.objects.fifos.get(&place).copied();
        let is_read = known.is_some_and(|pipe| !self.objects.pipes[pipe.0].readers.is_empty());
        if !reads && !may_wait && !is_read {
            return Err(ENXIO);
        }
        let pipe = known.unwrap_or_else(|| self.add_pipe());
        self.objects.fifos.insert(place, pipe);
        let state = &self.objects.pipes[pipe.0];
        let alone = match (reads, writes) {
            (true, false) if state.writers.is_empty() => Some(state.writers_ever),
            (false, true) if state.readers.is_empty() => Some(state.readers_ever),
            _ => None,
        };
        let (waits_since, quiet_since) = if may_wait { (alone, None) } else { (None, alone) };
        let fifo = Fifo { pipe, reads, writes, place, waits_since, quiet_since };
        let id = self.add_object(fd, Kind::Fifo(fifo));
        self.join_fifo(id, fifo);
        Ok(id)
    }

    fn join_fifo(&mut self, id: ObjectId, fifo: Fifo) {
        let pipe = &mut self.objects.pipes[fifo.pipe.0];
        if fifo.reads {
            pipe.readers.push(id);
            pipe.readers_ever += 1;
        }
        if fifo.writes {
            pipe.writers.push(id);
            pipe.writers_ever += 1;
        }
        let is_first =
            (fifo.reads && pipe.readers.len() == 1) || (fifo.writes && pipe.writers.len() == 1);
        if is_first {
            // Those that wait in `open` go on. The system also lets epolls look at readers again.
            self.touch_readers(fifo.pipe, !0);
            self.wake_writers(fifo.pipe);
        }
    }

    fn wake_writers(&mut self, pipe: PipeId) {
        for place in 0..self.objects.pipes[pipe.0].writers.len() {
            let writer = self.objects.pipes[pipe.0].writers[place];
            let waiters = self.objects.get_mut(writer).map(super::Object::take_waiters);
            for waiter in waiters.unwrap_or_default() {
                self.make_ready(waiter, Wake::Ready);
            }
        }
    }

    /// Whether the call that opened it still waits for the other side. It does not wait again when
    /// that has come and gone.
    pub(crate) fn fifo_waits(&self, id: ObjectId) -> bool {
        let Some(Kind::Fifo(fifo)) = self.objects.get(id).map(|object| &object.kind) else {
            return false;
        };
        let pipe = &self.objects.pipes[fifo.pipe.0];
        let ever = if fifo.reads { pipe.writers_ever } else { pipe.readers_ever };
        fifo.waits_since == Some(ever)
    }

    /// One opening is closed. What is in the pipe goes with the last one.
    pub(super) fn close_fifo(&mut self, id: ObjectId, fifo: Fifo) {
        let pipe = &mut self.objects.pipes[fifo.pipe.0];
        pipe.readers.retain(|reader| *reader != id);
        pipe.writers.retain(|writer| *writer != id);
        match (pipe.readers.is_empty(), pipe.writers.is_empty()) {
            (true, true) => {
                self.objects.fifos.remove(&fifo.place);
                self.objects.pipes[fifo.pipe.0] = Pipe::default();
            }
            (true, false) => self.touch_writers(fifo.pipe, !0),
            (false, true) => self.touch_readers(fifo.pipe, !0),
            (false, false) => {}
        }
    }
}
