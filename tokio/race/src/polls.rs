//! How often a future is polled that is always ready. The budget of a task makes it yield every so many
//! operations, and both packages have to do so equally often.

use crate::contestant::Contestant;

const OPERATIONS: usize = 1_000_000;
pub(crate) const NAMES: [&str; 15] = [
    "mpsc",
    "mpsc_many",
    "mpsc_unbounded",
    "oneshot",
    "watch",
    "watch_wait_for",
    "broadcast",
    "semaphore",
    "mutex",
    "rwlock_read",
    "rwlock_write",
    "notify",
    "barrier",
    "once_cell",
    "duplex",
];

/// The name of the row, so that it can be asked for apart from the work of the same name.
pub(crate) fn row(name: &str) -> String {
    format!("polls_{name}")
}

/// Prints the counts, and returns whether all are equal.
pub(crate) fn compare(pair: &mut [Contestant; 2], names: &[&str]) -> Result<bool, String> {
    if names.is_empty() {
        return Ok(true);
    }
    println!("\npolls of a million ready operations, in a task and in block_on");
    let mut all_equal = true;
    for name in names {
        let command = format!("polls {name} {OPERATIONS}");
        let [face, real] = pair;
        let (face, real): (String, String) = (face.ask(&command)?, real.ask(&command)?);
        println!("{:<20} {}", row(name), verdict(&face, &real));
        all_equal &= face == real;
    }
    Ok(all_equal)
}

fn verdict(face: &str, real: &str) -> String {
    match face == real {
        true => format!("{real}, as on tokio"),
        false => format!("{face}; on tokio {real}: DIFFERENT"),
    }
}

#[cfg(test)]
mod tests {
    use super::verdict;

    #[test]
    fn counts_that_differ_are_shown_as_a_difference() {
        assert_eq!(verdict("15626 15626", "15626 15626"), "15626 15626, as on tokio");
        assert_eq!(verdict("1 15626", "15626 15626"), "1 15626; on tokio 15626 15626: DIFFERENT");
    }
}
