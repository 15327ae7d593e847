//! Insight's page of each sick program in Chromium: what a person reads there first.

use crate::chromium::Page;
use crate::process::LIMIT;
use crate::sick_cases::{CASES, Case, Patient};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{fs, thread};

/// The sentences at the top of the page, a line each.
const SENTENCES: &str =
    "[...document.querySelectorAll('.findings li')].map((li) => li.innerText).join('\\n')";

/// One browser for all of them: it is what costs time.
#[test]
fn each_sickness_stands_on_top_of_the_page() {
    let patients: Vec<(&Case, Patient)> = CASES.iter().map(|case| (*case, case.start())).collect();
    // From now on each is looked at, so that what takes several looks is seen by all of them at one time.
    for (_, patient) in &patients {
        patient.get("/text");
    }
    let mut page = Page::open("about:blank");
    page.listen();
    for (case, patient) in &patients {
        page.go_to(&patient.url);
        let sentence = expect_sentence(&mut page, case);
        assert!(!sentence.contains("ward.rs"), "{sentence}");
        let title = page.evaluate("document.title");
        assert_eq!(title, format!("sick_{} – insight", case.name));
        let status = page.evaluate("document.getElementById('status').innerText");
        assert!(status.as_str().is_some_and(|status| status.starts_with("as of ")), "{status}");
        let rows = page.evaluate("document.querySelectorAll('article tbody tr').length");
        assert!(rows.as_u64().is_some_and(|rows| rows > 4), "{rows} rows");
        expect_sockets(&mut page);
        if case.kind == "deadlock" {
            expect_circle(&mut page);
        }
        page.resize(1200, 720);
        let picture = page.screenshot();
        assert!(picture.starts_with(b"\x89PNG"), "{} is no picture", case.name);
        fs::write(picture_of(case), picture).unwrap();
        assert_eq!(page.complaints(), [""; 0], "the console of sick_{}", case.name);
    }
}

/// The healthy work of each of them has a listener and eight connections.
fn expect_sockets(page: &mut Page) {
    let shown = page.evaluate("document.querySelector('.sockets').innerText");
    let shown = shown.as_str().unwrap_or_default();
    let open = shown.matches("established").count();
    assert!(open >= 16 && shown.contains("listens") && shown.contains("127.0.0.1:"), "{shown}");
    assert!(!shown.contains("is not known"), "{shown}");
}

/// The tasks that wait for each other are drawn, and the page shows where the first of them waits.
fn expect_circle(page: &mut Page) {
    let shown = page.evaluate("document.querySelector('.waits').innerText");
    let shown = shown.as_str().unwrap_or_default();
    assert!(shown.contains(", for ever") && shown.contains("a circle"), "{shown}");
    page.evaluate("document.querySelector('.waits button').click()");
    let deadline = Instant::now() + LIMIT;
    loop {
        let tree = page.evaluate("document.getElementById('tree-text').innerText");
        let tree = tree.as_str().unwrap_or_default();
        // The deadlocked task itself, down to what it waits for.
        if tree.contains("_deadlock::") {
            break;
        }
        assert!(Instant::now() < deadline, "{tree}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// For a person who wants to see them: in cargo's folder for what tests write.
fn picture_of(case: &Case) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("sick_{}.png", case.name))
}

/// The sentence on the page that names the case's places and its cause.
#[track_caller]
fn expect_sentence(page: &mut Page, case: &Case) -> String {
    let deadline = Instant::now() + LIMIT;
    loop {
        let said = page.evaluate(SENTENCES);
        let said = said.as_str().unwrap_or_default();
        if let Some(sentence) = said.lines().find(|sentence| case.is_said_by(sentence)) {
            return sentence.to_owned();
        }
        assert!(
            Instant::now() < deadline,
            "{} at {:?}: {said}, {}",
            case.kind,
            case.places(),
            page.evaluate("document.visibilityState + document.getElementById('status').innerText")
        );
        thread::sleep(Duration::from_millis(50));
    }
}
