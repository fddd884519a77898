//! A bitmap of black and white as PNG, pixel for pixel, and in a terminal.

use tiny_skia::{ColorU8, Pixmap};

use crate::png::PngError;
use crate::terminal::braille;

/// A bitmap as PNG: eight pixels to the octet, the left one in the highest bit, a set bit black;
/// every row begins with a new octet.
///
/// # Errors
/// Too few bits for width and height, or an error of the encoder.
pub fn bitmap_png(width: u16, height: u16, bits: &[u8]) -> Result<Vec<u8>, PngError> {
    let row = usize::from(width).div_ceil(8);
    let pixmap = Pixmap::new(width.into(), height.into())
        .filter(|_| bits.len() >= row * usize::from(height));
    let mut pixmap = pixmap
        .ok_or_else(|| PngError::Encoding(format!("{width} x {height} pixels are not there")))?;
    for (place, pixel) in pixmap.pixels_mut().iter_mut().enumerate() {
        let (x, y) = (place % usize::from(width), place / usize::from(width));
        let is_set = bits[y * row + x / 8] >> (7 - x % 8) & 1 == 1;
        let shade = if is_set { 0 } else { u8::MAX };
        *pixel = ColorU8::from_rgba(shade, shade, shade, u8::MAX).premultiply();
    }
    pixmap.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
}

/// A bitmap as lines of braille, four pixels high and two wide in each character, at most this many
/// lines: a bitmap that is higher is made smaller. A dot is there if any pixel at its place is set.
pub fn bitmap_braille(width: u16, height: u16, bits: &[u8], most_lines: u16) -> Vec<String> {
    let (width, height) = (usize::from(width), usize::from(height));
    let scale = height.div_ceil(4 * usize::from(most_lines.max(1))).max(1);
    let is_set = |x: usize, y: usize| {
        let octet = (x < width && y < height).then(|| bits.get(y * width.div_ceil(8) + x / 8));
        octet.flatten().is_some_and(|octet| octet >> (7 - x % 8) & 1 == 1)
    };
    let dot = |x: usize, y: usize| {
        (0..scale * scale).any(|place| is_set(x * scale + place % scale, y * scale + place / scale))
    };
    let (columns, lines) = (width.div_ceil(2 * scale), height.div_ceil(4 * scale));
    let line = |line: usize| {
        (0..columns).map(|column| braille(|x, y| dot(2 * column + x, 4 * line + y))).collect()
    };
    (0..lines).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The upper left and the lower right dot; twice as large a bitmap in half as many lines.
    #[test]
    fn dots_are_where_their_pixels_are() {
        let bits = [0b1000_0000, 0, 0, 0, 0, 0, 0, 0b0001_0000];
        assert_eq!(bitmap_braille(4, 8, &bits, 2), ["\u{2801}\u{2800}", "\u{2800}\u{2880}"]);
        assert_eq!(bitmap_braille(4, 8, &bits, 1), ["\u{2881}"]);
        assert_eq!(bitmap_braille(4, 8, &[], 0), ["\u{2800}"]);
    }

    /// Read back, the left of eight pixels is the highest bit, and rows begin again.
    #[test]
    fn pixels_are_where_their_bits_are() {
        let png = bitmap_png(9, 2, &[0b1000_0001, 0, 0, 0b1000_0000]).unwrap();
        let read = Pixmap::decode_png(&png).unwrap();
        let black: Vec<usize> = read
            .pixels()
            .iter()
            .enumerate()
            .filter(|(_, pixel)| pixel.red() == 0)
            .map(|(place, _)| place)
            .collect();
        assert_eq!((read.width(), read.height(), black), (9, 2, vec![0, 7, 17]));
        assert!(bitmap_png(9, 2, &[0; 3]).is_err());
    }
}
