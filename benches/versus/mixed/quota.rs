//! The echo beside burners in a group that has a quota of processor time, as a container has. The load stays
//! outside of the group.
//!
//! The process moves itself into the group for a measurement, and back after it. liten begins with as many
//! workers as it would have if it had been started there, and so does tokio, which rounds a part of a
//! processor down.

use super::hosts::Host;
use super::lane::{Echo, Mixed};
use crate::contest::{Figure, Lane, Start, lane};
use crate::runtimes::{Liten, Tokio};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Where the groups are mounted; the first one also in version 2.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu"];
const PERIOD: Duration = Duration::from_millis(100);
/// A quota that has come is known by then.
const RUN_UP: Duration = Duration::from_millis(1500);

/// The figures of such a row.
pub(super) fn figures() -> Vec<Figure> {
    let figure = |suffix, unit, goal| Figure { suffix, unit, goal };
    vec![
        figure("p50", "ns", None),
        figure("p99", "ns", Some(0.1)),
        figure("max", "ns", None),
        figure("requests", "ns", None),
        figure("burners", "ns", None),
        figure("throttled", "% of periods", None),
        figure("used", "% of the quota", None),
    ]
}

/// The load on liten and tokio, with this quota in percent of a processor.
pub(super) fn lanes(percent: u32, of: Echo) -> Vec<(&'static str, Start)> {
    let group = Rc::new(std::cell::OnceCell::new());
    let other = group.clone();
    let (up, down) = (percent.div_ceil(100).max(1) as usize, (percent / 100).max(1) as usize);
    let start_liten = move || {
        let group = group.get_or_init(|| Rc::new(made(percent))).clone();
        Limited::<Liten> { mixed: Mixed::start(Echo { workers: up, ..of }), group }
    };
    let start_tokio = move || {
        let group = other.get_or_init(|| Rc::new(made(percent))).clone();
        Limited::<Tokio> { mixed: Mixed::start(Echo { workers: down, ..of }), group }
    };
    vec![lane::<Liten, _>(start_liten), lane::<Tokio, _>(start_tokio)]
}

fn made(percent: u32) -> Group {
    match Group::make(percent) {
        Ok(group) => group,
        Err(error) => panic!("no group with a quota can be made here: {error}"),
    }
}

/// A group, and the one from which it was made.
struct Group {
    parent: PathBuf,
    folder: PathBuf,
    quota: Duration,
}

impl Group {
    fn make(percent: u32) -> io::Result<Self> {
        let quota = PERIOD * percent / 100;
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for mount in MOUNTS {
            match Self::make_below(Path::new(mount), quota) {
                Ok(group) => return Ok(group),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn make_below(mount: &Path, quota: Duration) -> io::Result<Self> {
        if !mount.join("cgroup.procs").exists() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let folder = mount.join(format!("liten-bench-{}", std::process::id()));
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let group = Self { parent: mount.to_owned(), folder, quota };
        let (quota, period) = (quota.as_micros(), PERIOD.as_micros());
        if group.folder.join("cpu.max").exists() {
            group.write("cpu.max", format!("{quota} {period}"))?;
        } else {
            group.write("cpu.cfs_period_us", period.to_string())?;
            group.write("cpu.cfs_quota_us", quota.to_string())?;
        }
        Ok(group)
    }

    fn write(&self, file: &str, content: String) -> io::Result<()> {
        fs::write(self.folder.join(file), content)
    }

    fn enter(&self) {
        let own = std::process::id().to_string();
        self.write("cgroup.procs", own).expect("the process may enter its group");
    }

    fn leave(&self) {
        let own = std::process::id().to_string();
        fs::write(self.parent.join("cgroup.procs"), own).expect("the process may leave its group");
    }

    /// How many periods there have been, and how many of them were throttled.
    fn periods(&self) -> [f64; 2] {
        let stat = fs::read_to_string(self.folder.join("cpu.stat")).unwrap_or_default();
        let of = |key: &str| {
            let mut pairs = stat.lines().filter_map(|line| line.split_once(' '));
            let value = pairs.find(|(name, _)| *name == key).map(|(_, value)| value);
            value.and_then(|value| value.parse().ok()).unwrap_or(f64::NAN)
        };
        ["nr_periods", "nr_throttled"].map(of)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // One that is left behind is empty.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Such a load, and the group with the quota.
struct Limited<R: Host> {
    mixed: Mixed<R>,
    group: Rc<Group>,
}

impl<R: Host> Lane for Limited<R> {
    fn warm_up(&mut self, _: Duration) {}

    fn measure(&mut self, slice: Duration) -> Vec<f64> {
        self.group.enter();
        let (mixed, group) = (&mut self.mixed, &self.group);
        let run_up = if slice.is_zero() { slice } else { RUN_UP };
        mixed.begin(run_up);
        let (start, used, before) = (Instant::now(), used(), group.periods());
        let [p50, p99, max, requests, burners] = mixed.run(slice);
        let elapsed = start.elapsed();
        let after = group.periods();
        let quota = elapsed.as_secs_f64() / PERIOD.as_secs_f64() * group.quota.as_secs_f64();
        let used = (self::used() - used) / quota * 100.0;
        let throttled = (after[1] - before[1]) / (after[0] - before[0]) * 100.0;
        mixed.end();
        self.group.leave();
        vec![p50, p99, max, requests, burners, throttled, used]
    }
}

/// What the process has used of the processors, in seconds; not a number where the system does not tell.
fn used() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let words = stat.rsplit_once(')').map_or("", |(_, words)| words);
    let ticks: Option<f64> =
        words.split_ascii_whitespace().skip(11).take(2).map(|word| word.parse::<f64>().ok()).sum();
    // A hundred per second, on every processor that Linux runs on.
    ticks.map_or(f64::NAN, |ticks| ticks / 100.0)
}
