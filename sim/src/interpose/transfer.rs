//! Reading and writing, in all forms that the system has.

use std::ffi::{c_int, c_uint, c_void};
use std::slice;

use libc::{
    EAGAIN, EBADF, EINVAL, EMSGSIZE, MSG_DONTWAIT, MSG_PEEK, MSG_TRUNC, MSG_WAITALL, SO_RCVTIMEO,
    SO_SNDTIMEO, SOL_SOCKET, iovec, mmsghdr, msghdr, size_t, sockaddr, socklen_t, ssize_t,
    timespec, timeval,
};

use super::address::{self, Address};
use super::descriptor::{is_nonblocking, object, object_locked, wait_for};
use super::{answer_size, fail};
use crate::network::{Errno, Nanos, SECOND, Transport};
use crate::objects::fifo::Fifo;
use crate::objects::unix::{UnixSocket, UnixState};
use crate::objects::{IN, Kind, OUT, ObjectId};
use crate::real;
use crate::timeline;
use crate::world::actor::{ActorId, current};
use crate::world::{Guard, World, lock};

/// The most that one call moves, in bytes: more than any buffer of the run has room for.
const MOST: usize = 512 * 1024;

/// One call that may block: `attempt` is made again each time something happened to the object.
pub(super) struct Call {
    pub(super) me: ActorId,
    pub(super) fd: c_int,
    pub(super) id: ObjectId,
    pub(super) flags: c_int,
    /// The option that bounds the wait, `SO_RCVTIMEO` or `SO_SNDTIMEO`.
    pub(super) bound: c_int,
}

impl Call {
    fn may_wait(&self, world: &mut World) -> bool {
        self.flags & MSG_DONTWAIT == 0 && !is_nonblocking(world, self.fd, self.id)
    }

    /// Whether it may go on until all bytes are moved.
    fn completes(&self) -> bool {
        let mut world = lock();
        world.is_bytes(self.id) && self.may_wait(&mut world)
    }

    pub(super) fn run<T>(
        &self,
        mut world: Guard,
        mut attempt: impl FnMut(&mut World) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let mut deadline = None;
        let mut waited = false;
        loop {
            match attempt(&mut world) {
                Err(EAGAIN) => {}
                other => return other,
            }
            if !waited {
                if !self.may_wait(&mut world) {
                    return Err(EAGAIN);
                }
                deadline = bound_of(self.fd, self.bound).map(|bound| world.local_after(bound));
                waited = true;
            }
            let happened;
            (world, happened) = wait_for(world, self.me, &[self.id], deadline);
            if happened.is_none() {
                return Err(EAGAIN);
            }
        }
    }
}

/// The value of a timeout option, unless it is for ever.
fn bound_of(fd: c_int, option: c_int) -> Option<Nanos> {
    let none = timeval { tv_sec: 0, tv_usec: 0 };
    // SAFETY: both options are of this type, which is made of numbers. A descriptor that is no
    // socket has no such option.
    let bound = unsafe { real::option_of(fd, SOL_SOCKET, option, none) }?;
    let nanos = bound.tv_sec as u64 * SECOND + bound.tv_usec as u64 * 1_000;
    (nanos > 0).then_some(nanos)
}

/// What one receiving call got.
struct Received {
    length: usize,
    /// How long the datagram was.
    whole: usize,
    from: Option<Address>,
}

impl World {
    fn receive(&mut self, id: ObjectId, into: &mut [u8], peek: bool) -> Result<Received, Errno> {
        let stream = |length| Received { length, whole: length, from: None };
        match self.kind_mut(id)? {
            Kind::Event(event) => {
                let length = read_number(into, || event.read())?;
                self.touch(id, OUT);
                Ok(stream(length))
            }
            Kind::Timer(timer) => read_number(into, || timer.read()).map(stream),
            Kind::PipeReader(pipe) => {
                let pipe = *pipe;
                self.read_pipe(pipe, into, peek).map(stream)
            }
            Kind::Fifo(Fifo { pipe, reads: true, .. }) => {
                let pipe = *pipe;
                self.read_pipe(pipe, into, peek).map(stream)
            }
            Kind::Unix(socket) if socket.has_datagrams() => {
                let (length, whole, name) = self.take_datagram(id, into, peek)?;
                Ok(Received { length, whole, from: name.map(Address::Unix) })
            }
            Kind::Unix(_) => {
                let packet = self.packet_length(id);
                let length = self.read_unix(id, into, peek)?;
                Ok(Received { length, whole: packet.unwrap_or(length), from: None })
            }
            Kind::Socket(socket) => {
                let socket = *socket;
                if self.network.transport(socket) == Transport::Stream {
                    return self
                        .with_network(|net, moment| net.read(moment, socket, into, peek))
                        .map(stream);
                }
                let (length, whole, from) =
                    self.with_network(|net, moment| net.receive_from(moment, socket, into, peek))?;
                Ok(Received { length, whole, from: Some(Address::Internet(from)) })
            }
            Kind::Epoll(_) => Err(EINVAL),
            Kind::PipeWriter(_) | Kind::Fifo(_) => Err(EBADF),
        }
    }

    fn send(&mut self, id: ObjectId, from: &[u8], to: Option<&Address>) -> Result<usize, Errno> {
        if self.handles_for_another(id) {
            return Ok(from.len());
        }
        match self.kind_mut(id)? {
            Kind::Event(event) => {
                let number =
                    from.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes)).ok_or(EINVAL)?;
                event.write(number)?;
                self.touch(id, IN);
                Ok(size_of::<u64>())
            }
            Kind::PipeWriter(pipe) => {
                let pipe = *pipe;
                self.write_to_pipe(pipe, from)
            }
            Kind::Fifo(Fifo { pipe, writes: true, .. }) => {
                let pipe = *pipe;
                self.write_to_pipe(pipe, from)
            }
            Kind::Unix(socket) if socket.has_datagrams() => match to {
                Some(Address::Internet(_)) => Err(EINVAL),
                Some(Address::Unix(name)) => self.send_datagram(id, from, Some(name)),
                None => self.send_datagram(id, from, None),
            },
            Kind::Unix(_) => self.write_unix(id, from),
            Kind::Socket(socket) => {
                let socket = *socket;
                if self.network.transport(socket) == Transport::Stream {
                    return self.with_network(|net, moment| net.write(moment, socket, from));
                }
                let to = match to {
                    Some(Address::Unix(_)) => return Err(EINVAL),
                    Some(Address::Internet(to)) => Some(*to),
                    None => None,
                };
                self.with_network(|net, moment| net.send_to(moment, socket, from, to))
            }
            Kind::Timer(_) | Kind::Epoll(_) => Err(EINVAL),
            Kind::PipeReader(_) | Kind::Fifo(_) => Err(EBADF),
        }
    }

    /// Whether it is a socket of datagrams from which nothing is to be read any more.
    fn ends_waits(&self, id: ObjectId) -> bool {
        match self.objects.get(id).map(|object| &object.kind) {
            Some(Kind::Socket(socket)) => self.network.ends_waits(*socket),
            Some(Kind::Unix(UnixSocket { state: UnixState::Datagrams(datagrams), .. })) => {
                datagrams.no_reads
            }
            _ => false,
        }
    }

    /// Whether a blocking write to it goes on until everything is written.
    fn is_bytes(&self, id: ObjectId) -> bool {
        match self.objects.get(id).map(|object| &object.kind) {
            Some(Kind::Socket(socket)) => self.network.transport(*socket) == Transport::Stream,
            Some(Kind::Unix(socket)) => !socket.has_datagrams() && !socket.has_packets,
            Some(Kind::PipeWriter(_) | Kind::Fifo(_)) => true,
            _ => false,
        }
    }
}

/// What `read` of a counting descriptor does.
fn read_number(
    into: &mut [u8],
    number: impl FnOnce() -> Result<u64, Errno>,
) -> Result<usize, Errno> {
    let Some(place) = into.first_chunk_mut() else { return Err(EINVAL) };
    *place = number()?.to_ne_bytes();
    Ok(size_of::<u64>())
}

fn receive_call(
    world: Guard,
    me: ActorId,
    fd: c_int,
    id: ObjectId,
    into: &mut [u8],
    flags: c_int,
) -> Result<Received, Errno> {
    let call = Call { me, fd, id, flags, bound: SO_RCVTIMEO };
    let peek = flags & MSG_PEEK != 0;
    let mut received = call.run(world, |world| match world.receive(id, into, peek) {
        // A call that would wait for a datagram finds its socket shut down.
        Err(EAGAIN) if world.ends_waits(id) && call.may_wait(world) => {
            Ok(Received { length: 0, whole: 0, from: None })
        }
        other => other,
    })?;
    let goes_on = flags & MSG_WAITALL != 0 && !peek && call.completes();
    while goes_on && 0 < received.length && received.length < into.len() {
        match call.run(lock(), |world| world.receive(id, &mut into[received.length..], false)) {
            Ok(more) if more.length > 0 => received.length += more.length,
            // What was read counts; the end or the error is found by the next call.
            _ => break,
        }
    }
    received.whole = received.whole.max(received.length);
    Ok(received)
}

fn send_call(
    world: Guard,
    me: ActorId,
    fd: c_int,
    id: ObjectId,
    from: &[u8],
    flags: c_int,
    to: Option<&Address>,
) -> Result<usize, Errno> {
    let call = Call { me, fd, id, flags, bound: SO_SNDTIMEO };
    let mut sent = call.run(world, |world| world.send(id, from, to))?;
    let goes_on = sent < from.len() && call.completes();
    while goes_on && sent < from.len() {
        match call.run(lock(), |world| world.send(id, &from[sent..], to)) {
            Ok(more) => sent += more,
            // What was written counts; the error is found by the next call.
            Err(_) => break,
        }
    }
    Ok(sent)
}

/// Whether a read without room ends at once. `recv` looks at the connection first.
fn reads_nothing(world: &mut World, id: ObjectId) -> bool {
    matches!(world.kind_mut(id), Ok(Kind::Socket(_)))
}

/// # Safety
///
/// `from` has `length` readable bytes.
unsafe fn bytes<'a>(from: *const c_void, length: usize) -> &'a [u8] {
    // SAFETY: as above. A null pointer goes with no bytes.
    if length == 0 { &[] } else { unsafe { slice::from_raw_parts(from.cast(), length) } }
}

/// # Safety
///
/// `into` has `length` writable bytes. They are written before they are read.
unsafe fn bytes_mut<'a>(into: *mut c_void, length: usize) -> &'a mut [u8] {
    // SAFETY: as above. A null pointer goes with no bytes.
    if length == 0 { &mut [] } else { unsafe { slice::from_raw_parts_mut(into.cast(), length) } }
}

/// The buffers of a call as one list.
///
/// # Safety
///
/// `parts` points to `count` valid entries.
unsafe fn parts<'a>(parts: *const iovec, count: usize) -> &'a [iovec] {
    if count == 0 {
        return &[];
    }
    // SAFETY: as above.
    unsafe { slice::from_raw_parts(parts, count) }
}

/// # Safety
///
/// Each part is readable.
unsafe fn gather(parts: &[iovec]) -> Vec<u8> {
    let mut all = Vec::new();
    for part in parts {
        let length = part.iov_len.min(MOST - all.len());
        if length > 0 {
            // SAFETY: as above.
            all.extend_from_slice(unsafe {
                slice::from_raw_parts(part.iov_base.cast::<u8>(), length)
            });
        }
    }
    all
}

/// # Safety
///
/// Each part is writable.
unsafe fn scatter(bytes: &[u8], parts: &[iovec]) {
    let mut rest = bytes;
    for part in parts {
        let (now, later) = rest.split_at(part.iov_len.min(rest.len()));
        // SAFETY: as above, and there is room for them.
        unsafe { part.iov_base.cast::<u8>().copy_from_nonoverlapping(now.as_ptr(), now.len()) };
        rest = later;
    }
}

fn room(parts: &[iovec]) -> usize {
    parts.iter().map(|part| part.iov_len).sum::<usize>().min(MOST)
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn read(fd: c_int, into: *mut c_void, length: size_t) -> ssize_t {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        let Some((mut world, me, id)) = object_locked(fd) else {
            return real::read(fd, into, length);
        };
        if length == 0 && reads_nothing(&mut world, id) {
            return 0;
        }
        let into = bytes_mut(into, length);
        answer_size(receive_call(world, me, fd, id, into, 0).map(|received| received.length))
    }
}

/// Notes what the thread writes to a file, or prints.
fn note_write(fd: c_int, bytes: &[u8]) {
    if !timeline::is_on() || bytes.is_empty() || current().is_none() {
        return;
    }
    let world = lock();
    let host = &world.hosts[world.running_host()].name;
    if fd == 1 || fd == 2 {
        timeline::note_output(world.now, host, &String::from_utf8_lossy(bytes));
        return;
    }
    let path = std::fs::read_link(format!("/proc/self/fd/{fd}"));
    // The folder of the run differs from run to run.
    let folder = std::env::temp_dir();
    let path = path.map_or_else(
        |_| "a file".to_owned(),
        |path| path.strip_prefix(folder).unwrap_or(&path).display().to_string(),
    );
    timeline::note(world.now, || {
        let shown = timeline::shown(bytes);
        format!("{host} writes {} bytes {shown} to {path}", bytes.len())
    });
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn write(fd: c_int, from: *const c_void, length: size_t) -> ssize_t {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        let Some((world, me, id)) = object_locked(fd) else {
            let written = real::write(fd, from, length);
            note_write(fd, bytes(from, written.max(0) as usize));
            return written;
        };
        let from = bytes(from, length);
        answer_size(send_call(world, me, fd, id, from, 0, None))
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn readv(fd: c_int, list: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        let Some((me, id)) = object(fd) else { return real::readv(fd, list, count) };
        let list = parts(list, count as usize);
        let mut bytes = vec![0; room(list)];
        if bytes.is_empty() && reads_nothing(&mut lock(), id) {
            return 0;
        }
        let received = receive_call(lock(), me, fd, id, &mut bytes, 0);
        answer_size(received.map(|received| {
            scatter(&bytes[..received.length], list);
            received.length
        }))
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn writev(fd: c_int, list: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        let Some((me, id)) = object(fd) else {
            note_write(fd, &gather(parts(list, count as usize)));
            return real::writev(fd, list, count);
        };
        let bytes = gather(parts(list, count as usize));
        answer_size(send_call(lock(), me, fd, id, &bytes, 0, None))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recv(fd: c_int, into: *mut c_void, length: size_t, flags: c_int) -> ssize_t {
    // SAFETY: the caller's contract is the C library's, in which this is the other without an
    // address.
    unsafe { recvfrom(fd, into, length, flags, std::ptr::null_mut(), std::ptr::null_mut()) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn recvfrom(
    fd: c_int,
    into: *mut c_void,
    length: size_t,
    flags: c_int,
    from: *mut sockaddr,
    from_length: *mut socklen_t,
) -> ssize_t {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        let Some((world, me, id)) = object_locked(fd) else {
            return real::recvfrom(fd, into, length, flags, from, from_length);
        };
        let into = bytes_mut(into, length);
        answer_size(receive_call(world, me, fd, id, into, flags).map(|received| {
            match &received.from {
                Some(address) => address::write(address, from, from_length),
                None if !from_length.is_null() => *from_length = 0,
                None => {}
            }
            if flags & MSG_TRUNC == 0 { received.length } else { received.whole }
        }))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn send(fd: c_int, from: *const c_void, length: size_t, flags: c_int) -> ssize_t {
    // SAFETY: the caller's contract is the C library's, in which this is the other without an
    // address.
    unsafe { sendto(fd, from, length, flags, std::ptr::null(), 0) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sendto(
    fd: c_int,
    from: *const c_void,
    length: size_t,
    flags: c_int,
    to: *const sockaddr,
    to_length: socklen_t,
) -> ssize_t {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        let Some((world, me, id)) = object_locked(fd) else {
            return real::sendto(fd, from, length, flags, to, to_length);
        };
        let from = bytes(from, length);
        let to = match destination(to, to_length) {
            Ok(to) => to,
            Err(errno) => return fail(errno) as ssize_t,
        };
        answer_size(send_call(world, me, fd, id, from, flags, to.as_ref()))
    }
}

/// # Safety
///
/// `to` is null or has so many bytes.
unsafe fn destination(to: *const sockaddr, length: socklen_t) -> Result<Option<Address>, Errno> {
    if to.is_null() || length == 0 {
        return Ok(None);
    }
    // SAFETY: as above.
    unsafe { address::read(to, length) }.map(Some)
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        let Some((me, id)) = object(fd) else { return real::recvmsg(fd, message, flags) };
        let message = &mut *message;
        let list = parts(message.msg_iov, message.msg_iovlen);
        let mut bytes = vec![0; room(list)];
        answer_size(receive_call(lock(), me, fd, id, &mut bytes, flags).map(|received| {
            scatter(&bytes[..received.length], list);
            let (place, length) = (message.msg_name.cast(), &raw mut message.msg_namelen);
            match &received.from {
                Some(from) => address::write(from, place, length),
                None => message.msg_namelen = 0,
            }
            // No descriptor and no header field travels beside the bytes.
            message.msg_controllen = 0;
            message.msg_flags = if received.whole > received.length { MSG_TRUNC } else { 0 };
            if flags & MSG_TRUNC == 0 { received.length } else { received.whole }
        }))
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sendmsg(
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        let Some((me, id)) = object(fd) else { return real::sendmsg(fd, message, flags) };
        let message = &*message;
        let bytes = gather(parts(message.msg_iov, message.msg_iovlen));
        if bytes.len() == MOST {
            let is_bytes = lock().is_bytes(id);
            if !is_bytes {
                return fail(EMSGSIZE) as ssize_t;
            }
        }
        match destination(message.msg_name.cast(), message.msg_namelen) {
            Ok(to) => answer_size(send_call(lock(), me, fd, id, &bytes, flags, to.as_ref())),
            Err(errno) => fail(errno) as ssize_t,
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvmmsg(
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut timespec,
) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        if object(fd).is_none() {
            return real::recvmmsg(fd, messages, count, flags, timeout);
        }
        each_message(messages, count, |message, is_first| {
            // Only the first one may wait.
            recvmsg(fd, message, if is_first { flags } else { flags | MSG_DONTWAIT })
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmmsg(
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        if object(fd).is_none() {
            return real::sendmmsg(fd, messages, count, flags);
        }
        each_message(messages, count, |message, _| sendmsg(fd, message, flags))
    }
}

/// Moves one message after the other, until one fails. `one` returns how long it was, and learns
/// whether it is the first.
///
/// # Safety
///
/// `messages` has `count` valid entries.
unsafe fn each_message(
    messages: *mut mmsghdr,
    count: c_uint,
    one: impl Fn(*mut msghdr, bool) -> ssize_t,
) -> c_int {
    let mut done = 0;
    // SAFETY: as above.
    for message in unsafe { slice::from_raw_parts_mut(messages, count as usize) } {
        let length = one(&raw mut message.msg_hdr, done == 0);
        if length < 0 {
            break;
        }
        message.msg_len = length as c_uint;
        done += 1;
    }
    if done == 0 && count > 0 { -1 } else { done }
}
