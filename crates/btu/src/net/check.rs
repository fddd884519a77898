//! `btu net check`, `list` and `show`: commands that read network files and raise nothing.

mod summary;

use std::io::Write as _;

use btu_contract::json;
use btu_network::{Drawing, library};
use btu_report::names_text;
use btu_testbed::note;

use crate::cli::{Check, Common, Subject};
use crate::exit::Refusal;
use crate::{files, terminal};

/// Reads each file; prints its description, or its mistakes.
pub(crate) fn check(check: &Check, common: &Common) -> anyhow::Result<()> {
    let mut wrong = 0;
    let mut drawings = Vec::new();
    let networks = check.subjects.networks();
    for file in &networks {
        match files::network(file, &check.settings) {
            Ok(drawing) => drawings.push(drawing),
            // The only file's reason is the reason of the command.
            Err(problem) if networks.len() == 1 => return Err(problem),
            Err(problem) => {
                wrong += 1;
                note!("btu: {problem:#}");
            }
        }
    }
    let text = if common.json { json(&drawings)? } else { texts(&drawings) };
    std::io::stdout().write_all(text.as_bytes())?;
    if wrong == 0 {
        return Ok(());
    }
    let all = networks.len();
    Err(Refusal::Usage(format!("{wrong} of {all} network files cannot be used")).into())
}

/// One drawing as an object, several as a list.
fn json(drawings: &[Drawing]) -> anyhow::Result<String> {
    Ok(match drawings {
        [] => String::new(),
        [one] => json::indented(one)? + "\n",
        several => json::indented(several)? + "\n",
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
        json::indented(&rows.collect::<Vec<_>>())? + "\n"
    } else {
        let rows = networks.into_iter().map(|(name, about)| (name.to_owned(), about));
        names_text(&rows.collect::<Vec<_>>(), &terminal::line_options())
    };
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

/// Prints the file of a network.
pub(crate) fn show(subject: &Subject, common: &Common) -> anyhow::Result<()> {
    let source = files::source(subject.network())?;
    let text = source.as_file();
    if common.json {
        return terminal::print_json(&serde_json::json!({ "name": source.name, "toml": text }));
    }
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}
