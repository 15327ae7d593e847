//! What the page `liten::guide::migrating` says of tokio's names.
#![cfg(target_os = "linux")]

use std::fs::read_to_string;
use std::path::Path;

#[allow(dead_code, clippy::let_underscore_future, reason = "names are compiled and not run")]
mod on_tokio {
    use tokio as rt;
    include!("names/both.rs");
}

#[allow(dead_code, clippy::let_underscore_future, reason = "names are compiled and not run")]
mod on_liten {
    use liten as rt;
    include!("names/both.rs");
}

/// One name of a row, and what the row says of it.
struct Entry {
    section: String,
    name: String,
    verdict: String,
}

fn read(path: &str) -> String {
    read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
        .expect("it is in the repository")
}

/// What stands in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The names of the part "Name by name", those of "`Type`: `a`, `b`" as `Type::a` and `Type::b`.
fn entries(page: &str) -> Vec<Entry> {
    let (_, part) = page.split_once("//! # Name by name").expect("the page has this part");
    let (part, _) = part.split_once("//! ## Lines for Cargo.toml").expect("it ends like this");
    let mut entries = Vec::new();
    let mut section = "";
    for line in part.lines() {
        section = line.strip_prefix("//! ## ").unwrap_or(section);
        let Some((names, verdict)) =
            line.strip_prefix("//! | ").and_then(|row| row.split_once(" | "))
        else {
            continue;
        };
        let (owner, names) = match names.split_once("`: `") {
            Some((owner, names)) => (format!("{}::", &owner[1..]), format!("`{names}")),
            None => (String::new(), names.to_owned()),
        };
        entries.extend(quoted(&names).map(|name| Entry {
            section: section.to_owned(),
            name: format!("{owner}{name}"),
            verdict: verdict.to_owned(),
        }));
    }
    entries
}

/// Without what stands between angle brackets, and their colons.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut depth = 0;
    for letter in text.replace("::<", "<").replace("->", "").chars() {
        match letter {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    plain
}

/// Whether `text` has `name` and no letter around it.
fn has(text: &str, name: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(name).any(|(at, _)| {
        !text[..at].ends_with(is_letter) && !text[at + name.len()..].starts_with(is_letter)
    })
}

/// `tools/api/liten.txt` is compared with the code by `cargo run -p api -- --check`.
fn interface() -> String {
    read("../../tools/api/liten.txt").lines().map(|line| plain(line) + "\n").collect()
}

#[test]
fn what_the_page_calls_the_same_is_compiled_with_both() {
    /// Their methods are called one behind the other.
    const CHAINED: [&str; 3] = ["Command", "DirBuilder", "OpenOptions"];
    let text = read("tests/names/both.rs");
    let both: String = text.lines().map(|line| plain(line) + "\n" + line + "\n").collect();
    let entries = entries(&read("../../src/guide/migrating.rs"));
    let same: Vec<&Entry> =
        entries.iter().filter(|entry| entry.verdict.starts_with("same")).collect();
    assert!(same.len() > 300, "only {} names have been found", same.len());
    for Entry { name, section, .. } in same {
        let (owner, method) = name.rsplit_once("::").unwrap_or(("", name));
        let chained = CHAINED.contains(&owner) && both.contains(&format!(".{method}("));
        // What is in a module may be imported from it.
        let imported = !owner.starts_with(char::is_uppercase) && has(&both, method);
        assert!(
            has(&both, name) || chained || imported,
            "{section}: {name} is called the same, but not tried"
        );
    }
}

#[test]
fn what_the_page_calls_missing_is_missing() {
    let interface = interface();
    let entries = entries(&read("../../src/guide/migrating.rs"));
    let missing: Vec<&Entry> =
        entries.iter().filter(|entry| entry.verdict.starts_with("missing")).collect();
    assert!(missing.len() > 20, "only {} names have been found", missing.len());
    for Entry { name, section, .. } in missing {
        let path = format!("liten::{section}::{name}");
        assert!(!has(&interface, &path), "{path} is there: the page calls it missing");
    }
}

#[test]
fn other_names_and_names_that_differ_are_there() {
    let interface = interface();
    let page = read("../../src/guide/migrating.rs");
    let mut others = 0;
    for Entry { name, section, verdict } in entries(&page) {
        if verdict.starts_with("differs") {
            let path = format!("liten::{section}::{name}");
            assert!(has(&interface, &path), "{path} is not there");
        } else if let Some(path) = verdict.strip_prefix('`') {
            let path = format!("liten::{}", path.split('`').next().unwrap_or_default());
            assert!(has(&interface, &path), "{path} is not there");
            others += 1;
        }
    }
    assert!(others > 10, "only {others} names have been found");
}

#[test]
fn other_crates_have_their_line_for_cargo() {
    let page = read("../../src/guide/migrating.rs");
    for Entry { name, verdict, .. } in entries(&page) {
        if let Some((_, named)) = verdict.split_once("crate `") {
            let line = format!("//! {} = {{ ", named.split('`').next().unwrap_or_default());
            assert!(page.contains(&line), "{name}: no line for Cargo.toml: {line}");
        }
    }
}
