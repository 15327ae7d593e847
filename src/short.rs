//! Names and places that are cut where they are too long to be read.
//!
//! A task's name is the program's, the name of a generic type may have a million characters, and a path as
//! many as the build has given it. Whatever shows them to people cuts them, so that a text stays short
//! however long they are. The functions that return them to a program do not.

use std::borrow::Cow;
use std::fmt;
use std::panic::Location;

/// How many characters of a name are shown.
pub(crate) const MOST_CHARACTERS: usize = 400;

/// The beginning of `text`, with an ellipsis if that is not all.
pub(crate) fn short(text: &str) -> Cow<'_, str> {
    cut(text, MOST_CHARACTERS)
}

/// As [`short`], with another number of characters.
pub(crate) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}

/// A place in the source. Of a path that is too long the end is shown, because it names the file.
pub(crate) struct Place(pub(crate) &'static Location<'static>);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, line, column) = (self.0.file(), self.0.line(), self.0.column());
        write!(f, "{}:{line}:{column}", end(file))
    }
}

/// "1 task", "2 tasks".
pub(crate) fn counted(count: usize, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

/// The end of `path`, with an ellipsis if that is not all.
pub(crate) fn end(path: &str) -> Cow<'_, str> {
    match path.char_indices().rev().nth(MOST_CHARACTERS - 1) {
        None | Some((0, _)) => path.into(),
        Some((begin, _)) => format!("…{}", &path[begin..]).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_CHARACTERS, Place, end, short};
    use std::panic::Location;

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(short("äb"), "äb");
        let long = "ä".repeat(MOST_CHARACTERS);
        assert_eq!(short(&long), long);
        assert_eq!(short(&format!("{long}ä")), format!("{long}…"));
    }

    #[test]
    fn of_long_paths_the_end_is_left() {
        assert_eq!(end("äb"), "äb");
        assert_eq!(end(""), "");
        let long = "ä".repeat(MOST_CHARACTERS);
        assert_eq!(end(&long), long);
        assert_eq!(end(&format!("b{long}")), format!("…{long}"));
    }

    #[test]
    fn a_place_is_shown_as_the_compiler_names_it() {
        let here = Location::caller();
        assert_eq!(Place(here).to_string(), here.to_string());
    }
}
