//! Measures how much there is to read: `cargo run -p measure [REPOSITORY]`. Another checkout can be named, so
//! that one can compare before and after.
//!
//! A line of code is one that is neither blank nor comment, and is not compiled for tests or models only. The
//! code that reads the sources is that of the house rules, so that both mean the same by "test". The files that
//! a wake crosses, and those on the path of a task, are a judgement: they stand in `paths.txt`, with the reason
//! beside each, and a file in that list that does not exist is an error.

#[path = "../../../tests/tidy/circles.rs"]
#[allow(dead_code, reason = "the house rules need more of it")]
mod circles;
#[path = "../../../tests/tidy/floors.rs"]
#[allow(dead_code, reason = "the house rules need more of it")]
mod floors;
#[path = "../../../tests/tidy/source.rs"]
#[allow(dead_code, reason = "the house rules need more of it")]
mod source;

use source::Source;
use std::path::PathBuf;
use std::process::ExitCode;

/// What only components need: a reader of the native engine never opens these. `host` is the room's name in
/// older checkouts.
const COMPONENT: [&str; 4] =
    ["src/component", "src/engine/host", "src/engine/driver/wasm", "src/engine/sync_shim/wasm"];
/// A circle of so many files can be read as one thing.
const SMALL_CIRCLE: usize = 3;
const PATHS: &str = include_str!("paths.txt");

/// A breach of a rule, as the house rules report it.
#[allow(dead_code, reason = "nothing is reported here")]
struct Violation {
    place: String,
    reason: String,
}

fn violation(source: &Source, line: usize, reason: impl Into<String>) -> Violation {
    Violation { place: format!("{}:{}", source.path, line + 1), reason: reason.into() }
}

/// Lines of code of one file.
fn code_lines(source: &Source) -> usize {
    let lines = source.code_lines();
    let counts =
        |(line, text): (usize, &String)| source.is_shipped(line) && !text.trim().is_empty();
    lines.iter().enumerate().filter(|entry| counts(*entry)).count()
}

/// Lines of code of the files whose path is `wanted`, and the number of these files.
fn total(sources: &[Source], wanted: impl Fn(&str) -> bool) -> (usize, usize) {
    let counts: Vec<usize> = sources
        .iter()
        .filter(|source| wanted(&source.path))
        .map(code_lines)
        .filter(|&lines| lines != 0)
        .collect();
    (counts.iter().sum(), counts.len())
}

fn is_native_engine(path: &str) -> bool {
    let is_engine = path == "src/engine.rs" || path.starts_with("src/engine/");
    is_engine && !COMPONENT.iter().any(|begin| path.starts_with(begin))
}

/// The files of `paths.txt` below the heading.
fn listed(heading: &str) -> impl Iterator<Item = &'static str> {
    let lines = PATHS.lines().skip_while(move |line| *line != heading).skip(1);
    let files = lines.take_while(|line| !line.starts_with('#'));
    files.filter_map(|line| line.split_whitespace().next())
}

/// Rows of the table of words at the head of the engine.
fn words(sources: &[Source]) -> usize {
    let head = sources.iter().find(|source| source.path == "src/engine.rs");
    let lines = head.iter().flat_map(|source| &source.raw);
    let table = lines.skip_while(|line| !line.starts_with("//! | word |")).skip(2);
    table.take_while(|line| line.starts_with("//! |")).count()
}

fn main() -> ExitCode {
    let here = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let root = std::env::args().nth(1).map_or(here, PathBuf::from);
    let sources = source::read_tree(&root, &["src"]);
    if sources.is_empty() {
        eprintln!("{} has no folder `src` with Rust files", root.display());
        return ExitCode::from(2);
    }
    let (engine, engine_files) = total(&sources, is_native_engine);
    let (all, all_files) = total(&sources, |_| true);
    let circles = circles::circles(&circles::arrows(&sources));
    let large: Vec<_> = circles.iter().filter(|files| files.len() > SMALL_CIRCLE).collect();
    println!("| what | now |\n|---|---|");
    println!("| lines of code of the native engine | {engine} |");
    println!("| files of it | {engine_files} |");
    let mut missing = false;
    let paths = [
        ("files on the path spawn, wake, poll, event, shutdown", ["# wake", "# path"].as_slice()),
        ("files that a wake crosses", &["# wake"]),
    ];
    for (what, headings) in paths {
        let files: Vec<&str> = headings.iter().flat_map(|heading| listed(heading)).collect();
        let (lines, found) = total(&sources, |path| files.contains(&path));
        println!("| {what} | {} ({lines} lines of code) |", files.len());
        if found != files.len() {
            let is_missing = |file: &&&str| sources.iter().all(|source| source.path != **file);
            let gone: Vec<_> = files.iter().filter(is_missing).collect();
            eprintln!("paths.txt names files that are not there, or have no code: {gone:?}");
            missing = true;
        }
    }
    println!("| words in the table of the engine | {} |", words(&sources));
    println!("| circles of more than {SMALL_CIRCLE} files in `src` | {} |", large.len());
    println!("| lines of code in `src` in all | {all} in {all_files} files |");
    for circle in large {
        println!("\ncircle: {}", circle.join(", "));
    }
    if missing { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
