//! `btu runs tag`, `btu runs rm`, `btu runs export`, `btu runs import`: naming, deleting and copying runs.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Read, Seek, Write, stdin};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context as _, bail};
use btu_store::{ArchiveError, AsStored, Rewrite, RunId, Store, StoreError};
use btu_testbed::note;
use serde::Serialize;

use super::imports::{self, Content};
use crate::cli::{Common, Export, Import, Remove, TAG, Tag};
use crate::exit::Refusal;
use crate::published::form::{self, Published};
use crate::terminal::{self, print, print_json};
use crate::{files, results, stored};

/// Adds tags to a run, or removes them.
pub(crate) fn tag(tag: &Tag, common: &Common) -> anyhow::Result<()> {
    let store = stored::open(common)?;
    let run = store.find(&tag.run)?;
    for word in &tag.tags {
        let done = if tag.remove { store.untag(run, word) } else { store.tag(run, word) };
        done?;
    }
    let tags = store.summary(run)?.tags;
    if common.json {
        return print_json(&serde_json::json!({"run": run, "tags": tags}));
    }
    let shown = if tags.is_empty() { "no tags".to_owned() } else { tags.join(", ") };
    print(&format!("{run}: {shown}"))
}

/// Deletes the named runs, after a question on a terminal.
pub(crate) fn remove(remove: &Remove, common: &Common) -> anyhow::Result<()> {
    let store = stored::open(common)?;
    let runs = named(&store, &remove.runs)?;
    // All are locked before the first is deleted, so that a run that is being written stops the
    // command before any change.
    let locks = runs.iter().map(|run| store.lock(*run)).collect::<Result<Vec<_>, _>>()?;
    if !remove.yes && !confirmed(&store, &runs)? {
        bail!("nothing was deleted");
    }
    for lock in locks {
        store.delete(lock)?;
    }
    if common.json {
        return print_json(&serde_json::json!({"deleted": runs}));
    }
    print(&format!("deleted {}", list(&runs)))
}

/// Asks the user on a terminal. Without a terminal no user can answer, and this is an error.
fn confirmed(store: &Store, runs: &[RunId]) -> anyhow::Result<bool> {
    if !terminal::can_ask() {
        let problem = format!("deleting {} needs a terminal to ask on, or --yes", list(runs));
        return Err(Refusal::Usage(problem).into());
    }
    for run in runs {
        let run = store.summary(*run)?;
        let label = run.label.map_or_else(String::new, |label| format!(", {label}"));
        note!(
            "{}  {}  {} on {}, {} cells{label}",
            run.id,
            run.created,
            run.profile,
            run.network,
            run.cells
        );
    }
    terminal::asks("Delete with all raw data? [y/N] ")
}

/// Writes runs to a file.
pub(crate) fn export(export: &Export, common: &Common) -> anyhow::Result<()> {
    let store = stored::open(common)?;
    let runs = named(&store, &export.runs)?;
    let published = export.published.clone().map(Published::on);
    if published.is_some() {
        runs.iter().try_for_each(|run| form::check(&store, *run))?;
    }
    let source = ExportedRuns {
        store: &store,
        runs: &runs,
        form: published.as_ref().map_or(&AsStored, |form| form),
    };
    let Some(path) = export.output.as_ref().filter(|path| path.as_os_str() != "-") else {
        return stream(&source, export.output.is_some());
    };
    let size = write(&source, path)?;
    if common.json {
        return print_json(&serde_json::json!({"exported": runs, "file": path, "bytes": size}));
    }
    print(&format!(
        "exported {} to {}, {}",
        list(&runs),
        path.display(),
        btu_units::Bytes::new(size)
    ))
}

/// Runs in the form in which they are exported.
struct ExportedRuns<'a> {
    store: &'a Store,
    runs: &'a [RunId],
    form: &'a dyn Rewrite,
}

impl ExportedRuns<'_> {
    fn write<W: Write>(&self, file: W) -> Result<W, ArchiveError> {
        self.store.export_as(self.form, self.runs, file)
    }
}

/// Writes runs to standard output, which has to be a pipe or a file, unless the user named it.
fn stream(source: &ExportedRuns<'_>, is_asked: bool) -> anyhow::Result<()> {
    let out = std::io::stdout().lock();
    if out.is_terminal() {
        let problem = if is_asked {
            "runs are nothing for a terminal"
        } else {
            "standard output is a terminal"
        };
        return Err(Refusal::Usage(format!("{problem}: give a file with -o, or a pipe")).into());
    }
    match source.write(BufWriter::new(out)) {
        Ok(mut out) => Ok(out.flush().context("writing to standard output")?),
        Err(ArchiveError::Io(error)) => {
            Err(anyhow::Error::from(error).context("writing to standard output"))
        }
        Err(error) => Err(form::explain(error)),
    }
}

/// Writes a new file next to the requested one, and renames it when it is complete. Returns its
/// size.
fn write(source: &ExportedRuns<'_>, path: &Path) -> anyhow::Result<u64> {
    if path.exists() {
        let problem = format!("{} is there already; name another file", path.display());
        return Err(Refusal::Usage(problem).into());
    }
    let part = path.with_added_extension("part");
    let written = write_part(source, &part).and_then(|size| {
        std::fs::rename(&part, path)?;
        Ok(size)
    });
    if written.is_err() {
        // An incomplete file is of no use; if it cannot be removed, the first error is reported.
        let _ = std::fs::remove_file(&part);
    }
    written.map_err(|error| match error {
        ArchiveError::Io(error) => files::unwritable(path, &error).into(),
        ArchiveError::Refused { .. } => form::explain(error),
        error => anyhow::Error::from(error).context(format!("writing {}", path.display())),
    })
}

fn write_part(source: &ExportedRuns<'_>, part: &Path) -> Result<u64, ArchiveError> {
    let file = source.write(BufWriter::new(files::create(part)?))?;
    let file = file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

/// The `--json` output for an imported run.
#[derive(Serialize)]
struct ImportedRun<'a> {
    run: RunId,
    uuid: &'a str,
    new: bool,
}

/// Stores the runs of an archive, or the run of another program's file.
pub(crate) fn import(import: &Import, common: &Common) -> anyhow::Result<()> {
    let is_stream = import.file.as_os_str() == "-";
    let path = if is_stream { Path::new("standard input") } else { &import.file };
    let mut store = stored::open(common)?;
    let mut file = if is_stream {
        spooled(store.path().parent().unwrap_or(Path::new(".")))?
    } else {
        File::open(path)
            .map_err(|error| Refusal::Usage(format!("reading {}: {error}", path.display())))?
    };
    let imported = match imports::content(path, &mut file)? {
        Content::Archive => {
            store.import(file, results::experiment).map_err(|error| explain(path, error))?
        }
        Content::Text(text) => vec![imports::store(&mut store, path, &text)?],
    };
    if common.json {
        let lines: Vec<ImportedRun> = imported
            .iter()
            .map(|run| ImportedRun { run: run.run, uuid: &run.uuid, new: run.new })
            .collect();
        return print_json(&lines);
    }
    let line = |run: &btu_store::Imported| {
        if run.new {
            format!("{}  imported", run.run)
        } else {
            format!("{}  was here already", run.run)
        }
    };
    print(&imported.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// No archive that is read from a stream is larger.
const MOST_OF_STREAM: u64 = 8 << 30;

/// Standard input as a file, because an archive is read twice: checked first, then stored. It has
/// no name, so nothing is left of it.
fn spooled(directory: &Path) -> anyhow::Result<File> {
    let path = directory.join(format!("import-{}.part", std::process::id()));
    let unwritable = |error: &std::io::Error| files::unwritable(&path, error);
    let opened = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path);
    let mut file = opened.map_err(|error| unwritable(&error))?;
    std::fs::remove_file(&path).map_err(|error| unwritable(&error))?;
    let taken = std::io::copy(&mut stdin().lock().take(MOST_OF_STREAM + 1), &mut file)
        .context("reading standard input")?;
    if taken > MOST_OF_STREAM {
        return Err(Refusal::Usage(
            "standard input has more than an archive may have; nothing was imported".to_owned(),
        )
        .into());
    }
    file.rewind()?;
    Ok(file)
}

/// A bad file is a usage error, a full disk an error of the machine.
fn explain(path: &Path, error: ArchiveError) -> anyhow::Error {
    let said = format!("{}: {error}", path.display());
    match error {
        ArchiveError::Store(StoreError::Full { path }) => {
            anyhow::anyhow!(
                "no space left for `{}`; nothing was imported: free some space and try again",
                path.display()
            )
        }
        ArchiveError::Io(_) | ArchiveError::Store(_) => {
            anyhow::anyhow!("{said}; nothing was imported")
        }
        _ => Refusal::Usage(format!("{said}; nothing was imported")).into(),
    }
}

/// The runs that were named, each once, in order.
fn named(store: &Store, names: &[String]) -> anyhow::Result<Vec<RunId>> {
    let mut runs = Vec::new();
    for name in names {
        match name.strip_prefix(TAG) {
            Some(tag) => {
                runs.extend(stored::tagged(store, tag)?);
            }
            None => runs.push(store.find(name)?),
        }
    }
    runs.sort_unstable();
    runs.dedup();
    Ok(runs)
}

fn list(runs: &[RunId]) -> String {
    runs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
