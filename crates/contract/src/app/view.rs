//! A small copy of a display's picture, for users who watch a cell.

use btu_units::{Span, hexadecimal};
use serde::{Deserialize, Serialize};

use super::{HEIGHT, Picture, WIDTH};

/// Pixels of the picture across and down that are one of the copy.
const BLOCK: u16 = 8;

/// Pixels of the copy across.
pub const VIEW_WIDTH: u16 = WIDTH / BLOCK;

/// Pixels of the copy down.
pub const VIEW_HEIGHT: u16 = HEIGHT / BLOCK;

/// Octets of a row of the copy.
const ROW: usize = VIEW_WIDTH.div_ceil(8) as usize;

/// What a display shows at one moment, on an eighth of the scale.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// The time since `go`.
    #[serde(rename = "at_ns")]
    pub at: Span,
    /// The pixels in rows from the top, eight to the octet, in hexadecimal digits.
    pixels: String,
}

impl View {
    /// A pixel is set if any pixel of its block is.
    pub fn of(picture: &Picture, at: Span) -> Self {
        let block = usize::from(BLOCK);
        // A row of a block is one octet of the picture.
        let rows = picture.bits().chunks(usize::from(WIDTH) / 8 * block);
        let copy = rows.flat_map(|rows| {
            let mut copy = [0u8; ROW];
            for row in rows.chunks(usize::from(WIDTH) / 8) {
                for (place, octet) in row.iter().enumerate() {
                    copy[place / 8] |= u8::from(*octet != 0) << (7 - place % 8);
                }
            }
            copy
        });
        Self { at, pixels: hexadecimal(&copy.collect::<Vec<u8>>()) }
    }

    /// Rows from the top, eight pixels to the octet, the left one in its highest bit; what a host
    /// did not send is not set.
    pub fn bits(&self) -> Vec<u8> {
        let digit = |place: usize| {
            let digit = self.pixels.as_bytes().get(place).map(|octet| char::from(*octet));
            digit.and_then(|digit| digit.to_digit(16)).unwrap_or(0) as u8
        };
        (0..ROW * usize::from(VIEW_HEIGHT))
            .map(|place| digit(2 * place) << 4 | digit(2 * place + 1))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Workload;

    /// Each set pixel of the picture sets the one of its block, and no others are set.
    #[test]
    fn a_view_has_a_pixel_where_its_block_has_one() {
        let picture = Workload::Text.picture();
        let view = View::of(&picture, Span::ZERO).bits();
        let is_set = |bits: &[u8], row: usize, x: usize, y: usize| {
            bits[y * row + x / 8] >> (7 - x % 8) & 1 == 1
        };
        for y in 0..usize::from(VIEW_HEIGHT) {
            for x in 0..usize::from(VIEW_WIDTH) {
                let block = (0..64)
                    .any(|place| is_set(picture.bits(), 100, 8 * x + place % 8, 8 * y + place / 8));
                assert_eq!(is_set(&view, ROW, x, y), block, "{x} {y}");
            }
        }
    }

    /// A host may send anything.
    #[test]
    fn what_is_no_view_shows_nothing() {
        for pixels in ["", "zz", "0\u{e4}", "f"] {
            let view = View { at: Span::ZERO, pixels: pixels.to_owned() };
            assert_eq!(view.bits().len(), ROW * usize::from(VIEW_HEIGHT));
        }
    }
}
