//! The kinds of items.

/// A place in the picture, or a displacement: pixels to the right and down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Point {
    /// The distance to the right, in pixels.
    pub x: i32,
    /// The distance down, in pixels.
    pub y: i32,
}

impl Point {
    /// The place `x` to the right and `y` down.
    pub const fn new(x: i32, y: i32) -> Self {
        Self { x, y }
    }

    /// This place moved by `other`.
    #[must_use]
    pub const fn moved(self, other: Self) -> Self {
        Self { x: self.x.saturating_add(other.x), y: self.y.saturating_add(other.y) }
    }
}

/// A named part of a picture. The picture itself is symbol 0; a symbol may call only those with
/// higher numbers, so none contains itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(pub u16);

impl Symbol {
    /// Symbol 0, which is the picture itself.
    pub const PICTURE: Self = Self(0);
}

/// The patterns of the four layers of an integrated circuit, where there are no colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stipple {
    /// Every pixel is set.
    Full,
    /// Every second pixel, as on a chessboard.
    Grey,
    /// Lines that fall to the right.
    Falling,
    /// Lines that rise to the right.
    RaisingNetwork,
}

impl Stipple {
    /// All four patterns, in the order of their declaration.
    pub const ALL: [Self; 4] = [Self::Full, Self::Grey, Self::Falling, Self::RaisingNetwork];

    /// Whether the pattern covers a pixel. It belongs to the picture, not to the rectangle, so that
    /// rectangles that touch show no seam.
    pub(super) const fn covers(self, x: i32, y: i32) -> bool {
        match self {
            Self::Full => true,
            Self::Grey => (x + y) % 2 == 0,
            Self::Falling => (x - y) % 4 == 0,
            Self::RaisingNetwork => (x + y) % 4 == 0,
        }
    }

    /// Eight pixels of row `y` from a multiple of eight on, the left one in the highest bit; all
    /// octets of a row are alike.
    pub(super) fn octet(self, y: usize) -> u8 {
        let row = i32::from((y % 4) as u8);
        (0..8).filter(|x| self.covers(*x, row)).fold(0, |octet, x| octet | 0x80 >> x)
    }
}

/// One item of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// A straight line, both ends included.
    Vector {
        /// One end of the vector.
        from: Point,
        /// The other end of the vector.
        to: Point,
    },
    /// A rectangle that is filled.
    Rectangle {
        /// Its upper left pixel.
        corner: Point,
        /// Pixels to the right.
        width: u16,
        /// The height in pixels.
        height: u16,
        /// The pattern of the rectangle.
        stipple: Stipple,
    },
    /// Up to eight characters of 8 x 16 pixels in a row.
    Text {
        /// The upper left pixel of the first.
        at: Point,
        /// ASCII; what is not printable leaves its place empty.
        characters: [u8; 8],
    },
    /// A call of another symbol.
    Call {
        /// The symbol that is called.
        symbol: Symbol,
        /// The place of its origin.
        at: Point,
    },
}
