//! The study's pictures (its section 3.1.1).

use std::f64::consts::TAU;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::inverter;
use super::{Display, DisplayRequest, Item, Picture, Point, Symbol};
use crate::text::named;

/// Corners of the polygon; all of them are joined.
const CORNERS: u32 = 36;
const RADIUS: f64 = 350.0;
const CENTRE: Point = Point::new(400, 400);

/// Characters in a row and rows of text: a full picture.
const COLUMNS: i32 = 100;
const ROWS: i32 = 50;

/// A picture that is drawn in every configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// The fully connected 36-agon: 630 vectors of 288,364 pixels' length.
    Vectors,
    /// Five by six inverters of 26 rectangles: 780 items.
    Rectangles,
    /// The picture of `Rectangles` by symbols: 23 rectangles, 2 calls of a contact cut in the
    /// inverter, 30 calls of the inverter.
    StructuredRectangles,
    /// 5000 characters of 8 x 16 pixels, eight to the item.
    Text,
    /// No picture: requests and responses of the plan's own mix.
    Mix,
}

impl Workload {
    /// All workloads that are pictures; [`Self::Mix`] is not among them.
    pub const ALL: [Self; 4] =
        [Self::Vectors, Self::Rectangles, Self::StructuredRectangles, Self::Text];

    /// The name on command lines and in stored runs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vectors => "vectors",
            Self::Rectangles => "rectangles",
            Self::StructuredRectangles => "structured-rectangles",
            Self::Text => "text",
            Self::Mix => "mix",
        }
    }

    /// The one that a text names.
    ///
    /// # Errors
    /// Says which there are.
    pub fn named(text: &str) -> Result<Self, String> {
        named(text, "picture", &Self::ALL, Self::name)
    }

    /// Vectors, rectangles or groups of eight characters that are visible in the finished picture,
    /// which a rate counts. A picture by symbols counts as many as one without, as in Table 5-1.
    pub fn shown(self) -> u64 {
        match self {
            Self::StructuredRectangles => Self::Rectangles.shown(),
            _ => self.items().len() as u64,
        }
    }

    /// The unit that the study counts instead of each shown item: characters of text, else items.
    pub fn units_of_an_item(self) -> f64 {
        match self {
            Self::Text => f64::from(COLUMNS * ROWS) / self.shown() as f64,
            _ => 1.0,
        }
    }

    /// The items with the symbols they belong to, in the order in which they are sent: symbols
    /// before their calls.
    pub fn items(self) -> Vec<(Symbol, Item)> {
        let picture =
            |items: Vec<Item>| items.into_iter().map(|item| (Symbol::PICTURE, item)).collect();
        match self {
            Self::Vectors => picture(polygon()),
            Self::Rectangles => picture(inverter::unstructured()),
            Self::StructuredRectangles => inverter::structured(),
            Self::Text => picture(text()),
            Self::Mix => Vec::new(),
        }
    }

    /// One request for each item, shown at once or not.
    pub fn requests(self, shown: bool) -> Vec<DisplayRequest> {
        self.items()
            .into_iter()
            .map(|(symbol, item)| DisplayRequest::Add { symbol, item, shown })
            .collect()
    }

    /// The picture that every configuration must leave.
    pub fn picture(self) -> Picture {
        let mut display = Display::default();
        for request in self.requests(false).iter().chain(&[DisplayRequest::Show]) {
            // The workloads are ours and fit a display; every one is drawn by a test.
            let taken = display.take(request);
            debug_assert_eq!(taken, Ok(()), "{self:?}");
        }
        display.picture().clone()
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Every corner joined to every later one. No coordinate lies within 0.01 of a half, so all
/// machines round alike.
fn polygon() -> Vec<Item> {
    let corner = |index: u32| {
        let angle = TAU * f64::from(index) / f64::from(CORNERS);
        CENTRE.moved(Point::new(
            (RADIUS * angle.cos()).round() as i32,
            (RADIUS * angle.sin()).round() as i32,
        ))
    };
    let corners: Vec<Point> = (0..CORNERS).map(corner).collect();
    let pairs = corners
        .iter()
        .enumerate()
        .flat_map(|(index, &from)| corners[index + 1..].iter().map(move |&to| (from, to)));
    pairs.map(|(from, to)| Item::Vector { from, to }).collect()
}

/// The printable characters of ASCII over and over, each row beginning with the next one, so that
/// no two rows are alike.
fn text() -> Vec<Item> {
    let item = |row: i32, first: i32| Item::Text {
        at: Point::new(8 * first, 16 * row),
        characters: [0, 1, 2, 3, 4, 5, 6, 7].map(|index| character(row, first + index)),
    };
    (0..ROWS).flat_map(|row| (0..COLUMNS).step_by(8).map(move |first| item(row, first))).collect()
}

fn character(row: i32, column: i32) -> u8 {
    if column < COLUMNS { b' ' + ((row + column) % 95) as u8 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::PICTURE_BYTES;

    /// The study's number of vectors; by Bresenham 260,342 pixels with both ends.
    #[test]
    fn the_polygon_is_the_study_s() {
        let items = polygon();
        assert_eq!(items.len(), 630);
        let mut drawn = 0;
        for item in items {
            let Item::Vector { from, to } = item else { panic!("{item:?}") };
            drawn += (from.x - to.x).abs().max((from.y - to.y).abs()) + 1;
        }
        assert_eq!(drawn, 260_342);
    }

    #[test]
    fn no_corner_depends_on_how_a_machine_rounds() {
        for index in 0..CORNERS {
            let angle = TAU * f64::from(index) / f64::from(CORNERS);
            for exact in [RADIUS * angle.cos(), RADIUS * angle.sin()] {
                assert!(((exact - exact.floor()) - 0.5).abs() > 0.01, "corner {index}: {exact}");
            }
        }
    }

    #[test]
    fn counts_of_items() {
        let count = |workload: Workload| workload.items().len();
        assert_eq!(count(Workload::Rectangles), 780);
        assert_eq!(count(Workload::Text), 50 * 13);
        let structured = Workload::StructuredRectangles.items();
        let primitives =
            structured.iter().filter(|(_, item)| matches!(item, Item::Rectangle { .. })).count();
        let calls_of_inverters =
            structured.iter().filter(|(symbol, _)| *symbol == Symbol::PICTURE).count();
        assert_eq!((primitives, calls_of_inverters, structured.len()), (23, 30, 55));
        assert_eq!(Workload::ALL.map(Workload::shown), [630, 780, 780, 650]);
    }

    /// Computed once; they must be equal on every machine and in every version.
    #[test]
    fn digests() {
        let found = Workload::ALL.map(|workload| {
            (workload, workload.picture().pixels_set(), workload.picture().digest())
        });
        insta::assert_debug_snapshot!(found);
    }

    /// One digest, however the picture came: shown item by item, at the end, drawn again, by
    /// symbols, as pixels.
    #[test]
    fn every_protocol_leaves_the_same_picture() {
        for workload in Workload::ALL {
            let expected = workload.picture();
            let (mut incremental, mut redrawn, mut bitmap) =
                (Display::default(), Display::default(), Display::default());
            for request in workload.requests(true) {
                incremental.take(&request).unwrap();
                redrawn.take(&request).unwrap();
            }
            redrawn.take(&DisplayRequest::Redraw).unwrap();
            for (part, bits) in (0..).zip(expected.bits().chunks(1000)) {
                bitmap.set_bits(part * 1000, bits).unwrap();
            }
            for display in [incremental, redrawn, bitmap] {
                assert_eq!(display.picture().digest(), expected.digest(), "{workload:?}");
            }
        }
        assert_eq!(Workload::Rectangles.picture(), Workload::StructuredRectangles.picture());
    }

    /// Table 5-2: 12,600 octets against 80,000 for vectors, 15,600 for rectangles; symbols take a
    /// fraction of it.
    #[test]
    fn memory_as_in_table_5_2() {
        let bytes = |workload: Workload| {
            let mut display = Display::default();
            for request in workload.requests(false) {
                display.take(&request).unwrap();
            }
            display.file().bytes()
        };
        assert_eq!((bytes(Workload::Vectors), PICTURE_BYTES), (12_600, 80_000));
        assert_eq!(
            (bytes(Workload::Rectangles), bytes(Workload::StructuredRectangles)),
            (15_600, 1_100)
        );
    }
}
