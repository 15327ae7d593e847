//! Pieces of SVG that all our pictures are made of; `tools/results` draws with them, too.

use std::fmt::{self, Display, Write};

pub(crate) const MIDDLE: &str = "text-anchor='middle'";
pub(crate) const END: &str = "text-anchor='end'";

pub(crate) fn text(
    svg: &mut String,
    x: f64,
    y: f64,
    attributes: &str,
    text: impl Display,
) -> fmt::Result {
    writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{text}</text>")
}

/// A logarithmic axis.
pub(crate) struct Axis {
    pub(crate) lowest: f64,
    pub(crate) highest: f64,
    /// Where the lowest value is on the page, and where the highest.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl Axis {
    /// Over all usable values, and at least from `least` to `most`. It is longer than that by the factor
    /// `room` on both sides.
    pub(crate) fn of(
        values: impl Iterator<Item = f64>,
        (least, most): (f64, f64),
        room: f64,
        (from, to): (f64, f64),
    ) -> Self {
        let usable = values.filter(|value| value.is_finite() && *value > 0.0);
        let (lowest, highest) = usable.fold((least, most), |(lowest, highest), value| {
            (lowest.min(value), highest.max(value))
        });
        Self { lowest: lowest / room, highest: highest * room, from, to }
    }

    pub(crate) fn place(&self, value: f64) -> f64 {
        let share = (value / self.lowest).ln() / (self.highest / self.lowest).ln();
        self.from + share * (self.to - self.from)
    }
}
