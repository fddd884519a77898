//! Pictures as data: panels with series, and a table of their values.

/// A point; in a panel with words on its y axis, its interval is of x.
pub use btu_chart::Point;

use super::page::Table;

/// A picture with its table.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its name in links and files: letters, digits and hyphens.
    pub name: String,
    /// The title of the figure.
    pub title: String,
    /// From above to below. Series of one name have one colour in all panels and are hidden
    /// together.
    pub panels: Vec<Panel>,
    /// The arrangement of the panels.
    pub layout: Layout,
    /// Like `layout`, as a table.
    pub table: Table,
}

/// The arrangement of a figure's panels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Side by side, with axes of their own.
    SideBySide,
    /// One below the other with a common x axis; the second of two is less high.
    Below,
}

/// A pair of axes and the series between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Above it; may be empty.
    pub title: String,
    /// The horizontal axis, with values that grow to the right.
    pub x: Axis,
    /// The vertical axis, with values that grow upwards.
    pub y: Axis,
    /// The series that are drawn in this panel.
    pub series: Vec<Series>,
}

/// A part of stacked bars: its name, its colour, and its height in each bar, if it has one there.
pub(crate) type BarPart = (String, Role, Vec<Option<f64>>);

impl Panel {
    /// Bars of one part on top of the other, one for each of `words`; `x` and `y` are the labels of the axes.
    pub(crate) fn stacked(
        title: &str,
        (x, words): (&str, Vec<String>),
        y: &str,
        parts: impl Iterator<Item = BarPart>,
    ) -> Self {
        let series = parts.map(|(name, role, heights)| Series {
            name,
            role,
            mark: Mark::Stack,
            points: (0..)
                .zip(heights)
                .filter_map(|(place, height)| Some(Point::new(f64::from(place), height?)))
                .collect(),
        });
        Self {
            title: title.to_owned(),
            x: Axis::words(x, words),
            y: Axis::linear(y),
            series: series.collect(),
        }
    }
}

/// An axis of a panel, with its label and its scale.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The quantity, with its unit.
    pub label: String,
    /// The scale of its values.
    pub scale: Scale,
}

/// The scale of an axis.
#[derive(Debug, Clone, PartialEq)]
pub enum Scale {
    /// By equal differences, from zero.
    Linear,
    /// Equal distances are equal ratios.
    Logarithmic,
    /// By equal ratios, with marks at these values only.
    At(Vec<f64>),
    /// Words in this order; values are their places, from 0.
    Words(Vec<String>),
}

impl Axis {
    /// An axis by equal differences.
    pub fn linear(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Linear }
    }

    /// An axis by equal ratios.
    pub fn logarithmic(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Logarithmic }
    }

    /// An axis of words.
    pub fn words(label: &str, words: Vec<String>) -> Self {
        Self { label: label.to_owned(), scale: Scale::Words(words) }
    }
}

/// A series of values that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The name of the series, as the legend shows it.
    pub name: String,
    /// Its role, which decides the colour.
    pub role: Role,
    /// How it is drawn.
    pub mark: Mark,
    /// Its points, in the order in which they are connected.
    pub points: Vec<Point>,
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The points are joined by a line.
    Line,
    /// Points with a line between them; intervals as bars.
    LinePoints,
    /// Points alone; intervals as bars.
    Points,
    /// Upright bars, those of different series on top of each other.
    Stack,
}

/// The role of a series. Colours are chosen by role, so that a load has one colour in every
/// picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A result while no other activity runs.
    Idle,
    /// A result while the CPU activity runs.
    Cpu,
    /// A result while the disk activity runs.
    Disk,
    /// A result while the file transfer runs.
    Transfer,
    /// A result while any of these activities runs.
    Loaded,
    /// A result of another study.
    Reference,
    /// The first, second, ... of a list; colours repeat after eight.
    Member(usize),
}

impl Role {
    /// Which of the eight colours of the palette it has.
    pub(crate) const fn colour(self) -> usize {
        match self {
            Self::Idle => 0,
            Self::Cpu | Self::Loaded => 1,
            Self::Disk => 2,
            Self::Transfer => 3,
            Self::Reference => 7,
            Self::Member(place) => place % COLOURS,
        }
    }

    /// How often the palette was used up before it.
    pub(crate) const fn turn(self) -> usize {
        match self {
            Self::Member(place) => place / COLOURS,
            _ => 0,
        }
    }
}

/// Colours in a palette.
pub(crate) const COLOURS: usize = 8;
