//! Reads the limits of this process.
//!
//! The driver thread reads them again and again, in programs that may have stopped to allocate. So the paths
//! are made once, and the files are read into memory that is kept. They are made anew only when the process
//! has moved to another group.
//!
//! A file that is not there limits nothing. One that cannot be read at this moment is another matter: a
//! program that has used up its descriptors would lose its quota, and get a worker for each processor of a
//! machine that it may hardly use. So the whole reading fails then, and what was read before stays.

use super::Quota;
use super::groups::{self, Group, Groups, QuotaFiles};
use super::parse;
use std::fs::File;
use std::io::{self, Error, ErrorKind, Read};
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
    ///
    /// # Errors
    ///
    /// If a file cannot be read now, or the list of groups cannot be read any more.
    pub(crate) fn read(&mut self) -> io::Result<Reading> {
        self.find_groups()?;
        let [first, second] = &mut self.buffers;
        let status = read(&self.status, first)?;
        let online = read(&self.online, second)?;
        let affinity = status.and_then(parse::allowed).and_then(|list| parse::count(list, online));
        let mut cpuset: Option<usize> = None;
        for path in &self.groups.cpusets {
            if let Some(count) = read(path, first)?.and_then(|list| parse::count(list, None)) {
                cpuset = Some(cpuset.map_or(count, |other| other.min(count)));
            }
        }
        let quota = smallest(&self.groups, &mut self.buffers)?.map(|(quota, _)| quota);
        Ok(Reading { affinity, cpuset, quota })
    }

    /// Looks for the groups if the process is not in the same as before.
    fn find_groups(&mut self) -> io::Result<()> {
        let [buffer, other] = &mut self.buffers;
        let memberships = read(&self.membership, buffer)?;
        if memberships.is_none() && !self.known.is_empty() {
            // The program has shut itself off from these files. Its limits are still there.
            return Err(Error::new(
                ErrorKind::NotFound,
                "the process's groups cannot be seen any more",
            ));
        }
        let memberships = memberships.unwrap_or_default();
        if memberships.as_bytes() == self.known {
            return Ok(());
        }
        let mounts = read(&self.root.join("proc/self/mountinfo"), other)?.unwrap_or_default();
        self.groups = groups::find(&self.root, memberships, mounts);
        self.known = memberships.as_bytes().to_vec();
        Ok(())
    }

    /// The group with the smallest quota, of those that the last reading has found.
    pub(super) fn limiting_group(&mut self) -> Option<(Quota, Group)> {
        let (quota, index) = smallest(&self.groups, &mut self.buffers).ok()??;
        Some((quota, self.groups.with_quota[index].clone()))
    }
}

/// The smallest quota, and the index of its group.
fn smallest(groups: &Groups, buffers: &mut [Vec<u8>; 2]) -> io::Result<Option<(Quota, usize)>> {
    let [first, second] = buffers;
    let mut smallest: Option<(Quota, usize)> = None;
    for (index, group) in groups.with_quota.iter().enumerate() {
        let quota = match &group.files {
            QuotaFiles::Version2(path) => read(path, first)?.and_then(parse::cpu_max),
            QuotaFiles::Version1(quota, period) => read(quota, first)?
                .zip(read(period, second)?)
                .and_then(|(quota, period)| parse::cfs(quota, period)),
        };
        let Some(quota) = quota else { continue };
        if smallest.is_none_or(|(other, _)| quota.cpus() < other.cpus()) {
            smallest = Some((quota, index));
        }
    }
    Ok(smallest)
}

/// The content of a file. It replaces what was in `buffer`. `None`: there is no such file, or it is not for
/// this process.
///
/// Bytes that are no text belong to names that are not looked for, such as those of other mounts.
pub(super) fn read<'a>(path: &Path, buffer: &'a mut Vec<u8>) -> io::Result<Option<&'a str>> {
    buffer.clear();
    let content = File::open(path).and_then(|file| file.take(MOST).read_to_end(buffer));
    match content {
        Ok(_) => {
            if std::str::from_utf8(buffer).is_err() {
                buffer.iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
            }
            Ok(std::str::from_utf8(buffer).ok())
        }
        Err(error) if is_shortage(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

/// Whether the file could not be read because of something that passes: no memory, or no descriptor for the
/// process or for the whole system.
fn is_shortage(error: &Error) -> bool {
    const OUT_OF_DESCRIPTORS: [i32; 2] = [23, 24];
    error.kind() == ErrorKind::OutOfMemory
        || error.raw_os_error().is_some_and(|code| OUT_OF_DESCRIPTORS.contains(&code))
}

#[cfg(test)]
mod tests;
