//! The words of the engine: each word in the name of one of its types stands in the table at the head of
//! `src/engine.rs`, which says what it means there, or among the ordinary words below.
//!
//! So a reader who meets a type finds its words in one place, and the author of a new type asks first whether
//! there is a word already. The two lists hold what is used, and nothing else.

use crate::source::{Source, bracket_end, is_ident, skip_blanks};
use crate::{Violation, read, report, violation};
use std::collections::BTreeSet;
use std::fs::read_to_string;
use std::ops::Range;
use std::path::Path;

/// Words that mean in the engine what they mean in any Rust program.
const ORDINARY: &[&str] = &[
    // Rust's.
    "Abort",
    "Atomic",
    "Cell",
    "Drop",
    "Error",
    "Future",
    "Guard",
    "Handle",
    "Header",
    "Id",
    "Inner",
    "Join",
    "Joiner",
    "Key",
    "List",
    "Location",
    "Lock",
    "Locked",
    "Mutex",
    "Owned",
    "Payload",
    "Pending",
    "Polled",
    "Raw",
    "Ref",
    "Reset",
    "Rng",
    "Rw",
    "Scoped",
    "Shared",
    "Spawn",
    "State",
    "Thread",
    "Unsafe",
    "Unwind",
    "Unwinding",
    "Vtable",
    // English.
    "After",
    "Cause",
    "Clock",
    "Coarse",
    "Closed",
    "Complete",
    "Config",
    "Count",
    "Current",
    "Direction",
    "End",
    "Ended",
    "Entered",
    "Entries",
    "Entry",
    "Event",
    "First",
    "Flag",
    "Free",
    "Hook",
    "Kind",
    "Last",
    "May",
    "Name",
    "Named",
    "Next",
    "Released",
    "Replaced",
    "Shutdown",
    "Setup",
    "Size",
    "Start",
    "Stats",
    "Submitted",
    "Time",
    "Used",
    "Wait",
    "Waiter",
    "Write",
    "Wrong",
    // Between other words.
    "In",
    "Of",
    "On",
];

/// What stands above the table.
const HEADING: &str = "//! # Words";

/// A row of the table: words that belong together, and what they mean.
struct Row {
    words: Vec<String>,
    meaning: String,
}

fn table(engine: &Source) -> Vec<Row> {
    let lines = engine.raw.iter().skip_while(|line| *line != HEADING);
    let rows = lines.filter_map(|line| line.strip_prefix("//! | `")?.split_once("` | "));
    let row = |(words, meaning): (&str, &str)| Row {
        words: words.split("`, `").map(str::to_owned).collect(),
        meaning: meaning.trim_end_matches([' ', '|']).to_owned(),
    };
    rows.map(row).collect()
}

/// The words of a name: `RwLock` has two.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::<String>::new();
    for c in name.chars() {
        match words.last_mut() {
            Some(word) if !c.is_uppercase() => word.push(c),
            _ => words.push(c.to_string()),
        }
    }
    words
}

/// The types that shipped code declares: the line and the name of each.
fn types(source: &Source) -> Vec<(usize, String)> {
    let implementations = implementations(source);
    let mut found = Vec::new();
    for keyword in ["struct", "enum", "union", "trait", "type"] {
        for at in source.words(keyword) {
            // `type Output = ..` is a name that the trait has given.
            if keyword == "type" && implementations.iter().any(|span| span.contains(&at)) {
                continue;
            }
            let name = &source.code[skip_blanks(&source.code, at + keyword.len())..];
            let name: String = name.iter().take_while(|c| is_ident(**c)).collect();
            let line = source.line_of(at);
            if source.is_shipped(line) && name.starts_with(char::is_uppercase) {
                found.push((line, name));
            }
        }
    }
    found
}

/// From `impl` to the closing brace. Not for `impl Trait` in a signature, which is no first word of a line.
fn implementations(source: &Source) -> Vec<Range<usize>> {
    let code = &source.code;
    let is_first = |at: &usize| {
        let line = code[..*at].iter().rposition(|c| *c == '\n').map_or(0, |newline| newline + 1);
        let before: String = code[line..*at].iter().collect();
        matches!(before.trim(), "" | "unsafe")
    };
    let begins = source.words("impl").into_iter().filter(is_first);
    let brace = |at: usize| code[at..].iter().position(|c| *c == '{').map(|length| at + length);
    begins.filter_map(|at| Some(at..bracket_end(code, brace(at)?))).collect()
}

/// Whether `word` is the listed one, or its plural.
fn is_form_of(word: &str, listed: &str) -> bool {
    word.strip_prefix(listed).is_some_and(|rest| rest.is_empty() || rest == "s")
}

/// Words of types that are not listed.
fn unlisted(sources: &[Source], listed: &[&str]) -> Vec<Violation> {
    let mut found = Vec::new();
    for source in sources {
        for (line, name) in types(source) {
            for word in words(&name) {
                if !listed.iter().any(|listed| is_form_of(&word, listed)) {
                    let reason = format!(
                        "`{word}` of `{name}` is not in the table of words in src/engine.rs, and no ordinary \
                         word of tests/tidy/words.rs"
                    );
                    found.push(violation(source, line, reason));
                }
            }
        }
    }
    found
}

/// Words that are listed and used by no type.
fn unused<'a>(sources: &[Source], listed: &[&'a str]) -> Vec<&'a str> {
    let names = sources.iter().flat_map(types);
    let used: BTreeSet<String> = names.flat_map(|(_, name)| words(&name)).collect();
    let is_used = |listed: &str| used.iter().any(|word| is_form_of(word, listed));
    listed.iter().copied().filter(|listed| !is_used(listed)).collect()
}

/// The table at the head of the engine.
fn engine_table() -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine.rs");
    table(&Source::new("src/engine.rs", &read_to_string(path).expect("it is there")))
}

fn listed(table: &[Row]) -> Vec<&str> {
    let of_table = table.iter().flat_map(|row| &row.words).map(String::as_str);
    of_table.chain(ORDINARY.iter().copied()).collect()
}

#[test]
fn the_names_of_the_engines_types_consist_of_listed_words() {
    let table = engine_table();
    report(unlisted(&read(&["src/engine"]), &listed(&table)));
}

#[test]
fn each_listed_word_is_used_and_listed_once() {
    let table = engine_table();
    let mut listed = listed(&table);
    assert_eq!(
        unused(&read(&["src/engine"]), &listed),
        [""; 0],
        "no type has these words in its name"
    );
    listed.sort_unstable();
    let double = listed.windows(2).find(|pair| is_form_of(pair[1], pair[0]));
    assert_eq!(double, None, "two entries for one word");
}

#[test]
fn each_word_of_the_table_is_in_its_place_and_has_a_meaning() {
    let table = engine_table();
    assert!(table.is_sorted_by_key(|row| row.words.first()), "the table is in alphabetical order");
    for Row { words, meaning } in &table {
        assert!(meaning.ends_with('.') && !meaning.contains(". "), "one sentence: {words:?}");
    }
}

#[test]
fn a_word_that_is_not_listed_is_found() {
    let text = "\
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | `Seat`, `Seated` | Where one sits. |
pub(super) struct SeatGuards;
impl Iterator for SeatGuards { type Output = Seated; }
struct SeatDesk;
fn f() { enum Roster {} }
type Census = u8;
#[cfg(test)]
struct Remains;
";
    let source = Source::new("src/engine.rs", text);
    let table = table(&source);
    assert_eq!(table[0].words, ["Seat", "Seated"]);
    assert_eq!(table[0].meaning, "Where one sits.");
    let sources = [source];
    let known = ["Seat", "Seated", "Guard"];
    let found = unlisted(&sources, &known);
    let words: Vec<_> = found.iter().map(|found| found.reason.split('`').nth(1)).collect();
    assert_eq!(words, [Some("Desk"), Some("Roster"), Some("Census")]);
    assert_eq!(unused(&sources, &known), ["Seated"]);
}
