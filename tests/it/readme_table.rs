//! Keeps the table in `tests/README.md` honest: every row is there, and what it names exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rows that the table has to have.
fn expected() -> BTreeSet<String> {
    let numbered = |article: &str, last: u32| -> Vec<String> {
        (1..=last).map(|row| format!("{article}.{row:02}")).collect()
    };
    let mut rows: BTreeSet<String> = (1..=5).map(|row| format!("4.b{row}")).collect();
    for (article, last) in [("0", 30), ("1", 27), ("2", 21), ("3", 21), ("4", 24)] {
        rows.extend(numbered(article, last));
    }
    rows
}

/// The rows of the table: number, and what shows it.
fn rows(text: &str) -> BTreeMap<String, String> {
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let digit = |c: char| c.is_ascii_digit();
        if !(cells[0].starts_with(digit) && cells[0].ends_with(digit)) {
            continue;
        }
        assert_eq!(cells.len(), 3, "number, promise and proof: {line}");
        let twice = rows.insert(cells[0].to_owned(), cells[2].to_owned());
        assert!(twice.is_none(), "{} stands there twice", cells[0]);
    }
    rows
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What stands between backticks.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Said behind a test that only Linux has.
const LINUX: &str = " (Linux)";

/// What stands between backticks, and whether [`LINUX`] is said behind it.
fn marked(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let behind = text.split('`').skip(2).step_by(2);
    names(text).zip(behind.map(|text| text.starts_with(LINUX)))
}

/// The file that `name` stands for: a path from the root of the repository, or a module of this binary.
fn file(name: &str) -> PathBuf {
    match name.ends_with(".rs") {
        true => root().join(name),
        false => root().join("tests/it").join(format!("{}.rs", name.replace("::", "/"))),
    }
}

/// A reference is `file` or `file::function`.
fn parts(reference: &str) -> (&str, Option<&str>) {
    match reference.rsplit_once("::") {
        Some((name, function)) => (name, Some(function)),
        None => (reference, None),
    }
}

/// What is wrong with a reference.
fn wrong(reference: &str) -> Option<String> {
    let (name, function) = parts(reference);
    let path = file(name);
    let Ok(text) = fs::read_to_string(&path) else {
        return Some(format!("{reference}: there is no {}", path.display()));
    };
    let known = function.is_none_or(|function| text.contains(&format!("fn {function}(")));
    (!known).then(|| format!("{reference}: no such function in {}", path.display()))
}

const CONDITION: &str = "cfg(target_os = \"linux\")]";

/// Whether the module, or one that it is in, has its place in this binary on Linux alone.
fn is_placed_on_linux_only(module: &str) -> bool {
    let (parent, name) = match module.rsplit_once("::") {
        Some((parent, name)) => (parent, name),
        None => ("main", module),
    };
    let text = fs::read_to_string(file(parent)).unwrap_or_default();
    let place = |words: &str| text.contains(&format!("#[{CONDITION}\n{words} {name};"));
    place("mod") || place("pub(crate) mod") || parent != "main" && is_placed_on_linux_only(parent)
}

/// Whether the test, its file, or its file's place in this binary is left out elsewhere.
fn is_linux_only(reference: &str) -> bool {
    let (name, function) = parts(reference);
    let function = function.unwrap_or_default();
    let text = fs::read_to_string(file(name)).unwrap_or_default();
    let test = text.split_once(&format!("fn {function}(")).map_or("", |(before, _)| before);
    let attributes = test.rsplit("\n\n").next().unwrap_or_default();
    text.contains(&format!("#![{CONDITION}"))
        || attributes.contains(&format!("#[{CONDITION}"))
        || is_placed_on_linux_only(name)
}

#[test]
fn what_is_shown_on_linux_only_is_marked() {
    let rows = rows(&fs::read_to_string(root().join("tests/README.md")).unwrap());
    let mut breaches = Vec::new();
    for (row, proof) in &rows {
        for (reference, is_marked) in marked(proof) {
            if is_marked != is_linux_only(reference) {
                breaches.push(format!("{row}: {reference}: marked is {is_marked}"));
            }
        }
    }
    assert!(breaches.is_empty(), "\n{}", breaches.join("\n"));
}

#[test]
fn every_row_is_shown_by_something_that_exists() {
    let Ok(text) = fs::read_to_string(root().join("tests/README.md")) else {
        panic!("tests/README.md is missing");
    };
    let rows = rows(&text);
    assert_eq!(rows.keys().cloned().collect::<BTreeSet<_>>(), expected());
    let mut breaches = Vec::new();
    for (row, proof) in &rows {
        // A row without a test says why.
        if names(proof).next().is_none() && !proof.starts_with("none: ") {
            breaches.push(format!("{row}: neither a test nor a reason"));
        }
        let references = names(proof).filter(|name| name.contains("::") || name.ends_with(".rs"));
        breaches.extend(references.filter_map(wrong).map(|breach| format!("{row}: {breach}")));
    }
    assert!(breaches.is_empty(), "\n{}", breaches.join("\n"));
}

/// The second table: what no article promises.
#[test]
fn what_has_no_row_is_shown_by_something_that_exists() {
    let text = fs::read_to_string(root().join("tests/README.md")).unwrap();
    let (_, table) = text.split_once("## What has no row").expect("the table is there");
    let proofs = table.lines().filter_map(|line| line.strip_suffix(" |")?.rsplit_once(" | "));
    let shown: Vec<_> = proofs.flat_map(|(_, proof)| names(proof)).collect();
    assert!(shown.len() > 60, "the table is read: {shown:?}");
    let breaches: Vec<_> = shown.into_iter().filter_map(wrong).collect();
    assert!(breaches.is_empty(), "\n{}", breaches.join("\n"));
}
