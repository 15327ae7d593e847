//! How much processor time the process has used.
//!
//! The system's clock of a process lags: what a thread uses on another processor is added at that
//! processor's next tick, up to 4 ms later, and a poll of 8 ms that is not seen until it is half over is
//! followed by one too many. The clock of one thread is exact. So the threads that mostly compute are asked
//! one by one, and the process's clock tells only of the others: what these have used is the largest
//! difference that was ever seen, because it never shrinks, and the lag makes it too small.

use std::time::Duration;

/// What the process has used, as far as it has been seen.
#[derive(Debug, Default)]
pub(crate) struct ProcessorTime {
    /// By their place in the list of threads. A thread that cannot be asked any more keeps its time.
    threads: Vec<Duration>,
    others: Duration,
}

impl ProcessorTime {
    /// Asks again; `threads` are the system's numbers of those that mostly compute, where they are known.
    /// `None`: the system does not tell.
    pub(crate) fn look(&mut self, threads: impl Iterator<Item = Option<u32>>) -> Option<Duration> {
        self.add(of_process()?, threads.map(|thread| thread.and_then(of_thread)))
    }

    /// `process` was read first.
    fn add(
        &mut self,
        process: Duration,
        threads: impl Iterator<Item = Option<Duration>>,
    ) -> Option<Duration> {
        for (index, time) in threads.enumerate() {
            if self.threads.len() <= index {
                self.threads.push(Duration::ZERO);
            }
            if let Some(time) = time {
                // One that has taken the place of another begins with less.
                self.threads[index] = self.threads[index].max(time);
            }
        }
        let known: Duration = self.threads.iter().sum();
        self.others = self.others.max(process.saturating_sub(known));
        Some(known + self.others)
    }
}

#[cfg(target_os = "linux")]
pub(crate) use linux::of_process;
#[cfg(target_os = "linux")]
use linux::of_thread;

#[cfg(target_os = "linux")]
mod linux {
    use nix::libc::clockid_t;
    use nix::time::{ClockId, clock_gettime};
    use std::time::Duration;

    /// The bits of a clock's number that say: of a thread, and as exact as the scheduler knows. The other
    /// bits are the thread's number, inverted.
    const THREAD_BITS: clockid_t = 0b110;

    pub(crate) fn of_process() -> Option<Duration> {
        clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).ok().map(Duration::from)
    }

    pub(super) fn of_thread(thread: u32) -> Option<Duration> {
        let thread = clockid_t::try_from(thread).ok()?;
        clock_gettime(ClockId::from_raw(!thread << 3 | THREAD_BITS)).ok().map(Duration::from)
    }
}

/// Other systems have no quotas that are known here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn of_process() -> Option<Duration> {
    None
}

#[cfg(not(target_os = "linux"))]
fn of_thread(_: u32) -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn what_the_process_clock_misses_is_added() {
        let mut time = ProcessorTime::default();
        // The process, two threads, and what is known of the whole.
        let rows = [
            (10, [Some(4), Some(2)], 10),
            // A thread has gone on, and the process's clock has not heard of it.
            (10, [Some(8), Some(2)], 14),
            (14, [Some(8), Some(2)], 14),
            // The others have used one more.
            (15, [Some(8), Some(2)], 15),
            // A thread cannot be asked: what it has used is not lost.
            (15, [Some(8), None], 15),
            (15, [None, None], 15),
            (19, [Some(12), None], 19),
        ];
        for (row, (process, threads, expected)) in rows.into_iter().enumerate() {
            let threads = threads.into_iter().map(|time| time.map(millis));
            assert_eq!(time.add(millis(process), threads), Some(millis(expected)), "row {row}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_thread_is_a_part_of_the_process() {
        let own = u32::try_from(nix::unistd::gettid().as_raw()).unwrap();
        let mut time = ProcessorTime::default();
        let before = time.look([Some(own), None].into_iter()).unwrap();
        // Until the clock of the thread has moved.
        let thread = of_thread(own).unwrap();
        while of_thread(own).unwrap() == thread {
            std::hint::spin_loop();
        }
        assert!(time.look([Some(own), Some(u32::MAX)].into_iter()).unwrap() > before);
    }
}
