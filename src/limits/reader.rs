//! Reads the limits of this process.
//!
//! The driver thread reads them again and again, in programs that may have stopped to allocate. So the paths
//! are made once, and the files are read into memory that is kept. They are made anew only when the process
//! has moved to another group.

use super::Quota;
use super::groups::{self, Group, Groups, QuotaFiles};
use super::parse;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// As much of a file is read. The largest are `status` and `cgroup`, and the mounts before they are searched.
const MOST: u64 = 1 << 20;

/// What limits the process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Reading {
    /// The processors on which the calling thread may run.
    pub(crate) affinity: Option<usize>,
    /// The processors of the smallest cpuset.
    pub(crate) cpuset: Option<usize>,
    /// The smallest quota.
    pub(crate) quota: Option<Quota>,
}

/// Reads the limits, and knows where they are written.
#[derive(Debug)]
pub(crate) struct Reader {
    root: PathBuf,
    status: PathBuf,
    online: PathBuf,
    membership: PathBuf,
    /// What was in `membership` when the groups were looked for.
    known: Vec<u8>,
    groups: Groups,
    /// The contents of two files.
    buffers: [Vec<u8>; 2],
}

impl Reader {
    /// For this process on this system.
    pub(crate) fn new() -> Self {
        Self::within(Path::new("/"))
    }

    /// `root` stands in front of all paths; tests make a system of their own there.
    pub(super) fn within(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            status: root.join("proc/thread-self/status"),
            online: root.join("sys/devices/system/cpu/online"),
            membership: root.join("proc/self/cgroup"),
            known: Vec::new(),
            groups: Groups::default(),
            buffers: [Vec::new(), Vec::new()],
        }
    }

    /// Reads all limits.
    pub(crate) fn read(&mut self) -> Reading {
        self.find_groups();
        let [first, second] = &mut self.buffers;
        let status = read(&self.status, first);
        let online = read(&self.online, second);
        let affinity = status.and_then(parse::allowed).and_then(|list| parse::count(list, online));
        let sets = self.groups.cpusets.iter();
        let cpuset = sets.filter_map(|path| parse::count(read(path, first)?, None)).min();
        let quota = smallest(&self.groups, &mut self.buffers).map(|(quota, _)| quota);
        Reading { affinity, cpuset, quota }
    }

    /// Looks for the groups if the process is not in the same as before.
    fn find_groups(&mut self) {
        let [buffer, _] = &mut self.buffers;
        let memberships = read(&self.membership, buffer).unwrap_or_default();
        if memberships.as_bytes() == self.known {
            return;
        }
        self.known = memberships.as_bytes().to_vec();
        let mounts = std::fs::read_to_string(self.root.join("proc/self/mountinfo"));
        self.groups = groups::find(&self.root, memberships, &mounts.unwrap_or_default());
    }

    /// The group with the smallest quota, of those that the last reading has found.
    pub(super) fn limiting_group(&mut self) -> Option<(Quota, Group)> {
        let (quota, index) = smallest(&self.groups, &mut self.buffers)?;
        Some((quota, self.groups.with_quota[index].clone()))
    }
}

/// The smallest quota, and the index of its group.
fn smallest(groups: &Groups, buffers: &mut [Vec<u8>; 2]) -> Option<(Quota, usize)> {
    let [first, second] = buffers;
    let mut smallest: Option<(Quota, usize)> = None;
    for (index, group) in groups.with_quota.iter().enumerate() {
        let quota = match &group.files {
            QuotaFiles::Version2(path) => read(path, first).and_then(parse::cpu_max),
            QuotaFiles::Version1(quota, period) => read(quota, first)
                .zip(read(period, second))
                .and_then(|(quota, period)| parse::cfs(quota, period)),
        };
        let Some(quota) = quota else { continue };
        if smallest.is_none_or(|(other, _)| quota.cpus() < other.cpus()) {
            smallest = Some((quota, index));
        }
    }
    smallest
}

/// The content of a file. It replaces what was in `buffer`.
pub(super) fn read<'a>(path: &Path, buffer: &'a mut Vec<u8>) -> Option<&'a str> {
    buffer.clear();
    File::open(path).ok()?.take(MOST).read_to_end(buffer).ok()?;
    std::str::from_utf8(buffer).ok()
}

#[cfg(test)]
mod tests;
