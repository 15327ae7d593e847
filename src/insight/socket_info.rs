//! What can be said of one source of events, such as a socket.

use super::sockets::{Address, LISTENS, Target, Targets};
use super::waits;
use crate::engine::task::TaskId;
use crate::runtime::Handle;
use crate::short::short;
use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

/// How many a dump has one by one.
const KEPT: usize = 10_000;

/// How many of the tasks that wait for one of them are named.
const MOST_TASKS: usize = 8;

/// A source of events that is registered with a runtime: a socket, a pipe, or what else the system tells the
/// runtime of. From [`Dump::sockets`](super::Dump::sockets).
///
/// What it leads to is what Linux says of its descriptor; on other systems only the descriptor is known.
#[derive(Debug, Clone)]
pub struct SocketInfo {
    descriptor: Option<i32>,
    target: Option<Target>,
    events: u64,
    tasks: Vec<(TaskId, &'static str)>,
    tasks_left_out: usize,
    quiet_for: Option<Duration>,
}

impl SocketInfo {
    /// The first that there are.
    pub(super) fn list(handle: &Handle, targets: &mut Targets) -> Vec<Self> {
        let mut list = Vec::new();
        handle.list_sources(|source| {
            if list.len() < KEPT {
                let tasks = source.waiters.iter().take(MOST_TASKS);
                list.push(Self {
                    descriptor: source.descriptor,
                    target: None,
                    events: source.events,
                    tasks: tasks.map(|&(task, ready)| (task, waits::event(ready))).collect(),
                    tasks_left_out: source.waiters.len().saturating_sub(MOST_TASKS),
                    quiet_for: None,
                });
            }
        });
        for socket in &mut list {
            let target = socket.descriptor.and_then(|descriptor| targets.find(descriptor));
            socket.target = target.cloned();
        }
        list
    }

    /// Returns its number in the process. `None` where the system does not count that way.
    pub fn descriptor(&self) -> Option<i32> {
        self.descriptor
    }

    /// Returns what it is, in a word: "tcp", "udp", "unix", "pipe", "file", or "socket" and "other" where no
    /// more is known.
    pub fn kind(&self) -> Option<&'static str> {
        self.target.as_ref().map(Target::kind)
    }

    /// Returns its own address; a path, or a name of the system's, if it has no address.
    pub fn local(&self) -> Option<String> {
        let target = self.target.as_ref()?;
        match &target.socket {
            Some(socket) => socket.local.as_ref().map(ToString::to_string),
            None => Some(short(target.name()).escape_debug().to_string()),
        }
    }

    /// Its descriptor, and its number in the system if it is a socket: the same at each look.
    pub(super) fn key(&self) -> Option<(i32, Option<u64>)> {
        Some((self.descriptor?, self.target.as_ref().and_then(Target::number)))
    }

    pub(super) fn local_address(&self) -> Option<&Address> {
        self.target.as_ref()?.socket.as_ref()?.local.as_ref()
    }

    /// Returns the address of the other end.
    pub fn peer(&self) -> Option<String> {
        Some(self.target.as_ref()?.socket.as_ref()?.peer.as_ref()?.to_string())
    }

    /// Returns in which state it is, in words: "established", "listens", "closed by the peer".
    pub fn state(&self) -> Option<&'static str> {
        Some(self.target.as_ref()?.socket.as_ref()?.state)
    }

    /// Returns how many bytes have come and have not been read; of a TCP socket that listens, how many
    /// connections have not been accepted. Not known of Unix sockets.
    pub fn received(&self) -> Option<u64> {
        self.target.as_ref()?.socket.as_ref()?.received
    }

    /// Returns how many bytes have been written and are not acknowledged by the other end, or not sent yet.
    /// Not known of Unix sockets.
    pub fn unsent(&self) -> Option<u64> {
        self.target.as_ref()?.socket.as_ref()?.unsent
    }

    /// Returns the tasks that wait for it, eight at most, and for what each: "readable", "writable".
    pub fn tasks(&self) -> &[(TaskId, &'static str)] {
        &self.tasks
    }

    /// Returns for how long there has been no event, at least: since a look, and later ones have found no new
    /// event. Known only in the answers of a [page](super::serve) that shows the runtime, from its second
    /// look on.
    pub fn quiet_for(&self) -> Option<Duration> {
        self.quiet_for
    }

    pub(super) fn tasks_left_out(&self) -> usize {
        self.tasks_left_out
    }
}

impl fmt::Display for SocketInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.descriptor {
            Some(descriptor) => write!(f, "fd {descriptor}")?,
            None => f.write_str("a source")?,
        }
        write!(f, ", {}", self.kind().unwrap_or("of unknown kind"))?;
        match (self.local(), self.peer()) {
            (Some(local), Some(peer)) => write!(f, " {local} → {peer}")?,
            (Some(one), None) | (None, Some(one)) => write!(f, " {one}")?,
            (None, None) => {}
        }
        if let Some(state) = self.state() {
            write!(f, ", {state}")?;
        }
        match (self.received(), self.unsent()) {
            (Some(waiting), _) if self.state() == Some(LISTENS) => {
                write!(f, ", {waiting} connections to accept")?;
            }
            (Some(received), Some(unsent)) => {
                write!(f, ", {received} bytes to read, {unsent} to send")?;
            }
            _ => {}
        }
        for (task, event) in &self.tasks {
            write!(f, ", task {task} waits for {event}")?;
        }
        if self.tasks_left_out > 0 {
            write!(f, ", and {} tasks more", self.tasks_left_out)?;
        }
        match self.quiet_for {
            Some(time) => write!(f, ", no event for {:.1} s at least", time.as_secs_f64()),
            None => Ok(()),
        }
    }
}

/// Since when there has been no event, by descriptor and the number of the socket in the system.
#[derive(Default)]
pub(super) struct Quiet {
    since: HashMap<(i32, Option<u64>), (u64, Instant)>,
}

impl Quiet {
    /// Tells all sockets that there are now, and puts the one first that has been quiet for the longest.
    pub(super) fn look(&mut self, now: Instant, sockets: &mut [SocketInfo]) {
        let mut before = std::mem::take(&mut self.since);
        for socket in &mut *sockets {
            let Some(key) = socket.key() else { continue };
            let known = before.remove(&key).filter(|(events, _)| *events == socket.events);
            let since = known.map(|(_, since)| since);
            socket.quiet_for = since.map(|since| now.saturating_duration_since(since));
            self.since.insert(key, (socket.events, since.unwrap_or(now)));
        }
        sockets.sort_by_key(|socket| std::cmp::Reverse(socket.quiet_for));
    }
}

#[cfg(test)]
mod tests {
    use super::{Quiet, SocketInfo};
    use std::time::{Duration, Instant};

    fn socket(descriptor: i32, events: u64) -> SocketInfo {
        let (target, tasks, quiet_for) = (None, Vec::new(), None);
        let descriptor = Some(descriptor);
        SocketInfo { descriptor, target, events, tasks, tasks_left_out: 0, quiet_for }
    }

    #[test]
    fn a_socket_is_quiet_since_the_first_look_with_the_same_count_of_events() {
        let (mut quiet, begin, second) = (Quiet::default(), Instant::now(), Duration::from_secs(1));
        let mut look = |at: u32, sockets: &[(i32, u64)]| {
            let mut sockets: Vec<_> =
                sockets.iter().map(|&(number, events)| socket(number, events)).collect();
            quiet.look(begin + second * at, &mut sockets);
            let told = sockets
                .iter()
                .map(|one| (one.descriptor.unwrap(), one.quiet_for.map(|time| time.as_secs())));
            told.collect::<Vec<_>>()
        };
        assert_eq!(look(0, &[(7, 1), (8, 1)]), [(7, None), (8, None)]);
        assert_eq!(look(2, &[(7, 1), (8, 2)]), [(7, Some(2)), (8, None)]);
        assert_eq!(look(5, &[(9, 0), (8, 2), (7, 1)]), [(7, Some(5)), (8, Some(3)), (9, None)]);
        // One that is gone for a look is another one.
        assert_eq!(look(6, &[(8, 2)]), [(8, Some(4))]);
        assert_eq!(look(7, &[(7, 1)]), [(7, None)]);
    }
}
