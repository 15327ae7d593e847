//! The groups that the process is in, and where their files lie.
//!
//! A system has one hierarchy of groups (version 2), several with some controllers each (version 1), or both.
//! `/proc/self/cgroup` says which group of each the process is in, and `/proc/self/mountinfo` where the
//! hierarchies are mounted. A mount may show a part of its hierarchy only: the group `root`, and those below.
//!
//! | the group's path | what the mount shows | the group's folder |
//! |---|---|---|
//! | `/a/b` | `/` | `POINT/a/b` |
//! | `/docker/1/a` | `/docker/1` | `POINT/a` |
//! | `/docker/1` | `/docker/2`, or what a namespace hides | `POINT`: the nearest that can be seen |
//! | `/../x` | `/` | `POINT`: the group lies outside of the namespace |

use super::parse::{Mount, membership};
use std::path::{Component, Path, PathBuf};

/// Where a quota is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum QuotaFiles {
    /// `cpu.max`.
    Version2(PathBuf),
    /// `cpu.cfs_quota_us` and `cpu.cfs_period_us`.
    Version1(PathBuf, PathBuf),
}

/// One group that limits the process: its own, or one above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) folder: PathBuf,
    pub(super) files: QuotaFiles,
    /// What the group's threads have used, where that is not in its `cpu.stat`.
    pub(super) usage: Option<PathBuf>,
}

/// All that limit the process.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Groups {
    /// Own group first, then those above, of each hierarchy.
    pub(super) with_quota: Vec<Group>,
    /// Files with the processors of a group, also from the process's own upwards.
    pub(super) cpusets: Vec<PathBuf>,
}

/// One hierarchy, seen at one mount.
struct Hierarchy {
    point: PathBuf,
    /// The process's group there, from the mount on.
    relative: PathBuf,
}

impl Hierarchy {
    /// The folders from the own group up to the mount.
    fn folders(&self) -> impl Iterator<Item = PathBuf> {
        self.relative.ancestors().map(|relative| self.point.join(relative))
    }
}

/// Finds the groups; `root` stands in front of each mount.
pub(super) fn find(root: &Path, memberships: &str, mounts: &str) -> Groups {
    let mounts: Vec<_> = mounts.lines().filter_map(Mount::parse).collect();
    let version1 = |controller: &str| {
        let is_it = |mount: &&Mount<'_>| mount.kind == "cgroup" && mount.has_option(controller);
        hierarchy(root, mounts.iter().filter(is_it), path_of(memberships, Some(controller))?)
    };
    let version2 = || {
        let is_it = |mount: &&Mount<'_>| mount.kind == "cgroup2";
        hierarchy(root, mounts.iter().filter(is_it), path_of(memberships, None)?)
    };
    let mut groups = Groups::default();
    if let Some(unified) = version2() {
        for folder in unified.folders() {
            groups.cpusets.push(folder.join("cpuset.cpus.effective"));
            let files = QuotaFiles::Version2(folder.join("cpu.max"));
            groups.with_quota.push(Group { folder, files, usage: None });
        }
    }
    let accounts = version1("cpuacct");
    for (folder, relative) in version1("cpu").iter().flat_map(with_relative) {
        let files =
            QuotaFiles::Version1(folder.join("cpu.cfs_quota_us"), folder.join("cpu.cfs_period_us"));
        // The two controllers mostly share a hierarchy. If not, their groups mostly have the same names.
        let usage = accounts
            .as_ref()
            .filter(|accounts| accounts.relative.starts_with(&relative))
            .map(|accounts| accounts.point.join(&relative).join("cpuacct.usage"));
        groups.with_quota.push(Group { folder, files, usage });
    }
    if let Some(sets) = version1("cpuset") {
        groups.cpusets.extend(sets.folders().map(|folder| folder.join("cpuset.effective_cpus")));
    }
    groups
}

fn with_relative(hierarchy: &Hierarchy) -> impl Iterator<Item = (PathBuf, PathBuf)> {
    hierarchy.folders().zip(hierarchy.relative.ancestors().map(Path::to_owned))
}

/// The path of the process's group in the hierarchy with that controller, or in the one of version 2.
fn path_of<'a>(memberships: &'a str, controller: Option<&str>) -> Option<&'a Path> {
    let mut memberships = memberships.lines().filter_map(membership);
    let is_it = |controllers: &str| match controller {
        Some(controller) => controllers.split(',').any(|other| other == controller),
        None => controllers.is_empty(),
    };
    memberships.find(|(controllers, _)| is_it(controllers)).map(|(_, path)| path)
}

/// The hierarchy at the mount that shows the group itself, or else at the first one.
fn hierarchy<'a>(
    root: &Path,
    mounts: impl Iterator<Item = &'a Mount<'a>> + Clone,
    group: &Path,
) -> Option<Hierarchy> {
    let within = |mount: &Mount<'_>| {
        let relative = group.strip_prefix(&mount.root).ok()?;
        let is_plain = |part| matches!(part, Component::Normal(_));
        relative.components().all(is_plain).then(|| relative.to_owned())
    };
    let shown = mounts.clone().find_map(|mount| Some((mount, within(mount)?)));
    let (mount, relative) = shown.or_else(|| Some((mounts.clone().next()?, PathBuf::new())))?;
    let point = mount.point.strip_prefix("/").unwrap_or(&mount.point);
    Some(Hierarchy { point: root.join(point), relative })
}
