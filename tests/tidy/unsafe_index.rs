//! The list of all unsafe code in the library, for an audit of it.
//!
//! It is made from the `SAFETY:` comments and kept in the repository, so that a review of a change shows
//! which arguments changed. It names functions and not lines, so that other changes leave it as it is.

use super::rules::{UnsafeCode, unsafe_code};
use super::source::Source;
use std::collections::BTreeSet;
use std::fmt::Write as _;

const HEAD: &str = "\
# Unsafe code

Every `unsafe` block and `unsafe impl` of the library, with the argument that stands above it.
`tests/tidy.rs` makes this file from the sources, and fails if it is not up to date;
`LITEN_BLESS=1 cargo test --test tidy` writes it.

The heading of a file names its model: the nearest [loom](https://github.com/tokio-rs/loom) model at
or above the file in the tree of modules. A file without one has tests under the sanitizers and Miri
(`.ci/sanitize`).
";

/// One piece of unsafe code.
struct Piece {
    /// The function that it is in, or the head of the `unsafe impl`.
    place: String,
    argument: String,
}

/// The whole index as Markdown, in order of paths.
pub(crate) fn render(sources: &[Source]) -> String {
    let models: BTreeSet<&str> =
        sources.iter().filter_map(|source| source.path.strip_suffix("/loom.rs")).collect();
    let mut text = String::from(HEAD);
    for source in sources {
        let pieces = pieces(source);
        if pieces.is_empty() {
            continue;
        }
        let model = model_of(&source.path, &models);
        let model = model.map_or_else(String::new, |path| format!(" (model: `{path}`)"));
        let _ =
            write!(text, "\n## `{}`{model}\n\n| in | why it is sound |\n|---|---|\n", source.path);
        for Piece { place, argument } in pieces {
            let _ = writeln!(text, "| `{place}` | {argument} |");
        }
    }
    text
}

fn pieces(source: &Source) -> Vec<Piece> {
    let functions = source.functions();
    let shipped = |found: &UnsafeCode| source.is_shipped(source.line_of(found.at));
    let piece = |UnsafeCode { at, is_block, argument }: UnsafeCode| {
        let place = if is_block {
            let around = functions.iter().filter(|span| span.contains(&at));
            let innermost = around.max_by_key(|span| span.start);
            innermost.map_or_else(|| "a macro".to_owned(), |span| name(source, span.start))
        } else {
            let rest: String = source.code[at + "unsafe".len()..].iter().collect();
            let head = rest.split(['{', ';']).next().unwrap_or_default();
            head.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
        };
        Piece { place, argument: argument.unwrap_or_default().replace('|', "\\|") }
    };
    unsafe_code(source).into_iter().filter(shipped).map(piece).collect()
}

fn name(source: &Source, function: usize) -> String {
    let text: String = source.code[function..].iter().take(120).collect();
    let name = text["fn".len()..].trim_start();
    name.split(|c: char| !super::source::is_ident(c) && c != '$').next().unwrap_or(name).to_owned()
}

fn model_of(path: &str, models: &BTreeSet<&str>) -> Option<String> {
    let mut module = path.strip_suffix(".rs")?;
    // The engine as a whole has no model: a file without a nearer one has none.
    while module.matches('/').count() >= 2 {
        if models.contains(module) {
            return Some(format!("{module}/loom.rs"));
        }
        module = module.rsplit_once('/')?.0;
    }
    None
}
