//! A picture of all runtimes as a text for people.

use super::server::picture::{Cost, Picture};
use super::shown::program;
use super::text::write_left;
use std::fmt::{self, Write};

/// The most bytes of the text. One runtime with names of the usual length takes some fifty thousand.
const LARGEST_TEXT: usize = 1024 * 1024;

/// How many places it has of which memory is known.
const MOST_PLACES: usize = 30;

pub(super) fn text(picture: &Picture, cost: Cost) -> String {
    let mut text = Bounded(String::new());
    if write(&mut text, picture, cost).is_err() {
        text.0.push_str("\n(the rest is cut off)\n");
    }
    text.0
}

fn write(text: &mut Bounded, picture: &Picture, cost: Cost) -> fmt::Result {
    let Picture { runtimes, memory, left_out, ended } = picture;
    // Those with findings first: the first line is the one that is read.
    let (sick, well): (Vec<_>, Vec<_>) =
        runtimes.iter().partition(|seen| !seen.dump.findings().is_empty());
    for seen in sick.into_iter().chain(well) {
        writeln!(text, "{}", seen.dump)?;
    }
    if !memory.is_empty() {
        writeln!(text, "memory that was allocated and not given back, about")?;
        memory.iter().take(MOST_PLACES).try_for_each(|place| writeln!(text, "  {place}"))?;
        write_left(text, memory.len(), MOST_PLACES, "places")?;
        writeln!(text)?;
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
    writeln!(text, "{:?}, process {}, liten {version}", program(), std::process::id())?;
    writeln!(text, "times \"at least\" are counted from the page's first look on")?;
    write_cost(text, cost)?;
    writeln!(text, "trees: /tree?task=ID")
}

fn write_cost(text: &mut Bounded, cost: Cost) -> fmt::Result {
    let seconds = cost.open_for.as_secs();
    match cost.processor {
        Some(time) => {
            let millis = time.as_millis();
            write!(text, "this page has used {millis} ms of a processor in {seconds} s")?;
        }
        None => write!(text, "this page has been open for {seconds} s")?,
    }
    match cost.lost_events {
        0 => writeln!(text),
        lost => writeln!(text, "; {lost} events were overwritten before it has read them"),
    }
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
    use crate::insight::server::picture::{Cost, Picture};
    use std::fmt::Write;
    use std::time::Duration;

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
        let of = |ended| {
            text(
                &Picture { runtimes: Vec::new(), memory: Vec::new(), left_out: 0, ended },
                cost(None, 0),
            )
        };
        assert!(of(0).starts_with("no runtime is observed yet\n"));
        assert!(
            of(2).starts_with("no runtime is left to be observed\n2 runtimes that have ended\n")
        );
    }

    fn cost(processor: Option<Duration>, lost_events: u64) -> Cost {
        Cost { processor, open_for: Duration::from_secs(34), lost_events }
    }

    #[test]
    fn the_text_ends_with_what_the_page_takes_and_where_trees_are() {
        let empty = Picture { runtimes: Vec::new(), memory: Vec::new(), left_out: 0, ended: 0 };
        let ends = |cost, expected: &str| {
            let text = text(&empty, cost);
            assert!(text.ends_with(&format!("\n{expected}\ntrees: /tree?task=ID\n")), "{text}");
        };
        let used = "this page has used 12 ms of a processor in 34 s";
        ends(cost(Some(Duration::from_millis(12)), 0), used);
        let lost = format!("{used}; 7 events were overwritten before it has read them");
        ends(cost(Some(Duration::from_millis(12)), 7), &lost);
        ends(cost(None, 0), "this page has been open for 34 s");
    }
}
