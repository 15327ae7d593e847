//! What the user sees: Markdown tables, or one JSON object per line.

use crate::contest::{Contest, Figure};
use crate::rounds::Score;
use crate::statistics::Spread;

pub(crate) struct Report {
    json: bool,
    /// Title of the rows to come.
    section: String,
    /// `None`: the rows say it themselves, or it does not matter.
    workers: Option<usize>,
    /// Above which columns the header stands. Empty: a new table begins.
    columns: Vec<&'static str>,
}

impl Report {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, section: String::new(), workers: None, columns: Vec::new() }
    }

    pub(crate) fn section(&mut self, title: &str, workers: Option<usize>) {
        self.section = title.to_owned();
        self.workers = workers;
        self.columns.clear();
    }

    /// A line for people; machines have no use for it.
    pub(crate) fn say(&mut self, line: &str) {
        if !self.json {
            println!("{line}");
        }
    }

    /// A row that was not run. Closes the table.
    pub(crate) fn skipped(&mut self, name: &str, reason: &str) {
        if self.json {
            println!("{{\"name\":{name:?},\"skipped\":{reason:?}}}");
        } else {
            println!("\n{name}: not measured: {reason}");
            self.columns.clear();
        }
    }

    pub(crate) fn ran(&mut self, contest: &Contest) {
        self.say(&format!("{}: ran", contest.name));
    }

    pub(crate) fn scores(&mut self, contest: &Contest, scores: &[Score]) {
        if !self.json {
            self.head(contest);
        }
        for (figure, score) in contest.figures.iter().zip(scores) {
            if self.json {
                println!("{}", self.object(contest, figure, score));
            } else {
                println!("{}", row(contest, figure, score));
            }
        }
    }

    fn head(&mut self, contest: &Contest) {
        let columns: Vec<_> = contest.lanes.iter().map(|&(name, _)| name).collect();
        if columns == self.columns {
            return;
        }
        let workers = self.workers.map_or(String::new(), |workers| format!(", {workers} workers"));
        println!("\n{}{workers}\n", self.section);
        let ratios: String =
            columns[1..].iter().map(|name| format!(" {} / {name} |", columns[0])).collect();
        println!("| row | unit | {} |{ratios} goal | |", columns.join(" | "));
        println!("|---|---|{}---|---|", "---|".repeat(2 * columns.len() - 1));
        self.columns = columns;
    }

    fn object(&self, contest: &Contest, figure: &Figure, score: &Score) -> String {
        let names = contest.lanes.iter().map(|&(name, _)| name);
        let costs = names.clone().zip(&score.medians);
        let costs: String =
            costs.map(|(name, cost)| format!(",\"{name}\":{}", json(*cost))).collect();
        let first = contest.lanes[0].0;
        let ratio = |(name, spread): (&str, &Spread)| {
            let [median, lowest, highest] =
                [spread.median, spread.lowest, spread.highest].map(json);
            format!(
                ",\"{first}/{name}\":{{\"median\":{median},\"min\":{lowest},\"max\":{highest}}}"
            )
        };
        let ratios: String = names.skip(1).zip(&score.ratios).map(ratio).collect();
        let goal = figure.goal.map_or("null".to_owned(), json);
        let workers = self.workers.map_or("null".to_owned(), |workers| workers.to_string());
        let met = met(figure, score).map_or("null".to_owned(), |met| met.to_string());
        format!(
            "{{\"section\":{:?},\"name\":{:?},\"figure\":{:?},\"unit\":{:?},\"workers\":{workers}\
             {costs}{ratios},\"goal\":{goal},\"met\":{met}}}",
            self.section, contest.name, figure.suffix, figure.unit
        )
    }
}

fn row(contest: &Contest, figure: &Figure, score: &Score) -> String {
    let name = format!("{} {}", contest.name, figure.suffix);
    let costs: String = score.medians.iter().map(|&cost| format!(" {} |", number(cost))).collect();
    let ratios: String = score.ratios.iter().map(|ratio| format!(" {} |", range(ratio))).collect();
    let goal = figure.goal.map_or(String::new(), |goal| format!("{goal:.2}"));
    let verdict = met(figure, score).map_or("", |met| if met { "met" } else { "missed" });
    format!("| {} | {} |{costs}{ratios} {goal} | {verdict} |", name.trim_end(), figure.unit)
}

/// Whether liten / tokio is what we want; `None` if there is no goal or no figure.
fn met(figure: &Figure, score: &Score) -> Option<bool> {
    let ratio = score.ratios.first()?.median;
    figure.goal.filter(|_| !ratio.is_nan()).map(|goal| ratio <= goal)
}

fn range(ratio: &Spread) -> String {
    if ratio.median.is_nan() {
        return "n/a".to_owned();
    }
    format!("{:.2} [{:.2}–{:.2}]", ratio.median, ratio.lowest, ratio.highest)
}

/// Three digits at least, so that small costs can be told apart.
pub(crate) fn number(cost: f64) -> String {
    match cost {
        _ if cost.is_nan() => "n/a".to_owned(),
        _ if cost < 10.0 => format!("{cost:.2}"),
        _ if cost < 100.0 => format!("{cost:.1}"),
        _ => format!("{cost:.0}"),
    }
}

/// JSON has no NaN.
fn json(value: f64) -> String {
    if value.is_finite() { format!("{value:.4}") } else { "null".to_owned() }
}
