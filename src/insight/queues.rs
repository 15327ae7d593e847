//! The channels and sets of tasks that the program has made since something looks at it, by the places where
//! they are made.

use super::task_info::TaskInfo;
use super::wait::{Wait, number};
use crate::engine::task::TaskId;
use crate::runtime::Id;
use crate::runtime::gauges::{Measured, Numbers, look_at_gauges};
use crate::short::{Place, counted};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::panic::Location;

/// What one group has that no other one has. Places are never freed, so no later channel is taken for an
/// earlier one.
pub(super) type Key = (Measured, &'static Location<'static>);

/// Those of one kind that were made at one place.
#[derive(Debug, Clone)]
pub(super) struct QueueGroup {
    pub(super) measured: Measured,
    pub(super) made_at: &'static Location<'static>,
    pub(super) count: usize,
    /// The largest of them.
    pub(super) capacity: Option<usize>,
    /// How many values lie in them, about; in sets, how many tasks.
    pub(super) length: usize,
    pub(super) longest: usize,
    pub(super) lost: u64,
    /// The task that has last received from the longest one, if it is known.
    pub(super) user: Option<TaskId>,
    /// All were made in the runtime of the dump.
    pub(super) are_of_runtime: bool,
}

/// The place where that was made of which a waiting task gives the number.
pub(super) fn places_of(runtime: Id) -> HashMap<u32, &'static Location<'static>> {
    let mut places = HashMap::new();
    look_at_gauges(runtime, |numbers| {
        let addresses = numbers.addresses().into_iter().filter(|&address| address != 0);
        places.extend(addresses.map(|address| (number(address), numbers.made_at)));
    });
    places
}

impl QueueGroup {
    /// All that are known in the runtime of that id.
    pub(super) fn list(runtime: Id) -> Vec<Self> {
        let mut groups: HashMap<_, Self> = HashMap::new();
        look_at_gauges(runtime, |numbers| {
            let &Numbers { measured, made_at, capacity, .. } = numbers;
            let (length, user) = (numbers.length(), numbers.user());
            let group = groups.entry((measured, made_at)).or_insert(Self {
                measured,
                made_at,
                count: 0,
                capacity,
                length: 0,
                longest: 0,
                lost: 0,
                user,
                are_of_runtime: true,
            });
            if length > group.longest {
                (group.longest, group.user) = (length, user);
            }
            group.count += 1;
            group.capacity = group.capacity.max(capacity);
            group.length += length;
            group.lost += numbers.lost();
            group.are_of_runtime &= numbers.runtime == Some(runtime);
        });
        groups.into_values().collect()
    }

    /// Corrects the lengths of channels that have told of few of their messages: one in which one of the
    /// `tasks` waits for room is full. Then those with the most values come first.
    pub(super) fn fill(groups: &mut [Self], runtime: Id, tasks: &[TaskInfo]) {
        let waits = tasks.iter().flat_map(TaskInfo::waits);
        let full: HashSet<u32> = waits.filter_map(Wait::room).collect();
        let fill = |numbers: &Numbers| {
            let Some(capacity) = numbers.capacity else { return };
            if full.contains(&number(numbers.addresses()[1])) {
                let key = (numbers.measured, numbers.made_at);
                let group = groups.iter_mut().find(|group| group.key() == key);
                let Some(group) = group else { return };
                group.length += capacity.saturating_sub(numbers.length());
                group.longest = group.longest.max(capacity);
            }
        };
        if !full.is_empty() {
            look_at_gauges(runtime, fill);
        }
        groups.sort_by_key(|group| (Reverse(group.length), group.made_at, group.measured));
    }

    pub(super) fn key(&self) -> Key {
        (self.measured, self.made_at)
    }

    /// One word for each kind.
    pub(super) fn kind(&self) -> &'static str {
        match self.measured {
            Measured::Unbounded => "mpsc_unbounded",
            Measured::Bounded => "mpsc",
            Measured::Broadcast => "broadcast",
            Measured::JoinSet => "join_set",
        }
    }

    /// What there is, in words, without the place.
    pub(super) fn what(&self) -> String {
        let what = match self.measured {
            Measured::Unbounded => "unbounded mpsc channel",
            Measured::Bounded => "mpsc channel",
            Measured::Broadcast => "broadcast channel",
            Measured::JoinSet => "JoinSet",
        };
        let room = |capacity| format!(" with room for {capacity}");
        counted(self.count, what) + &self.capacity.map_or_else(String::new, room)
    }

    /// What lies in them, in words.
    pub(super) fn holds(&self) -> String {
        match self.measured {
            Measured::Unbounded | Measured::Bounded if self.length == 0 => match self.capacity {
                Some(capacity) if capacity <= 256 => "how full they are is not known".into(),
                _ => "a few hundred messages in each at most".into(),
            },
            Measured::Unbounded | Measured::Bounded => {
                format!("some {}", counted(self.length, "message"))
            }
            Measured::Broadcast => format!("{} lost", counted(self.lost as usize, "value")),
            Measured::JoinSet => format!("{}, ended ones included", counted(self.length, "task")),
        }
    }
}

impl fmt::Display for QueueGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} made at {}: {}", self.what(), Place(self.made_at), self.holds())
    }
}
