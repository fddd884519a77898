//! The shapes of a picture, which become text (SVG). Coordinates are in pixels of
//! the SVG, y goes down.

/// A sheet of paper with its shapes, the lowest first.
#[derive(Debug)]
pub(crate) struct Drawing {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) title: String,
    pub(crate) shapes: Vec<Shape>,
}

/// One shape of a picture.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    Path { steps: Vec<PathStep>, ink: Ink },
    Polygon { corners: Vec<(f64, f64)>, ink: Ink },
    Circle { x: f64, y: f64, radius: f64, ink: Ink },
    Square { left: f64, top: f64, side: f64, ink: Ink },
    Frame { inside: Rectangle, ink: Ink },
    Text(Text),
    Series(Group),
}

/// A step of a path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PathStep {
    Move(f64, f64),
    Line(f64, f64),
    /// To another x at the same height.
    Across(f64),
    /// A vertical line to another y.
    Up(f64),
    /// A relative step to the right and down.
    By(f64, f64),
    /// Back to the last [`PathStep::Move`].
    Close,
}

/// The paint of a shape.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ink {
    /// Along its outline; one pixel wide by default.
    Stroke { colour: Colour, width: Option<f64>, round_joins: bool },
    /// Inside; opaque by default.
    Fill { colour: Colour, opacity: Option<f64> },
}

impl Ink {
    /// A line of one pixel.
    pub(crate) const fn line(colour: Colour) -> Self {
        Self::Stroke { colour, width: None, round_joins: false }
    }

    /// A paint that fills with an opaque colour.
    pub(crate) const fn fill(colour: Colour) -> Self {
        Self::Fill { colour, opacity: None }
    }
}

/// Red, green and blue in hexadecimal, as in style sheets: `#333` or `#0072b2`.
pub(crate) type Colour = &'static str;

/// A line of text.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    /// Its anchor, on its base line.
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// The height of an em.
    pub(crate) size: f64,
    pub(crate) anchor: Anchor,
    pub(crate) colour: Colour,
    /// Turned around its anchor, so that it reads from below to above.
    pub(crate) upwards: bool,
    pub(crate) words: String,
}

impl Text {
    /// The characters that can be shown.
    pub(crate) fn letters(&self) -> impl Iterator<Item = char> {
        self.words.chars().filter(|letter| !letter.is_control())
    }
}

/// The part of a text at its anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A series in a panel; it is clipped at the panel's edges.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// The panel's number on the paper.
    pub(crate) panel: usize,
    pub(crate) clip: Rectangle,
    pub(crate) shapes: Vec<Shape>,
}

/// A rectangle along the axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rectangle {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Rectangle {
    /// As attributes of an SVG element.
    pub(crate) fn attributes(&self) -> String {
        let Self { left, top, width, height } = self;
        format!(r#"x="{left:.2}" y="{top:.2}" width="{width:.2}" height="{height:.2}""#)
    }
}
