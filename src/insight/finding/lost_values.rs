//! Broadcast channels whose receivers lose values all the time. A receiver may be right to be slower than
//! what is sent, if only the latest value matters, so this is only worth a look.

use super::rates::Rates;
use crate::insight::dump::Dump;
use crate::runtime::gauges::Measured;
use crate::short::{Place, counted};

/// The fewest in a second that are told.
const FEWEST: u64 = 1;

/// The most channels that are told.
const MOST: usize = 4;

/// `rates` is of what was lost, by the places where the channels were made.
pub(in crate::insight) fn lost_values(rates: &Rates, dump: &Dump) -> Vec<String> {
    let sentence = |(place, per_second): (_, u64)| {
        let is_it = |measured, made_at| measured == Measured::Broadcast && made_at == place;
        let group = dump.queues.iter().find(|group| is_it(group.measured, group.made_at))?;
        Some(format!(
            "receivers of {} made at {} lose some {} in a second: they are slower than what is sent, or wait \
             for something else",
            group.what(),
            Place(place),
            counted(per_second as usize, "value")
        ))
    };
    rates.faster_than(FEWEST).into_iter().take(MOST).filter_map(sentence).collect()
}
