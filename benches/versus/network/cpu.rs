//! How much CPU time this process has used.

pub(crate) use system::{process_time, ticks};

#[cfg(target_os = "linux")]
mod system {
    use std::fs;
    use std::time::Duration;

    /// The time that the threads alive have run, in the kernel and outside of it.
    pub(crate) fn process_time() -> Option<Duration> {
        let threads = fs::read_dir("/proc/self/task").ok()?;
        let times = threads.filter_map(|thread| -> Option<u64> {
            let statistics = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
            statistics.split_whitespace().next()?.parse().ok()
        });
        let times: u64 = times.sum();
        // A kernel without these statistics says 0.
        Some(Duration::from_nanos(times)).filter(|times| !times.is_zero())
    }

    /// The same with the threads that have ended, in steps of 10 ms.
    pub(crate) fn ticks() -> Option<Duration> {
        let statistics = fs::read_to_string("/proc/self/stat").ok()?;
        // The name before may have spaces. `utime` and `stime` are the 14th and the 15th field.
        let (_, fields) = statistics.rsplit_once(") ")?;
        let times = fields.split_whitespace().skip(11).take(2);
        let ticks: u64 = times.map(|time| time.parse::<u64>().unwrap_or_default()).sum();
        Some(Duration::from_millis(10 * ticks))
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::time::Duration;

    pub(crate) fn process_time() -> Option<Duration> {
        None
    }

    pub(crate) fn ticks() -> Option<Duration> {
        None
    }
}
