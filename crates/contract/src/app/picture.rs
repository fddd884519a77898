//! A bitmap of 800 x 800 pixels, drawn in whole numbers.
//!
//! Drawing only sets pixels. So the order of items, and whether one is drawn twice, cannot be seen
//! in the picture: every protocol that delivers the same items leaves the same bits.

use btu_units::hexadecimal;
use sha2::{Digest, Sha256};

use super::font;
use super::{Point, Stipple};

/// Pixels from left to right.
pub const WIDTH: u16 = 800;

/// Pixels from top to bottom.
pub const HEIGHT: u16 = 800;

/// Octets of the bitmap: 80,000, as in Table 5-2.
pub const PICTURE_BYTES: usize = ROW_BYTES * HEIGHT as usize;

const ROW_BYTES: usize = WIDTH as usize / 8;

/// The bitmap: rows from the top, eight pixels to the octet, the left one in its highest bit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    bits: Vec<u8>,
}

impl Default for Picture {
    /// A picture in which no pixel is set.
    fn default() -> Self {
        Self { bits: vec![0; PICTURE_BYTES] }
    }
}

impl Picture {
    /// The bitmap, [`PICTURE_BYTES`] long.
    pub fn bits(&self) -> &[u8] {
        &self.bits
    }

    /// SHA-256 of size and bits, in hexadecimal digits.
    pub fn digest(&self) -> String {
        let mut digest = Sha256::new();
        digest.update(WIDTH.to_be_bytes());
        digest.update(HEIGHT.to_be_bytes());
        digest.update(&self.bits);
        hexadecimal(&digest.finalize())
    }

    /// The number of set pixels.
    #[cfg(test)]
    pub fn pixels_set(&self) -> u32 {
        self.bits.iter().map(|octet| octet.count_ones()).sum()
    }

    /// Sets what is set in `bits`, from octet `offset` on; what does not fit is left out.
    pub(super) fn set_bits(&mut self, offset: usize, bits: &[u8]) {
        for (own, new) in self.bits.iter_mut().skip(offset).zip(bits) {
            *own |= new;
        }
    }

    /// A line by Bresenham (1965), both ends included.
    pub(super) fn line(&mut self, from: Point, to: Point) {
        let (across, down) = ((to.x - from.x).abs(), -(to.y - from.y).abs());
        let step = Point { x: (to.x - from.x).signum(), y: (to.y - from.y).signum() };
        let (mut at, mut error) = (from, across + down);
        loop {
            self.set(at);
            if at == to {
                return;
            }
            let twice = 2 * error;
            if twice >= down {
                error += down;
                at.x += step.x;
            }
            if twice <= across {
                error += across;
                at.y += step.y;
            }
        }
    }

    /// Fills a rectangle.
    pub(super) fn fill(&mut self, corner: Point, width: u16, height: u16, stipple: Stipple) {
        let end = corner.moved(Point::new(width.into(), height.into()));
        let (left, right) = (within(corner.x, WIDTH), within(end.x, WIDTH));
        for y in within(corner.y, HEIGHT)..within(end.y, HEIGHT) {
            self.fill_row(y, left, right, stipple.octet(y));
        }
    }

    /// Sets the pixels of `pattern`, which repeats with every octet, from `left` up to but not
    /// including `right`.
    fn fill_row(&mut self, y: usize, left: usize, right: usize, pattern: u8) {
        let row = &mut self.bits[y * ROW_BYTES..][..ROW_BYTES];
        for (place, octet) in row.iter_mut().enumerate().take(right.div_ceil(8)).skip(left / 8) {
            let (first, end) = (left.saturating_sub(8 * place), (right - 8 * place).min(8));
            if first < end {
                *octet |= pattern & (0xff >> first) & !(0xff_u16 >> end) as u8;
            }
        }
    }

    /// Characters of 8 x 16 pixels.
    pub(super) fn text(&mut self, at: Point, characters: &[u8]) {
        for (column, &character) in (0..).step_by(8).zip(characters) {
            for (row, pattern) in (0..).zip(font::rows(character)) {
                for bit in (0..8).filter(|bit| pattern & (0x80 >> bit) != 0) {
                    self.set(at.moved(Point::new(column + bit, row)));
                }
            }
        }
    }

    /// Sets a pixel; one outside the picture is left out.
    fn set(&mut self, at: Point) {
        let (Ok(x), Ok(y)) = (usize::try_from(at.x), usize::try_from(at.y)) else { return };
        if x < WIDTH.into() && y < HEIGHT.into() {
            self.bits[y * ROW_BYTES + x / 8] |= 0x80 >> (x % 8);
        }
    }
}

/// A coordinate moved to the nearest edge where it lies outside.
fn within(coordinate: i32, size: u16) -> usize {
    usize::try_from(coordinate).unwrap_or(0).min(size.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(picture: &Picture, width: usize, height: usize) -> Vec<String> {
        let set = |x: usize, y: usize| picture.bits[y * ROW_BYTES + x / 8] & (0x80 >> (x % 8)) != 0;
        (0..height)
            .map(|y| (0..width).map(|x| if set(x, y) { '#' } else { '.' }).collect())
            .collect()
    }

    #[test]
    fn a_line_by_hand() {
        let mut picture = Picture::default();
        picture.line(Point::new(0, 0), Point::new(6, 2));
        assert_eq!(rows(&picture, 8, 3), ["##......", "..###...", ".....##."]);
    }

    #[test]
    fn stipples_by_hand() {
        let drawn = |stipple| {
            let mut picture = Picture::default();
            picture.fill(Point::new(1, 0), 6, 3, stipple);
            rows(&picture, 8, 3)
        };
        assert_eq!(drawn(Stipple::Full), [".######.", ".######.", ".######."]);
        assert_eq!(drawn(Stipple::Grey), ["..#.#.#.", ".#.#.#..", "..#.#.#."]);
        assert_eq!(drawn(Stipple::Falling), ["....#...", ".#...#..", "..#...#."]);
        assert_eq!(drawn(Stipple::RaisingNetwork), ["....#...", "...#....", "..#...#."]);
    }

    #[test]
    fn a_character_by_hand() {
        let mut picture = Picture::default();
        picture.text(Point::new(0, 0), b"T");
        let drawn = rows(&picture, 8, 16);
        assert_eq!(drawn[0], "........");
        assert_eq!(drawn[1..3], [".#####..", ".#####.."]);
        assert!(drawn[3..15].iter().all(|row| row == "...#...."), "{drawn:#?}");
        assert_eq!(drawn[15], "........");
    }

    #[test]
    fn what_is_outside_is_left_out() {
        let mut picture = Picture::default();
        picture.line(Point::new(-50, 900), Point::new(-40, 2000));
        picture.fill(Point::new(-9, -9), 9, 9, Stipple::Full);
        picture.fill(Point::new(800, 0), 5, 5, Stipple::Full);
        picture.text(Point::new(0, 800), b"outside!");
        assert_eq!(picture.pixels_set(), 0);
        picture.fill(Point::new(-1000, -1000), u16::MAX, u16::MAX, Stipple::Full);
        assert_eq!(picture.pixels_set(), 640_000);
    }

    proptest! {
        /// Rows of octets have the pixels that the pattern has one by one.
        #[test]
        fn a_fill_is_its_pattern(x in -9i32..30, y in -9i32..10, width in 0u16..40, height in 0u16..12, which in 0..4usize) {
            let stipple = Stipple::ALL[which];
            let (mut filled, mut single) = (Picture::default(), Picture::default());
            filled.fill(Point { x, y }, width, height, stipple);
            for (right, down) in (0..width).flat_map(|right| (0..height).map(move |down| (right, down))) {
                let at = Point { x, y }.moved(Point::new(right.into(), down.into()));
                if stipple.covers(at.x, at.y) {
                    single.set(at);
                }
            }
            prop_assert!(filled == single);
        }

        /// As many pixels as the longer side has, ends included, wherever it goes.
        #[test]
        fn a_line_has_a_pixel_for_each_step(a in 0i32..800, b in 0i32..800, c in 0i32..800, d in 0i32..800) {
            let mut picture = Picture::default();
            picture.line(Point::new(a, b), Point::new(c, d));
            let steps = (a - c).abs().max((b - d).abs());
            prop_assert_eq!(picture.pixels_set(), steps.unsigned_abs() + 1);
        }
    }
}
