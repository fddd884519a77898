//! Writes the files that the user asked for.

use btu_chart::Picture;
use btu_report::{
    NamedSignature, hint_csv, hint_picture, named_signatures, np_out, pipe_csv, pipe_picture,
    set_csv, set_title, signature_names,
};
use btu_studies::pipe::{LoadedVerdict, PipeVerdict};

use super::Outcome;
use crate::cli::Pictures;
use crate::studies::pipe::arguments::Wanted;
use crate::suites::Document;
use crate::{files, pictures};

/// Writes the requested files of these runs; files for one run are refused for several before the
/// measurement.
pub(super) fn write(documents: &[Document<'_, Outcome>], wanted: &Wanted) -> anyhow::Result<()> {
    if let [one] = documents {
        if let (Some(path), Outcome::One(verdict)) = (&wanted.np_out, &one.result) {
            files::save(path, np_out(verdict).as_bytes())?;
        }
        if let Some(path) = &wanted.csv {
            files::save(path, csv(&one.result).as_bytes())?;
        }
    }
    let to = Pictures { svg: wanted.svg.clone(), png: wanted.png.clone() };
    pictures::draw(&to, || picture(documents, wanted.with.is_some()))
}

fn csv(result: &Outcome) -> String {
    match result {
        Outcome::One(verdict) => pipe_csv(verdict),
        Outcome::Set(verdict) => set_csv(verdict),
        Outcome::Hint(result) => hint_csv(result),
    }
}

/// All signatures in each of the four graphs, or the QUIPS graph.
fn picture(documents: &[Document<'_, Outcome>], references: bool) -> Picture {
    let note = |one: &Document<'_, Outcome>| {
        let run = &one.run.summary;
        format!("{}: {}, {}", run.id, run.network, run.created)
    };
    let notes = || documents.iter().map(note).collect();
    match documents {
        [Document { result: Outcome::Hint(result), .. }] => {
            hint_picture("HINT between two processes", notes(), result)
        }
        [Document { result: Outcome::Set(verdict), .. }] => {
            let names = signature_names(verdict);
            pipe_picture(
                set_title(verdict.purpose),
                notes(),
                &named_signatures(verdict, &names),
                references,
            )
        }
        _ => several(documents, notes(), references),
    }
}

/// Signatures of several runs, and the sets among them run by run.
fn several(documents: &[Document<'_, Outcome>], notes: Vec<String>, references: bool) -> Picture {
    let mut named: Vec<(String, &PipeVerdict)> = Vec::new();
    for document in documents {
        match &document.result {
            Outcome::One(verdict) => named.push((verdict.kind.label().to_owned(), verdict)),
            Outcome::Set(set) => {
                let label =
                    |one: &LoadedVerdict| format!("{}, {}", one.verdict.kind.label(), one.load);
                named.extend(set.signatures.iter().map(|one| (label(one), &one.verdict)));
            }
            Outcome::Hint(_) => {}
        }
    }
    let runs: Vec<NamedSignature> =
        named.iter().map(|(name, verdict)| NamedSignature { name, verdict }).collect();
    pipe_picture("Signatures", notes, &runs, references)
}
