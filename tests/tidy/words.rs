//! The words of the engine: what is new to a reader of tokio's code stands in one short table at the head of
//! `src/engine.rs`.
//!
//! The table must stay short: a new word is a price that every reader pays. So a row more is a reason to look
//! for a word that the field has already.

use crate::read;
use crate::source::{Source, is_ident};

/// So many can be kept in mind.
const MOST: usize = 30;
const HEADING: &str = "//! # Words";

/// A row of the table: the words, what they mean, and what tokio calls it.
struct Row {
    words: Vec<String>,
    meaning: String,
}

fn table(engine: &Source) -> Vec<Row> {
    let lines = engine.raw.iter().skip_while(|line| *line != HEADING);
    let rows = lines.filter_map(|line| line.strip_prefix("//! | *")?.split_once("* | "));
    let row = |(words, rest): (&str, &str)| Row {
        words: words.split("*, *").map(str::to_owned).collect(),
        meaning: rest.split(" | ").next().unwrap_or_default().to_owned(),
    };
    rows.map(row).collect()
}

#[test]
fn the_table_of_words_is_short_and_in_order_and_each_has_a_meaning() {
    let table = table(&head());
    assert!((1..=MOST).contains(&table.len()), "{} rows", table.len());
    assert!(table.is_sorted_by_key(|row| row.words.first()), "the table is in alphabetical order");
    assert!(table.iter().all(|row| !row.meaning.is_empty()));
}

/// The file with the table.
fn head() -> Source {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine.rs");
    Source::new("src/engine.rs", &std::fs::read_to_string(path).expect("it is there"))
}

#[test]
fn each_word_of_the_table_is_used_by_the_engine() {
    let sources = read(&["src/engine"]);
    let used = |word: &str| {
        let comments = || sources.iter().flat_map(|source| &source.comments);
        comments().any(|line| has(line, word))
    };
    let table = table(&head());
    let words = table.iter().flat_map(|row| &row.words);
    let unused: Vec<_> = words.filter(|word| !used(word)).collect();
    assert!(unused.is_empty(), "no file of the engine uses these words: {unused:?}");
}

/// Whether the line has these words, and not only a part of others.
fn has(line: &str, words: &str) -> bool {
    let is_whole = |(at, _): (usize, &str)| {
        let before = line[..at].chars().next_back();
        let after = line[at + words.len()..].chars().next();
        ![before, after].into_iter().flatten().any(is_ident)
    };
    line.match_indices(words).any(is_whole)
}

#[test]
fn a_part_of_a_word_is_no_word() {
    assert!(has("//! a worker may rest.", "rest"));
    assert!(!has("//! of no interest to it", "rest"));
}

#[test]
fn a_row_is_read_with_all_its_words() {
    let text = "\
//! # Words
//!
//! | *hot*, *cold* | queued or not | notified |
//! | *seat* | one thread | |
";
    let table = table(&Source::new("src/engine.rs", text));
    assert_eq!(table[0].words, ["hot", "cold"]);
    assert_eq!(table[0].meaning, "queued or not");
    assert_eq!(table[1].words, ["seat"]);
}
