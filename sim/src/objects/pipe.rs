//! Bytes on their way within one host: pipes, and each direction of a Unix socket.

use std::collections::VecDeque;

use libc::{EAGAIN, EMSGSIZE, EPIPE};

use super::{ERR, HUP, IN, OUT, ObjectId};
use crate::network::Errno;
use crate::world::World;

/// The place of a pipe in [`Objects::pipes`](super::Objects::pipes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PipeId(pub(crate) usize);

/// The room in a pipe, in bytes, as on Linux.
const ROOM: usize = 65_536;
/// A write of up to so many bytes is whole or not at all, as POSIX asks of pipes; `PIPE_BUF` on
/// Linux.
const WHOLE: usize = 4_096;

#[derive(Default)]
pub(crate) struct Pipe {
    bytes: VecDeque<u8>,
    /// The lengths of what was written, where a read takes one of these: `SOCK_SEQPACKET`.
    packets: Option<VecDeque<usize>>,
    /// The objects of both ends, while they are open. Only a named pipe has several of a kind.
    pub(crate) readers: Vec<ObjectId>,
    pub(crate) writers: Vec<ObjectId>,
    /// How often a named pipe was opened at either end.
    pub(super) readers_ever: u64,
    pub(super) writers_ever: u64,
}

impl Pipe {
    pub(crate) fn reader_readiness(&self) -> u32 {
        let readable = if self.is_empty() { 0 } else { IN };
        let over = if self.writers.is_empty() { HUP } else { 0 };
        readable | over
    }

    pub(crate) fn writer_readiness(&self) -> u32 {
        let writable = if self.is_writable() { OUT } else { 0 };
        let over = if self.readers.is_empty() { ERR | OUT } else { 0 };
        writable | over
    }

    pub(crate) fn unread(&self) -> usize {
        self.bytes.len()
    }

    /// Whether a write finds room.
    pub(super) fn is_writable(&self) -> bool {
        self.room() >= WHOLE
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets.as_ref().map_or(self.bytes.is_empty(), VecDeque::is_empty)
    }

    /// How long the first packet is.
    pub(crate) fn first_length(&self) -> Option<usize> {
        self.packets.as_ref()?.front().copied()
    }

    fn room(&self) -> usize {
        ROOM - self.bytes.len()
    }

    fn read(&mut self, into: &mut [u8], peek: bool) -> Result<usize, Errno> {
        if into.is_empty() && self.packets.is_none() {
            return Ok(0);
        }
        if self.is_empty() {
            return if self.writers.is_empty() { Ok(0) } else { Err(EAGAIN) };
        }
        let first = self.first_length().unwrap_or(self.bytes.len());
        let length = into.len().min(first);
        for (place, byte) in into[..length].iter_mut().zip(&self.bytes) {
            *place = *byte;
        }
        if !peek {
            // What a packet has beyond the buffer is lost.
            let taken = if self.packets.is_some() { first } else { length };
            self.bytes.drain(..taken);
            self.packets.as_mut().map(VecDeque::pop_front);
        }
        Ok(length)
    }

    fn write(&mut self, from: &[u8]) -> Result<usize, Errno> {
        if self.readers.is_empty() {
            return Err(EPIPE);
        }
        let room = self.room();
        if let Some(packets) = &mut self.packets {
            if from.len() > room {
                return Err(if from.len() > ROOM { EMSGSIZE } else { EAGAIN });
            }
            packets.push_back(from.len());
        } else if !from.is_empty() && (room == 0 || (from.len() <= WHOLE && room < from.len())) {
            return Err(EAGAIN);
        }
        let length = from.len().min(room);
        self.bytes.extend(&from[..length]);
        Ok(length)
    }
}

impl World {
    pub(crate) fn add_pipe(&mut self) -> PipeId {
        self.objects.pipes.push(Pipe::default());
        PipeId(self.objects.pipes.len() - 1)
    }

    /// Both directions between two ends, which keep the bounds of what is written or do not.
    pub(crate) fn add_pipes(&mut self, has_packets: bool) -> (PipeId, PipeId) {
        let both = (self.add_pipe(), self.add_pipe());
        for id in [both.0, both.1] {
            self.objects.pipes[id.0].packets = has_packets.then(VecDeque::new);
        }
        both
    }

    pub(crate) fn read_pipe(
        &mut self,
        id: PipeId,
        into: &mut [u8],
        peek: bool,
    ) -> Result<usize, Errno> {
        let pipe = &mut self.objects.pipes[id.0];
        let was_writable = pipe.is_writable();
        let read = pipe.read(into, peek)?;
        if !was_writable && pipe.is_writable() {
            self.touch_writers(id, OUT);
        }
        Ok(read)
    }

    pub(crate) fn write_pipe(&mut self, id: PipeId, from: &[u8]) -> Result<usize, Errno> {
        let pipe = &mut self.objects.pipes[id.0];
        let written = pipe.write(from)?;
        let is_new = written > 0 || pipe.packets.is_some();
        if is_new {
            self.touch_readers(id, IN);
        }
        Ok(written)
    }

    /// A write to a pipe, as against one to a Unix socket. One of no bytes never fails. The system
    /// lets epolls look at the readers again also where there was no room.
    pub(crate) fn write_to_pipe(&mut self, id: PipeId, from: &[u8]) -> Result<usize, Errno> {
        if from.is_empty() {
            return Ok(0);
        }
        let written = self.write_pipe(id, from);
        if written == Err(EAGAIN) {
            self.touch_readers(id, IN);
        }
        written
    }

    pub(crate) fn close_reader(&mut self, id: PipeId) {
        let pipe = &mut self.objects.pipes[id.0];
        pipe.readers.clear();
        pipe.bytes = VecDeque::new();
        self.touch_writers(id, OUT | ERR | HUP);
    }

    pub(crate) fn close_writer(&mut self, id: PipeId) {
        self.objects.pipes[id.0].writers.clear();
        self.touch_readers(id, IN | HUP);
    }

    pub(super) fn touch_readers(&mut self, id: PipeId, bits: u32) {
        for place in 0..self.objects.pipes[id.0].readers.len() {
            self.touch(self.objects.pipes[id.0].readers[place], bits);
        }
    }

    pub(super) fn touch_writers(&mut self, id: PipeId, bits: u32) {
        for place in 0..self.objects.pipes[id.0].writers.len() {
            self.touch(self.objects.pipes[id.0].writers[place], bits);
        }
    }
}
