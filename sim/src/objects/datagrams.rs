//! Unix sockets of datagrams: each has one queue, in which all senders put theirs.

use std::collections::VecDeque;

use libc::{EAGAIN, ECONNREFUSED, ECONNRESET, EMSGSIZE, ENOTCONN, EPERM, EPIPE, EPROTOTYPE};

use super::unix::{UnixSocket, UnixState};
use super::{ERR, HUP, IN, Kind, OUT, ObjectId, RDHUP};
use crate::network::Errno;
use crate::world::World;
use crate::world::actor::Wake;

/// `net.core.wmem_default` of Linux: what a socket may have on its way, in bytes.
const ROOM: usize = 212_992;
/// What Linux counts for a small datagram besides its bytes.
const OVERHEAD: usize = 768;
/// `net.unix.max_dgram_qlen` of Linux: a longer queue takes none but the answers of its peer.
const LONGEST_QUEUE: usize = 10;

#[derive(Default)]
pub(crate) struct Datagrams {
    pub(crate) peer: Option<ObjectId>,
    queue: VecDeque<Datagram>,
    /// What it has sent and no receiver has taken yet, with the overhead.
    sent: usize,
    /// Senders that found the queue full.
    waiting: Vec<ObjectId>,
    pub(crate) no_reads: bool,
    no_writes: bool,
}

struct Datagram {
    sender: ObjectId,
    name: Option<Vec<u8>>,
    bytes: Vec<u8>,
}

/// What one call took: the bytes copied, how long the datagram was, and the name of its sender.
pub(crate) type Taken = (usize, usize, Option<Vec<u8>>);

impl Datagrams {
    pub(crate) fn first_length(&self) -> usize {
        self.queue.front().map_or(0, |first| first.bytes.len())
    }

    fn is_full(&self) -> bool {
        self.queue.len() > LONGEST_QUEUE
    }

    /// Linux calls a socket writable while a quarter of its room is in use.
    fn has_room(&self) -> bool {
        self.sent <= ROOM / 4
    }
}

impl World {
    fn datagrams(&self, id: ObjectId) -> Option<&Datagrams> {
        match &self.objects.get(id)?.kind {
            Kind::Unix(UnixSocket { state: UnixState::Datagrams(it), .. }) => Some(it),
            _ => None,
        }
    }

    fn datagrams_mut(&mut self, id: ObjectId) -> Option<&mut Datagrams> {
        match &mut self.objects.get_mut(id)?.kind {
            Kind::Unix(UnixSocket { state: UnixState::Datagrams(it), .. }) => Some(it),
            _ => None,
        }
    }

    pub(crate) fn datagrams_readiness(&self, it: &Datagrams) -> u32 {
        let mut bits = if it.queue.is_empty() { 0 } else { IN };
        if it.no_reads {
            bits |= IN | RDHUP;
        }
        if it.no_reads && it.no_writes {
            bits |= HUP;
        }
        let mut is_writable = it.has_room();
        if let Some(peer) = it.peer.and_then(|peer| self.datagrams(peer)) {
            // The sockets of a pair know each other, and have no bound but their room.
            let know_each_other = peer.peer.is_some_and(|back| {
                self.datagrams(back).is_some_and(|back| std::ptr::eq(back, it))
            });
            is_writable &= know_each_other || !peer.is_full();
        }
        bits | if is_writable { OUT } else { 0 }
    }

    /// Whether `sender` may send to `receiver`, which may have chosen another peer.
    fn may_send(&self, sender: ObjectId, receiver: ObjectId) -> Result<(), Errno> {
        let it = self.datagrams(receiver).ok_or(EPROTOTYPE)?;
        if it.peer.is_some_and(|peer| peer != sender) { Err(EPERM) } else { Ok(()) }
    }

    /// Fixes the peer, or forgets it.
    pub(crate) fn connect_datagrams(
        &mut self,
        id: ObjectId,
        peer: Option<ObjectId>,
    ) -> Result<(), Errno> {
        if let Some(peer) = peer {
            self.may_send(id, peer)?;
        }
        let Some(own) = self.datagrams_mut(id) else { return Err(EPROTOTYPE) };
        let before = std::mem::replace(&mut own.peer, peer);
        if let Some(before) = before
            && Some(before) != peer
        {
            let lost = std::mem::take(&mut own.queue);
            let tells = !lost.is_empty();
            self.give_back_room(lost);
            if tells && self.datagrams(before).is_some_and(|other| other.peer == Some(id)) {
                self.fail_unix(before, ECONNRESET);
            }
        }
        Ok(())
    }

    pub(crate) fn pair_datagrams(&mut self, one: ObjectId, other: ObjectId) {
        for (own, peer) in [(one, other), (other, one)] {
            if let Some(own) = self.datagrams_mut(own) {
                own.peer = Some(peer);
            }
        }
    }

    /// Sends to the socket named `to`, or to the peer.
    pub(crate) fn send_datagram(
        &mut self,
        id: ObjectId,
        from: &[u8],
        to: Option<&[u8]>,
    ) -> Result<usize, Errno> {
        let name = self.unix_mut(id)?.name.clone();
        let own = self.datagrams(id).ok_or(ENOTCONN)?;
        let (sent, peer) = (own.sent, own.peer);
        if own.no_writes {
            return Err(EPIPE);
        }
        if from.len() > ROOM - 32 {
            return Err(EMSGSIZE);
        }
        let receiver = match to {
            Some(to) => self.find_unix(id, to)?,
            None => peer.ok_or(ENOTCONN)?,
        };
        if self.objects.get(receiver).is_none() {
            // The peer is gone, which it is once.
            self.connect_datagrams(id, None)?;
            self.touch(id, OUT);
            return Err(ECONNREFUSED);
        }
        self.may_send(id, receiver)?;
        let Some(other) = self.datagrams_mut(receiver) else { return Err(EPROTOTYPE) };
        if other.no_reads {
            return Err(EPIPE);
        }
        let is_bounded = other.peer != Some(id) && receiver != id;
        if sent >= ROOM {
            return Err(EAGAIN);
        }
        if is_bounded && other.is_full() {
            other.waiting.push(id);
            // Linux has made the datagram before it looks, and tells of its room when it drops it.
            self.touch(id, OUT);
            return Err(EAGAIN);
        }
        other.queue.push_back(Datagram { sender: id, name, bytes: from.to_vec() });
        if let Some(own) = self.datagrams_mut(id) {
            own.sent += from.len() + OVERHEAD;
        }
        self.touch(receiver, IN);
        Ok(from.len())
    }

    pub(crate) fn take_datagram(
        &mut self,
        id: ObjectId,
        into: &mut [u8],
        peek: bool,
    ) -> Result<Taken, Errno> {
        let error = std::mem::take(&mut self.unix_mut(id)?.error);
        if error != 0 {
            return Err(error);
        }
        let Some(own) = self.datagrams_mut(id) else { return Err(ENOTCONN) };
        let was_full = own.is_full();
        let first = own.queue.front().ok_or(EAGAIN)?;
        let (whole, name) = (first.bytes.len(), first.name.clone());
        let length = whole.min(into.len());
        into[..length].copy_from_slice(&first.bytes[..length]);
        if !peek && let Some(first) = own.queue.pop_front() {
            self.give_back_room([first].into());
            if was_full {
                self.tell_senders(id);
            }
        }
        Ok((length, whole, name))
    }

    /// What senders have on its way is less by these datagrams.
    fn give_back_room(&mut self, taken: VecDeque<Datagram>) {
        for datagram in taken {
            let Some(sender) = self.datagrams_mut(datagram.sender) else { continue };
            sender.sent -= datagram.bytes.len() + OVERHEAD;
            if sender.has_room() {
                self.touch(datagram.sender, OUT);
            }
        }
    }

    /// The queue of `id` has room, or is no more.
    fn tell_senders(&mut self, id: ObjectId) {
        for sender in self.objects.all() {
            if self.datagrams(sender).is_some_and(|sender| sender.peer == Some(id)) {
                self.touch(sender, OUT);
            }
        }
        let waiting = match self.datagrams_mut(id) {
            Some(own) => std::mem::take(&mut own.waiting),
            None => Vec::new(),
        };
        self.wake_blocked(waiting);
    }

    /// Ends the sleep of calls. No epoll hears of it: Linux has no event for a sender without a
    /// peer.
    fn wake_blocked(&mut self, senders: Vec<ObjectId>) {
        for sender in senders {
            let Some(sender) = self.objects.get_mut(sender) else { continue };
            for waiter in sender.take_waiters() {
                self.make_ready(waiter, Wake::Ready);
            }
        }
    }

    pub(crate) fn shut_datagrams(&mut self, id: ObjectId, read: bool, write: bool) {
        if let Some(own) = self.datagrams_mut(id) {
            own.no_reads |= read;
            own.no_writes |= write;
        }
        self.touch(id, IN | OUT | RDHUP | HUP);
    }

    /// The socket `id` is no more, and these were its.
    pub(crate) fn close_datagrams(&mut self, id: ObjectId, mut it: Datagrams) {
        let waiting = std::mem::take(&mut it.waiting);
        self.give_back_room(it.queue);
        self.tell_senders(id);
        self.wake_blocked(waiting);
    }

    /// Leaves an error for the next call on a Unix socket.
    pub(crate) fn fail_unix(&mut self, id: ObjectId, errno: Errno) {
        if let Ok(socket) = self.unix_mut(id) {
            socket.error = errno;
            self.touch(id, ERR);
        }
    }
}
