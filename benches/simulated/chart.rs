//! A line chart as SVG, with a logarithmic axis.

#![expect(clippy::cast_precision_loss, reason = "a chart has few lines and few places")]

use std::{fmt::Write, fs, io, path::Path};

/// A line chart. The places on the horizontal axis have equal distances.
pub(crate) struct Chart<'a> {
    pub(crate) title: &'a str,
    pub(crate) across: &'a str,
    pub(crate) up: &'a str,
    /// The command that makes the chart.
    pub(crate) command: &'a str,
    pub(crate) places: &'a [String],
    pub(crate) lines: Vec<Line>,
}

/// One line, with a value for each place. A value that is not a number is left out.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) values: Vec<f64>,
}

/// Colours that people with colour blindness can tell apart (Okabe and Ito), for a light and a dark
/// background. The markers differ, too.
const COLOURS: [(&str, &str); 6] = [
    ("#0072b2", "#56b4e9"),
    ("#d55e00", "#ff8c42"),
    ("#009e73", "#2bd4a4"),
    ("#a0507d", "#e39cc6"),
    ("#8a6d00", "#f0e442"),
    ("#444444", "#cccccc"),
];

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 430.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 58.0;
const BOTTOM: f64 = 340.0;

/// The range of the vertical axis.
#[derive(Clone, Copy)]
struct Scale {
    least: f64,
    most: f64,
}

impl Line {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), values: Vec::new() }
    }
}

impl Chart<'_> {
    /// Writes the chart to `docs/charts`.
    pub(crate) fn save(&self, name: &str) -> io::Result<()> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/charts");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(name), self.svg())
    }

    fn svg(&self) -> String {
        let scale = Scale::of(self.lines.iter().flat_map(|line| line.values.iter().copied()));
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\">\n\
             <title>{}</title>\n{}<rect class=\"paper\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n",
            self.title,
            style()
        );
        let middle = f64::midpoint(LEFT, RIGHT);
        text(&mut svg, "title", (LEFT, 30.0), self.title);
        self.axes(&mut svg, scale);
        text(&mut svg, "axis middle", (middle, BOTTOM + 44.0), self.across);
        let half = f64::midpoint(TOP, BOTTOM);
        let turn = format!("transform=\"rotate(-90 20 {half})\" class=\"axis middle\"");
        element(&mut svg, &format!("text x=\"20\" y=\"{half}\" {turn}"), self.up);
        text(&mut svg, "note", (LEFT, HEIGHT - 16.0), self.command);
        for (index, line) in self.lines.iter().enumerate() {
            self.line(&mut svg, index, line, scale);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn axes(&self, svg: &mut String, scale: Scale) {
        for tick in scale.ticks() {
            let y = scale.height(tick);
            push(svg, &format!("<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"));
            text(svg, "axis end", (LEFT - 8.0, y + 4.0), &tick.to_string());
        }
        for (index, place) in self.places.iter().enumerate() {
            text(svg, "axis middle", (self.x(index), BOTTOM + 22.0), place);
        }
    }

    fn line(&self, svg: &mut String, index: usize, line: &Line, scale: Scale) {
        let values = line.values.iter().enumerate().filter(|(_, value)| value.is_finite());
        let points: Vec<_> = values.map(|(place, value)| (self.x(place), scale.height(*value))).collect();
        let path: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        push(svg, &format!("<polyline class=\"line c{index}\" points=\"{}\"/>", path.join(" ")));
        for point in &points {
            marker(svg, index, *point);
        }
        let y = TOP + 12.0 + 24.0 * index as f64;
        marker(svg, index, (RIGHT + 24.0, y));
        text(svg, "axis", (RIGHT + 38.0, y + 4.0), &line.name);
    }

    fn x(&self, place: usize) -> f64 {
        let step = (RIGHT - LEFT) / self.places.len() as f64;
        LEFT + step * (place as f64 + 0.5)
    }
}

impl Scale {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| value.is_finite()) {
            (least, most) = (least.min(value), most.max(value));
        }
        let below = steps().take_while(|step| *step <= least).last().unwrap_or(least);
        Self { least: below, most: steps().find(|step| *step >= most).unwrap_or(most) }
    }

    fn ticks(self) -> impl Iterator<Item = f64> {
        steps().skip_while(move |step| *step < self.least).take_while(move |step| *step <= self.most)
    }

    fn height(self, value: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * (value / self.least).ln() / (self.most / self.least).ln()
    }
}

/// The steps of the vertical axis: 1, 2 and 5 in each power of ten.
fn steps() -> impl Iterator<Item = f64> {
    let powers = [0.01, 0.1, 1.0, 10.0, 100.0, 1_000.0, 10_000.0];
    powers.into_iter().flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * power))
}

/// Draws a marker whose shape depends on the line.
fn marker(svg: &mut String, line: usize, (x, y): (f64, f64)) {
    let corners = match line % 3 {
        0 => {
            return push(svg, &format!("<circle class=\"marker c{line}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>"));
        }
        1 => [(-4.5, -4.5), (4.5, -4.5), (4.5, 4.5), (-4.5, 4.5)].as_slice(),
        _ => [(0.0, -6.0), (5.5, 4.5), (-5.5, 4.5)].as_slice(),
    };
    let corners: Vec<_> = corners.iter().map(|(dx, dy)| format!("{:.1},{:.1}", x + dx, y + dy)).collect();
    push(svg, &format!("<polygon class=\"marker c{line}\" points=\"{}\"/>", corners.join(" ")));
}

fn style() -> String {
    let mut css = "<style>\n\
        text { font: 13px system-ui, sans-serif; fill: #1f2328; }\n\
        .title { font-size: 16px; font-weight: 600; } .note { font: 12px ui-monospace, monospace; }\n\
        .middle { text-anchor: middle; } .end { text-anchor: end; }\n\
        .paper { fill: #ffffff; } .grid { stroke: #d0d7de; } .line { fill: none; stroke-width: 2; }\n"
        .to_owned();
    let colours = |css: &mut String, pick: fn(&(&'static str, &'static str)) -> &'static str| {
        for (index, colour) in COLOURS.iter().map(pick).enumerate() {
            let _ = writeln!(css, ".line.c{index} {{ stroke: {colour}; }} .marker.c{index} {{ fill: {colour}; }}");
        }
    };
    colours(&mut css, |(light, _)| light);
    css.push_str("@media (prefers-color-scheme: dark) {\ntext { fill: #e6edf3; } .paper { fill: #0d1117; } .grid { stroke: #30363d; }\n");
    colours(&mut css, |(_, dark)| dark);
    css.push_str("}\n</style>\n");
    css
}

fn text(svg: &mut String, class: &str, (x, y): (f64, f64), content: &str) {
    element(svg, &format!("text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\""), content);
}

fn element(svg: &mut String, tag: &str, content: &str) {
    let name = tag.split(' ').next().unwrap_or(tag);
    push(svg, &format!("<{tag}>{content}</{name}>"));
}

fn push(svg: &mut String, line: &str) {
    svg.push_str(line);
    svg.push('\n');
}
