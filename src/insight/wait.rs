//! What a task waits for.

use crate::engine::task::TaskId;
use crate::engine::task::waiting::{Note, Wait as Kind};
use crate::primitive_kind::PrimitiveKind;
use crate::short::Place;
use crate::sync::{await_place, holders};
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::panic::Location;
use std::sync::OnceLock;
use std::time::Duration;

/// Something that a task waits for; from [`TaskInfo::waits`](super::TaskInfo::waits).
///
/// Its `Display` goes on where "the task waits for" ends: "task 32", "a timer in 3.2 s".
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// The end of another task.
    #[non_exhaustive]
    Task {
        /// The other task.
        id: TaskId,
    },
    /// The end of blocking work, which a thread of the pool does.
    #[non_exhaustive]
    BlockingWork {
        /// The id of the work.
        id: TaskId,
    },
    /// A deadline.
    #[non_exhaustive]
    Timer {
        /// How long after the look it is. Zero if it has passed.
        remaining: Duration,
    },
    /// A socket, or another source of events.
    #[non_exhaustive]
    Source {
        /// For what the task waits, as [`Interest`](crate::io::Interest) calls it: "readable", "writable".
        event: &'static str,
        /// Its number in the process. `None` where the system does not count that way.
        descriptor: Option<i32>,
        /// What it is or leads to, if that is known: the address of the other end, or a name of the system's.
        target: Option<String>,
    },
    /// A lock, a channel or something else of [`liten::sync`](crate::sync).
    #[non_exhaustive]
    Primitive {
        /// What it is.
        kind: PrimitiveKind,
        /// The same number for all tasks that wait for the same one.
        number: u32,
        /// The place in the source where it was made, if it is a channel that the program has made since
        /// there is a [page](super::serve). Of a oneshot channel it is known if the task has begun to wait
        /// since then.
        made_at: Option<&'static Location<'static>>,
        /// The place in the source from which the task waits, as that of a call of
        /// [`Mutex::lock`](crate::sync::Mutex::lock). It is known of most waits that have begun since there
        /// is a [page](super::serve), but not of those in a `poll` function.
        awaited_at: Option<&'static Location<'static>>,
        /// The task that has locked it, if it is a lock, and that is known: it is noted only by tasks, while
        /// other tasks wait for the lock. Of a full channel, the task that has last
        /// waited for one of its messages, which is not known of a receiver that has never had to wait.
        /// Of a `RwLock` that several tasks read, one of them, if it is known.
        holder: Option<TaskId>,
        /// How many permits it has, with those that are out, if it is a semaphore.
        permits: Option<u64>,
        /// How many of them were forgotten, as by
        /// [`SemaphorePermit::forget`](crate::sync::SemaphorePermit::forget), and not added again.
        forgotten: u64,
    },
}

impl Wait {
    /// What a task says that has left a note.
    pub(super) fn noted(note: Note) -> Option<Self> {
        Some(match note.wait()? {
            Kind::Join => Self::Task { id: note.joined()? },
            Kind::Primitive(kind) => {
                let holder = holders::find(note).map(|holder| holder.task);
                let counted = holders::counted(note);
                let permits = counted.map(|counted| counted.all);
                let forgotten = counted.map_or(0, |counted| counted.forgotten);
                let number = number(note.address());
                let (made_at, awaited_at) = match await_place::place(note) {
                    place if kind == PrimitiveKind::Oneshot => (place, None),
                    place => (None, place),
                };
                Self::Primitive { kind, number, made_at, awaited_at, holder, permits, forgotten }
            }
        })
    }

    /// The same, with the holder of the lock or the receiver of the channel if it is one.
    pub(super) fn held_by(mut self, task: Option<TaskId>) -> Self {
        if let Self::Primitive { holder, .. } = &mut self {
            *holder = task;
        }
        self
    }

    /// Whether it is for a channel of which it may be known where it was made.
    pub(super) fn is_for_channel(&self) -> bool {
        use PrimitiveKind::{Broadcast, Receiver, Sender};
        matches!(self, Self::Primitive { kind: Sender | Receiver | Broadcast, .. })
    }

    /// Finds out where it was made among the places that are known.
    pub(super) fn find_place(&mut self, places: &HashMap<u32, &'static Location<'static>>) {
        if let Self::Primitive { number, made_at, .. } = self {
            *made_at = made_at.or_else(|| places.get(number).copied());
        }
    }

    /// Whether it is for room in a channel.
    pub(super) fn is_for_room(&self) -> bool {
        self.room().is_some()
    }

    /// The number of the channel in which it is for room.
    pub(super) fn room(&self) -> Option<u32> {
        match *self {
            Self::Primitive { kind: PrimitiveKind::Sender, number, .. } => Some(number),
            _ => None,
        }
    }

    /// Leaves it open from where the task waits.
    pub(super) fn forget_awaited_at(&mut self) {
        if let Self::Primitive { awaited_at, .. } = self {
            *awaited_at = None;
        }
    }

    /// Leaves it open whether it is to read or to write, if it is for a `RwLock`.
    pub(super) fn forget_writing(&mut self) {
        if let Self::Primitive { kind: kind @ PrimitiveKind::RwLockWrite, .. } = self {
            *kind = PrimitiveKind::RwLock;
        }
    }

    /// Where the code is that waits, or that has made what is waited for.
    pub(super) fn place(&self) -> WaitPlace {
        match *self {
            Self::Primitive { awaited_at: Some(at), .. } => WaitPlace::Awaited(at),
            Self::Primitive { made_at: Some(at), .. } => WaitPlace::Made(at),
            _ => WaitPlace::Unknown,
        }
    }

    /// What it is, without which one it is.
    pub(super) fn sort(&self) -> String {
        match self {
            Self::Task { .. } => "the end of a task".into(),
            Self::BlockingWork { .. } => "blocking work".into(),
            Self::Timer { .. } => "a timer".into(),
            Self::Source { .. } => "a socket or another source of events".into(),
            Self::Primitive { kind, .. } => kind.to_string(),
        }
    }

    /// One word for each kind.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Task { .. } => "task",
            Self::BlockingWork { .. } => "blocking_work",
            Self::Timer { .. } => "timer",
            Self::Source { .. } => "source",
            Self::Primitive { kind, .. } => kind.word(),
        }
    }

    /// The task for which it waits, or that holds what it waits for.
    pub(super) fn other_task(&self) -> Option<TaskId> {
        match *self {
            Self::Task { id } | Self::BlockingWork { id } => Some(id),
            Self::Primitive { holder, .. } => holder,
            Self::Timer { .. } | Self::Source { .. } => None,
        }
    }
}

/// A place in the source that helps to find a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum WaitPlace {
    Unknown,
    Made(&'static Location<'static>),
    Awaited(&'static Location<'static>),
}

/// With a space before it.
impl fmt::Display for WaitPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => Ok(()),
            Self::Made(at) => write!(f, " made at {}", Place(at)),
            Self::Awaited(at) => write!(f, " awaited at {}", Place(at)),
        }
    }
}

/// A number in the place of an address, which would be of use to an attacker.
pub(super) fn number(address: usize) -> u32 {
    static STATE: OnceLock<RandomState> = OnceLock::new();
    STATE.get_or_init(RandomState::new).hash_one(address) as u32
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task { id } => write!(f, "task {id}"),
            Self::BlockingWork { id } => write!(f, "blocking work {id}"),
            Self::Timer { remaining } => write!(f, "a timer in {:.1} s", remaining.as_secs_f64()),
            Self::Source { event, descriptor, target } => {
                f.write_str(event)?;
                if let Some(descriptor) = descriptor {
                    write!(f, ", fd {descriptor}")?;
                }
                match target {
                    Some(target) => write!(f, " → {target}"),
                    None => Ok(()),
                }
            }
            Self::Primitive { kind, number, made_at, awaited_at, holder, permits, forgotten } => {
                write!(f, "{kind} (#{number:08x}")?;
                if let Some(place) = awaited_at {
                    write!(f, ", awaited at {}", Place(place))?;
                }
                f.write_str(")")?;
                if let Some(made_at) = made_at {
                    write!(f, " made at {}", Place(made_at))?;
                }
                if let Some(permits) = permits {
                    write!(f, " whose {permits} permits are out")?;
                    if *forgotten > 0 {
                        write!(f, ", {forgotten} of them forgotten and not added again")?;
                    }
                }
                match holder {
                    Some(holder) if self.is_for_room() => {
                        write!(f, ", from which task {holder} received last")
                    }
                    Some(holder) => write!(f, " held by task {holder}"),
                    None => Ok(()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PrimitiveKind, Wait};
    use crate::engine::task::TaskId;
    use std::time::Duration;

    #[test]
    fn a_wait_is_said_in_words() {
        let id = TaskId::next();
        assert_eq!(Wait::Task { id }.to_string(), format!("task {id}"));
        let timer = Wait::Timer { remaining: Duration::from_millis(3240) };
        assert_eq!(timer.to_string(), "a timer in 3.2 s");
        let (event, target) = ("readable", Some("127.0.0.1:4711".into()));
        let source = Wait::Source { event, descriptor: Some(9), target };
        assert_eq!(source.to_string(), "readable, fd 9 → 127.0.0.1:4711");
        let source = Wait::Source { event: "writable", descriptor: None, target: None };
        assert_eq!(source.to_string(), "writable");
        let number = 0x12ab;
        let of = |kind, permits: Option<u64>, forgotten| Wait::Primitive {
            kind,
            number,
            made_at: None,
            awaited_at: None,
            holder: Some(id).filter(|_| permits.is_none()),
            permits,
            forgotten,
        };
        let lock = of(PrimitiveKind::Mutex, None, 0);
        assert_eq!(lock.to_string(), format!("a Mutex (#000012ab) held by task {id}"));
        let permit = of(PrimitiveKind::Semaphore, Some(8), 0);
        assert_eq!(permit.to_string(), "a Semaphore (#000012ab) whose 8 permits are out");
        let permit = of(PrimitiveKind::Semaphore, Some(8), 3);
        assert!(permit.to_string().ends_with(" are out, 3 of them forgotten and not added again"));
        let room = of(PrimitiveKind::Sender, None, 0);
        let said =
            format!("room in an mpsc channel (#000012ab), from which task {id} received last");
        assert_eq!(room.to_string(), said);
    }
}
