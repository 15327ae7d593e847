//! The functions on a stack, out of what std shows of it. Pure.
//!
//! [`Backtrace`] has no methods for its frames. Its `Debug` lists them as
//! `{ fn: "name", file: "path", line: 7 }`, in which the last two may be missing. That is no promise of std:
//! a frame that does not look like this has no name, and if none has one, the tree says so. A test reads
//! what the present std writes. Rejected: the crate `backtrace`, which knows frames, at the price of seven
//! crates that std has in it already.
//!
//! [`Backtrace`]: std::backtrace::Backtrace

use crate::engine::task::traced::BASE;

/// One function on the way from the task to the place where it waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    /// As the compiler names it.
    pub(super) function: String,
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
}

/// The frames of a stack, the innermost first.
pub(super) fn frames(stack: &str) -> Vec<Frame> {
    stack.split("{ fn: \"").skip(1).filter_map(frame).collect()
}

/// What stands behind `{ fn: "`.
fn frame(text: &str) -> Option<Frame> {
    let text = &text[..text.rfind(" }")?];
    // From the end, because a function's name may have quotes in it, and a file's the word `line`.
    let (text, line) = match text.rsplit_once(", line: ") {
        Some((before, line)) => (before, line.parse().ok()),
        None => (text, None),
    };
    let (function, file) = match text.split_once("\", file: \"") {
        Some((function, file)) => (function, Some(file.trim_end_matches('"').to_owned())),
        None => (text.trim_end_matches('"'), None),
    };
    Some(Frame { function: function.to_owned(), file, line })
}

/// The frames of the task, from its own future to the one that waits; without what polls them in between.
/// `None` if the stack has no names, or does not come from a traced poll.
pub(super) fn of_task(stack: &str) -> Option<Vec<Frame>> {
    let mut frames = frames(stack);
    frames.truncate(frames.iter().position(|frame| frame.function.starts_with(BASE))?);
    frames.retain(Frame::is_shown);
    frames.reverse();
    Some(frames)
}

impl Frame {
    fn is_shown(&self) -> bool {
        let Self { function, .. } = self;
        let is_future = function.ends_with("Future>::poll");
        let of = own_type(function).unwrap_or(function).trim_start_matches(['&', '*']);
        let of = of.strip_prefix("mut ").unwrap_or(of);
        // Those of C, and type parameters, have no path.
        let Some((root, rest)) = of.split_once("::") else { return false };
        let is_engine = root == own_crate() && rest.starts_with("engine::");
        !["core", "std", "alloc"].contains(&root) && (is_future || !is_engine)
    }

    /// The name without what each name of an `async` function has.
    pub(super) fn short(&self) -> &str {
        let function = self.function.as_str();
        if let Some(of) = own_type(function).filter(|_| function.ends_with("Future>::poll")) {
            return of;
        }
        let mut short = function;
        while let Some((before, last)) = short.rsplit_once("::") {
            if !last.starts_with('{') {
                break;
            }
            short = before;
        }
        short
    }

    /// The file without the place where cargo keeps what it has downloaded.
    pub(super) fn short_file(&self) -> Option<&str> {
        let file = self.file.as_deref()?;
        let downloaded = file.split_once("/registry/src/").and_then(|(_, rest)| rest.split_once('/'));
        Some(downloaded.map_or(file, |(_, rest)| rest).trim_start_matches("./"))
    }
}

/// `Type` of `<Type as Trait>::function` and of `<Type>::function`.
fn own_type(function: &str) -> Option<&str> {
    let inside = function.strip_prefix('<')?;
    let mut depth = 0_usize;
    for (at, letter) in inside.char_indices() {
        match letter {
            '<' => depth += 1,
            // Not that of an arrow.
            '>' if inside[..at].ends_with('-') => {}
            '>' if depth == 0 => return Some(&inside[..at]),
            '>' => depth -= 1,
            ' ' if depth == 0 && inside[at..].starts_with(" as ") => return Some(&inside[..at]),
            _ => {}
        }
    }
    None
}

fn own_crate() -> &'static str {
    BASE.split_once("::").map_or(BASE, |(root, _)| root)
}
