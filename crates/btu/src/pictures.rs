//! Writes pictures to files.

use std::path::Path;

use btu_chart::Picture;

use crate::cli::Pictures;
use crate::files;

/// Draws a picture to the requested files, if any.
pub(crate) fn draw(pictures: &Pictures, picture: impl FnOnce() -> Picture) -> anyhow::Result<()> {
    draw_to(pictures.svg.as_deref(), pictures.png.as_deref(), || Ok(picture()))
}

/// Like `draw`, where making it may fail.
pub(crate) fn draw_to(
    svg: Option<&Path>,
    png: Option<&Path>,
    picture: impl FnOnce() -> anyhow::Result<Picture>,
) -> anyhow::Result<()> {
    if svg.is_none() && png.is_none() {
        return Ok(());
    }
    let picture = picture()?;
    if let Some(path) = svg {
        files::save(path, btu_chart::svg(&picture).as_bytes())?;
    }
    match png {
        Some(path) => files::save(path, &btu_chart::png(&picture)?),
        None => Ok(()),
    }
}
