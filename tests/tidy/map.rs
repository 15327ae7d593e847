//! The map at the head of `src/engine.rs`: it names each module of the engine, in an order in which they can
//! be read, and says how large they are.
//!
//! A number may be wrong by a tenth, so that not each change of the code is one of the map.

use crate::source::Source;
use crate::{floors, read};

/// Lines and files that are not compiled for tests only.
#[derive(Clone, Copy)]
struct Size {
    lines: usize,
    files: usize,
}

/// The size of the files whose path, without `src/engine`, begins like this.
fn size(sources: &[Source], begin: &str) -> Size {
    let inside = |source: &&Source| {
        let rest =
            source.path.strip_prefix("src/engine/").and_then(|rest| rest.strip_prefix(begin));
        rest.is_some_and(|rest| begin.is_empty() || rest.starts_with(['.', '/']))
    };
    let shipped = |source: &Source| source.in_test.iter().filter(|in_test| !**in_test).count();
    let lengths: Vec<_> =
        sources.iter().filter(inside).map(shipped).filter(|&lines| lines != 0).collect();
    Size { lines: lengths.iter().sum(), files: lengths.len() }
}

fn head(sources: &[Source]) -> &[String] {
    &sources.iter().find(|source| source.path == "src/engine.rs").expect("it is there").raw
}

/// The first word of `text`, as a number.
fn number(text: &str) -> Option<usize> {
    text.split(' ').next()?.replace(',', "").parse().ok()
}

/// The modules that the table names, in its order, with the lines it says.
fn table(sources: &[Source]) -> Vec<(&str, usize)> {
    let rows =
        head(sources).iter().filter_map(|line| line.strip_prefix("//! | `")?.split_once("` | "));
    rows.filter_map(|(name, rest)| Some((name, number(rest)?))).collect()
}

/// What the sentence above the table says of all modules together.
fn total(sources: &[Source]) -> Option<Size> {
    let line = head(sources).iter().find_map(|line| line.strip_prefix("//! The engine has "))?;
    let (lines, files) = line.split_once(" lines in ")?;
    Some(Size { lines: number(lines)?, files: number(files)? })
}

#[track_caller]
fn compare(what: &str, said: usize, is: usize) {
    assert!(said.abs_diff(is) * 10 <= is, "{what}: {is}, and the map says {said}");
}

#[test]
fn the_map_of_the_engine_names_each_module_with_its_size() {
    let sources = read(&["src"]);
    let table = table(&sources);
    let modules =
        head(&sources).iter().filter_map(|line| line.split_once("mod ")?.1.strip_suffix(';'));
    for module in modules {
        let said = table.iter().find(|(name, _)| *name == module).map_or(0, |(_, lines)| *lines);
        compare(&format!("lines of `{module}`"), said, size(&sources, module).lines);
    }
    let (said, is) = (total(&sources).expect("a sentence with the total"), size(&sources, ""));
    compare("lines of the engine", said.lines, is.lines);
    compare("files of the engine", said.files, is.files);
}

/// Rooms that know nothing of async, and are used by the engine and by what stands above it.
const BESIDE: [&str; 2] = ["impls", "primitive_kind"];

#[test]
fn modules_of_the_engine_import_what_stands_before_them_in_its_map() {
    let sources = read(&["src"]);
    let table = table(&sources);
    let place = |room: &str| {
        let name = room.strip_prefix("engine::")?;
        table.iter().position(|(known, _)| *known == name)
    };
    for (from, to) in sources.iter().flat_map(floors::arrows) {
        if from.starts_with("engine::") && !BESIDE.contains(&to.as_str()) {
            assert!(place(&to) < place(&from), "`{from}` imports `{to}`, which stands after it");
            assert!(place(&to).is_some(), "`{from}` imports `{to}`, which is not of the engine");
        }
    }
}
