//! The script of insight's page in Chromium: what it makes of answers that a program seldom gives.

use crate::chromium::Page;
use crate::sick_cases::FULL_POOL;
use serde_json::{Value, json};

/// A page without the token: it has its script, and asks for nothing.
struct Script(Page);

impl Script {
    /// The value of a script's last line, which returns it.
    #[track_caller]
    fn run(&mut self, script: &str) -> Value {
        let value = self.0.evaluate(&format!("(() => {{ {script} }})()"));
        assert_eq!(self.0.complaints(), [""; 0], "{script}");
        value
    }
}

#[test]
fn the_script_of_the_page_tells_what_it_was_told() {
    let patient = FULL_POOL.start();
    let mut page = Page::open("about:blank");
    page.listen();
    page.go_to(patient.url.split_once('#').expect("the token is behind it").0);
    let mut script = Script(page);
    times_without_an_end_are_not_said_to_have_one(&mut script);
    long_polls_count_for_as_long_as_they_last(&mut script);
    another_recording_begins_anew(&mut script);
    shares_are_of_all_workers_that_are_present(&mut script);
    sockets_of_which_nothing_is_known_say_why(&mut script);
    sentences_that_are_the_same_stand_once(&mut script);
}

fn sentences_that_are_the_same_stand_once(script: &mut Script) {
    let shown = "return grouped(['a', 'b', 'a', 'a']);";
    assert_eq!(script.run(shown), json!(["a (3 times)", "b"]));
}

fn times_without_an_end_are_not_said_to_have_one(script: &mut Script) {
    let said = "
        const all = [[0, 0, 4], [...Array(25).fill(0), 3], []];
        return all.map((counts) => micros(quantile(counts, 0.5)));";
    assert_eq!(script.run(said), json!(["4.1 µs", "≥ 17 s", "–"]));
    let whole =
        "return heat('', '', [1], { count: 1, p50_us: 1, p99_us: 2, max_us: null }).textContent;";
    let whole = script.run(whole);
    assert!(whole.as_str().is_some_and(|text| text.contains("the longest ≥ 17 s;")), "{whole}");
}

/// One that has ended, one that had begun before what is shown, and one that is under way.
fn long_polls_count_for_as_long_as_they_last(script: &mut Script) {
    let made = "
        const live = { ...newLive(), bin: 200000, after: 50, now: 10e6, places: ['a'] };
        for (let number = 0; number < 50; number += 1) {
          const shares = number === 30 ? [1, 0, 1] : [];
          live.bins.set(number, { lanes: [{ shares }], polls: [], waits: [] });
        }
        const span = { task: 1, place: 1 };
        live.spans = [{ ...span, begin: 0, end: 1e6 }, { ...span, begin: 4e6, end: 6e6 }];
        live.since = new Map([['0/1', { begin: 9e6, place: 1 }]]);
        const { time, polled, polls, longest } = sums(live, 25).places.get('a');
        return [time, polled, polls, longest];";
    // The second lies half within the last 25 bins, which begin at 5 s; all of it is its poll's time.
    assert_eq!(script.run(made), json!([2_000_000, 2_000_000, 1, 2_000_000]));
}

fn another_recording_begins_anew(script: &mut Script) {
    let looks = "
        const nothing = { lost: 0, events: 0, spans: [], spans_after: 0, under_way: [] };
        const runtime = { ...nothing, id: 77, places: ['a'], first: 0, bins: [{}, {}] };
        const answer = (more) =>
          ({ bin_us: 200000, bins: 600, runtimes: [{ ...runtime, ...more }] });
        takeLive(answer({ recording: 1, now_us: 5, after: 2 }));
        const before = lives.get(77).after;
        // It has gone on for longer than the one before.
        takeLive(answer({ recording: 2, now_us: 50, after: 9 }));
        const anew = lives.get(77);
        const seen = [before, anew.after, anew.bins.size];
        lives.delete(77);
        return seen;";
    assert_eq!(script.run(looks), json!([2, 0, 0]));
}

fn shares_are_of_all_workers_that_are_present(script: &mut Script) {
    let shown = "
        const counts = { tasks: 1, running: 0, ready: 0, waiting: 1, stuck: 0 };
        const place = { ...counts, spawned_at: 'a', future_size: 8, type_name: 't' };
        const workers = ['parked', 'working', 'absent'].map((state) => ({ state }));
        const lately = { seconds: 1, lanes: 1, places: new Map([
          ['a', { name: 'a', number: 1, time: 1e6, polls: 4, polled: 2e6, longest: 0 }]]) };
        const runtime = { places: [place], places_left_out: 0, workers };
        const section = places(runtime, undefined, lately);
        const cells = [...section.querySelectorAll('tbody td')].slice(1, 4);
        return cells.map((cell) => cell.textContent);";
    assert_eq!(script.run(shown), json!(["50.0 %", "4", "500 ms"]));
}

fn sockets_of_which_nothing_is_known_say_why(script: &mut Script) {
    let shown = "
        const unknown = { descriptor: 9, kind: null, local: null, peer: null, state: null,
          received: null, unsent: null, quiet_ms: null,
          tasks: [{ id: 7, event: 'readable' }], tasks_left_out: 3 };
        const trouble = '/proc/self/fd: not there';
        const section = sockets(
          { sockets: [unknown], sockets_left_out: 2, sockets_trouble: trouble });
        return [...section.querySelectorAll('p, td')].map((part) => part.textContent);";
    assert_eq!(
        script.run(shown),
        json!([
            "what they lead to is not known: /proc/self/fd: not there",
            // Columns of which nothing is known do not stand.
            "9",
            "task 7 for readable; and 3 more",
            "and 2 sources more"
        ])
    );
}
