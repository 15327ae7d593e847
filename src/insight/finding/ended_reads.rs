//! Tasks that read at the end of a stream again and again.
//!
//! A read at the end returns 0 bytes at once, so that a loop that overlooks this takes a processor. A program
//! learns of the end by the first such read of each stream. So only further ones count, and only if there are
//! more of them than a task makes that sleeps in between. Reads of sockets by `AsyncRead` are counted.

use super::Finding;
use super::rates::Rates;
use crate::observe::incidents::EndedReads;

/// The fewest in a second that are told.
const MANY_PER_SECOND: u64 = 1_000;

/// The place with the most reads first. `rates` is by the places of the spawns, and `reads` from the last
/// look.
pub(in crate::insight) fn ended_reads(rates: &Rates, reads: &[EndedReads]) -> Vec<Finding> {
    let task = |place| reads.iter().map(|reads| reads.task).find(|task| task.spawned_at() == place);
    let fast = rates.faster_than(MANY_PER_SECOND).into_iter();
    let finding = |(place, reads_per_second)| {
        Some(Finding::EndedReads { task: task(place)?, reads_per_second })
    };
    fast.filter_map(finding).collect()
}
