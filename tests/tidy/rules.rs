//! The rules that look at one file at a time. Each returns what is wrong and where; none decides what is
//! allowed: limits and lists are passed in from `tests/tidy.rs`.

use crate::source::{Source, bracket_end, is_test_gate, skip_blanks};
use crate::{Violation, violation};
use std::path::Path;

/// Words that are confined to listed places, each place with the reason why it is one.
pub(crate) struct Confined {
    pub(crate) what: &'static str,
    pub(crate) words: &'static [&'static str],
    /// A file, or a room (`src/net` is `src/net.rs` and everything in `src/net/`), and why it is listed.
    pub(crate) homes: &'static [(&'static str, &'static str)],
}

impl Confined {
    fn home_of(&self, path: &str) -> Option<&'static str> {
        let inside = |home: &str| {
            path.strip_prefix(home)
                .is_some_and(|r| r.is_empty() || r == ".rs" || r.starts_with('/'))
        };
        self.homes.iter().map(|(home, _)| *home).find(|home| inside(home))
    }

    /// Lines of shipped code that use one of the words.
    fn uses(&self, source: &Source) -> Vec<usize> {
        let at = self.words.iter().flat_map(|word| source.words(word));
        let counted = at.filter(|at| {
            let lookback: String = source.code[at.saturating_sub(2)..*at].iter().collect();
            !(lookback == "#[" && is_test_gate(&source.code, at - 2))
        });
        let mut lines: Vec<usize> = counted.map(|at| source.line_of(at)).collect();
        lines.retain(|line| source.is_shipped(*line));
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}

pub(crate) fn confined(source: &Source, rule: &Confined) -> Vec<Violation> {
    if rule.home_of(&source.path).is_some() {
        return Vec::new();
    }
    let at_home = rule.homes.iter().map(|(home, _)| *home).collect::<Vec<_>>().join(", ");
    let reason = || format!("{} may stand only in: {at_home}", rule.what);
    rule.uses(source).into_iter().map(|line| violation(source, line, reason())).collect()
}

/// Permissions that nothing uses any more: a list that only grows confines nothing.
pub(crate) fn unused_homes(sources: &[Source], rule: &Confined) -> Vec<Violation> {
    let used = |home: &str| {
        sources.iter().any(|s| rule.home_of(&s.path) == Some(home) && !rule.uses(s).is_empty())
    };
    let idle = rule.homes.iter().filter(|(home, _)| !used(home));
    idle.map(|(home, _)| Violation {
        place: (*home).to_owned(),
        reason: format!("is listed for {} in tests/tidy.rs, but has none", rule.what),
    })
    .collect()
}

/// The second of two permissions for one file would be the one that is changed, or not.
pub(crate) fn double_homes(rule: &Confined) -> Vec<Violation> {
    let doubles = rule.homes.iter().enumerate().filter(|(index, (home, _))| {
        rule.homes[..*index].iter().any(|(earlier, _)| earlier == home)
    });
    doubles
        .map(|(_, (home, _))| Violation {
            place: (*home).to_owned(),
            reason: format!("is listed twice for {} in tests/tidy.rs", rule.what),
        })
        .collect()
}

pub(crate) fn file_name(source: &Source) -> Vec<Violation> {
    let stem =
        Path::new(&source.path).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let reason = match stem.as_str() {
        "mod" => {
            "the house writes `foo.rs` beside `foo/`, so that a folder listing is a table of contents"
        }
        "util" | "utils" | "common" | "helper" | "helpers" | "misc" => {
            "a helper gets a noun and a floor"
        }
        _ => return Vec::new(),
    };
    vec![violation(source, 0, reason)]
}

pub(crate) fn file_length(source: &Source, limit: usize) -> Vec<Violation> {
    let lines = source.raw.len();
    let over = lines > limit;
    let found = over.then(|| {
        violation(source, limit, format!("{lines} lines in one file; the limit is {limit}"))
    });
    found.into_iter().collect()
}

pub(crate) fn line_length(source: &Source, limit: usize) -> Vec<Violation> {
    let lines = source.raw.iter().enumerate().map(|(line, text)| (line, text.chars().count()));
    let long = lines.filter(|(_, columns)| *columns > limit);
    long.map(|(line, columns)| {
        violation(source, line, format!("{columns} columns; the limit is {limit}"))
    })
    .collect()
}

pub(crate) fn function_length(source: &Source, limit: usize) -> Vec<Violation> {
    let mut found = Vec::new();
    for span in source.functions() {
        let first = source.line_of(span.start);
        let lines = source.line_of(span.end - 1) - first + 1;
        if lines > limit {
            found.push(violation(
                source,
                first,
                format!("a function of {lines} lines; the limit is {limit}"),
            ));
        }
    }
    found
}

/// Each `unsafe` block and `unsafe impl` stands below a `SAFETY:` comment, with nothing but the
/// beginning of the same statement or attributes between.
pub(crate) fn safety_comments(source: &Source) -> Vec<Violation> {
    let bare = unsafe_code(source).into_iter().filter(|piece| piece.argument.is_none());
    let line = |piece: UnsafeCode| source.line_of(piece.at);
    let reason = "`unsafe` without a `SAFETY:` comment above that says why it holds";
    bare.map(|piece| violation(source, line(piece), reason)).collect()
}

/// A block or an implementation that is unsafe.
pub(crate) struct UnsafeCode {
    /// Where the word stands.
    pub(crate) at: usize,
    pub(crate) is_block: bool,
    /// What stands behind `SAFETY:` in the comment above it.
    pub(crate) argument: Option<String>,
}

/// All unsafe code of a file; functions that are unsafe to call are not in it.
pub(crate) fn unsafe_code(source: &Source) -> Vec<UnsafeCode> {
    let code = source.code_lines();
    let piece = |at: usize| {
        let after: String =
            source.code[skip_blanks(&source.code, at + 6)..].iter().take(4).collect();
        let is_block = after.starts_with('{');
        let argument = || safety_comment(source, &code, source.line_of(at));
        (is_block || after == "impl").then(|| UnsafeCode { at, is_block, argument: argument() })
    };
    source.words("unsafe").into_iter().filter_map(piece).collect()
}

fn safety_comment(source: &Source, code: &[String], line: usize) -> Option<String> {
    let mut above = line;
    while above > 0 && !is_comment_only(source, code, above - 1) {
        above -= 1;
        let text = code[above].trim();
        let same_statement = !text.is_empty() && !text.ends_with([';', '{', '}', ',']);
        if line - above > 4 || !same_statement {
            return None;
        }
    }
    let mut lines: Vec<&str> = comment_block(source, code, above).collect();
    lines.reverse();
    let words =
        lines.iter().flat_map(|line| line.trim().trim_start_matches('/').split_whitespace());
    let text = words.collect::<Vec<_>>().join(" ");
    text.rsplit_once("SAFETY:").map(|(_, argument)| argument.trim().to_owned())
}

fn is_comment_only(source: &Source, code: &[String], line: usize) -> bool {
    code[line].trim().is_empty() && !source.comments[line].trim().is_empty()
}

/// The comment lines directly above `line`, from the lowest upward.
fn comment_block<'a>(
    source: &'a Source,
    code: &'a [String],
    line: usize,
) -> impl Iterator<Item = &'a str> {
    let above = (0..line).rev().take_while(|at| is_comment_only(source, code, *at));
    above.map(|at| source.comments[at].as_str())
}

/// Each atomic ordering in shipped code stands at most `reach` lines below a comment, in the same
/// function, that argues for it. No such comment, in tests either, refers to a partner without its name.
pub(crate) fn ordering_comments(source: &Source, reach: usize) -> Vec<Violation> {
    let code = source.code_lines();
    let functions = source.functions();
    let mut found = Vec::new();
    for name in ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"] {
        for at in source.words(name) {
            let line = source.line_of(at);
            if !source.is_shipped(line) || in_use_item(source, at) {
                continue;
            }
            let around = functions
                .iter()
                .filter(|span| span.contains(&at))
                .map(|span| source.line_of(span.start));
            let top = around.max().unwrap_or(0);
            if !is_argued(source, &code, line, line.saturating_sub(reach).max(top)) {
                let reason = "has no comment just above that names its partner and its reason";
                found.push(violation(source, line, format!("Ordering::{name} {reason}")));
            }
        }
    }
    found.extend(nameless_arguments(source, &code));
    found
}

/// Arguments for an ordering that refer to something, and do not name it in backquotes.
fn nameless_arguments(source: &Source, code: &[String]) -> Vec<Violation> {
    const EVASIONS: [&str; 3] = ["as above", "see above", "a hint"];
    let begins = |line: usize| source.comments[line].contains("Ordering:");
    let evasion_at = |line: usize| {
        let rest = (line + 1..code.len())
            .take_while(|&next| is_comment_only(source, code, next) && !begins(next));
        let words = std::iter::once(line)
            .chain(rest)
            .flat_map(|at| source.comments[at].split_whitespace())
            .filter(|word| !["//", "///", "//!"].contains(word));
        let text = words.collect::<Vec<_>>().join(" ");
        EVASIONS.into_iter().find(|evasion| text.contains(evasion) && !text.contains('`'))
    };
    let evasive = (0..code.len()).filter(|&line| begins(line)).filter_map(|line| {
        let reason = "in the argument for an ordering: name the partner, in backquotes";
        Some(violation(source, line, format!("`{}` {reason}", evasion_at(line)?)))
    });
    evasive.collect()
}

/// Whether a comment that touches the lines `top..=line`, or ends just above `top`, speaks of orderings.
fn is_argued(source: &Source, code: &[String], line: usize, top: usize) -> bool {
    let beside = source.comments[top..=line].iter().map(String::as_str);
    let above = comment_block(source, code, top);
    beside.chain(above).any(|text| {
        let text = text.to_lowercase();
        let words = [
            "ordering",
            "relaxed",
            "acquire",
            "release",
            "acqrel",
            "seqcst",
            "synchroni",
            "fence",
            "pairs with",
        ];
        words.iter().any(|word| text.contains(word))
    })
}

/// Whether the statement that `at` stands in is a `use`.
fn in_use_item(source: &Source, at: usize) -> bool {
    let begin = source.code[..at].iter().rposition(|c| *c == ';').map_or(0, |i| i + 1);
    let statement: String = source.code[begin..at].iter().collect();
    statement.split_whitespace().any(|word| word == "use")
}

/// What must not be left behind in any file. The names are spelled in halves, so that this file passes
/// its own rule.
pub(crate) fn leftovers(source: &Source) -> Vec<Violation> {
    let macros = [
        concat!("to", "do!"),
        concat!("unimple", "mented!"),
        concat!("db", "g!"),
        concat!("#[ign", "ore"),
    ];
    let notes = [concat!("FIX", "ME"), concat!("X", "XX"), concat!("TO", "DO")];
    let mut found = Vec::new();
    for word in macros {
        let lines = source.words(word).into_iter().map(|at| source.line_of(at));
        found.extend(
            lines.map(|line| {
                violation(source, line, format!("unfinished work or a leftover: {word}"))
            }),
        );
    }
    for (line, text) in source.comments.iter().enumerate() {
        let mut words = text.split(|c: char| !c.is_alphanumeric());
        if let Some(word) = words.find(|word| notes.contains(word)) {
            found.push(violation(
                source,
                line,
                format!("unfinished work is an issue, not a comment: {word}"),
            ));
        }
    }
    found
}

/// `if let .. && ..`, `.. && let ..` and `if let` in a match guard: newer than the oldest compiler we
/// support, and the usual compiler does not say so.
pub(crate) fn let_chains(source: &Source) -> Vec<Violation> {
    let code = &source.code;
    let mut found = Vec::new();
    for at in source.words("let") {
        let before: String =
            code[..at].iter().rev().filter(|c| !c.is_whitespace()).take(2).collect();
        let word = code[..at].iter().rev().skip_while(|c| c.is_whitespace());
        let word: String =
            word.take_while(|c| c.is_alphabetic()).collect::<Vec<_>>().into_iter().rev().collect();
        let is_condition = word == "if" || word == "while";
        if before == "&&" || (is_condition && condition_goes_on(code, at)) {
            found.push(violation(
                source,
                source.line_of(at),
                "a let chain or `if let` guard needs a newer Rust than our MSRV",
            ));
        }
    }
    found
}

/// Whether the condition that begins with the `let` at `at` has an `&&` after its value, or belongs to a
/// match arm.
fn condition_goes_on(code: &[char], at: usize) -> bool {
    let mut i = at;
    let mut has_value = false;
    while i < code.len() {
        match code[i] {
            '(' | '[' => i = bracket_end(code, i),
            '{' if !has_value || follows_unsafe(code, i) => i = bracket_end(code, i),
            '{' => return false,
            '=' if code.get(i + 1) == Some(&'>') => return true,
            '=' => {
                has_value = true;
                i = skip_blanks(code, i + 1);
                // A reference to a reference is a value, not an operator.
                i += if code[i..].starts_with(&['&', '&']) { 2 } else { 0 };
            }
            '&' if has_value && code.get(i + 1) == Some(&'&') => return true,
            _ => i += 1,
        }
    }
    false
}

fn follows_unsafe(code: &[char], at: usize) -> bool {
    let before: String = code[at.saturating_sub(12)..at].iter().collect();
    before.trim_end().ends_with("unsafe")
}

pub(crate) fn unwraps(source: &Source) -> Vec<Violation> {
    let lines = source.words(".unwrap()").into_iter().map(|at| source.line_of(at));
    let shipped = lines.filter(|line| source.is_shipped(*line));
    let reason = "`.unwrap()` tells the reader nothing; `.expect(..)` says why it cannot fail";
    shipped.map(|line| violation(source, line, reason)).collect()
}
