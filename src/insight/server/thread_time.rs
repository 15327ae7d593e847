//! What the page's thread uses of a processor, as far as the system says.

use std::time::Duration;

/// Linux tells it of each thread in a file; where there is none, nothing is known.
pub(super) fn of_this_thread() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    // Nanoseconds on a processor come first, then those of the wait for one.
    let nanoseconds = text.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::of_this_thread;

    #[test]
    fn what_is_known_grows() {
        let Some(before) = of_this_thread() else { return };
        while of_this_thread() == Some(before) {
            std::hint::spin_loop();
        }
        assert!(of_this_thread().unwrap() > before);
    }
}
