//! A picture on a terminal, in the place of the one before, and text that may stand on one.

use terminal_size::{Height, Width, terminal_size};

/// To the upper left corner.
const HOME: &str = "\x1b[H";
/// The rest of the line, and the rest of the screen.
const REST_OF_LINE: &str = "\x1b[K\r\n";
const REST_OF_SCREEN: &str = "\x1b[J";

/// What draws as many of the lines as there is room for.
pub(crate) fn drawn(lines: &[String]) -> String {
    let size = terminal_size().map(|(Width(width), Height(height))| (width, height));
    let (width, height) = size.unwrap_or((100, 40));
    fitted(lines, usize::from(width), usize::from(height))
}

fn fitted(lines: &[String], width: usize, height: usize) -> String {
    // The cursor rests on a line of its own.
    let room = height.saturating_sub(1);
    let shown = if lines.len() > room { room.saturating_sub(1) } else { lines.len() };
    let mut text = HOME.to_owned();
    for line in &lines[..shown] {
        text.extend(line.chars().take(width));
        text += REST_OF_LINE;
    }
    if shown < lines.len() {
        let left = format!("and {} lines more", lines.len() - shown);
        text.extend(left.chars().take(width));
        text += REST_OF_LINE;
    }
    text + REST_OF_SCREEN
}

/// Without what a terminal would obey.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { '?' } else { character }).collect()
}

#[cfg(test)]
mod tests {
    use super::fitted;

    #[test]
    fn lines_are_cut_and_those_that_do_not_fit_are_counted() {
        let lines: Vec<String> = ["first", "second", "third"].map(str::to_owned).into();
        let shown = |width, height| fitted(&lines, width, height).replace("\x1b[K\r\n", "|");
        assert_eq!(shown(80, 4), "\x1b[Hfirst|second|third|\x1b[J");
        assert_eq!(shown(4, 4), "\x1b[Hfirs|seco|thir|\x1b[J");
        assert_eq!(shown(80, 3), "\x1b[Hfirst|and 2 lines more|\x1b[J");
        assert_eq!(shown(80, 0), "\x1b[Hand 3 lines more|\x1b[J");
    }
}
