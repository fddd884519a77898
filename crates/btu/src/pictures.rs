//! Pictures to files.

use btu_chart::Picture;

use crate::cli::Pictures;
use crate::files;

/// Draws a picture to the files that were asked for, if any.
pub(crate) fn draw(pictures: &Pictures, picture: impl FnOnce() -> Picture) -> anyhow::Result<()> {
    if pictures.svg.is_none() && pictures.png.is_none() {
        return Ok(());
    }
    let picture = picture();
    if let Some(path) = &pictures.svg {
        files::save(path, btu_chart::svg(&picture).as_bytes())?;
    }
    match &pictures.png {
        Some(path) => files::save(path, &btu_chart::png(&picture)?),
        None => Ok(()),
    }
}
