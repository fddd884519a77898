//! `btu net check`, `list` and `show`: commands that read network files and raise nothing.

mod summary;

use std::fmt::Write as _;
use std::io::Write as _;

use btu_network::{Drawing, library, library_text};

use crate::cli::{Check, Common};
use crate::exit::Refusal;
use crate::{files, terminal};

/// Reads each file; prints its description, or its mistakes.
pub(crate) fn check(check: &Check, common: &Common) -> anyhow::Result<()> {
    let mut wrong = 0;
    let mut drawings = Vec::new();
    let networks = check.networks();
    for file in &networks {
        match files::network(file, &check.settings) {
            Ok(drawing) => drawings.push(drawing),
            Err(problem) => {
                wrong += 1;
                eprintln!("{problem:#}");
            }
        }
    }
    let text = if common.json { json(&drawings)? } else { texts(&drawings) };
    std::io::stdout().write_all(text.as_bytes())?;
    match (wrong, networks.len()) {
        (0, _) => Ok(()),
        (_, 1) => {
            Err(Refusal::Usage(format!("{} is not a network file that can be used", networks[0]))
                .into())
        }
        (wrong, all) => {
            Err(Refusal::Usage(format!("{wrong} of {all} network files cannot be used")).into())
        }
    }
}

/// One drawing as an object, several as a list.
fn json(drawings: &[Drawing]) -> anyhow::Result<String> {
    Ok(match drawings {
        [] => String::new(),
        [one] => serde_json::to_string_pretty(one)? + "\n",
        several => serde_json::to_string_pretty(several)? + "\n",
    })
}

fn texts(drawings: &[Drawing]) -> String {
    drawings.iter().map(summary::of).collect::<Vec<_>>().join("\n")
}

/// Prints the networks of the library.
pub(crate) fn list(common: &Common) -> anyhow::Result<()> {
    let mut networks = Vec::new();
    for (name, text) in library() {
        networks.push((*name, Drawing::read(text, name)?.about));
    }
    let text = if common.json {
        let rows = networks
            .iter()
            .map(|(name, about)| serde_json::json!({ "name": name, "about": about }));
        serde_json::to_string_pretty(&rows.collect::<Vec<_>>())? + "\n"
    } else {
        let width = networks.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        networks.iter().fold(String::new(), |mut text, (name, about)| {
            let _ = writeln!(text, "{name:width$}  {about}");
            text
        })
    };
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

/// Prints one of the library's files.
pub(crate) fn show(name: &str, common: &Common) -> anyhow::Result<()> {
    let text = library_text(name).ok_or_else(|| {
        let names = library().iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        Refusal::Usage(format!("the library has no network `{name}`; it has {names}"))
    })?;
    if common.json {
        return terminal::print_json(&serde_json::json!({ "name": name, "toml": text }));
    }
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}
