//! Bars beside a line for tokio, as SVG. The axis is logarithmic: half and double are equally far from the line.

use crate::row::Ratio;
use crate::svg::{Axis, END, MIDDLE, text};
use std::fmt::{self, Write as _};

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

pub(crate) fn draw(title: &str, bars: &[Bar]) -> String {
    let mut svg = String::new();
    write_picture(&mut svg, title, bars).expect("a string takes everything");
    svg
}

fn write_picture(svg: &mut String, title: &str, bars: &[Bar]) -> fmt::Result {
    let axis = &axis(bars);
    let bottom = TOP + bars.len() as f64 * ROW;
    let height = bottom + BOTTOM;
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"#333\">\n<title>{title}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>"
    )?;
    text(svg, WIDTH / 2.0, 24.0, &format!("{MIDDLE} font-size='15' font-weight='bold'"), title)?;
    for tick in ticks(axis) {
        let at = place(axis, tick);
        let colour = if tick == 1.0 { TOKIO } else { "#ddd" };
        line(svg, (at, TOP - 6.0), (at, bottom), colour, if tick == 1.0 { 2.0 } else { 1.0 })?;
        text(svg, at, bottom + 16.0, MIDDLE, format_args!("{tick}"))?;
    }
    text(
        svg,
        place(axis, 1.0),
        TOP - 12.0,
        &format!("{MIDDLE} fill='{TOKIO}' font-weight='bold'"),
        "tokio",
    )?;
    text(
        svg,
        LEFT.midpoint(WIDTH - RIGHT),
        bottom + 33.0,
        MIDDLE,
        "cost in relation to tokio's: left of the line is better",
    )?;
    for (index, bar) in bars.iter().enumerate() {
        row(svg, axis, TOP + (index as f64 + 0.5) * ROW, bar)?;
    }
    writeln!(svg, "</svg>")
}

fn row(svg: &mut String, axis: &Axis, y: f64, bar: &Bar) -> fmt::Result {
    text(svg, LEFT - 10.0, y + 4.0, END, bar.label)?;
    let (one, end) = (place(axis, 1.0), place(axis, bar.ratio.median));
    writeln!(
        svg,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{THICK}\" fill=\"{LITEN}\"/>",
        one.min(end),
        y - THICK / 2.0,
        (one - end).abs().max(1.0)
    )?;
    let (low, high) = (place(axis, bar.ratio.lowest), place(axis, bar.ratio.highest));
    line(svg, (low, y), (high, y), "#333", 1.0)?;
    for (name, ratio) in &bar.others {
        let colour = if name == "smol" { SMOL } else { GREY };
        let at = place(axis, *ratio);
        writeln!(
            svg,
            "<circle cx=\"{at:.1}\" cy=\"{y:.1}\" r=\"4.5\" fill=\"{colour}\" stroke=\"#fff\"><title>{name}: {ratio:.2}</title></circle>"
        )?;
    }
    let attributes = format!("fill='{LITEN}' font-weight='bold'");
    text(svg, WIDTH - RIGHT + 12.0, y + 4.0, &attributes, format_args!("{:.2}", bar.ratio.median))
}

fn line(
    svg: &mut String,
    from: (f64, f64),
    to: (f64, f64),
    colour: &str,
    width: f64,
) -> fmt::Result {
    writeln!(
        svg,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>",
        from.0, from.1, to.0, to.1
    )
}

/// The axis has 1 on it.
fn axis(bars: &[Bar]) -> Axis {
    let values = bars.iter().flat_map(|bar| {
        let Ratio { median, lowest, highest } = bar.ratio;
        bar.others.iter().map(|(_, ratio)| *ratio).chain([median, lowest, highest])
    });
    Axis::of(values, (0.5, 1.25), 1.1, (LEFT, WIDTH - RIGHT))
}

/// The numbers at the axis: few enough to be read.
fn ticks(axis: &Axis) -> Vec<f64> {
    let wide = axis.highest / axis.lowest > 300.0;
    let all: &[f64] = if wide {
        &[0.001, 0.01, 0.1, 1.0, 10.0, 100.0]
    } else {
        &[0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
    };
    all.iter().copied().filter(|tick| axis.lowest <= *tick && *tick <= axis.highest).collect()
}

/// A cost of nothing, or one that is no number, is at an end of the axis.
fn place(axis: &Axis, value: f64) -> f64 {
    axis.place(value.clamp(axis.lowest, axis.highest))
}
