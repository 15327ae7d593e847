//! Which module imports which: finds every `crate::` and `super::` path in shipped code and compares floors.

use crate::source::{Source, is_ident, skip_blanks};
use crate::{Violation, violation};
use std::collections::BTreeSet;

/// The plan of the house; the tables themselves stand in `tests/tidy.rs`.
pub(crate) struct Plan {
    /// Module and floor. The longest entry that is a prefix of a path decides.
    pub(crate) floors: &'static [(&'static str, u8)],
    /// Importer and imported rooms on one floor that may meet all the same.
    pub(crate) sideways: &'static [(&'static str, &'static str)],
    /// Importer, imported room, and the only paths in it that the importer may name.
    pub(crate) doors: &'static [(&'static str, &'static str, &'static [&'static str])],
}

pub(crate) fn check(source: &Source, plan: &Plan) -> Vec<Violation> {
    match source.module() {
        // The roof imports anything: it only re-exports.
        Some(module) if !module.is_empty() => shipped_imports(source, &module)
            .filter_map(|(line, path)| {
                judge(&module.join("::"), &path, plan).map(|reason| violation(source, line, reason))
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The room that a path begins with. The engine is no room, but has rooms.
pub(crate) fn room(path: &str) -> String {
    let names = if path.starts_with("engine::") { 2 } else { 1 };
    path.split("::").take(names).collect::<Vec<_>>().join("::")
}

/// The other rooms that the file imports: its own room and theirs, in pairs.
pub(crate) fn arrows(source: &Source) -> Vec<(String, String)> {
    let paths = shipped_paths(source).into_iter();
    paths.map(|(from, path)| (from, room(&path))).filter(|(from, to)| from != to).collect()
}

/// What shipped code of the file names: its own room, and each path.
fn shipped_paths(source: &Source) -> Vec<(String, String)> {
    let module = source.module().unwrap_or_default();
    let from = module.join("::");
    let to = shipped_imports(source, &module).filter(|_| !from.is_empty());
    to.map(|(_, to)| (room(&from), to)).collect()
}

/// Line and path of everything that shipped code of the file names by `crate::` or `super::`.
fn shipped_imports<'a>(
    source: &'a Source,
    module: &[String],
) -> impl Iterator<Item = (usize, String)> + use<'a> {
    let lines = imports(source, module).into_iter();
    let lines = lines.map(|(at, path)| (source.line_of(at), path.join("::")));
    lines.filter(|(line, _)| source.is_shipped(*line))
}

/// The rows of `sideways`, and the paths of `doors`, that nothing uses.
pub(crate) fn unused(sources: &[Source], plan: &Plan) -> Vec<String> {
    let named: BTreeSet<(String, String)> = sources.iter().flat_map(shipped_paths).collect();
    let is_used = |from: &str, begin: &str| {
        named.iter().any(|(importer, path)| importer == from && path.starts_with(begin))
    };
    let doors = plan.doors.iter().flat_map(|(from, _, open)| open.iter().map(move |to| (from, to)));
    let rows = plan.sideways.iter().map(|(from, to)| (from, to)).chain(doors);
    rows.filter(|(from, to)| !is_used(from, to))
        .map(|(from, to)| format!("{from} -> {to}"))
        .collect()
}

/// Rooms each of which imports the next, and the last the first; empty if there are none.
pub(crate) fn circle(arrows: &BTreeSet<(String, String)>) -> Vec<String> {
    let mut left = arrows.clone();
    loop {
        let importers: BTreeSet<String> = left.iter().map(|(from, _)| from.clone()).collect();
        let before = left.len();
        // A room that imports nothing is on no circle, and neither is an arrow to it.
        left.retain(|(_, to)| importers.contains(to));
        if left.len() == before {
            break;
        }
    }
    // From here each arrow goes on, so the walk comes back to where it was.
    let mut walk: Vec<String> = left.first().map(|(from, _)| from.clone()).into_iter().collect();
    while let Some(last) = walk.last() {
        let Some((_, next)) = left.iter().find(|(from, _)| from == last) else { break };
        if let Some(at) = walk.iter().position(|room| room == next) {
            return walk.split_off(at);
        }
        walk.push(next.clone());
    }
    Vec::new()
}

/// Why `from` must not name `to`, if it must not.
fn judge(from: &str, to: &str, plan: &Plan) -> Option<String> {
    let (from_room, to_room) = (room(from), room(to));
    let floor = |path: &str| {
        let holds = |entry: &str| {
            path.strip_prefix(entry).is_some_and(|r| r.is_empty() || r.starts_with("::"))
        };
        let rows = plan.floors.iter().filter(|(entry, _)| holds(entry));
        rows.max_by_key(|(entry, _)| entry.len()).map(|(_, floor)| *floor)
    };
    let Some(from_floor) = floor(from) else {
        return Some(format!("`{from_room}` has no floor in the table of tests/tidy.rs"));
    };
    let Some(to_floor) = floor(to) else {
        return Some(format!(
            "`crate::{to}` is the roof or has no floor in the table of tests/tidy.rs"
        ));
    };
    if to_floor > from_floor {
        return Some(format!(
            "`{from}` (floor {from_floor}) imports upward: `{to}` is on floor {to_floor}"
        ));
    }
    if from_room == to_room {
        return None;
    }
    let meets = plan.sideways.contains(&(from_room.as_str(), to_room.as_str()));
    if to_floor == from_floor && !meets {
        return Some(format!("`{from}` imports sideways: `{to}` is on floor {to_floor} too"));
    }
    let mut doors = plan.doors.iter().filter(|(f, t, _)| *f == from_room && *t == to_room);
    let closed = doors.any(|(_, _, open)| !open.iter().any(|door| to.starts_with(door)));
    closed.then(|| {
        format!("`{from}` may enter `{to_room}` only by the doors in tests/tidy.rs, not by `{to}`")
    })
}

/// Macros of the file that stand at the root of the crate, for itself too.
fn exported_macros(source: &Source) -> Vec<String> {
    let exports = source.words("macro_export").into_iter();
    let name = |at: usize| {
        let rules = at + source.code[at..].iter().position(|c| *c == '!')?;
        let name = skip_blanks(&source.code, rules + 1);
        Some(source.code[name..].iter().take_while(|c| is_ident(**c)).collect())
    };
    exports.filter_map(name).collect()
}

/// Offset and absolute path (without `crate`) of everything that the file names by `crate::` or `super::`.
pub(crate) fn imports(source: &Source, module: &[String]) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    for at in source.words("crate::") {
        // `pub(in crate::x)` says which modules may see an item, and imports nothing.
        if !preceding(source, at).ends_with("(in ") {
            read_tree(source, at + "crate::".len(), Vec::new(), &mut found);
        }
    }
    let inline = source.inline_modules();
    for at in source.words("super::") {
        if preceding(source, at).ends_with("super::") {
            continue;
        }
        let (mut after, mut up) = (at, 0);
        while source.code[after..].starts_with(&"super::".chars().collect::<Vec<_>>()) {
            after += "super::".len();
            up += 1;
        }
        let depth = inline.iter().filter(|span| span.contains(&at)).count();
        if up > depth {
            let kept = module.len().saturating_sub(up - depth);
            read_tree(source, after, module[..kept].to_vec(), &mut found);
        }
    }
    let own = exported_macros(source);
    found.retain(|(_, path)| !matches!(path.as_slice(), [name] if own.contains(name)));
    found
}

pub(crate) fn preceding(source: &Source, at: usize) -> String {
    source.code[at.saturating_sub(8)..at].iter().collect()
}

/// Reads a path, or a `use` tree with braces, that continues `prefix` at `at`; returns where it ends.
pub(crate) fn read_tree(
    source: &Source,
    at: usize,
    prefix: Vec<String>,
    found: &mut Vec<(usize, Vec<String>)>,
) -> usize {
    let code = &source.code;
    let mut at = skip_blanks(code, at);
    if code.get(at) == Some(&'{') {
        at = skip_blanks(code, at + 1);
        while at < code.len() && code[at] != '}' {
            at = read_tree(source, at, prefix.clone(), found);
            while at < code.len() && !matches!(code[at], ',' | '}') {
                at += 1; // `as Name`
            }
            if code.get(at) == Some(&',') {
                at = skip_blanks(code, at + 1);
            }
        }
        return at + 1;
    }
    let name: String = code[at..].iter().take_while(|c| is_ident(**c)).collect();
    let end = at + name.chars().count();
    let mut path = prefix;
    if name == "super" {
        path.pop();
    } else if !name.is_empty() && name != "self" {
        path.push(name);
    }
    if code[end..].starts_with(&[':', ':']) {
        return read_tree(source, end + 2, path, found);
    }
    if !path.is_empty() {
        found.push((at.min(code.len() - 1), path));
    }
    end.max(at + usize::from(code.get(at) == Some(&'*')))
}
