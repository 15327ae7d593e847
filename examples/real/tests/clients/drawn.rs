//! The pictures of insight's page, as Chromium has drawn them: their pixels, beside what they are of.

use crate::chromium::Page;
use crate::sick_cases::{BLOCKED_WORKER, Case, Patient, SELF_WAKE_STORM};
use serde_json::json;
use std::fs;
use std::path::Path;

/// How the checks see pixels: as texts of red, green and blue. A canvas has as many as it is wide and high,
/// because the screen has none between them.
const HELPERS: &str = "
    const live = () => lives.values().next().value;
    const pixels = (canvas, left, top, width, height) => {
        // Of a copy, because to read the canvas itself may change how it is drawn from then on.
        const copy = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
        copy.drawImage(canvas, -left, -top);
        const { data } = copy.getImageData(0, 0, width, height);
        return Array.from({ length: width * height }, (_, at) =>
            data.slice(4 * at, 4 * at + 3).join());
    };
    const paint = (style) => {
        const canvas = document.createElement('canvas');
        canvas.getContext('2d').fillStyle = style;
        canvas.getContext('2d').fillRect(0, 0, 1, 1);
        return pixels(canvas, 0, 0, 1, 1)[0];
    };
    const counted = (list, paint) => list.filter((pixel) => pixel === paint).length;
    // What the table of places has beside the place.
    const legend = (place) => {
        const marks = [...document.querySelectorAll('.marked')];
        const mark = marks.find((mark) => mark.innerText.includes(place));
        return mark === undefined ? 'none' : paint(mark.firstChild.style.background);
    };
    const choose = (seconds) => {
        byId('span').value = seconds;
        byId('span').dispatchEvent(new Event('change'));
    };";

/// Of lanes: where the parts of the bins lie, computed beside the page.
const LANES: &str = "
    const inner = LANE - 4;
    const column = (lane, x) => pixels(live().lanes, Math.floor(x), lane * LANE + 2, 1, inner);
    // A worker's lane without its label and its frame.
    const within = (lane) => {
        const width = live().lanes.width - LABEL - 6;
        return pixels(live().lanes, LABEL + 3, lane * LANE + 5, width, inner - 6);
    };
    const share = (lane, paint) => counted(within(lane), paint) / within(lane).length;
    const isCovered = (lane, number) => {
        const [from, until] = [number * live().bin, (number + 1) * live().bin];
        const long = [...live().spans, ...live().since.values()];
        return long.some((one) =>
            one.lane === lane && one.begin < until && (one.end ?? Infinity) > from);
    };
    // Of the bins that are shown: how many have a high part of this place, and which do not have it as it is.
    const compare = (place, seconds) => {
        const number = live().places.findIndex((name) => name.includes(place)) + 1;
        const wide = (live().lanes.width - LABEL) / (seconds * 1e6 / live().bin);
        const seen = { high: 0, wrong: [] };
        for (const [at, bin] of live().bins) {
            const left = live().lanes.width - (live().after - at) * wide;
            if (left < LABEL) continue;
            bin.lanes.forEach((lane, index) => {
                if (isCovered(index, at)) return;
                const part = lane.shares.findIndex((share, at) => at % 3 === 0 && share === number);
                const high = part < 0 ? 0 : (lane.shares[part + 1] / live().bin) * inner;
                const drawn = counted(column(index, left + wide / 2), legend(place));
                if (high > 3) seen.high += 1;
                // Its ends lie between two pixels.
                if (drawn > high + 0.01 || drawn < high - 2) seen.wrong.push([index, at, high, drawn]);
            });
        }
        return seen;
    };";

/// Of heat maps: which of their rows, from below, have what.
const HEAT: &str = "
    const row = (canvas, at) =>
        pixels(canvas, LABEL, (25 - at) * 5 + 2, canvas.width - LABEL, 1);
    const heights = [...Array(26).keys()];
    const having = (canvas, isOne) => heights.filter((at) => row(canvas, at).some(isOne));
    const drawn = (canvas) => {
        const [ground, darkest] = [paint(themed('--box')), paint(`rgb(${themed('--heat')})`)];
        return [having(canvas, (pixel) => pixel !== ground),
            having(canvas, (pixel) => pixel === darkest)];
    };
    const counts = (what) => {
        const bins = [...live().bins.values()].map((bin) => bin[what]);
        return heights.filter((at) => bins.some((bin) => bin[at] > 0));
    };";

fn open(page: &mut Page, case: &Case) -> Patient {
    let patient = case.start();
    page.go_to(&patient.url);
    for helpers in [HELPERS, LANES, HEAT] {
        page.evaluate(helpers);
    }
    page.until("lives.size === 1 && live().bins.size > 5 && live().lanes.isConnected");
    patient
}

#[test]
fn the_lanes_have_polls_in_the_colour_of_their_place_and_as_high_as_their_share() {
    let mut page = Page::open("about:blank");
    page.listen();
    page.resize(1200, 825);
    let _patient = open(&mut page, &SELF_WAKE_STORM);
    page.evaluate("choose(15); let seen");
    let storm = "sick/self_wake_storm.rs";
    page.until(&format!("legend('{storm}') !== 'none'"));
    page.until(&format!("seen = compare('{storm}', 15); seen.high > 2 || seen"));
    assert_eq!(page.evaluate("seen.wrong"), json!([]), "worker, bin, height, pixels");
    the_heat_maps_have_a_cell_where_something_was_counted(&mut page);
    assert_eq!(page.complaints(), [""; 0]);
}

/// The page draws what it was told before anything else runs.
fn the_heat_maps_have_a_cell_where_something_was_counted(page: &mut Page) {
    for what in ["polls", "waits"] {
        let seen = page.evaluate(&format!("[counts('{what}'), ...drawn(live().{what})]"));
        let lengths = [0, 1, 2].map(|at| seen[at].as_array().map_or(0, Vec::len));
        assert!(lengths[0] > 3 && lengths[0] < 26, "{what}: {seen}");
        assert_eq!(seen[0], seen[1], "rows of {what}");
        // Where there is most.
        assert!(lengths[2] > 0 && lengths[2] < lengths[0], "{what}: {seen}");
    }
}

#[test]
fn a_poll_that_blocks_its_worker_fills_the_lane_in_a_frame_for_as_long_as_it_lasts() {
    let mut page = Page::open("about:blank");
    page.listen();
    page.resize(1200, 825);
    let _patient = open(&mut page, &BLOCKED_WORKER);
    page.evaluate(
        "const slow = () => last.runtimes[0].workers.find((worker) => worker.is_slow)?.index",
    );
    page.evaluate("const blocked = 'sick/blocked_worker.rs'; choose(15)");
    page.until("slow() !== undefined && legend(blocked) !== 'none'");
    page.until("share(slow(), legend(blocked)) === 1 || share(slow(), legend(blocked))");
    let frame = "counted(column(slow(), live().lanes.width / 2), paint(themed('--bad')))";
    assert_eq!(page.evaluate(frame), 4, "two pixels above and below");
    // The picture in README.md is a copy of this one.
    let picture = page.screenshot();
    assert!(picture.starts_with(b"\x89PNG"));
    fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("insight.png"), picture).unwrap();
    the_pointer_is_told_what_lies_under_it(&mut page);
    more_time_makes_it_shorter_and_a_smaller_window_narrower(&mut page);
    assert_eq!(page.complaints(), [""; 0]);
}

fn the_pointer_is_told_what_lies_under_it(page: &mut Page) {
    let lane = "live().lanes.getBoundingClientRect().y + (slow() + 0.5) * LANE";
    let [x, y] = [page.middle_of("live().lanes")[0], page.evaluate(lane).as_f64().unwrap()];
    page.mouse("mouseMoved", [x, y]);
    for part in ["`worker ${slow()}, `", "'in a poll that lasts, task '", "blocked"] {
        page.until(&format!("live().hint.innerText.includes({part}) || live().hint.innerText"));
    }
    page.mouse("mouseMoved", [0.0, 0.0]);
    page.until("live().hint.innerText === '' || live().hint.innerText");
}

/// Both draw anew at once, without another look.
fn more_time_makes_it_shorter_and_a_smaller_window_narrower(page: &mut Page) {
    let share = page.evaluate("choose(120); share(slow(), legend(blocked))").as_f64().unwrap();
    assert!(share > 0.1 && share < 0.9, "{share} of two minutes");
    page.resize(700, 825);
    page.until("live().lanes.width < 700 && live().lanes.width === live().lanes.clientWidth");
    let smaller = page.evaluate("share(slow(), legend(blocked))").as_f64().unwrap();
    assert!((smaller - share).abs() < 0.1, "{smaller}, and {share} before");
}
