//! Unix sockets on one host, connected in pairs or by a name. Their streams are here, their
//! datagrams in `datagrams.rs`.

use std::collections::VecDeque;
use std::env;
use std::ffi::{CString, OsStr, c_int};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use libc::{
    EADDRINUSE, EAGAIN, ECONNREFUSED, ECONNRESET, EINVAL, EISCONN, ENOENT, ENOTCONN, EOPNOTSUPP,
    EPIPE, EPROTOTYPE, S_IFSOCK, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_STREAM,
};

use super::datagrams::Datagrams;
use super::pipe::PipeId;
use super::{ERR, HUP, IN, Kind, OUT, ObjectId, RDHUP};
use crate::network::Errno;
use crate::world::World;

#[derive(Default)]
pub(crate) struct UnixSocket {
    pub(crate) name: Option<Vec<u8>>,
    pub(crate) peer_name: Option<Vec<u8>>,
    pub(crate) state: UnixState,
    /// Whether it is connected and keeps the bounds of what is written: `SOCK_SEQPACKET`.
    pub(crate) has_packets: bool,
    /// Left for the next call.
    pub(crate) error: Errno,
}

#[derive(Default)]
pub(crate) enum UnixState {
    #[default]
    Fresh,
    Listening {
        /// Ends that the program has not accepted yet: where they read and write, and the name of
        /// the other side.
        queue: VecDeque<(PipeId, PipeId, Option<Vec<u8>>)>,
        room: usize,
        /// Those that found no room.
        waiting: Vec<ObjectId>,
    },
    Connected {
        receive: PipeId,
        send: PipeId,
    },
    Datagrams(Datagrams),
}

impl UnixSocket {
    /// Whether it came from `socketpair`: neither side has a name.
    pub(crate) fn is_pair(&self) -> bool {
        let is_stream = matches!(self.state, UnixState::Connected { .. });
        is_stream && self.name.is_none() && self.peer_name.is_none()
    }

    pub(crate) fn is_connected(&self) -> bool {
        match &self.state {
            UnixState::Connected { .. } => true,
            UnixState::Datagrams(datagrams) => datagrams.peer.is_some(),
            _ => false,
        }
    }

    /// A fresh one of this type, if there is such a type.
    pub(crate) fn of_type(kind: c_int) -> Option<Self> {
        match kind {
            SOCK_STREAM => Some(Self::default()),
            SOCK_SEQPACKET => Some(Self { has_packets: true, ..Self::default() }),
            SOCK_DGRAM => {
                let state = UnixState::Datagrams(Datagrams::default());
                Some(Self { state, ..Self::default() })
            }
            _ => None,
        }
    }

    pub(crate) fn has_datagrams(&self) -> bool {
        matches!(self.state, UnixState::Datagrams(_))
    }
}

impl World {
    pub(crate) fn unix_unread(&self, socket: &UnixSocket) -> usize {
        match &socket.state {
            UnixState::Connected { receive, .. } => self.objects.pipes[receive.0].unread(),
            UnixState::Datagrams(datagrams) => datagrams.first_length(),
            _ => 0,
        }
    }

    pub(crate) fn unix_readiness(&self, socket: &UnixSocket) -> u32 {
        let failed = if socket.error == 0 { 0 } else { ERR };
        failed
            | match &socket.state {
                UnixState::Datagrams(datagrams) => self.datagrams_readiness(datagrams),
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
                    let no_reads = pipes[receive.0].writers.is_empty();
                    let no_writes =
                        pipes[send.0].readers.is_empty() || pipes[send.0].writers.is_empty();
                    if no_reads {
                        bits |= IN | RDHUP;
                    }
                    if no_reads && no_writes {
                        bits |= HUP;
                    }
                    bits
                }
            }
    }

    /// Connects two fresh sockets with each other.
    pub(crate) fn pair_unix(&mut self, one: ObjectId, other: ObjectId) {
        if self.unix_mut(one).is_ok_and(|socket| socket.has_datagrams()) {
            return self.pair_datagrams(one, other);
        }
        let has_packets = self.unix_mut(one).is_ok_and(|socket| socket.has_packets);
        let (forth, back) = self.add_pipes(has_packets);
        self.join_unix(one, back, forth);
        self.join_unix(other, forth, back);
    }

    /// `id` reads from `receive` and writes to `send` from now on.
    fn join_unix(&mut self, id: ObjectId, receive: PipeId, send: PipeId) {
        self.objects.pipes[receive.0].readers = vec![id];
        self.objects.pipes[send.0].writers = vec![id];
        if let Ok(Kind::Unix(socket)) = self.kind_mut(id) {
            socket.state = UnixState::Connected { receive, send };
        }
    }

    pub(crate) fn unix_mut(&mut self, id: ObjectId) -> Result<&mut UnixSocket, Errno> {
        match self.kind_mut(id)? {
            Kind::Unix(socket) => Ok(socket),
            _ => Err(EINVAL),
        }
    }

    /// A path is bound in the run. It is taken until it is unlinked.
    pub(crate) fn bind_unix(&mut self, id: ObjectId, name: Vec<u8>) -> Result<(), Errno> {
        let key = (self.running_host_of(id), name.clone());
        if self.is_taken(&key) {
            return Err(EADDRINUSE);
        }
        let path = path_of(&name);
        let parent = path.and_then(Path::parent).filter(|parent| !parent.as_os_str().is_empty());
        if parent.is_some_and(|parent| !parent.exists()) {
            return Err(ENOENT);
        }
        if self.unix_mut(id)?.name.is_some() {
            return Err(EINVAL);
        }
        if let Some(file) = file_of(&name).filter(|file| !file.exists()) {
            make_file(file)?;
        }
        self.unix_mut(id)?.name = Some(name);
        self.objects.unix_names.insert(key, Some(id));
        Ok(())
    }

    fn is_taken(&self, key: &(usize, Vec<u8>)) -> bool {
        let is_bound = self.objects.unix_names.contains_key(key);
        let Some(path) = path_of(&key.1) else { return is_bound };
        match file_of(&key.1) {
            // The file may be gone without a call to `unlink`, and it may be another host's.
            Some(file) => file.exists() && (is_bound || !self.is_bound_anywhere(&key.1)),
            None => is_bound || path.exists(),
        }
    }

    fn is_bound_anywhere(&self, name: &[u8]) -> bool {
        self.objects.unix_names.keys().any(|(_, other)| other == name)
    }

    /// The socket of this name.
    pub(crate) fn find_unix(&self, asking: ObjectId, name: &[u8]) -> Result<ObjectId, Errno> {
        if file_of(name).is_some_and(|file| !file.exists()) {
            return Err(ENOENT);
        }
        let key = (self.running_host_of(asking), name.to_vec());
        // A path without a socket does not exist; an abstract name without one refuses.
        let is_there = path_of(name).is_none_or(Path::exists);
        let missing = if is_there { ECONNREFUSED } else { ENOENT };
        self.objects.unix_names.get(&key).ok_or(missing)?.ok_or(ECONNREFUSED)
    }

    /// Removes a path that a socket is or was bound to. Returns whether that is all: a file of it
    /// is left to the kernel, unless another host has it as well.
    pub(crate) fn unlink_unix(&mut self, name: &[u8]) -> bool {
        let key = (self.running_host(), name.to_vec());
        let was_bound = self.objects.unix_names.remove(&key).is_some();
        was_bound && (file_of(name).is_none() || self.is_bound_anywhere(name))
    }

    fn running_host_of(&self, id: ObjectId) -> usize {
        self.objects.get(id).map_or(0, |object| object.host)
    }

    pub(crate) fn listen_unix(&mut self, id: ObjectId, room: usize) -> Result<(), Errno> {
        let socket = self.unix_mut(id)?;
        if socket.has_datagrams() {
            return Err(EOPNOTSUPP);
        }
        if socket.name.is_none() {
            return Err(EINVAL);
        }
        match &mut socket.state {
            UnixState::Fresh => {
                socket.state =
                    UnixState::Listening { queue: VecDeque::new(), room, waiting: Vec::new() }
            }
            UnixState::Listening { room: old, .. } => *old = room,
            UnixState::Connected { .. } | UnixState::Datagrams(_) => return Err(EINVAL),
        }
        Ok(())
    }

    pub(crate) fn connect_unix(&mut self, id: ObjectId, name: &[u8]) -> Result<(), Errno> {
        let own = self.unix_mut(id)?;
        if own.has_datagrams() {
            let peer = self.find_unix(id, name)?;
            self.connect_datagrams(id, Some(peer))?;
            self.unix_mut(id)?.peer_name = Some(name.to_vec());
            return Ok(());
        }
        if !matches!(own.state, UnixState::Fresh) {
            return Err(if matches!(own.state, UnixState::Connected { .. }) {
                EISCONN
            } else {
                EINVAL
            });
        }
        let (own_name, has_packets) = (own.name.clone(), own.has_packets);
        let listener = self.find_unix(id, name)?;
        let other = self.unix_mut(listener)?;
        if other.has_datagrams() || other.has_packets != has_packets {
            return Err(EPROTOTYPE);
        }
        let UnixState::Listening { queue, room, waiting } = &mut self.unix_mut(listener)?.state
        else {
            return Err(ECONNREFUSED);
        };
        if queue.len() > *room {
            waiting.push(id);
            return Err(EAGAIN);
        }
        let (forth, back) = self.add_pipes(has_packets);
        self.join_unix(id, back, forth);
        // Until it is accepted, the listener stands for the other end.
        self.objects.pipes[forth.0].readers = vec![listener];
        self.objects.pipes[back.0].writers = vec![listener];
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
            UnixState::Datagrams(_) => Err(EOPNOTSUPP),
            _ => Err(EINVAL),
        }
    }

    pub(crate) fn accept_unix(&mut self, listener: ObjectId, id: ObjectId) -> Result<(), Errno> {
        let socket = self.unix_mut(listener)?;
        let (name, has_packets) = (socket.name.clone(), socket.has_packets);
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
        accepted.has_packets = has_packets;
        accepted.name = name;
        accepted.peer_name = peer_name;
        Ok(())
    }

    /// How long the packet is that the next read takes, if it takes one.
    pub(crate) fn packet_length(&mut self, id: ObjectId) -> Option<usize> {
        match self.unix_mut(id).ok()?.state {
            UnixState::Connected { receive, .. } => self.objects.pipes[receive.0].first_length(),
            _ => None,
        }
    }

    pub(crate) fn read_unix(
        &mut self,
        id: ObjectId,
        into: &mut [u8],
        peek: bool,
    ) -> Result<usize, Errno> {
        let socket = self.unix_mut(id)?;
        let UnixState::Connected { receive, .. } = socket.state else { return Err(EINVAL) };
        let error = socket.error;
        if error != 0 && self.objects.pipes[receive.0].unread() == 0 {
            self.unix_mut(id)?.error = 0;
            return Err(error);
        }
        self.read_pipe(receive, into, peek)
    }

    pub(crate) fn write_unix(&mut self, id: ObjectId, from: &[u8]) -> Result<usize, Errno> {
        let send = match self.unix_mut(id)?.state {
            UnixState::Connected { send, .. } => send,
            UnixState::Listening { .. } => return Err(EOPNOTSUPP),
            UnixState::Fresh | UnixState::Datagrams(_) => return Err(ENOTCONN),
        };
        // Its own direction may have been shut down.
        if self.objects.pipes[send.0].writers.is_empty() {
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
        if self.unix_mut(id)?.has_datagrams() {
            self.shut_datagrams(id, read, write);
            return Ok(());
        }
        let UnixState::Connected { receive, send } = self.unix_mut(id)?.state else {
            return Err(ENOTCONN);
        };
        if write {
            self.close_writer(send);
        }
        if read {
            // Both sides see it: no writer finds a reader that is gone, and the reader is at its
            // end.
            self.close_writer(receive);
            self.close_reader(receive);
        }
        self.touch(id, IN | OUT | RDHUP);
        Ok(())
    }

    pub(crate) fn close_unix(&mut self, id: ObjectId, host: usize, socket: UnixSocket) {
        if let Some(name) = socket.name {
            let is_path = path_of(&name).is_some();
            let key = (host, name);
            match self.objects.unix_names.get_mut(&key) {
                // The file outlives the socket.
                Some(owner) if is_path && *owner == Some(id) => *owner = None,
                Some(owner) if *owner == Some(id) => drop(self.objects.unix_names.remove(&key)),
                _ => {}
            }
        }
        match socket.state {
            UnixState::Fresh => {}
            UnixState::Datagrams(datagrams) => self.close_datagrams(id, datagrams),
            UnixState::Connected { receive, send } => {
                let is_unread = self.objects.pipes[receive.0].unread() > 0;
                self.part_unix(receive, send, is_unread);
            }
            UnixState::Listening { queue, waiting, .. } => {
                for (receive, send, _) in queue {
                    self.part_unix(receive, send, true);
                }
                for connecting in waiting {
                    self.touch(connecting, OUT);
                }
            }
        }
    }

    /// One end is closed. The other one is told of a reset, if it has sent what was never read.
    fn part_unix(&mut self, receive: PipeId, send: PipeId, is_reset: bool) {
        let other = self.objects.pipes[receive.0].writers.first().copied();
        self.close_reader(receive);
        self.close_writer(send);
        if let Some(other) = other {
            if is_reset && let Ok(socket) = self.unix_mut(other) {
                socket.error = ECONNRESET;
            }
            self.touch(other, IN | OUT | HUP | RDHUP | ERR);
        }
    }
}

/// The path of a name that is a file as well. Only the folder for temporary files is the run's own;
/// elsewhere, other runs would find the file.
fn file_of(name: &[u8]) -> Option<&Path> {
    path_of(name).filter(|path| path.starts_with(env::temp_dir()))
}

/// Makes what `bind` leaves at a path.
fn make_file(path: &Path) -> Result<(), Errno> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| EINVAL)?;
    // SAFETY: the path ends with a zero byte. The call itself takes the umask off.
    if unsafe { libc::mknod(path.as_ptr(), S_IFSOCK | 0o777, 0) } == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error().raw_os_error().unwrap_or(EINVAL))
}

/// The path that a name is, unless it is an abstract one.
fn path_of(name: &[u8]) -> Option<&Path> {
    let is_path = name.first().is_some_and(|first| *first != 0);
    is_path.then(|| Path::new(OsStr::from_bytes(name)))
}
