//! Which files of one room use each other in a circle: each uses the next, and the last the first.
//!
//! A file uses another one if its shipped code names something of it (by `crate::`, `super::`, `self::` or
//! the name of a child), or calls a method that the other file alone defines. A name that a file only passes
//! on counts as one of the file that defines it. A parent and its children are files like any others.

use crate::Violation;
use crate::floors::{self, imports, preceding, read_tree};
use crate::source::{Source, bracket_end, is_ident, item_end, skip_blanks};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Files of a circle that is known, and why it stays.
pub(crate) type Known = (&'static [&'static str], &'static str);

/// One file uses `name` of another one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arrow {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) name: String,
}

/// Circles that are not known, and known ones that are none.
pub(crate) fn check(sources: &[Source], known: &[Known]) -> Vec<Violation> {
    let arrows = arrows(sources);
    let circles = circles(&arrows);
    let is_known = |files: &Vec<String>| known.iter().any(|(row, _)| row == files);
    let new = circles.iter().filter(|files| !is_known(files)).map(|files| Violation {
        place: files.join(", "),
        reason: format!("use each other in a circle:\n{}", ties(files, &arrows).join("\n")),
    });
    let gone = known.iter().filter(|(row, _)| !circles.iter().any(|files| row == files));
    let gone = gone.map(|(row, _)| Violation {
        place: row.join(", "),
        reason: "are listed as a circle in tests/tidy.rs, and are none".to_owned(),
    });
    new.chain(gone).collect()
}

/// What each file of the circle uses of each other one.
fn ties(files: &[String], arrows: &[Arrow]) -> Vec<String> {
    let mut names: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for Arrow { from, to, name } in arrows {
        if files.contains(from) && files.contains(to) {
            names.entry((from, to)).or_default().insert(name);
        }
    }
    let line = |((from, to), names): ((&str, &str), BTreeSet<&str>)| {
        format!("    {from} -> {to}: {}", names.into_iter().collect::<Vec<_>>().join(", "))
    };
    names.into_iter().map(line).collect()
}

/// The largest sets of files of which each reaches each other one by arrows.
pub(crate) fn circles(arrows: &[Arrow]) -> Vec<Vec<String>> {
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for arrow in arrows {
        next.entry(&arrow.from).or_default().insert(&arrow.to);
    }
    let reached = |from: &str| {
        let (mut seen, mut left) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(file) = left.pop() {
            let new = next.get(file.as_str()).into_iter().flatten();
            left.extend(new.filter(|to| seen.insert((**to).to_owned())).map(|to| (*to).to_owned()));
        }
        seen
    };
    let all: BTreeMap<&str, BTreeSet<String>> =
        next.keys().map(|from| (*from, reached(from))).collect();
    let mut found = BTreeSet::new();
    for (file, others) in all.iter().filter(|(file, others)| others.contains(**file)) {
        let back = |other: &&String| all.get(other.as_str()).is_some_and(|its| its.contains(*file));
        found.insert(others.iter().filter(back).cloned().collect::<Vec<String>>());
    }
    found.into_iter().collect()
}

/// All arrows between files of one room.
pub(crate) fn arrows(sources: &[Source]) -> Vec<Arrow> {
    let house = House::new(sources);
    let mut found = Vec::new();
    for file in house.files.values() {
        let mut uses = house.uses(file);
        uses.extend(house.calls(file));
        let to =
            uses.into_iter().filter(|(to, _)| to.room == file.room && to.path() != file.path());
        found.extend(to.map(|(to, name)| Arrow {
            from: file.path().to_owned(),
            to: to.path().to_owned(),
            name,
        }));
    }
    found
}

/// A file with shipped code.
struct File<'a> {
    source: &'a Source,
    room: String,
    /// What it names: the name that it has here, the path, and whether a `use` item may only pass it on.
    used: Vec<(String, Vec<String>, bool)>,
    /// The names that these give to something of this crate.
    names: BTreeMap<String, Vec<String>>,
    /// Modules that are used with a star.
    stars: Vec<Vec<String>>,
    defined: BTreeSet<String>,
    /// The words of its shipped code, without `use` items and declarations of modules.
    mentioned: BTreeSet<String>,
}

impl<'a> File<'a> {
    fn new(source: &'a Source, module: Vec<String>) -> Self {
        let items = use_items(source);
        let mut paths = imports(source, &module);
        paths.extend(local_paths(source, &module));
        let shipped = paths.into_iter().filter(|(at, _)| source.is_shipped(source.line_of(*at)));
        let (mut used, mut names, mut stars) = (Vec::new(), BTreeMap::new(), Vec::new());
        for (at, path) in shipped {
            let item = items.iter().find(|(span, _)| span.contains(&at));
            let last = path.last().cloned().unwrap_or_default();
            let name = alias(&source.code, at).unwrap_or(last);
            if item.is_some() && source.code[at] == '*' {
                stars.push(path.clone());
            } else if item.is_some() {
                names.insert(name.clone(), path.clone());
            }
            // What a parent has from its children is often there for other children.
            let is_passed_on = item.is_some_and(|(_, public)| *public || path.starts_with(&module));
            used.push((name, path, is_passed_on));
        }
        let room = floors::room(&module.join("::"));
        let mentioned = mentioned(source, &items);
        Self { source, room, used, names, stars, defined: defined(source), mentioned }
    }

    fn path(&self) -> &str {
        &self.source.path
    }
}

/// All shipped files by the paths of their modules, and the methods that one file alone defines.
struct House<'a> {
    files: BTreeMap<String, File<'a>>,
    /// The path of its file by the name of the method.
    methods: BTreeMap<String, String>,
}

impl<'a> House<'a> {
    fn new(sources: &'a [Source]) -> Self {
        let mut files = BTreeMap::new();
        for source in sources {
            let module = source.module().filter(|module| !module.is_empty());
            if let Some(module) = module.filter(|_| source.in_test.contains(&false)) {
                files.insert(module.join("::"), File::new(source, module));
            }
        }
        let methods = BTreeMap::new();
        let mut house = Self { files, methods };
        house.methods = house.own_methods();
        house
    }

    /// The file that defines what `path` names.
    fn resolve(&self, path: &[String], depth: usize) -> Option<&File<'a>> {
        let prefixes = (1..=path.len()).rev().map(|n| (n, path[..n].join("::")));
        let (length, file) =
            prefixes.into_iter().find_map(|(n, prefix)| Some((n, self.files.get(&prefix)?)))?;
        let Some(name) = path.get(length).filter(|_| depth < 8) else {
            return Some(file);
        };
        let through = file.names.get(name).filter(|target| !path.starts_with(target));
        let star = || {
            let holds = |module: &&Vec<String>| {
                self.files.get(&module.join("::")).is_some_and(|file| file.defined.contains(name))
            };
            let module = file.stars.iter().find(holds).filter(|_| !file.defined.contains(name))?;
            Some([module.as_slice(), std::slice::from_ref(name)].concat())
        };
        match through.cloned().or_else(star) {
            Some(mut target) => {
                target.extend_from_slice(&path[length + 1..]);
                self.resolve(&target, depth + 1).or(Some(file))
            }
            None => Some(file),
        }
    }

    /// The files that `file` names something of, and what.
    fn uses(&self, file: &File<'a>) -> Vec<(&File<'a>, String)> {
        let counts = |(name, _, passed_on): &&(String, Vec<String>, bool)| {
            !passed_on || file.mentioned.contains(name)
        };
        let used = file.used.iter().filter(counts);
        let to = |path: &Vec<String>| Some((self.resolve(path, 0)?, path.last()?.clone()));
        used.filter_map(|(_, path, _)| to(path)).collect()
    }

    /// The files whose methods `file` calls.
    fn calls(&self, file: &File<'a>) -> Vec<(&File<'a>, String)> {
        let owner = |name: String| {
            let path = self.methods.get(&name)?;
            Some((self.files.values().find(|file| file.path() == path)?, name))
        };
        calls(file.source).into_iter().filter_map(owner).collect()
    }

    /// Inherent methods with names of their own. A method is left out if its name is called in a room that
    /// has no import of the method's room: there it is another's, mostly the standard library's.
    fn own_methods(&self) -> BTreeMap<String, String> {
        let mut owners: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        let mut callers: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        let mut known = BTreeSet::new();
        for file in self.files.values() {
            for name in file.defined.iter().cloned() {
                owners.entry(name).or_default().insert(file.path());
            }
            for name in calls(file.source) {
                callers.entry(name).or_default().insert(&file.room);
            }
            let rooms = file.used.iter().map(|(_, path, _)| floors::room(&path.join("::")));
            known.extend(rooms.map(|room| (file.room.as_str(), room)));
        }
        let mut own = BTreeMap::new();
        for file in self.files.values() {
            for name in inherent_methods(file.source) {
                let knows =
                    |room: &&str| *room == file.room || known.contains(&(*room, file.room.clone()));
                let is_sure = callers.get(&name).is_none_or(|rooms| rooms.iter().all(knows));
                if is_sure && owners.get(&name).is_some_and(|owners| owners.len() == 1) {
                    own.insert(name, file.path().to_owned());
                }
            }
        }
        own
    }
}

/// The `use` items, each with whether it is public, if only for a part of the crate.
fn use_items(source: &Source) -> Vec<(Range<usize>, bool)> {
    let code = &source.code;
    let span = |at: usize| {
        let before: String = code[at.saturating_sub(40)..at].iter().collect();
        let before = before.trim_end();
        let visible = before.rsplit([';', '}', ']', '{']).next().unwrap_or("").trim();
        let end = code[at..].iter().position(|c| *c == ';').map_or(code.len(), |n| at + n);
        (at..end, visible.starts_with("pub"))
    };
    // `+ use<>` is a bound.
    let is_item = |at: &usize| code.get(at + 3).is_some_and(|c| c.is_whitespace());
    source.words("use").into_iter().filter(is_item).map(span).collect()
}

/// As [`imports`], for paths that begin with `self` or with a child of the file.
fn local_paths(source: &Source, module: &[String]) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    let inline = source.inline_modules();
    let starts = children(source).into_iter().chain(["self".to_owned()]);
    for start in starts {
        for at in source.words(&format!("{start}::")) {
            let is_inside = inline.iter().any(|span| span.contains(&at));
            if !preceding(source, at).ends_with("::") && !is_inside {
                read_tree(source, at, module.to_vec(), &mut found);
            }
        }
    }
    found
}

/// Modules that the file declares and that are files of their own.
fn children(source: &Source) -> Vec<String> {
    let name = |at: usize| {
        let name = word_at(&source.code, skip_blanks(&source.code, at + 3));
        let end = skip_blanks(&source.code, at + 3) + name.len();
        (source.code.get(end) == Some(&';') && source.is_shipped(source.line_of(at)))
            .then_some(name)
    };
    source.words("mod").into_iter().filter_map(name).collect()
}

fn word_at(code: &[char], at: usize) -> String {
    code[at..].iter().take_while(|c| is_ident(**c)).collect()
}

/// The name that `as` gives to what ends just behind the word at `at`.
fn alias(code: &[char], at: usize) -> Option<String> {
    let after = skip_blanks(code, at + word_at(code, at).len());
    (word_at(code, after) == "as").then(|| word_at(code, skip_blanks(code, after + 2)))
}

/// The words of shipped code, and where they stand.
fn words(source: &Source) -> Vec<(usize, String)> {
    let code = &source.code;
    let starts = |at: &usize| is_ident(code[*at]) && (*at == 0 || !is_ident(code[*at - 1]));
    let at = (0..code.len()).filter(starts);
    at.filter(|at| source.is_shipped(source.line_of(*at)))
        .map(|at| (at, word_at(code, at)))
        .collect()
}

/// Names that shipped code of the file gives to its items and methods.
fn defined(source: &Source) -> BTreeSet<String> {
    let kinds =
        ["fn", "struct", "enum", "trait", "type", "const", "static", "macro_rules", "union"];
    let words = words(source);
    let pairs = words.windows(2).filter(|pair| kinds.contains(&pair[0].1.as_str()));
    pairs.map(|pair| pair[1].1.clone()).collect()
}

/// See [`File::mentioned`].
fn mentioned(source: &Source, items: &[(Range<usize>, bool)]) -> BTreeSet<String> {
    let words = words(source);
    let mut before = "";
    let mut found = BTreeSet::new();
    for (at, word) in &words {
        if before != "mod" && !items.iter().any(|(span, _)| span.contains(at)) {
            found.insert(word.clone());
        }
        before = word;
    }
    found
}

/// Names of the functions with a receiver in the `impl` blocks of types.
fn inherent_methods(source: &Source) -> Vec<String> {
    let code = &source.code;
    let block = |at: usize| -> Option<Range<usize>> {
        let before: String =
            code[..at].iter().rev().find(|c| !c.is_whitespace()).into_iter().collect();
        let is_item = before.is_empty() || ["}", ";", "{", "]"].contains(&before.as_str());
        let open = at + code[at..].iter().position(|c| *c == '{')?;
        let head: String = code[at..open].iter().collect();
        (is_item && !head.contains(" for ")).then(|| at..item_end(code, at))
    };
    let blocks: Vec<Range<usize>> = source.words("impl").into_iter().filter_map(block).collect();
    let method = |at: usize| {
        let name = word_at(code, skip_blanks(code, at + 2));
        let open = at + code[at..].iter().position(|c| *c == '(')?;
        let first: String = code[open..bracket_end(code, open)].iter().collect();
        let first = first.split([',', ':', ')']).next()?.to_owned();
        let is_inherent = blocks.iter().any(|span| span.contains(&at));
        let shipped = source.is_shipped(source.line_of(at));
        (is_inherent && shipped && first.ends_with("self")).then_some(name)
    };
    source.words("fn").into_iter().filter_map(method).collect()
}

/// Names that shipped code calls as methods.
fn calls(source: &Source) -> BTreeSet<String> {
    let code = &source.code;
    let dots = (0..code.len()).filter(|at| code[*at] == '.');
    let called = dots.filter_map(|at| {
        let name = word_at(code, at + 1);
        let end = at + 1 + name.len();
        let is_call = code.get(end) == Some(&'(') || code[end..].starts_with(&[':', ':', '<']);
        (is_call && !name.is_empty() && source.is_shipped(source.line_of(at))).then_some(name)
    });
    called.collect()
}
