//! Shell completions and manual pages.

use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;

use crate::cli::Arguments;
use crate::complete;

/// Prints the completion script of `shell`.
pub(crate) fn completions(shell: clap_complete::Shell) -> anyhow::Result<()> {
    complete::print_script(&shell.to_string())
}

/// Writes a page for btu and one for each of its commands.
pub(crate) fn man(directory: &Path) -> anyhow::Result<()> {
    clap_mangen::generate_to(Arguments::command(), directory).with_context(|| {
        format!("writing manual pages to {}: does the directory exist?", directory.display())
    })
}
