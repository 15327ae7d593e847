//! What a program is told about its limits.

use super::groups::{Group, QuotaFiles};
use super::parse::number;
use super::reader::{Reader, read};
use super::{Quota, Reading};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How much of the processors the process may use, and what a group with a quota has used. From
/// [`RuntimeMetrics::cpu_limits`](crate::runtime::RuntimeMetrics::cpu_limits), which reads it anew.
///
/// Shown with `{}`, it is one line for a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuLimits {
    cpus: usize,
    quota: Option<Quota>,
    group: Option<PathBuf>,
    usage: Option<Duration>,
    periods: Option<u64>,
    throttled_periods: Option<u64>,
    throttled_time: Option<Duration>,
}

impl CpuLimits {
    /// Reads them. `cpus`: the processors, where there is no reader, or the system does not tell.
    pub(crate) fn read(mut reader: Option<Reader>, cpus: usize) -> Self {
        let reading = reader.as_mut().and_then(|reader| reader.read().ok()).unwrap_or_default();
        let Reading { affinity, cpuset, .. } = reading;
        let cpus = affinity.unwrap_or(cpus).min(cpuset.unwrap_or(usize::MAX)).max(1);
        let none = Self {
            cpus,
            quota: None,
            group: None,
            usage: None,
            periods: None,
            throttled_periods: None,
            throttled_time: None,
        };
        match reader.as_mut().and_then(Reader::limiting_group) {
            Some((quota, group)) => none.with_group(quota, group),
            None => none,
        }
    }

    fn with_group(self, quota: Quota, group: Group) -> Self {
        let mut buffer = Vec::new();
        let usage = group.usage.and_then(|path| {
            let nanos = read(&path, &mut buffer).ok()??.trim().parse().ok()?;
            Some(Duration::from_nanos(nanos))
        });
        let stat = read(&group.folder.join("cpu.stat"), &mut buffer);
        let stat = stat.ok().flatten().unwrap_or_default();
        let throttled_time = match group.files {
            QuotaFiles::Version2(_) => number(stat, "throttled_usec").map(Duration::from_micros),
            QuotaFiles::Version1(..) => number(stat, "throttled_time").map(Duration::from_nanos),
        };
        Self {
            usage: usage.or_else(|| number(stat, "usage_usec").map(Duration::from_micros)),
            periods: number(stat, "nr_periods"),
            throttled_periods: number(stat, "nr_throttled"),
            throttled_time,
            quota: Some(quota),
            group: Some(group.folder),
            ..self
        }
    }

    /// Returns on how many processors the calling thread may run: its affinity, within the cpuset of its
    /// group and the processors that are online.
    pub fn cpus(&self) -> usize {
        self.cpus
    }

    /// Returns how many processors' time the smallest quota allows, of the process's group and all groups
    /// above it. `None` without a quota.
    pub fn quota(&self) -> Option<f64> {
        self.quota.map(Quota::cpus)
    }

    /// Returns after what time the quota is granted anew; mostly 100 ms.
    pub fn period(&self) -> Option<Duration> {
        self.quota.map(|quota| quota.period)
    }

    /// Returns the folder of the group that has the smallest quota.
    pub fn group(&self) -> Option<&Path> {
        self.group.as_deref()
    }

    /// Returns the processor time that this group has used since it was made, all its processes together.
    pub fn usage(&self) -> Option<Duration> {
        self.usage
    }

    /// Returns in how many periods the group had something to do.
    pub fn periods(&self) -> Option<u64> {
        self.periods
    }

    /// Returns in how many of these the group has used up its quota, so that the system has stopped all its
    /// threads until the period's end.
    pub fn throttled_periods(&self) -> Option<u64> {
        self.throttled_periods
    }

    /// Returns for how long it has, in all; on systems with several processors, of each of them.
    pub fn throttled_time(&self) -> Option<Duration> {
        self.throttled_time
    }
}

impl fmt::Display for CpuLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.cpus == 1 { "" } else { "s" };
        write!(f, "{} processor{plural}", self.cpus)?;
        let Some((quota, group)) = self.quota.zip(self.group.as_deref()) else {
            return f.write_str(", no quota");
        };
        let (time, period, group) = (quota.time, quota.period, group.display());
        write!(f, ", quota {:.2} of them ({time:?} per {period:?}, {group})", quota.cpus())?;
        if let Some((throttled, periods)) = self.throttled_periods.zip(self.periods) {
            write!(f, ", {throttled} of {periods} periods throttled")?;
        }
        Ok(())
    }
}
