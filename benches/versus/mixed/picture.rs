//! How late an answer is, over how long others compute beside it, as a picture: both axes logarithmic.

use super::svg::{Axis, END, MIDDLE, text};
use super::{BURNERS, CONNECTIONS, HEAVY};
use super::{Echo, Requests};
use crate::contest::{Contest, Figure, Start};
use crate::runtimes::{Liten, Runtime, Smol, Tokio};
use std::fmt::{self, Write};
use std::time::Duration;

/// Microseconds that burners compute for in one poll.
const BURNS: [u64; 10] = [100, 200, 500, 1_000, 2_000, 5_000, 8_000, 20_000, 50_000, 100_000];
/// From here on a measurement takes longer.
const LONG_BURN: Duration = Duration::from_millis(50);
const SHORT: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_millis(1200);
const ROUNDS: usize = 3;

/// Pixels.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 90.0;
const TOP: f64 = 60.0;
const BOTTOM: f64 = 70.0;
/// An axis is longer than the values on it by this factor on both sides.
const ROOM: f64 = 1.25;
/// Labels at the ends of two lines stand so far apart at least.
const LABEL: f64 = 18.0;

/// Name and colour of each line.
const LINES: [(&str, &str); 3] =
    [(Liten::NAME, "#c0392b"), (Tokio::NAME, "#2563b0"), (Smol::NAME, "#2e8b57")];

/// What a picture is of.
#[derive(Clone, Copy)]
pub(crate) enum Picture {
    /// Tasks that compute and yield, beside an echo.
    Burners,
    /// Requests whose handler computes, beside light ones.
    Requests,
}

impl Picture {
    pub(crate) const ALL: [Self; 2] = [Self::Burners, Self::Requests];

    /// The name that it is asked for by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Burners => "mixed_picture",
            Self::Requests => "requests_picture",
        }
    }

    /// Where it goes unless the command says something else.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Burners => concat!(env!("CARGO_MANIFEST_DIR"), "/benches/mixed.svg"),
            Self::Requests => concat!(env!("CARGO_MANIFEST_DIR"), "/benches/requests.svg"),
        }
    }

    fn title(self, workers: usize) -> String {
        match self {
            Self::Burners => format!(
                "Echo of 64 bytes on {CONNECTIONS} connections beside {BURNERS} computing tasks, \
                 {workers} workers"
            ),
            Self::Requests => format!(
                "Light requests on {CONNECTIONS} connections beside heavy ones on {HEAVY}, {workers} workers"
            ),
        }
    }

    fn across(self) -> &'static str {
        match self {
            Self::Burners => "a computing task's poll, before it yields",
            Self::Requests => "what the handler of a heavy request computes for",
        }
    }

    fn lanes(self, workers: usize, burn: Duration) -> Vec<(&'static str, Start)> {
        match self {
            Self::Burners => Echo::beside(workers, burn).lanes(),
            Self::Requests => Requests { workers, light: CONNECTIONS, heavy: HEAVY, burn }.lanes(),
        }
    }

    /// One contest for each point of the lines, with what is computed for at a time.
    pub(crate) fn contests(self, workers: usize) -> Vec<(Duration, Contest)> {
        let point = |micros| {
            let burn = Duration::from_micros(micros);
            let figure = |suffix| Figure { suffix, unit: "ns", goal: None };
            let contest = Contest {
                name: format!("{}_{}ms", self.name(), micros as f64 / 1e3),
                figures: vec![figure("p50"), figure("p99")],
                lanes: self.lanes(workers, burn),
                slice: if burn < LONG_BURN { SHORT } else { LONG },
                rounds: ROUNDS,
            };
            (burn, contest)
        };
        BURNS.into_iter().map(point).collect()
    }

    /// The picture, as SVG.
    pub(crate) fn draw(self, points: &[Point], workers: usize) -> String {
        let mut svg = String::new();
        let drawn = write_picture(&mut svg, points, &self.title(workers), self.across());
        drawn.expect("a string takes everything");
        svg
    }
}

/// One value per line, in milliseconds, at a poll of so many milliseconds.
pub(crate) struct Point {
    pub(crate) burn: f64,
    pub(crate) lateness: Vec<f64>,
}

fn write_picture(svg: &mut String, points: &[Point], title: &str, across: &str) -> fmt::Result {
    let axis = |values: &mut dyn Iterator<Item = f64>, ends| {
        Axis::of(values, (f64::INFINITY, 0.0), ROOM, ends)
    };
    let x = axis(&mut points.iter().map(|point| point.burn), (LEFT, WIDTH - RIGHT));
    let mut lateness = points.iter().flat_map(|point| point.lateness.iter().copied());
    let y = axis(&mut lateness, (HEIGHT - BOTTOM, TOP));
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#333\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>"
    )?;
    let middle = LEFT.midpoint(WIDTH - RIGHT);
    text(svg, middle, 28.0, "text-anchor='middle' font-size='15' font-weight='bold'", title)?;
    grid(svg, &x, &y)?;
    let below = HEIGHT - 22.0;
    text(svg, middle, below, MIDDLE, across)?;
    let upright = TOP.midpoint(HEIGHT - BOTTOM);
    let turned = format!("{MIDDLE} transform='rotate(-90 24 {upright})'");
    text(svg, 24.0, upright, &turned, "99 % of the answers come within")?;
    let mut ends: Vec<(usize, f64)> = Vec::new();
    for (line, (_, colour)) in LINES.iter().enumerate() {
        let place = |point: &Point| (x.place(point.burn), y.place(point.lateness[line]));
        let places: Vec<_> = points.iter().map(place).collect();
        polyline(svg, colour, &places)?;
        ends.extend(places.last().map(|&(_, end)| (line, end)));
    }
    labels(svg, ends)?;
    writeln!(svg, "</svg>")
}

/// Lines and numbers at the powers of ten, and fainter lines in between.
fn grid(svg: &mut String, x: &Axis, y: &Axis) -> fmt::Result {
    let (left, right, top, bottom) = (LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM);
    for (value, main) in ticks(x) {
        let at = x.place(value);
        rule(svg, (at, top), (at, bottom), main)?;
        if main {
            text(svg, at, bottom + 20.0, MIDDLE, millis(value))?;
        }
    }
    for (value, main) in ticks(y) {
        let at = y.place(value);
        rule(svg, (left, at), (right, at), main)?;
        if main {
            text(svg, left - 8.0, at + 4.0, END, millis(value))?;
        }
    }
    let (width, height) = (right - left, bottom - top);
    writeln!(
        svg,
        "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"#666\"/>"
    )
}

fn rule(svg: &mut String, from: (f64, f64), to: (f64, f64), main: bool) -> fmt::Result {
    let colour = if main { "#bbb" } else { "#eee" };
    writeln!(
        svg,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"/>",
        from.0, from.1, to.0, to.1
    )
}

fn polyline(svg: &mut String, colour: &str, places: &[(f64, f64)]) -> fmt::Result {
    let corners: String = places.iter().map(|(x, y)| format!("{x:.1},{y:.1} ")).collect();
    writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2.5\"/>",
        corners.trim_end()
    )?;
    for (x, y) in places {
        writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>")?;
    }
    Ok(())
}

/// The lines' names at their ends, moved down where they would cover each other.
fn labels(svg: &mut String, mut ends: Vec<(usize, f64)>) -> fmt::Result {
    ends.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let mut free = f64::NEG_INFINITY;
    for (line, end) in ends {
        let at = end.max(free);
        free = at + LABEL;
        let (name, colour) = LINES[line];
        let attributes = format!("font-weight='bold' fill='{colour}'");
        text(svg, WIDTH - RIGHT + 10.0, at + 4.0, &attributes, name)?;
    }
    Ok(())
}

fn millis(value: f64) -> String {
    match value {
        _ if value < 1.0 => format!("{:.0} µs", value * 1e3),
        _ if value < 1e3 => format!("{value:.0} ms"),
        _ => format!("{:.0} s", value / 1e3),
    }
}

/// One to nine times each power of ten on the axis, and whether it is that power itself.
fn ticks(axis: &Axis) -> impl Iterator<Item = (f64, bool)> {
    let (lowest, highest) = (axis.lowest, axis.highest);
    let powers = lowest.log10().floor() as i32..=highest.log10().floor() as i32;
    let tick =
        |power| (1..=9).map(move |digit| (f64::from(digit) * 10_f64.powi(power), digit == 1));
    let inside = move |&(value, _): &(f64, bool)| lowest <= value && value <= highest;
    powers.flat_map(tick).filter(inside)
}
