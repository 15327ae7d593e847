//! Bars beside a line for tokio, as SVG. The axis is logarithmic: half and double are equally far from the line.

use crate::row::Ratio;
use std::fmt::{Display, Write as _};

/// One row of a picture. tokio is 1.
pub(crate) struct Bar {
    pub(crate) label: &'static str,
    pub(crate) ratio: Ratio,
    /// Name and median of other runtimes, in relation to tokio's.
    pub(crate) others: Vec<(String, f64)>,
}

/// Pixels.
const WIDTH: f64 = 760.0;
const LEFT: f64 = 250.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 62.0;
const BOTTOM: f64 = 40.0;
const ROW: f64 = 26.0;
const THICK: f64 = 12.0;

const LITEN: &str = "#c0392b";
const TOKIO: &str = "#2563b0";
const SMOL: &str = "#2e8b57";
const GREY: &str = "#777";
const END: &str = "text-anchor='end'";
const MIDDLE: &str = "text-anchor='middle'";

pub(crate) fn draw(title: &str, bars: &[Bar]) -> String {
    let axis = Axis::of(bars);
    let bottom = TOP + bars.len() as f64 * ROW;
    let height = bottom + BOTTOM;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"#333\">\n<title>{title}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    text(
        &mut svg,
        WIDTH / 2.0,
        24.0,
        &format!("{MIDDLE} font-size='15' font-weight='bold'"),
        title,
    );
    for tick in axis.ticks() {
        let at = axis.place(tick);
        let colour = if tick == 1.0 { TOKIO } else { "#ddd" };
        line(&mut svg, (at, TOP - 6.0), (at, bottom), colour, if tick == 1.0 { 2.0 } else { 1.0 });
        text(&mut svg, at, bottom + 16.0, MIDDLE, format_args!("{tick}"));
    }
    text(
        &mut svg,
        axis.place(1.0),
        TOP - 12.0,
        &format!("{MIDDLE} fill='{TOKIO}' font-weight='bold'"),
        "tokio",
    );
    text(
        &mut svg,
        LEFT.midpoint(WIDTH - RIGHT),
        bottom + 33.0,
        MIDDLE,
        "cost in relation to tokio's: left of the line is better",
    );
    for (index, bar) in bars.iter().enumerate() {
        row(&mut svg, &axis, TOP + (index as f64 + 0.5) * ROW, bar);
    }
    svg.push_str("</svg>\n");
    svg
}

fn row(svg: &mut String, axis: &Axis, y: f64, bar: &Bar) {
    text(svg, LEFT - 10.0, y + 4.0, END, bar.label);
    let (one, end) = (axis.place(1.0), axis.place(bar.ratio.median));
    let _ = writeln!(
        svg,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{THICK}\" fill=\"{LITEN}\"/>",
        one.min(end),
        y - THICK / 2.0,
        (one - end).abs().max(1.0)
    );
    let (low, high) = (axis.place(bar.ratio.lowest), axis.place(bar.ratio.highest));
    line(svg, (low, y), (high, y), "#333", 1.0);
    for (name, ratio) in &bar.others {
        let colour = if name == "smol" { SMOL } else { GREY };
        let at = axis.place(*ratio);
        let _ = writeln!(
            svg,
            "<circle cx=\"{at:.1}\" cy=\"{y:.1}\" r=\"4.5\" fill=\"{colour}\" stroke=\"#fff\"><title>{name}: {ratio:.2}</title></circle>"
        );
    }
    let attributes = format!("fill='{LITEN}' font-weight='bold'");
    text(svg, WIDTH - RIGHT + 12.0, y + 4.0, &attributes, format_args!("{:.2}", bar.ratio.median));
}

fn text(svg: &mut String, x: f64, y: f64, attributes: &str, text: impl Display) {
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{text}</text>");
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str, width: f64) {
    let _ = writeln!(
        svg,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>",
        from.0, from.1, to.0, to.1
    );
}

/// A logarithmic axis that has 1 on it.
struct Axis {
    lowest: f64,
    highest: f64,
}

impl Axis {
    fn of(bars: &[Bar]) -> Self {
        let values = bars.iter().flat_map(|bar| {
            let Ratio { median, lowest, highest } = bar.ratio;
            bar.others.iter().map(|(_, ratio)| *ratio).chain([median, lowest, highest])
        });
        let usable = values.filter(|value| value.is_finite() && *value > 0.0);
        let (lowest, highest) = usable.fold((0.5_f64, 1.25_f64), |(lowest, highest), value| {
            (lowest.min(value), highest.max(value))
        });
        Self { lowest: lowest / 1.1, highest: highest * 1.1 }
    }

    fn place(&self, value: f64) -> f64 {
        let value = value.clamp(self.lowest, self.highest);
        let share = (value / self.lowest).ln() / (self.highest / self.lowest).ln();
        LEFT + share * (WIDTH - RIGHT - LEFT)
    }

    /// The numbers at the axis: few enough to be read.
    fn ticks(&self) -> Vec<f64> {
        let wide = self.highest / self.lowest > 300.0;
        let all: &[f64] = if wide {
            &[0.001, 0.01, 0.1, 1.0, 10.0, 100.0]
        } else {
            &[0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
        };
        all.iter().copied().filter(|tick| self.lowest <= *tick && *tick <= self.highest).collect()
    }
}
