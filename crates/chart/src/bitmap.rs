//! PNG of a bitmap of black and white, pixel for pixel.

use tiny_skia::{ColorU8, Pixmap};

use crate::png::PngError;

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

#[cfg(test)]
mod tests {
    use super::*;

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
