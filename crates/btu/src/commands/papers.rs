//! Shell completions and manual pages.

use std::path::Path;

use anyhow::Context;

use crate::cli::{self, Common};
use crate::complete;

/// Prints the completion script of `shell`.
pub(crate) fn completions(shell: clap_complete::Shell, common: &Common) -> anyhow::Result<()> {
    common.no_json("a script for a shell is printed")?;
    complete::print_script(&shell.to_string())
}

/// Writes a page for btu and one for each of its commands.
pub(crate) fn man(directory: &Path, common: &Common) -> anyhow::Result<()> {
    common.no_json("manual pages are written")?;
    clap_mangen::generate_to(cli::whole(), directory).with_context(|| {
        format!("writing manual pages to {}: does the directory exist?", directory.display())
    })
}
