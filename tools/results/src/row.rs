//! One line of what the bench prints.

use serde_json::Value;
use std::error::Error;

/// The runtime that the others are compared with.
pub(crate) const OURS: &str = "liten";
pub(crate) const TOKIO: &str = "tokio";

/// A figure of a row.
pub(crate) struct Row {
    pub(crate) name: String,
    /// Which figure it is: "p99", "cpu"; empty for the main one.
    pub(crate) figure: String,
    pub(crate) unit: String,
    /// The median of each runtime, in the order of the bench.
    pub(crate) costs: Vec<(String, f64)>,
    /// liten / tokio: the median over the rounds, the lowest and the highest.
    pub(crate) ratio: Option<Ratio>,
    /// Why there are no figures.
    pub(crate) skipped: Option<String>,
}

/// liten / tokio, taken within a round each.
#[derive(Clone, Copy)]
pub(crate) struct Ratio {
    pub(crate) median: f64,
    pub(crate) lowest: f64,
    pub(crate) highest: f64,
}

impl Row {
    pub(crate) fn cost(&self, runtime: &str) -> Option<f64> {
        self.costs.iter().find(|(name, _)| name == runtime).map(|&(_, cost)| cost)
    }
}

/// All rows of a run, in order.
pub(crate) fn read(text: &str) -> Result<Vec<Row>, Box<dyn Error>> {
    text.lines().filter(|line| line.starts_with('{')).map(one).collect()
}

fn one(line: &str) -> Result<Row, Box<dyn Error>> {
    const NOT_RUNTIMES: [&str; 7] = ["section", "name", "figure", "unit", "workers", "goal", "met"];
    let value: Value = serde_json::from_str(line)?;
    let object = value.as_object().ok_or("a line is no object")?;
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let costs = object.iter().filter(|(key, _)| !NOT_RUNTIMES.contains(&key.as_str()));
    let costs = costs.filter_map(|(key, value)| Some((key.clone(), value.as_f64()?))).collect();
    let ratio = object.get(&format!("{OURS}/{TOKIO}")).and_then(|ratio| {
        let number = |key: &str| ratio.get(key).and_then(Value::as_f64);
        Some(Ratio { median: number("median")?, lowest: number("min")?, highest: number("max")? })
    });
    let skipped = object.get("skipped").and_then(Value::as_str).map(ToOwned::to_owned);
    Ok(Row {
        name: text("name"),
        figure: text("figure"),
        unit: text("unit"),
        costs,
        ratio,
        skipped,
    })
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_line_of_the_bench_is_read() {
        let text = "garbage\n{\"section\":\"s\",\"name\":\"echo\",\"figure\":\"p99\",\"unit\":\"ns\",\"workers\":2,\
                    \"liten\":10.0,\"tokio\":20.0,\"liten/tokio\":{\"median\":0.5,\"min\":0.4,\"max\":0.6},\
                    \"goal\":null,\"met\":null}\n{\"name\":\"mixed\",\"skipped\":\"takes minutes\"}\n";
        let rows = read(text).expect("both lines are JSON");
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].cost("tokio"), rows[0].cost("smol")), (Some(20.0), None));
        assert_eq!(rows[0].ratio.map(|ratio| ratio.highest), Some(0.6));
        assert_eq!(rows[1].skipped.as_deref(), Some("takes minutes"));
        assert!(read("{\"name\":").is_err());
    }
}
