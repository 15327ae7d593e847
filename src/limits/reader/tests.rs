use super::*;
use crate::limits::fake_system::{FakeSystem, UNIFIED};
use crate::limits::{CpuLimits, workers};
use std::time::Duration;

fn cpus(system: &FakeSystem) -> f64 {
    system.reader().read().unwrap().quota.map_or(f64::INFINITY, Quota::cpus)
}

const CPU: &str = "32 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
const SETS: &str = "34 31 0:32 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";

#[test]
fn the_smallest_quota_of_all_groups_above_counts() {
    let system = FakeSystem::unified();
    assert_eq!(cpus(&system), f64::INFINITY);
    system.write("sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
    assert_eq!(cpus(&system), 4.0);
    // The group above has less, in another period.
    system.write("sys/fs/cgroup/a/cpu.max", "15000 10000\n");
    assert_eq!(cpus(&system), 1.5);
    system.write("sys/fs/cgroup/a/b/cpu.max", "1000 100000\n");
    assert_eq!(cpus(&system), 0.01);
}

#[test]
fn version_1_is_read_with_its_accounts() {
    let system = FakeSystem::new();
    system.write("proc/self/mountinfo", &format!("{CPU}{SETS}"));
    system.write("proc/self/cgroup", "5:cpuset:/\n4:cpu,cpuacct:/x\n1:name=systemd:/y\n");
    let group = "sys/fs/cgroup/cpu,cpuacct/x";
    system.write(&format!("{group}/cpu.cfs_quota_us"), "150000\n");
    system.write(&format!("{group}/cpu.cfs_period_us"), "100000\n");
    let stat = "nr_periods 310\nnr_throttled 31\nthrottled_time 2000\n";
    system.write(&format!("{group}/cpu.stat"), stat);
    system.write(&format!("{group}/cpuacct.usage"), "7000\n");
    system.write("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-3\n");
    let mut reader = system.reader();
    let reading = reader.read().unwrap();
    assert_eq!((reading.affinity, reading.cpuset), (Some(8), Some(4)));
    assert_eq!(workers(4, reading.quota), 2);
    let limits = CpuLimits::read(Some(reader), 1);
    assert_eq!((limits.cpus(), limits.quota()), (4, Some(1.5)));
    assert_eq!(limits.period(), Some(Duration::from_millis(100)));
    assert_eq!((limits.periods(), limits.throttled_periods()), (Some(310), Some(31)));
    assert_eq!(limits.throttled_time(), Some(Duration::from_nanos(2000)));
    assert_eq!(limits.usage(), Some(Duration::from_nanos(7000)));
    let line = limits.to_string();
    assert!(line.starts_with("4 processors, quota 1.50 of them (150ms per 100ms, "), "{line}");
    assert!(line.ends_with("), 31 of 310 periods throttled"), "{line}");
}

#[test]
fn both_versions_at_once_are_read() {
    let system = FakeSystem::new();
    system.write(
        "proc/self/mountinfo",
        &format!("{CPU}{UNIFIED}").replace("cgroup rw,nosuid", "cgroup/unified rw"),
    );
    system.write("proc/self/cgroup", "1:cpu,cpuacct:/x\n0::/a\n");
    system.write("sys/fs/cgroup/unified/a/cpu.max", "300000 100000\n");
    assert_eq!(cpus(&system), 3.0);
    system.write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "200000");
    system.write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000");
    assert_eq!(cpus(&system), 2.0);
    system.write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "-1");
    assert_eq!(cpus(&system), 3.0);
}

#[test]
fn a_mount_that_shows_only_a_part_is_understood() {
    let rows = [
        // In a container without a namespace of its own, the mount shows the container's group.
        ("/docker/1", "/docker/1/a", "a"),
        ("/docker/1", "/docker/1", ""),
        // With a namespace, paths begin there.
        ("/", "/", ""),
        // The process was moved out of its namespace, or sees another container's part.
        ("/", "/../other", ""),
        ("/docker/2", "/docker/1", ""),
        ("/docker/1", "/docker/11", ""),
    ];
    for (shown, group, folder) in rows {
        let system = FakeSystem::new();
        system.write("proc/self/mountinfo", &UNIFIED.replacen(" / ", &format!(" {shown} "), 1));
        system.write("proc/self/cgroup", &format!("0::{group}\n"));
        system.write(&format!("sys/fs/cgroup/{folder}/cpu.max"), "50000 100000");
        assert_eq!(cpus(&system), 0.5, "{shown} {group}");
    }
}

#[test]
fn what_cannot_be_read_limits_nothing() {
    let nothing = Reader::within(Path::new("/nonexistent-for-liten")).read().unwrap();
    assert_eq!(nothing, Reading::default());
    let system = FakeSystem::unified();
    for content in ["", "max", "0 100000", "x y", "-1 100000", "\u{0}"] {
        system.write("sys/fs/cgroup/a/b/cpu.max", content);
        assert_eq!(cpus(&system), f64::INFINITY, "{content:?}");
    }
    // A folder in the place of a file can be opened and not read.
    system.remove("sys/fs/cgroup/a/b/cpu.max");
    system.write("sys/fs/cgroup/a/b/cpu.max/x", "");
    assert_eq!(cpus(&system), f64::INFINITY);
    system.write("proc/self/mountinfo", "nonsense\n");
    assert_eq!(cpus(&system), f64::INFINITY);
    let limits = CpuLimits::read(Some(system.reader()), 3);
    assert_eq!(limits.to_string(), "8 processors, no quota");
}

#[test]
fn a_reader_follows_what_changes() {
    let system = FakeSystem::unified();
    let mut reader = system.reader();
    let mut cpus = || reader.read().unwrap().quota.map(Quota::cpus);
    assert_eq!(cpus(), None);
    system.write("sys/fs/cgroup/a/b/cpu.max", "200000 100000");
    assert_eq!(cpus(), Some(2.0));
    system.write("sys/fs/cgroup/a/b/cpu.max", "50000 100000");
    assert_eq!(cpus(), Some(0.5));
    // The group vanishes.
    system.remove("sys/fs/cgroup/a");
    assert_eq!(cpus(), None);
    // The process is moved to another one.
    system.write("sys/fs/cgroup/c/cpu.max", "300000 100000");
    system.write("proc/self/cgroup", "0::/c\n");
    assert_eq!(cpus(), Some(3.0));
}

#[test]
fn a_reader_that_cannot_see_the_groups_any_more_says_so() {
    let system = FakeSystem::unified();
    system.write("sys/fs/cgroup/a/b/cpu.max", "200000 100000");
    let mut reader = system.reader();
    assert_eq!(reader.read().unwrap().quota.map(Quota::cpus), Some(2.0));
    system.remove("proc");
    assert!(reader.read().is_err(), "the limit is not gone");
    // A reader that has never seen them is on a system without groups.
    assert_eq!(system.reader().read().unwrap().quota, None);
}

#[test]
fn processors_that_are_offline_do_not_count() {
    let system = FakeSystem::unified();
    system.write("sys/fs/cgroup/a/b/cpuset.cpus.effective", "0-15\n");
    let mut reader = system.reader();
    assert_eq!(reader.read().unwrap().affinity, Some(8));
    system.write("sys/devices/system/cpu/online", "0-3,6\n");
    assert_eq!(reader.read().unwrap().affinity, Some(5));
    assert_eq!(reader.read().unwrap().cpuset, Some(16));
    system.write("proc/thread-self/status", "Name:\tx\n");
    assert_eq!(reader.read().unwrap().affinity, None);
}

#[test]
fn this_system_is_read() {
    let limits = CpuLimits::read(Some(Reader::new()), 1);
    assert!(limits.cpus() >= 1);
    assert!(limits.quota().is_none_or(|quota| quota > 0.0));
}
