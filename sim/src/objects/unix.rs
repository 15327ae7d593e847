//! Unix sockets: streams between two ends on one host, connected in pairs or by a name.

use std::collections::VecDeque;

use libc::{
    EADDRINUSE, EAGAIN, ECONNREFUSED, EINVAL, EISCONN, ENOENT, ENOTCONN, EOPNOTSUPP, EPIPE,
};

use super::pipe::PipeId;
use super::{ERR, HUP, IN, Kind, OUT, ObjectId, RDHUP};
use crate::network::Errno;
use crate::world::World;

#[derive(Default)]
pub(crate) struct UnixSocket {
    pub(crate) name: Option<Vec<u8>>,
    pub(crate) peer_name: Option<Vec<u8>>,
    pub(crate) state: UnixState,
}

#[derive(Default)]
pub(crate) enum UnixState {
    #[default]
    Fresh,
    Listening {
        /// Ends that nobody has accepted yet: where they read and write, and the name of the other
        /// side.
        queue: VecDeque<(PipeId, PipeId, Option<Vec<u8>>)>,
        room: usize,
        /// Those that found no room.
        waiting: Vec<ObjectId>,
    },
    Connected {
        receive: PipeId,
        send: PipeId,
    },
}

impl UnixSocket {
    pub(crate) fn is_connected(&self) -> bool {
        matches!(self.state, UnixState::Connected { .. })
    }
}

impl World {
    pub(crate) fn unix_unread(&self, socket: &UnixSocket) -> usize {
        match socket.state {
            UnixState::Connected { receive, .. } => self.objects.pipes[receive.0].unread(),
            _ => 0,
        }
    }

    pub(crate) fn unix_readiness(&self, socket: &UnixSocket) -> u32 {
        match &socket.state {
            UnixState::Fresh => OUT | HUP,
            UnixState::Listening { queue, .. } => {
                if queue.is_empty() {
                    0
                } else {
                    IN
                }
            }
            UnixState::Connected { receive, send } => {
                let pipes = &self.objects.pipes;
                let mut bits = pipes[receive.0].reader_readiness() & IN;
                bits |= pipes[send.0].writer_readiness() & OUT;
                let (no_more, nobody) =
                    (pipes[receive.0].writer.is_none(), pipes[send.0].reader.is_none());
                if no_more {
                    bits |= IN | RDHUP;
                }
                if no_more && nobody {
                    bits |= HUP;
                }
                bits
            }
        }
    }

    /// Connects two fresh sockets with each other.
    pub(crate) fn pair_unix(&mut self, one: ObjectId, other: ObjectId) {
        let (forth, back) = (self.add_pipe(), self.add_pipe());
        self.join_unix(one, back, forth);
        self.join_unix(other, forth, back);
    }

    /// `id` reads from `receive` and writes to `send` from now on.
    fn join_unix(&mut self, id: ObjectId, receive: PipeId, send: PipeId) {
        self.objects.pipes[receive.0].reader = Some(id);
        self.objects.pipes[send.0].writer = Some(id);
        if let Ok(Kind::Unix(socket)) = self.kind_mut(id) {
            socket.state = UnixState::Connected { receive, send };
        }
    }

    fn unix_mut(&mut self, id: ObjectId) -> Result<&mut UnixSocket, Errno> {
        match self.kind_mut(id)? {
            Kind::Unix(socket) => Ok(socket),
            _ => Err(EINVAL),
        }
    }

    pub(crate) fn bind_unix(&mut self, id: ObjectId, name: Vec<u8>) -> Result<(), Errno> {
        let key = (self.running_host_of(id), name.clone());
        if self.objects.unix_names.contains_key(&key) {
            return Err(EADDRINUSE);
        }
        let socket = self.unix_mut(id)?;
        if socket.name.is_some() {
            return Err(EINVAL);
        }
        socket.name = Some(name);
        self.objects.unix_names.insert(key, id);
        Ok(())
    }

    fn running_host_of(&self, id: ObjectId) -> usize {
        self.objects.get(id).map_or(0, |object| object.host)
    }

    pub(crate) fn listen_unix(&mut self, id: ObjectId, room: usize) -> Result<(), Errno> {
        let socket = self.unix_mut(id)?;
        if socket.name.is_none() {
            return Err(EINVAL);
        }
        match &mut socket.state {
            UnixState::Fresh => {
                socket.state =
                    UnixState::Listening { queue: VecDeque::new(), room, waiting: Vec::new() }
            }
            UnixState::Listening { room: old, .. } => *old = room,
            UnixState::Connected { .. } => return Err(EINVAL),
        }
        Ok(())
    }

    pub(crate) fn connect_unix(&mut self, id: ObjectId, name: &[u8]) -> Result<(), Errno> {
        let own = self.unix_mut(id)?;
        if !matches!(own.state, UnixState::Fresh) {
            return Err(if matches!(own.state, UnixState::Connected { .. }) {
                EISCONN
            } else {
                EINVAL
            });
        }
        let own_name = own.name.clone();
        let key = (self.running_host_of(id), name.to_vec());
        // A path without a socket does not exist; an abstract name without one refuses.
        let missing = if name.first() == Some(&0) { ECONNREFUSED } else { ENOENT };
        let listener = *self.objects.unix_names.get(&key).ok_or(missing)?;
        let UnixState::Listening { queue, room, waiting } = &mut self.unix_mut(listener)?.state
        else {
            return Err(ECONNREFUSED);
        };
        if queue.len() > *room {
            waiting.push(id);
            return Err(EAGAIN);
        }
        let (forth, back) = (self.add_pipe(), self.add_pipe());
        self.join_unix(id, back, forth);
        // Until it is accepted, the listener stands for the other end.
        self.objects.pipes[forth.0].reader = Some(listener);
        self.objects.pipes[back.0].writer = Some(listener);
        self.unix_mut(id)?.peer_name = Some(name.to_vec());
        if let UnixState::Listening { queue, .. } = &mut self.unix_mut(listener)?.state {
            queue.push_back((forth, back, own_name));
        }
        self.touch(listener, IN);
        Ok(())
    }

    /// Takes a connection off the queue of `listener`, for the fresh socket `id`.
    pub(crate) fn can_accept_unix(&mut self, listener: ObjectId) -> Result<(), Errno> {
        match &self.unix_mut(listener)?.state {
            UnixState::Listening { queue, .. } if queue.is_empty() => Err(EAGAIN),
            UnixState::Listening { .. } => Ok(()),
            _ => Err(EINVAL),
        }
    }

    pub(crate) fn accept_unix(&mut self, listener: ObjectId, id: ObjectId) -> Result<(), Errno> {
        let socket = self.unix_mut(listener)?;
        let name = socket.name.clone();
        let UnixState::Listening { queue, waiting, .. } = &mut socket.state else {
            return Err(EINVAL);
        };
        let (receive, send, peer_name) = queue.pop_front().ok_or(EAGAIN)?;
        let waiting = std::mem::take(waiting);
        for connecting in waiting {
            self.touch(connecting, OUT);
        }
        self.join_unix(id, receive, send);
        let accepted = self.unix_mut(id)?;
        accepted.name = name;
        accepted.peer_name = peer_name;
        Ok(())
    }

    pub(crate) fn read_unix(
        &mut self,
        id: ObjectId,
        into: &mut [u8],
        peek: bool,
    ) -> Result<usize, Errno> {
        match self.unix_mut(id)?.state {
            UnixState::Connected { receive, .. } => self.read_pipe(receive, into, peek),
            _ => Err(EINVAL),
        }
    }

    pub(crate) fn write_unix(&mut self, id: ObjectId, from: &[u8]) -> Result<usize, Errno> {
        let send = match self.unix_mut(id)?.state {
            UnixState::Connected { send, .. } => send,
            UnixState::Listening { .. } => return Err(EOPNOTSUPP),
            UnixState::Fresh => return Err(ENOTCONN),
        };
        // Its own direction may have been shut down.
        if self.objects.pipes[send.0].writer.is_none() {
            Err(EPIPE)
        } else {
            self.write_pipe(send, from)
        }
    }

    pub(crate) fn shutdown_unix(
        &mut self,
        id: ObjectId,
        read: bool,
        write: bool,
    ) -> Result<(), Errno> {
        let UnixState::Connected { receive, send } = self.unix_mut(id)?.state else {
            return Err(ENOTCONN);
        };
        if write {
            self.close_writer(send);
        }
        if read {
            // Both sides see it: nobody writes to a reader that is gone, and the reader is at its
            // end.
            self.close_writer(receive);
            self.close_reader(receive);
        }
        self.touch(id, IN | OUT | RDHUP);
        Ok(())
    }

    pub(crate) fn close_unix(&mut self, id: ObjectId, host: usize, socket: UnixSocket) {
        if let Some(name) = socket.name
            && self.objects.unix_names.get(&(host, name.clone())) == Some(&id)
        {
            self.objects.unix_names.remove(&(host, name));
        }
        match socket.state {
            UnixState::Fresh => {}
            UnixState::Connected { receive, send } => self.part_unix(receive, send),
            UnixState::Listening { queue, .. } => {
                for (receive, send, _) in queue {
                    self.part_unix(receive, send);
                }
            }
        }
    }

    fn part_unix(&mut self, receive: PipeId, send: PipeId) {
        let other = self.objects.pipes[receive.0].writer;
        self.close_reader(receive);
        self.close_writer(send);
        if let Some(other) = other {
            self.touch(other, IN | OUT | HUP | RDHUP | ERR);
        }
    }
}
