//! What the process takes of the machine, as far as the system tells it.

use crate::limits::processor_time;
use crate::observe::spare_descriptors::read_to_string;
use std::time::Duration;

pub(super) struct ProcessUsage {
    /// What it has used of processors since it began.
    pub(super) processor: Option<Duration>,
    /// The bytes of its memory that are resident.
    pub(super) resident: Option<u64>,
}

impl ProcessUsage {
    pub(super) fn read() -> Self {
        // Linux alone has this file.
        let status = read_to_string("/proc/self/status").unwrap_or_default();
        Self { processor: processor_time::of_process(), resident: resident(&status) }
    }
}

fn resident(status: &str) -> Option<u64> {
    let rest = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::resident;

    #[test]
    fn the_resident_memory_is_read_as_the_kernel_writes_it() {
        assert_eq!(resident("Name:\ta\nVmRSS:\t    5120 kB\nRssAnon:\t 1 kB\n"), Some(5 << 20));
        for status in
            ["", "VmRSS:", "VmRSS:\t5120\n", "VmRSS:\tx kB\n", "VmRSS: 99999999999999999999 kB"]
        {
            assert_eq!(resident(status), None, "{status}");
        }
    }
}
