//! PNG from SVG, with a font of our own, so that it looks the same on every machine.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, Options, Tree, fontdb::Database};
use thiserror::Error;

/// The `DejaVu` Sans font, cut down to Latin, Greek and a few signs; its licence lies beside it.
const FONT: &[u8] = include_bytes!("../font/DejaVuSans-subset.ttf");

/// The family's name in [`FONT`].
const FAMILY: &str = "DejaVu Sans";

/// Pixels for each pixel of the SVG, so that text is sharp on fine screens.
const FINENESS: f32 = 2.0;

/// An SVG that could not be turned into a PNG.
#[derive(Debug, Error)]
pub enum PngError {
    /// It is no SVG.
    #[error("the picture cannot be read as SVG: {0}")]
    Svg(#[from] usvg::Error),
    /// It has no size, or one beyond all memory.
    #[error("a picture of {width} x {height} cannot be painted: give one that has a size, and a smaller one")]
    Size {
        /// In pixels of the SVG.
        width: f32,
        /// In pixels of the SVG.
        height: f32,
    },
    /// The encoder failed.
    #[error("the picture cannot be encoded as PNG: {0}")]
    Encoding(String),
}

/// The SVG document as PNG, twice as wide and high.
///
/// # Errors
/// Text that is no SVG; see [`PngError`].
pub fn png(svg: &str) -> Result<Vec<u8>, PngError> {
    let tree = Tree::from_str(svg, &options())?;
    let (width, height) = (tree.size().width(), tree.size().height());
    let size = || PngError::Size { width, height };
    let mut pixmap = Pixmap::new((width * FINENESS) as u32, (height * FINENESS) as u32).ok_or_else(size)?;
    resvg::render(&tree, Transform::from_scale(FINENESS, FINENESS), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
}

fn options() -> Options<'static> {
    let mut fonts = Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family(FAMILY);
    Options { font_family: FAMILY.to_owned(), fontdb: Arc::new(fonts), ..Options::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Picture, svg};

    /// Darkest of all pixels: white is 255.
    fn darkest(png: &[u8]) -> u8 {
        let pixmap = Pixmap::decode_png(png).unwrap();
        pixmap.pixels().iter().map(|pixel| pixel.green()).min().unwrap()
    }

    /// Text is painted although the machine's fonts are not looked at.
    #[test]
    fn text_is_painted_with_the_embedded_font() {
        let picture = |title: &str| Picture { title: title.to_owned(), notes: vec![], panels: vec![] };
        assert_eq!(darkest(&png(&svg(&picture(""))).unwrap()), 255);
        let written = png(&svg(&picture("τ = 4.33 µs, ± 2 %"))).unwrap();
        assert!(darkest(&written) < 100);
        assert_eq!(written, png(&svg(&picture("τ = 4.33 µs, ± 2 %"))).unwrap());
    }

    #[test]
    fn what_is_no_svg_is_refused() {
        assert!(matches!(png("<p>hello</p>"), Err(PngError::Svg(_))));
    }
}
