//! What a descriptor of the run stands for.
//!
//! Each descriptor is also a real one of the same kind, which nothing is ever sent through. The
//! kernel gives it its number, keeps its flags and socket options, and copies it for `dup`; only
//! transfers, readiness and addresses are answered here.

use std::collections::BTreeMap;
use std::ffi::c_int;

use libc::{EBADF, EINVAL};

pub(crate) use crate::network::{ERR, HUP, IN, OUT, RDHUP};
use crate::network::{Errno, SocketId};
use crate::real;
use crate::world::World;
use crate::world::actor::{ActorId, Wake};

pub(crate) mod datagrams;
pub(crate) mod epoll;
pub(crate) mod event;
pub(crate) mod fifo;
pub(crate) mod pipe;
pub(crate) mod timer;
pub(crate) mod unix;

use epoll::Epoll;
use event::Event;
use fifo::{Fifo, Place};
use pipe::{Pipe, PipeId};
use timer::Timer;
use unix::UnixSocket;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectId(pub(crate) usize);

pub(crate) struct Object {
    pub(crate) kind: Kind,
    pub(crate) host: usize,
    /// Whether calls return at once, as far as it is known. The kernel keeps the flag.
    pub(crate) is_nonblocking: Option<bool>,
    /// Descriptors that stand for it.
    descriptors: Vec<Descriptor>,
    /// Actors that wait for it by `poll` or in a blocking call.
    waiters: Vec<ActorId>,
    /// The epolls that watch it, each with the descriptor by which it was added.
    watched_by: Vec<(ObjectId, c_int)>,
}

/// A descriptor, and the host that has it: one may copy a descriptor of another's, by a static.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Descriptor {
    fd: c_int,
    host: usize,
}

pub(crate) enum Kind {
    Event(Event),
    Timer(Timer),
    Epoll(Epoll),
    /// TCP or UDP.
    Socket(SocketId),
    PipeReader(PipeId),
    PipeWriter(PipeId),
    Fifo(Fifo),
    Unix(UnixSocket),
}

#[derive(Default)]
pub(crate) struct Objects {
    slots: Vec<Option<Object>>,
    /// By the numbers of descriptors, and of sockets: both are small, and every call looks here.
    of_descriptor: Vec<Option<ObjectId>>,
    of_socket: Vec<Option<ObjectId>>,
    pub(crate) pipes: Vec<Pipe>,
    /// Named pipes that are open.
    pub(crate) fifos: BTreeMap<Place, PipeId>,
    /// By host and name. A path whose socket is closed stays, without one.
    pub(crate) unix_names: BTreeMap<(usize, Vec<u8>), Option<ObjectId>>,
}

impl Objects {
    pub(crate) fn of_socket(&self, socket: SocketId) -> Option<ObjectId> {
        self.of_socket.get(socket.0).copied().flatten()
    }

    pub(crate) fn of_descriptor(&self, fd: c_int) -> Option<ObjectId> {
        self.of_descriptor.get(usize::try_from(fd).ok()?).copied().flatten()
    }

    pub(crate) fn get(&self, id: ObjectId) -> Option<&Object> {
        self.slots.get(id.0)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, id: ObjectId) -> Option<&mut Object> {
        self.slots.get_mut(id.0)?.as_mut()
    }

    pub(crate) fn all(&self) -> Vec<ObjectId> {
        let slots = self.slots.iter().enumerate();
        slots.filter(|(_, slot)| slot.is_some()).map(|(index, _)| ObjectId(index)).collect()
    }

    /// Lets one more descriptor stand for `id`.
    fn attach(&mut self, fd: c_int, host: usize, id: ObjectId) {
        if let Some(object) = self.get_mut(id) {
            object.descriptors.push(Descriptor { fd, host });
            put(&mut self.of_descriptor, fd as usize, id);
        }
    }
}

impl Object {
    /// Whether `host` has a descriptor of it.
    pub(crate) fn is_of(&self, host: usize) -> bool {
        self.descriptors.iter().any(|descriptor| descriptor.host == host)
    }

    pub(crate) fn take_waiters(&mut self) -> Vec<ActorId> {
        std::mem::take(&mut self.waiters)
    }
}

impl World {
    /// Makes an object for the descriptor `fd`.
    pub(crate) fn add_object(&mut self, fd: c_int, kind: Kind) -> ObjectId {
        let id = ObjectId(self.objects.slots.len());
        if let Kind::Socket(socket) = kind {
            put(&mut self.objects.of_socket, socket.0, id);
        }
        let host = self.running_host();
        let object = Object {
            kind,
            host,
            is_nonblocking: None,
            descriptors: Vec::new(),
            waiters: Vec::new(),
            watched_by: Vec::new(),
        };
        // Numbers are not used again: what still names an old object must not find a new one.
        self.objects.slots.push(Some(object));
        self.objects.attach(fd, host, id);
        id
    }

    /// `copy` is a further descriptor of what `fd` stands for. Closes what `copy` stood for before.
    pub(crate) fn copy_descriptor(&mut self, fd: c_int, copy: c_int) {
        let Some(id) = self.objects.of_descriptor(fd) else { return };
        self.forget_descriptor(copy);
        let host = self.running_host();
        self.objects.attach(copy, host, id);
    }

    /// The descriptor `fd` is closed. The object goes with its last one.
    pub(crate) fn forget_descriptor(&mut self, fd: c_int) {
        let Some(id) = self.objects.of_descriptor(fd) else { return };
        self.objects.of_descriptor[fd as usize] = None;
        let Some(object) = self.objects.get_mut(id) else { return };
        object.descriptors.retain(|other| other.fd != fd);
        if object.descriptors.is_empty() {
            self.drop_object(id, fd);
        }
    }

    fn drop_object(&mut self, id: ObjectId, last: c_int) {
        let Some(object) = self.objects.slots[id.0].take() else { return };
        for (epoll, fd) in object.watched_by {
            if let Some(epoll) = self.epoll_mut(epoll) {
                epoll.remove(fd, id);
            }
        }
        for waiter in object.waiters {
            self.make_ready(waiter, Wake::Ready);
        }
        match object.kind {
            Kind::Socket(socket) => {
                self.objects.of_socket[socket.0] = None;
                // A machine that loses its power forgets its sockets, and closes none.
                if self.hosts[object.host].has_power {
                    let linger = linger_of(last);
                    self.with_network(|network, moment| network.close(moment, socket, linger));
                }
            }
            Kind::PipeReader(pipe) => self.close_reader(pipe),
            Kind::PipeWriter(pipe) => self.close_writer(pipe),
            Kind::Fifo(fifo) => self.close_fifo(id, fifo),
            Kind::Unix(socket) => self.close_unix(id, object.host, socket),
            Kind::Epoll(epoll) => {
                for (_, watched) in epoll.watched() {
                    if let Some(watched) = self.objects.get_mut(watched) {
                        watched.watched_by.retain(|(by, _)| *by != id);
                    }
                }
            }
            Kind::Event(_) | Kind::Timer(_) => {}
        }
    }

    /// Closes all descriptors of a host that has crashed. The network sees to its sockets.
    pub(crate) fn close_all_of(&mut self, host: usize) {
        // A pair without names connects threads of one process. It may lie in a static, as that of
        // tokio for signals, of which other hosts have copies. No other process could see it closed
        // in a crash.
        let is_pair =
            |object: &Object| matches!(&object.kind, Kind::Unix(socket) if socket.is_pair());
        let all = self.objects.slots.iter().flatten().filter(|object| !is_pair(object));
        let all = all.flat_map(|object| &object.descriptors);
        let fds: Vec<c_int> = all.filter(|one| one.host == host).map(|one| one.fd).collect();
        for fd in fds {
            self.forget_descriptor(fd);
            // SAFETY: the descriptor is the run's own, and all threads that used it are gone.
            unsafe { real::close(fd) };
        }
    }

    /// Something happened to an object: `bits` says what, as the system's wakeup of a watching
    /// epoll does.
    pub(crate) fn touch(&mut self, id: ObjectId, bits: u32) {
        let Some(object) = self.objects.get_mut(id) else { return };
        // Both lists are put back, with their memory: they are used again at once.
        let mut waiters = std::mem::take(&mut object.waiters);
        let watched_by = std::mem::take(&mut object.watched_by);
        for waiter in waiters.drain(..) {
            self.make_ready(waiter, Wake::Ready);
        }
        for (epoll, fd) in &watched_by {
            if self.epoll_mut(*epoll).is_some_and(|epoll| epoll.note(*fd, id, bits)) {
                self.touch(*epoll, IN);
            }
        }
        if let Some(object) = self.objects.get_mut(id) {
            object.waiters = waiters;
            object.watched_by = watched_by;
        }
    }

    /// What `poll` would say of an object, as the bits of epoll.
    pub(crate) fn readiness(&self, id: ObjectId) -> u32 {
        let Some(object) = self.objects.get(id) else { return 0 };
        match &object.kind {
            Kind::Event(event) => event.readiness(),
            Kind::Timer(timer) => timer.readiness(),
            Kind::Epoll(epoll) => epoll.readiness(|id| self.readiness(id)),
            Kind::Socket(socket) => self.network.readiness(*socket),
            Kind::PipeReader(pipe) => self.objects.pipes[pipe.0].reader_readiness(),
            Kind::PipeWriter(pipe) => self.objects.pipes[pipe.0].writer_readiness(),
            Kind::Fifo(fifo) => self.objects.pipes[fifo.pipe.0].fifo_readiness(fifo),
            Kind::Unix(socket) => self.unix_readiness(socket),
        }
    }

    /// Notes that `actor` waits for these objects.
    pub(crate) fn add_waiter(&mut self, objects: &[ObjectId], actor: ActorId) {
        for id in objects {
            if let Some(object) = self.objects.get_mut(*id) {
                object.waiters.push(actor);
            }
        }
    }

    pub(crate) fn remove_waiter(&mut self, objects: &[ObjectId], actor: ActorId) {
        for id in objects {
            if let Some(object) = self.objects.get_mut(*id) {
                object.waiters.retain(|waiter| *waiter != actor);
            }
        }
    }

    pub(crate) fn epoll_mut(&mut self, id: ObjectId) -> Option<&mut Epoll> {
        match &mut self.objects.get_mut(id)?.kind {
            Kind::Epoll(epoll) => Some(epoll),
            _ => None,
        }
    }

    pub(crate) fn watch(&mut self, watched: ObjectId, epoll: ObjectId, fd: c_int) {
        if let Some(object) = self.objects.get_mut(watched) {
            object.watched_by.push((epoll, fd));
        }
    }

    pub(crate) fn unwatch(&mut self, watched: ObjectId, epoll: ObjectId, fd: c_int) {
        if let Some(object) = self.objects.get_mut(watched) {
            object.watched_by.retain(|by| *by != (epoll, fd));
        }
    }

    /// The object in words, for a report.
    pub(crate) fn describe(&self, id: ObjectId) -> String {
        let Some(object) = self.objects.get(id) else { return "a closed descriptor".to_owned() };
        match &object.kind {
            Kind::Event(_) => "an eventfd".to_owned(),
            Kind::Timer(_) => "a timerfd".to_owned(),
            Kind::Epoll(epoll) => {
                let sockets = epoll.watched().filter_map(|(_, watched)| {
                    match self.objects.get(watched)?.kind {
                        Kind::Socket(_) | Kind::Unix(_) => Some(self.describe(watched)),
                        _ => None,
                    }
                });
                let sockets: Vec<String> = sockets.collect();
                match sockets.as_slice() {
                    [] => "an epoll without sockets".to_owned(),
                    [first, second, third, _, rest @ ..] => {
                        let more = rest.len() + 1;
                        format!("an epoll with {first}, {second}, {third} and {more} sockets more")
                    }
                    some => format!("an epoll with {}", some.join(" and ")),
                }
            }
            Kind::Socket(socket) => self.network.describe(*socket),
            Kind::PipeReader(_) | Kind::PipeWriter(_) => "a pipe".to_owned(),
            Kind::Fifo(_) => "a named pipe".to_owned(),
            Kind::Unix(_) => "a Unix socket".to_owned(),
        }
    }

    /// The kind of `fd`'s object, or the error of a call that is not for it.
    pub(crate) fn kind_mut(&mut self, id: ObjectId) -> Result<&mut Kind, Errno> {
        self.objects.get_mut(id).map(|object| &mut object.kind).ok_or(EBADF)
    }

    pub(crate) fn socket_of(&self, id: ObjectId) -> Result<SocketId, Errno> {
        match self.objects.get(id).ok_or(EBADF)?.kind {
            Kind::Socket(socket) => Ok(socket),
            _ => Err(EINVAL),
        }
    }
}

fn put(table: &mut Vec<Option<ObjectId>>, place: usize, id: ObjectId) {
    if table.len() <= place {
        table.resize(place + 1, None);
    }
    table[place] = Some(id);
}

/// The value of `SO_LINGER`, in seconds, if it is on.
fn linger_of(fd: c_int) -> Option<u32> {
    let off = libc::linger { l_onoff: 0, l_linger: 0 };
    // SAFETY: the option is of this type, which is made of numbers.
    let linger = unsafe { real::option_of(fd, libc::SOL_SOCKET, libc::SO_LINGER, off) }?;
    (linger.l_onoff != 0).then_some(linger.l_linger as u32)
}
