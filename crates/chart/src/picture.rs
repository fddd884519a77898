//! The data of a drawing.

use crate::axis::Axis;

/// A picture: a title over panels with a common width.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// The title of the picture.
    pub title: String,
    /// Notes about the circumstances, a line each; may be empty.
    pub notes: Vec<String>,
    /// From above to below.
    pub panels: Vec<Panel>,
}

/// A pair of axes and the series between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// The horizontal axis, with values that grow to the right.
    pub x: Axis,
    /// The vertical axis, with values that grow upwards.
    pub y: Axis,
    /// Height between the axes, in pixels.
    pub height: u32,
    /// Values of y at which a line goes across, such as the zero of residuals.
    pub across: Vec<f64>,
    /// The series. Series of one name have one colour in all panels and one entry in the legend.
    pub series: Vec<Series>,
}

/// Points that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The name of the series, as the legend shows it.
    pub name: String,
    /// How it is drawn.
    pub mark: Mark,
    /// Its points, in the order in which they are connected. Points that are not finite (on a
    /// logarithmic axis: not positive) are left out, and the line is broken there.
    pub points: Vec<Point>,
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A line; intervals as a band.
    Line,
    /// Points; intervals as bars.
    Points,
    /// Points with a thin line between them; intervals as bars.
    LinePoints,
}

/// A point, with the interval of its y where it has one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The horizontal value, in the unit of the panel's x axis.
    pub x: f64,
    /// The vertical value, in the unit of the panel's y axis.
    pub y: f64,
    /// Lower and upper end around y.
    pub interval: Option<(f64, f64)>,
}

impl Point {
    /// A point without an interval.
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y, interval: None }
    }
}

impl Picture {
    /// Names of all series, each once, in the order of their first occurrence.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if !names.contains(&series.name.as_str()) {
                names.push(&series.name);
            }
        }
        names
    }
}
