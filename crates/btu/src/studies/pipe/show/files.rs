//! Writes the files that the user asked for.

use btu_chart::Picture;
use btu_report::{
    NamedSignature, hint_csv, hint_picture, named_signatures, np_out, pipe_csv, pipe_picture,
    set_csv, set_title, signature_names,
};
use btu_studies::pipe::{JobVerdict, LoadedVerdict, PipeVerdict};

use crate::files;
use crate::results::Document;
use crate::studies::pipe::arguments::Wanted;

/// Writes the requested files of these runs; files for one run are refused for several before the
/// measurement.
pub(super) fn write(documents: &[Document<'_, JobVerdict>], wanted: &Wanted) -> anyhow::Result<()> {
    if let [one] = documents {
        if let (Some(path), JobVerdict::One(verdict)) = (&wanted.np_out, &one.result) {
            files::save(path, np_out(verdict).as_bytes())?;
        }
        if let Some(path) = &wanted.csv {
            files::save(path, csv(&one.result).as_bytes())?;
        }
    }
    files::save_picture(wanted.svg.as_deref(), || Ok(picture(documents, wanted.with.is_some())))
}

fn csv(result: &JobVerdict) -> String {
    match result {
        JobVerdict::One(verdict) => pipe_csv(verdict),
        JobVerdict::Set(verdict) => set_csv(verdict),
        JobVerdict::Hint(result) => hint_csv(result),
    }
}

/// All signatures in each of the four graphs, or the QUIPS graph.
fn picture(documents: &[Document<'_, JobVerdict>], references: bool) -> Picture {
    let note = |one: &Document<'_, JobVerdict>| {
        let run = &one.run.summary;
        format!("{}: {}, {}", run.id, run.network, run.created)
    };
    let notes = || documents.iter().map(note).collect();
    match documents {
        [Document { result: JobVerdict::Hint(result), .. }] => {
            hint_picture("HINT between two processes", notes(), result)
        }
        [Document { result: JobVerdict::Set(verdict), .. }] => {
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
fn several(
    documents: &[Document<'_, JobVerdict>],
    notes: Vec<String>,
    references: bool,
) -> Picture {
    let mut named: Vec<(String, &PipeVerdict)> = Vec::new();
    for document in documents {
        match &document.result {
            JobVerdict::One(verdict) => named.push((verdict.kind.label().to_owned(), verdict)),
            JobVerdict::Set(set) => {
                let label =
                    |one: &LoadedVerdict| format!("{}, {}", one.verdict.kind.label(), one.load);
                named.extend(set.signatures.iter().map(|one| (label(one), &one.verdict)));
            }
            JobVerdict::Hint(_) => {}
        }
    }
    let runs: Vec<NamedSignature> =
        named.iter().map(|(name, verdict)| NamedSignature { name, verdict }).collect();
    pipe_picture("Signatures", notes, &runs, references)
}
