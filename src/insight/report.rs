//! A picture of all runtimes as a text for people.

use super::server::picture::Picture;
use super::shown::program;
use std::fmt::{self, Write};

/// The most bytes of the text. One runtime with names of the usual length takes some fifty thousand.
const LARGEST_TEXT: usize = 1024 * 1024;

pub(super) fn text(picture: &Picture) -> String {
    let mut text = Bounded(String::new());
    if write(&mut text, picture).is_err() {
        text.0.push_str("\n(the rest is cut off)\n");
    }
    text.0
}

fn write(text: &mut Bounded, picture: &Picture) -> fmt::Result {
    let Picture { runtimes, left_out, ended } = picture;
    for seen in runtimes {
        writeln!(text, "{}", seen.dump)?;
    }
    match (runtimes.len(), ended) {
        (0, 0) => writeln!(text, "no runtime is observed yet")?,
        (0, _) => writeln!(text, "no runtime is left to be observed")?,
        _ => {}
    }
    if *left_out > 0 {
        writeln!(text, "{left_out} runtimes more that are not shown")?;
    }
    if *ended > 0 {
        writeln!(text, "{ended} runtimes that have ended")?;
    }
    let version = env!("CARGO_PKG_VERSION");
    writeln!(text, "{:?}, process {}, liten {version}", program(), std::process::id())
}

/// Takes [`LARGEST_TEXT`] bytes, and no more.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = LARGEST_TEXT - self.0.len();
        if part.len() <= room {
            self.0.push_str(part);
            return Ok(());
        }
        let end = (0..=room).rev().find(|&end| part.is_char_boundary(end)).unwrap_or(0);
        self.0.push_str(&part[..end]);
        Err(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::{Bounded, LARGEST_TEXT, text};
    use crate::insight::server::picture::Picture;
    use std::fmt::Write;

    #[test]
    fn the_text_ends_at_its_bound_between_characters() {
        let mut text = Bounded(String::new());
        assert!(text.write_str(&"a".repeat(LARGEST_TEXT - 1)).is_ok());
        assert!(text.write_str("ä").is_err());
        assert_eq!(text.0.len(), LARGEST_TEXT - 1);
        assert!(text.write_str("a").is_ok());
        assert!(text.write_str("a").is_err());
    }

    #[test]
    fn without_a_runtime_it_says_so() {
        let of = |ended| text(&Picture { runtimes: Vec::new(), left_out: 0, ended });
        assert!(of(0).starts_with("no runtime is observed yet\n"));
        assert!(
            of(2).starts_with("no runtime is left to be observed\n2 runtimes that have ended\n")
        );
    }
}
