//! What the workers have done lately, as JSON for the page's script: only what is new since its last request.

use super::json::{self, Object};
use super::live::{BIN, BINS, Bin, DOUBLINGS, Lane, Live, MOST_LANES, Span};
use super::server::picture::Cost;
use super::shown::program;
use crate::runtime::Id;

/// One runtime, and where the reader stands with it.
pub(super) struct Shown<'a> {
    pub(super) id: Id,
    pub(super) live: &'a mut Live,
    /// Of bins and of long events.
    pub(super) after: (u64, u64),
}

pub(super) fn live_json(shown: Vec<Shown<'_>>, cost: Cost) -> String {
    let mut text = String::new();
    Object::write(&mut text, |all| {
        all.text("program", program());
        all.object("cost", |object| json::write_cost(cost, object));
        all.number("bin_us", BIN / 1_000);
        all.number("bins", BINS);
        all.number("most_lanes", MOST_LANES);
        all.list("runtimes", shown, runtime);
    });
    text
}

fn runtime(shown: Shown<'_>, object: &mut Object<'_>) {
    let Shown { id, live, after: (bins, spans) } = shown;
    let under_way = live.under_way();
    object.number("id", id);
    object.number("recording", live.number);
    object.number("now_us", live.now() / 1_000);
    object.number("lost", live.lost);
    object.number("events", live.events);
    // Bins that may still change come with the next answer.
    let (first, open) = (live.first.max(bins), live.open());
    let skipped = (first - live.first) as usize;
    let count = open.saturating_sub(first) as usize;
    object.number("first", first);
    object.list("bins", live.bins.iter().skip(skipped).take(count), bin);
    object.number("after", first.max(open));
    let skipped = spans.saturating_sub(live.earlier_spans) as usize;
    object.list("spans", live.spans.iter().skip(skipped), span);
    object.number("spans_after", live.earlier_spans + live.spans.len() as u64);
    object.places("places", live.places.iter().copied());
    object.list("under_way", under_way, |(lane, poll, task, place), object| {
        object.number("lane", lane);
        object.number("poll", poll);
        object.number("task", task.id());
        object.number("place", place);
    });
}

/// Times in microseconds. The counts are cut behind the last one that is not 0.
fn bin(bin: &Bin, object: &mut Object<'_>) {
    let counts = |counts: &[u32; DOUBLINGS]| {
        let used = counts.iter().rposition(|&count| count != 0).map_or(0, |last| last + 1);
        counts.map(u64::from).into_iter().take(used)
    };
    object.numbers("polls", counts(&bin.polls));
    object.numbers("waits", counts(&bin.waits));
    object.number("lost", bin.lost);
    object.list("lanes", bin.lanes.iter().take(MOST_LANES), lane);
}

fn lane(lane: &Lane, object: &mut Object<'_>) {
    object.number("asleep", lane.asleep / 1_000);
    object.number("driver", lane.driver / 1_000);
    // Three numbers for each place.
    let shares = lane
        .shares
        .iter()
        .flat_map(|share| [u64::from(share.place), share.time / 1_000, u64::from(share.polls)]);
    object.numbers("shares", shares);
}

fn span(span: &Span, object: &mut Object<'_>) {
    object.number("lane", span.lane);
    object.number("begin", span.begin / 1_000);
    object.number("end", span.end / 1_000);
    if let Some((task, place)) = span.poll {
        object.number("task", task.id());
        object.number("place", place);
    }
}
