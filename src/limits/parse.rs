//! The forms in which Linux writes limits. Pure: text comes in, and numbers or `None` come out.

use super::Quota;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A list of processors: `0-3,8`. `None` if it is empty, or no such list.
fn ranges(list: &str) -> Option<impl Iterator<Item = (usize, usize)> + Clone> {
    let parse = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        (first <= last).then_some((first, last))
    };
    let parts = list.trim().split(',').map(parse);
    parts.clone().all(|range| range.is_some()).then_some(parts.flatten())
}

/// How many processors are in such a list, and in the other one if that can be read and has some of them: a
/// container may be shown numbers of its own there (lxcfs). At least one, if there is a list.
pub(super) fn count(list: &str, within: Option<&str>) -> Option<usize> {
    let list = ranges(list)?;
    let all = list
        .clone()
        .fold(0, |sum: usize, (first, last)| sum.saturating_add(last - first).saturating_add(1));
    let Some(within) = within.and_then(ranges) else {
        return Some(all);
    };
    let overlap = |(first, last): (usize, usize), (from, to): (usize, usize)| {
        last.min(to).saturating_add(1).saturating_sub(first.max(from))
    };
    let of =
        |range| within.clone().map(|other| overlap(range, other)).fold(0, usize::saturating_add);
    let both = list.map(of).fold(0, usize::saturating_add);
    Some(if both == 0 { all } else { both })
}

/// The list of processors on which a thread may run, from its `status`.
pub(super) fn allowed(status: &str) -> Option<&str> {
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
}

fn micros(word: &str) -> Option<Duration> {
    word.parse().ok().map(Duration::from_micros)
}

/// The content of `cpu.max`: `150000 100000`, or `max 100000`.
pub(super) fn cpu_max(content: &str) -> Option<Quota> {
    let mut words = content.split_ascii_whitespace();
    let time = micros(words.next()?)?;
    Quota::new(time, words.next().map_or(Some(DEFAULT_PERIOD), micros)?)
}

/// What the kernel writes is complete; its documentation allows to leave the period out.
const DEFAULT_PERIOD: Duration = Duration::from_millis(100);

/// The contents of `cpu.cfs_quota_us`, which is negative without a limit, and of `cpu.cfs_period_us`.
pub(super) fn cfs(quota: &str, period: &str) -> Option<Quota> {
    Quota::new(micros(quota.trim())?, micros(period.trim())?)
}

/// The number behind `key` in a file with one on each line, such as `cpu.stat`.
pub(super) fn number(content: &str, key: &str) -> Option<u64> {
    let mut pairs = content.lines().filter_map(|line| line.split_once(' '));
    pairs.find(|(name, _)| *name == key)?.1.trim().parse().ok()
}

/// One line of `/proc/self/cgroup`: the controllers of the hierarchy, and the path of the group.
pub(super) fn membership(line: &str) -> Option<(&str, &Path)> {
    let (_, line) = line.split_once(':')?;
    let (controllers, path) = line.split_once(':')?;
    Some((controllers, Path::new(path)))
}

/// One line of `/proc/self/mountinfo`.
pub(super) struct Mount<'a> {
    /// Which group is to be seen at `point`.
    pub(super) root: PathBuf,
    pub(super) point: PathBuf,
    /// Of the file system: `cgroup`, `cgroup2` …
    pub(super) kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let mut after = after.split(' ');
        let (root, point) = (unescape(before.next()?), unescape(before.next()?));
        Some(Self { root, point, kind: after.next()?, options: after.nth(1)? })
    }

    pub(super) fn has_option(&self, option: &str) -> bool {
        self.options.split(',').any(|other| other == option)
    }
}

/// Spaces and the like stand as `\040` in a path there.
fn unescape(path: &str) -> PathBuf {
    let mut parts = path.split('\\');
    let mut unescaped = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..3).and_then(|code| u8::from_str_radix(code, 8).ok()) {
            Some(code) => {
                unescaped.push(char::from(code));
                unescaped.push_str(&part[3..]);
            }
            None => {
                unescaped.push('\\');
                unescaped.push_str(part);
            }
        }
    }
    unescaped.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_processors_is_counted_within_another_one() {
        let rows: &[(&str, Option<&str>, Option<usize>)] = &[
            ("0", None, Some(1)),
            (" 0-3,8\n", None, Some(5)),
            ("0-3,8", Some("2-9"), Some(3)),
            ("0-127", Some("0-1"), Some(2)),
            ("4-7", Some("0-1"), Some(4)),
            ("0-999", None, Some(1000)),
            ("0-3", Some("no list"), Some(4)),
            ("", None, None),
            ("3-1", None, None),
            ("0-1,x", None, None),
            ("-1", None, None),
            ("99999999999999999999", None, None),
        ];
        for &(list, within, expected) in rows {
            assert_eq!(count(list, within), expected, "{list:?} within {within:?}");
        }
        let all = format!("0-{}", usize::MAX);
        assert_eq!(count(&all, None), Some(usize::MAX));
    }

    #[test]
    fn a_quota_is_read_in_both_forms() {
        let quota =
            |time, period| Quota::new(Duration::from_micros(time), Duration::from_micros(period));
        let rows: &[(Option<Quota>, Option<Quota>)] = &[
            (cpu_max("150000 100000\n"), quota(150_000, 100_000)),
            (cpu_max("1000 100000\n"), quota(1000, 100_000)),
            (cpu_max("50000"), quota(50_000, 100_000)),
            (cpu_max("max 100000\n"), None),
            (cpu_max("0 100000"), None),
            (cpu_max("100 0"), None),
            (cpu_max(""), None),
            (cpu_max("-5 100000"), None),
            (cpu_max("100000 max"), None),
            (cfs("50000\n", "20000\n"), quota(50_000, 20_000)),
            (cfs("-1\n", "100000\n"), None),
            (cfs("0\n", "100000\n"), None),
            (cfs("50000\n", "0\n"), None),
            (cfs("", ""), None),
        ];
        for (row, (read, expected)) in rows.iter().enumerate() {
            assert_eq!(read, expected, "row {row}");
        }
    }

    #[test]
    fn a_mount_is_read_with_its_escapes() {
        let line =
            r"31 23 0:29 /docker/a\040b /sys/fs/cg\134roup rw shared:1 - cgroup cg rw,cpu,cpuacct";
        let mount = Mount::parse(line).unwrap();
        assert_eq!((mount.root, mount.point), ("/docker/a b".into(), r"/sys/fs/cg\roup".into()));
        assert!(mount.kind == "cgroup");
        assert!(Mount::parse("31 23 0:29 / /sys").is_none() && Mount::parse("").is_none());
        let mount = Mount::parse(line).unwrap();
        assert!(mount.has_option("cpu") && !mount.has_option("cp"));
    }

    #[test]
    fn a_number_is_found_by_its_whole_key() {
        let stat = "nr_periods 31\nnr_throttled 30\nthrottled_time 7\n";
        assert_eq!(number(stat, "nr_throttled"), Some(30));
        assert_eq!(number(stat, "throttled"), None);
        assert_eq!(number("nr_periods x", "nr_periods"), None);
    }
}
