//! The page: method, machine, pictures, losses, and what was left out.

use crate::picture::Bar;
use crate::plan::{FOLDER, PICTURES, REASONS};
use crate::row::{OURS, Row, TOKIO};
use std::fmt::Write as _;

const HEAD: &str = include_str!("head.md");

pub(crate) fn render(rows: &[Row], machine: &[String]) -> String {
    let mut page = HEAD.replace("MACHINE", &machine.join("\n"));
    for picture in PICTURES {
        let bars = picture.bars(rows);
        if bars.is_empty() {
            continue;
        }
        let _ = write!(
            page,
            "\n## {0}\n\n![{0}]({FOLDER}/{1}.svg)\n\n{2}{3}\n",
            picture.title,
            picture.name,
            picture.about,
            others(&bars)
        );
    }
    page.push_str(&losses(rows));
    page.push_str(&left_out(rows));
    page
}

/// Says what the dots in a picture are.
fn others(bars: &[Bar]) -> String {
    let mut names: Vec<&str> =
        bars.iter().flat_map(|bar| &bar.others).map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let colour =
        |name: &str| format!("{} is {name}", if name == "smol" { "green" } else { "grey" });
    match names.as_slice() {
        [] => String::new(),
        names => format!(
            " Of the dots, {}.",
            names.iter().map(|name| colour(name)).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// The rows in which even the best round of liten's was behind tokio, those with one reason together.
fn losses(rows: &[Row]) -> String {
    let mut text = String::from(
        "\n## Where liten loses\n\nThe rows of this run in which every round was behind tokio: the median of the rounds' ratios, \
         and the lowest and the highest. The pictures also have rows whose median is behind and whose rounds are on both sides: \
         they are a draw.\n\n",
    );
    let mut by_reason: Vec<(&str, Vec<String>)> = Vec::new();
    for row in rows.iter().filter(|row| is_cost(row)) {
        let Some(ratio) = row.ratio.filter(|ratio| ratio.lowest > 1.0) else { continue };
        let name = format!("{} {}", row.name, row.figure);
        let reason = REASONS.iter().find(|(start, _)| name.starts_with(start));
        let reason = reason.map_or("not explained yet", |(_, reason)| reason);
        let row = format!(
            "{} {:.2} [{:.2}–{:.2}]",
            name.trim_end(),
            ratio.median,
            ratio.lowest,
            ratio.highest
        );
        match by_reason.iter_mut().find(|(other, _)| *other == reason) {
            Some((_, rows)) => rows.push(row),
            None => by_reason.push((reason, vec![row])),
        }
    }
    if by_reason.is_empty() {
        text.push_str("None in this run.\n");
    } else {
        text.push_str("| rows, liten / tokio | why |\n|---|---|\n");
    }
    for (reason, rows) in by_reason {
        let _ = writeln!(text, "| {} | {reason} |", rows.join("<br>"));
    }
    text
}

/// A rate is better when it is higher, and says nothing that the cost does not say.
fn is_cost(row: &Row) -> bool {
    row.unit != "1/s" && row.cost(OURS).is_some() && row.cost(TOKIO).is_some()
}

fn left_out(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        if let Some(reason) = &row.skipped {
            if text.is_empty() {
                text.push_str("\n## What could not be measured on this machine\n\n");
            }
            let _ = writeln!(text, "- `{}`: {reason}", row.name);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::render;
    use crate::row;

    fn line(name: &str, figure: &str, ratios: [f64; 3]) -> String {
        let [median, lowest, highest] = ratios;
        format!(
            "{{\"name\":\"{name}\",\"figure\":\"{figure}\",\"unit\":\"ns\",\"liten\":{median},\"tokio\":1.0,\"smol\":2.0,\
             \"liten/tokio\":{{\"median\":{median},\"min\":{lowest},\"max\":{highest}}}}}\n"
        )
    }

    #[test]
    fn only_a_row_that_is_behind_in_every_round_is_a_loss() {
        let text =
            line("tcp_echo_1", "", [1.2, 1.1, 1.3]) + &line("yield_many", "", [1.2, 0.9, 1.3]);
        let page = render(&row::read(&text).expect("JSON"), &[]);
        let losses = page.split("## Where liten loses").nth(1).expect("the part is there");
        assert!(
            losses.contains("| tcp_echo_1 1.20 [1.10–1.30] | The same system calls"),
            "{losses}"
        );
        assert!(!losses.contains("yield_many"), "{losses}");
    }

    #[test]
    fn rows_with_one_reason_stand_together() {
        let text = line("mixed_1ms", "threads", [2.0, 2.0, 2.0])
            + &line("build", "", [3.0, 2.9, 3.1])
            + &line("mixed_8ms", "threads", [3.0, 3.0, 3.0]);
        let page = render(&row::read(&text).expect("JSON"), &[]);
        let together =
            "| mixed_1ms threads 2.00 [2.00–2.00]<br>mixed_8ms threads 3.00 [3.00–3.00] | ";
        assert!(page.contains(together), "{page}");
    }

    #[test]
    fn a_row_that_was_not_measured_is_named_with_its_reason() {
        let text = "{\"name\":\"tcp_echo_5000\",\"skipped\":\"too few open files\"}\n";
        let page = render(&row::read(text).expect("JSON"), &[]);
        assert!(page.contains("- `tcp_echo_5000`: too few open files"), "{page}");
        assert!(!page.contains(".svg"), "a picture of nothing: {page}");
    }
}
