//! Reads a Rust file far enough for the rules: what is code, what is comment, what is a literal, what is
//! test code.
//!
//! Not a parser. It knows comments (nested ones too), string and character literals and matching
//! brackets, and that is all the rules need. Rejected: `syn`, which drops the comments that half of the
//! rules are about.

use std::ops::Range;
use std::path::Path;

/// One file, split into views of equal shape: character `i` of line `n` is the same place in each of them.
pub(crate) struct Source {
    /// Relative to the repository, with forward slashes.
    pub(crate) path: String,
    /// The file as it is.
    pub(crate) raw: Vec<String>,
    /// Comments and the insides of literals are blanks.
    pub(crate) code: Vec<char>,
    /// Everything but comments is blank.
    pub(crate) comments: Vec<String>,
    /// Per line: compiled for tests only, by a `cfg` in this file or in the parent that declares it.
    pub(crate) in_test: Vec<bool>,
    line_starts: Vec<usize>,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let text = text.replace("\r\n", "\n");
        let (code, comments) = split(&text);
        let mut line_starts = vec![0];
        line_starts.extend((0..code.len()).filter(|i| code[*i] == '\n').map(|i| i + 1));
        let mut source = Self {
            path: path.to_owned(),
            raw: text.lines().map(str::to_owned).collect(),
            in_test: vec![!is_library(path) || is_test_file(path); line_starts.len()],
            comments: comments.split('\n').map(str::to_owned).collect(),
            code,
            line_starts,
        };
        for (span, _) in source.test_items() {
            for line in source.line_of(span.start)..=source.line_of(span.end - 1) {
                source.in_test[line] = true;
            }
        }
        source
    }

    /// Library code: shipped to users and not compiled for tests only.
    pub(crate) fn is_shipped(&self, line: usize) -> bool {
        !self.in_test[line]
    }

    /// Index (from 0) of the line with the character at `offset`.
    pub(crate) fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset) - 1
    }

    /// The code of each line, blanks where comments and literals were.
    pub(crate) fn code_lines(&self) -> Vec<String> {
        self.code.iter().collect::<String>().split('\n').map(str::to_owned).collect()
    }

    /// `["runtime", "handle"]` for `src/runtime/handle.rs`; empty for `src/lib.rs`. `None` outside `src`.
    pub(crate) fn module(&self) -> Option<Vec<String>> {
        let name = self.path.strip_prefix("src/")?.strip_suffix(".rs")?;
        let parts =
            if name == "lib" { Vec::new() } else { name.split('/').map(str::to_owned).collect() };
        Some(parts)
    }

    /// Paths without `.rs` of the files that this one declares under a test `cfg`, as in `#[cfg(test)]
    /// mod model;`.
    pub(crate) fn test_children(&self) -> Vec<String> {
        let own = self.path.strip_suffix(".rs").unwrap_or(&self.path);
        let folder = own.strip_suffix("/lib").unwrap_or(own);
        let declared = self.test_items().into_iter().filter_map(|(_, child)| child);
        declared.map(|child| format!("{folder}/{child}")).collect()
    }

    /// Offsets at which `word` stands as a whole word in the code.
    pub(crate) fn words(&self, word: &str) -> Vec<usize> {
        let wanted: Vec<char> = word.chars().collect();
        let free = |at: Option<&char>| at.is_none_or(|c| !is_ident(*c));
        let hit = |at: &usize| {
            self.code[*at..].starts_with(&wanted)
                && (!is_ident(wanted[0]) || *at == 0 || free(self.code.get(*at - 1)))
                && (!is_ident(wanted[wanted.len() - 1]) || free(self.code.get(*at + wanted.len())))
        };
        (0..self.code.len()).filter(hit).collect()
    }

    /// Functions with a body: from `fn` to the closing brace.
    pub(crate) fn functions(&self) -> Vec<Range<usize>> {
        let named = |at: &usize| {
            let after = skip_blanks(&self.code, at + 2);
            self.code.get(after).is_some_and(|c| is_ident(*c) || *c == '$')
        };
        let spans =
            self.words("fn").into_iter().filter(named).map(|at| at..item_end(&self.code, at));
        spans.filter(|span| self.code[span.end - 1] == '}').collect()
    }

    /// Bodies of the modules that are written inside this file.
    pub(crate) fn inline_modules(&self) -> Vec<Range<usize>> {
        let spans = self.words("mod").into_iter().map(|at| at..item_end(&self.code, at));
        spans.filter(|span| self.code[span.end - 1] == '}').collect()
    }

    /// Items under `#[cfg(test)]` or `#[cfg(all(test, ..))]`, each with its name if it is a module in
    /// another file.
    fn test_items(&self) -> Vec<(Range<usize>, Option<String>)> {
        let mut items = Vec::new();
        for at in self.words("#[cfg(") {
            if !is_test_gate(&self.code, at) {
                continue;
            }
            let mut item = at;
            while self.code.get(item) == Some(&'#') {
                item = skip_blanks(&self.code, bracket_end(&self.code, item + 1));
            }
            let end = item_end(&self.code, item);
            let text: String = self.code[item..end].iter().collect();
            let child = text
                .strip_suffix(';')
                .and_then(|t| t.rsplit_once("mod "))
                .map(|(_, name)| name.trim());
            items.push((at..end, child.map(str::to_owned)));
        }
        items
    }
}

/// Whether the `cfg` at `at` is one of the two forms that mean "tests only".
pub(crate) fn is_test_gate(code: &[char], at: usize) -> bool {
    let gate: String =
        code[at..].iter().take_while(|c| **c != ']').filter(|c| !c.is_whitespace()).collect();
    let inside = gate.trim_start_matches("#[").trim_start_matches("cfg(");
    ["test)", "all(test,", "all(test)"].iter().any(|form| inside.starts_with(form))
}

/// Every `.rs` file below `folders` of the repository, sorted. A folder that is missing has no files:
/// the published package is smaller than the repository.
pub(crate) fn read_tree(root: &Path, folders: &[&str]) -> Vec<Source> {
    let mut paths = Vec::new();
    for folder in folders {
        collect(&root.join(folder), &mut paths);
    }
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path
            .strip_prefix(root)
            .expect("found below the root")
            .to_string_lossy()
            .replace('\\', "/");
        Source::new(&name, &std::fs::read_to_string(path).expect("a source file is readable UTF-8"))
    };
    let mut sources: Vec<Source> = paths.iter().map(read).collect();
    let test_only: Vec<String> = sources.iter().flat_map(Source::test_children).collect();
    for source in &mut sources {
        let below = |gate: &String| {
            source
                .path
                .strip_prefix(gate.as_str())
                .is_some_and(|r| r == ".rs" || r.starts_with('/'))
        };
        if test_only.iter().any(below) {
            source.in_test.fill(true);
        }
    }
    sources
}

fn collect(folder: &Path, paths: &mut Vec<std::path::PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.expect("a folder entry is readable").path();
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

fn is_library(path: &str) -> bool {
    path.starts_with("src/") || path.starts_with("macros/src/")
}

fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

pub(crate) fn is_ident(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

pub(crate) fn skip_blanks(code: &[char], mut at: usize) -> usize {
    while code.get(at).is_some_and(|c| c.is_whitespace()) {
        at += 1;
    }
    at
}

/// Just after the bracket that closes the one at `at`, or the end of the file.
pub(crate) fn bracket_end(code: &[char], at: usize) -> usize {
    let mut depth = 0usize;
    for (i, c) in code.iter().enumerate().skip(at) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return i + 1;
        }
    }
    code.len()
}

/// Just after the `;` or the braces that end the item which begins at `at`.
pub(crate) fn item_end(code: &[char], at: usize) -> usize {
    let mut i = at;
    while i < code.len() {
        match code[i] {
            '(' | '[' => i = bracket_end(code, i),
            '{' => return bracket_end(code, i),
            ';' | '}' => return i + 1,
            _ => i += 1,
        }
    }
    code.len()
}

/// The code and the comments of `text`, both of its length.
fn split(text: &str) -> (Vec<char>, String) {
    let chars: Vec<char> = text.chars().collect();
    let mut code = Vec::with_capacity(chars.len());
    let mut comments = String::with_capacity(text.len());
    while code.len() < chars.len() {
        let at = code.len();
        let (end, is_comment) = token_end(&chars, at);
        for (i, c) in chars.iter().enumerate().take(end).skip(at) {
            let edge = i == at || i + 1 == end;
            let visible =
                *c == '\n' || (!is_comment && (end == at + 1 || (edge && matches!(c, '"' | '\''))));
            code.push(if visible { *c } else { ' ' });
            comments.push(if *c == '\n' || is_comment { *c } else { ' ' });
        }
    }
    (code, comments)
}

/// Where the comment or literal that begins at `at` ends, and whether it is a comment; any other
/// character is a token of its own.
fn token_end(chars: &[char], at: usize) -> (usize, bool) {
    let next = chars.get(at + 1);
    match chars[at] {
        '/' if next == Some(&'/') => {
            let length = chars[at..].iter().position(|c| *c == '\n');
            (length.map_or(chars.len(), |n| at + n), true)
        }
        '/' if next == Some(&'*') => (block_comment_end(chars, at), true),
        '"' => (quoted_end(chars, at, '"'), false),
        '\'' if next == Some(&'\\') || chars.get(at + 2) == Some(&'\'') => {
            (quoted_end(chars, at, '\''), false)
        }
        'r' if starts_literal(chars, at) => (raw_string_end(chars, at).unwrap_or(at + 1), false),
        _ => (at + 1, false),
    }
}

fn block_comment_end(chars: &[char], at: usize) -> usize {
    let mut depth = 0usize;
    let mut i = at;
    while i + 1 < chars.len() {
        match (chars[i], chars[i + 1]) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                i += 1;
                continue;
            }
        }
        i += 2;
        if depth == 0 {
            return i;
        }
    }
    chars.len()
}

fn quoted_end(chars: &[char], at: usize, quote: char) -> usize {
    let mut i = at + 1;
    while i < chars.len() {
        match chars[i] {
            '\\' => i += 2,
            c if c == quote => return i + 1,
            _ => i += 1,
        }
    }
    chars.len()
}

/// Whether an `r` at `at` can open a raw string: it, or the `b` or `c` before it, begins a word.
fn starts_literal(chars: &[char], at: usize) -> bool {
    let before = |n: usize| at.checked_sub(n).map(|i| chars[i]);
    match before(1) {
        Some('b' | 'c') => before(2).is_none_or(|c| !is_ident(c)),
        Some(c) => !is_ident(c),
        None => true,
    }
}

fn raw_string_end(chars: &[char], at: usize) -> Option<usize> {
    let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
    let open = at + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return None;
    }
    let closes = |i: &usize| {
        chars[*i] == '"'
            && chars[i + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes
    };
    Some((open + 1..chars.len()).find(closes).map_or(chars.len(), |i| i + 1 + hashes))
}
