//! The controls of insight's page in Chromium: each does what it says, to a program that runs.

use crate::chromium::Page;
use crate::process::LIMIT;
use crate::sick_cases::JOIN_DEADLOCK;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// What the checks ask the page for: columns of the table of tasks, which every look makes anew, and how many
/// requests the page has made.
const HELPERS: &str = "
    const rows = () => [...document.querySelectorAll('[data-sort=id]')]
        .flatMap((head) => [...head.closest('table').tBodies[0].rows]);
    const ids = () => rows().map((row) => Number(row.cells[0].innerText));
    const head = (column) => document.querySelector(`[data-sort=${column}]`);
    const at = (column) => head(column).closest('th').cellIndex;
    const sizes = () => rows().map((row) =>
        Number(row.cells[at('size')].innerText.replaceAll(',', '')));
    const rises = (list) => list.every((value, at) => at === 0 || list[at - 1] <= value);
    const statusText = () => byId('status').innerText;
    const note = () => head('id').closest('section').querySelector('small').innerText;
    const [real, turn] = [fetch, watch];
    let [requests, turns, first, isOver] = [[], 0, null, false];
    window.fetch = (path, options) => { requests.push(path); return real(path, options); };
    window.watch = () => { turns += 1; return turn(); };";

#[test]
fn each_control_of_the_page_does_what_it_says() {
    let patient = JOIN_DEADLOCK.start();
    let mut page = Page::open("about:blank");
    page.listen();
    page.go_to(&patient.url);
    page.evaluate(HELPERS);
    page.until("rows().length > 18 && statusText().startsWith('as of ') || rows().length");
    the_head_of_a_column_sorts_up_then_down_then_no_more(&mut page);
    a_click_may_take_longer_than_a_look(&mut page);
    what_is_typed_into_the_filter_is_looked_for(&mut page);
    a_tree_is_closed(&mut page);
    a_paused_page_asks_for_nothing_until_it_goes_on(&mut page);
    what_is_recorded_is_a_file_of_so_many_seconds(&mut page);
    assert_eq!(page.complaints(), [""; 0]);
    the_token_may_come_later(&mut page, &patient.url);
    drop(patient);
    page.until("byId('status').className === 'bad' || statusText()");
    page.until("statusText().startsWith('the program does not answer (') || statusText()");
}

/// The program sorts, by what the page asks it for.
fn the_head_of_a_column_sorts_up_then_down_then_no_more(page: &mut Page) {
    page.evaluate("head('id').click();");
    page.until("head('id').innerText === 'task ▲' && rises(ids()) || ids()");
    assert_eq!(page.evaluate("head('id').closest('th').ariaSort"), "ascending");
    page.evaluate("head('id').click()");
    page.until("head('id').innerText === 'task ▼' && rises(ids().reverse()) || ids()");
    assert_eq!(page.evaluate("requests.some((path) => path.startsWith('/json?sort=-id&'))"), true);
    page.evaluate("head('size').click()");
    page.until("head('size').innerText === 'bytes ▲' && rises(sizes()) || sizes()");
    let is_alone = "head('id').innerText === 'task' && !rises(ids()) && new Set(sizes()).size > 1";
    assert_eq!(page.evaluate(is_alone), true);
    page.evaluate("head('size').click()");
    page.until("head('size').innerText === 'bytes ▼' && rises(sizes().reverse()) || sizes()");
    page.evaluate("head('size').click()");
    page.until("head('size').innerText === 'bytes' && !rises(sizes().reverse()) || sizes()");
}

/// Pauses the page, and waits for the looks that are under way: also for those that clicks have asked for.
fn pause(page: &mut Page) {
    page.evaluate(
        "byId('pause').click(); isOver = false; looking.then(() => { isOver = true; }); true",
    );
    page.until("isOver");
}

/// Looks make what is shown anew, but not while it is pressed.
fn a_click_may_take_longer_than_a_look(page: &mut Page) {
    // So that nothing moves until the press.
    pause(page);
    page.evaluate("head('id').scrollIntoView({ block: 'center' })");
    let middle = page.middle_of("head('id')");
    page.mouse("mousePressed", middle);
    page.evaluate("byId('pause').click(); turns = 0; first = rows()[0]");
    page.until("turns > 2");
    assert_eq!(page.evaluate("first === rows()[0]"), true, "it is still pressed");
    page.mouse("mouseReleased", middle);
    page.until("head('id').innerText === 'task ▲' && rises(ids()) || ids()");
    page.evaluate("head('id').click()");
    page.until("head('id').innerText === 'task ▼'");
    page.evaluate("head('id').click()");
    page.until("head('id').innerText === 'task' && first !== rows()[0]");
}

/// Also what would mean something else in an address.
fn what_is_typed_into_the_filter_is_looked_for(page: &mut Page) {
    page.evaluate("byId('filter').focus()");
    page.insert("JOIN_deadlock.RS");
    page.until("rows().length === 2 && note() === '2 with “JOIN_deadlock.RS”' || note()");
    let places = "rows().every((row) => row.innerText.includes('examples/sick/join_deadlock.rs:'))";
    assert_eq!(page.evaluate(places), true);
    page.insert("&rows=1#%");
    page.until("note() === '0 with “JOIN_deadlock.RS&rows=1#%”' && rows().length === 0 || note()");
    page.evaluate("byId('filter').select(); document.execCommand('delete')");
    page.until("note() === '' && rows().length > 18 || note()");
}

fn a_tree_is_closed(page: &mut Page) {
    page.evaluate("document.querySelector('[data-tree]').click()");
    page.until("byId('tree').open && byId('tree-text').innerText.includes('task ')");
    page.evaluate("byId('tree-close').click()");
    assert_eq!(page.evaluate("byId('tree').open"), false);
    page.evaluate("document.querySelector('[data-trees]').click()");
    page.until("byId('tree').open && byId('tree-text').innerText.includes('tasks wait here')");
    page.evaluate("byId('tree-close').click()");
}

fn a_paused_page_asks_for_nothing_until_it_goes_on(page: &mut Page) {
    pause(page);
    assert_eq!(page.evaluate("byId('pause').innerText"), "go on");
    let requests = page.evaluate("turns = 0; first = rows()[0]; requests.length");
    page.until("turns > 1");
    assert_eq!(page.evaluate("requests.length"), requests, "requests while it is paused");
    assert_eq!(page.evaluate("first === rows()[0]"), true, "what is shown is not made anew");
    page.evaluate("byId('pause').click()");
    assert_eq!(page.evaluate("byId('pause').innerText"), "pause");
    page.until("first !== rows()[0]");
}

/// While it is made, the page goes on.
fn what_is_recorded_is_a_file_of_so_many_seconds(page: &mut Page) {
    let folder = page.keep_files();
    page.evaluate("byId('trace-seconds').value = '10'; byId('trace').click(); first = rows()[0]");
    assert_eq!(
        page.evaluate("byId('trace').innerText + byId('trace').disabled"),
        "recording …true"
    );
    page.until("first !== rows()[0]");
    assert_eq!(page.evaluate("byId('trace').disabled"), true, "it is still recorded");
    let trace = file_in(&folder, "sick_join_deadlock-");
    let trace: Value = serde_json::from_str(&trace).expect("it is JSON");
    let times = trace["traceEvents"].as_array().expect("it has a list").iter();
    let times: Vec<f64> = times.filter_map(|event| event["ts"].as_f64()).collect();
    let first = times.iter().copied().fold(f64::INFINITY, f64::min);
    let last = times.iter().copied().fold(0.0, f64::max);
    assert!(times.len() > 1000, "{} events", times.len());
    assert!(last - first > 8e6, "from {first} to {last} µs");
    page.until("!byId('trace').disabled && byId('trace').innerText === 'record'");
}

/// What is in the one file of the folder, when it is complete.
fn file_in(folder: &Path, prefix: &str) -> String {
    let deadline = Instant::now() + LIMIT;
    loop {
        let files = fs::read_dir(folder).into_iter().flatten();
        let paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        if let [path] = &paths[..] {
            let name = path.file_name().unwrap().to_str().unwrap();
            if name.starts_with(prefix) && name.ends_with(".json") {
                return fs::read_to_string(path).unwrap();
            }
        }
        assert!(Instant::now() < deadline, "{paths:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// What stands behind the # of the address; the page is not loaded anew.
fn the_token_may_come_later(page: &mut Page, url: &str) {
    let (_, token) = url.split_once('#').expect("the token is behind it");
    page.evaluate("location.hash = ''");
    page.until("statusText().startsWith('the token is missing: ') || statusText()");
    page.evaluate("location.hash = 'wrong'");
    page.until("statusText().startsWith('401: ') || statusText()");
    assert_eq!(page.evaluate("byId('status').className"), "bad");
    page.evaluate(&format!("location.hash = '{token}'"));
    page.until("statusText().startsWith('as of ') && byId('status').className === ''");
}
