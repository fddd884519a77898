//! Writes pictures to files.

use std::path::Path;

use btu_chart::Picture;

use crate::files;

/// Draws a picture to the requested file, if any; making it may fail.
pub(crate) fn draw(
    svg: Option<&Path>,
    picture: impl FnOnce() -> anyhow::Result<Picture>,
) -> anyhow::Result<()> {
    match svg {
        Some(path) => files::save(path, btu_chart::svg(&picture()?).as_bytes()),
        None => Ok(()),
    }
}
