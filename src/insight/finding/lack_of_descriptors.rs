//! A process that has used up its descriptors: what accepts, connects or opens fails in it.

use super::Finding;
use super::descriptors::Descriptors;
use crate::engine::task::TaskId;
use crate::insight::dump::Dump;
use crate::observe::spare_descriptors::read_to_string;
use std::collections::HashMap;

/// The finding, if the process has no descriptor left. Known on Linux.
pub(in crate::insight) fn used_up(dump: &Dump) -> Option<Finding> {
    if dump.sources == 0 {
        return None;
    }
    // Its size is the number of descriptors, since Linux 6.2; before that it is 0.
    let used = std::fs::metadata("/proc/self/fd").ok()?.len();
    let limit = limit_in(&read_to_string("/proc/self/limits").ok()?)?;
    (used > 0 && used >= limit).then(|| Finding::DescriptorsUsedUp(of(dump, used, limit)))
}

/// The soft limit that `/proc/self/limits` says.
fn limit_in(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn of(dump: &Dump, used: u64, limit: u64) -> Descriptors {
    let place = |task: TaskId| {
        let task = dump.tasks.iter().find(|other| other.id() == task)?;
        Some(task.spawned_at())
    };
    let mut places: HashMap<_, usize> = HashMap::new();
    for socket in dump.sockets.iter().filter(|socket| socket.state() != Some("listens")) {
        if let Some(place) = socket.tasks().first().and_then(|(task, _)| place(*task)) {
            *places.entry(place).or_default() += 1;
        }
    }
    let largest = places.into_iter().max_by_key(|&(place, sockets)| (sockets, place));
    let listeners = dump.sockets.iter().filter(|socket| socket.state() == Some("listens"));
    let waiting = listeners.filter_map(|socket| {
        let waiting = socket.received().filter(|&waiting| waiting > 0)?;
        Some((socket.local()?, waiting))
    });
    Descriptors { used, limit, largest, listener: waiting.max_by_key(|(_, waiting)| *waiting) }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use crate::insight::finding::tests::healthy;

    #[test]
    fn the_soft_limit_is_read() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max processes             96000                96000                processes\n\
                      Max open files            120                  4096                 files\n";
        assert_eq!(limit_in(limits), Some(120));
        assert_eq!(
            limit_in("Max open files            unlimited            unlimited  files"),
            None
        );
        assert_eq!(limit_in(""), None);
    }

    #[test]
    fn a_process_without_descriptors_is_told_with_its_numbers() {
        let said = of(&healthy(), 120, 120).to_string();
        let begin = "the process has too many open files, 120 of 120, so that accept, connect and open \
                     fail; ";
        assert!(said.starts_with(begin), "{said}");
    }
}
