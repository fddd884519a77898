//! `btu publish`: signs the published form of a rating, shows it, and sends it to a board.

mod preview;
mod sent;

use anyhow::bail;
use btu_publication::{Manifest, sha256};
use btu_store::{RunRow, Store};
use serde_json::json;

use crate::cli::{Common, Publish};
use crate::commands::machine;
use crate::exit::Refusal;
use crate::files;
use crate::published::client;
use crate::published::form::{self, Published};
use crate::published::key::Publisher;
use crate::stored::provenance::traits;
use crate::stored::{self, before, wall_clock};
use crate::terminal::{self, print, print_json};
use sent::{Files, Tokens};

/// What is sent.
struct Publication {
    row: RunRow,
    archive: Vec<u8>,
    manifest: Manifest,
    signature: String,
    key: String,
}

/// Publishes a run.
pub(crate) fn run(publish: &Publish, common: &Common) -> anyhow::Result<()> {
    check(publish, common)?;
    let store = stored::open_to_read(common)?;
    let publication = publication(publish, &store)?;
    let mut files = Files::write(&publish.output, &publication)?;
    if !common.json {
        print(&preview::text(&store, &publication, &files.archive))?;
    }
    if publish.dry_run {
        files.keep();
        return end_dry(&publication, &files, common);
    }
    if !publish.yes && !terminal::asks("Publish this? [y/N] ")? {
        bail!("nothing was published");
    }
    // A token that cannot be kept would be lost: this is found out before anything is sent.
    let mut tokens = Tokens::next_to(store.path())?;
    let answer = sent::send(&publish.to, &publication)?;
    files.keep();
    let kept = tokens.keep(&publish.to, &publication.manifest.run, &answer);
    if common.json {
        let run = publication.row.summary.id;
        print_json(&json!({
            "run": run, "files": files.names(), "manifest": publication.manifest.text(),
            "key": publication.key, "publication": answer,
        }))?;
    } else {
        print(&sent::text(&store, &publication, &answer, &tokens)?)?;
    }
    kept.map_err(Into::into)
}

/// Refuses what cannot be asked, or would be sent where others can listen.
fn check(publish: &Publish, common: &Common) -> Result<(), Refusal> {
    client::refuse_exposed(&publish.to)?;
    files::is_directory("--output", &publish.output)?;
    let goes_on = publish.yes || publish.dry_run;
    let problem = if common.json && !goes_on {
        "--json asks nothing: add --yes, or --dry-run"
    } else if !goes_on && !terminal::can_ask() {
        "publishing needs a terminal to ask on, or --yes; --dry-run shows what would be sent"
    } else {
        return Ok(());
    };
    Err(Refusal::Usage(problem.to_owned()))
}

/// The published form of the run, and its manifest, signed.
fn publication(publish: &Publish, store: &Store) -> anyhow::Result<Publication> {
    let row = store.run(&publish.run)?;
    let run = row.summary.id;
    form::check(store, run)?;
    let Some(name) = publish.name.clone() else {
        let problem = "a run is published under a name: --name 'Ada Example', or BTU_PUBLISHER in the environment";
        return Err(Refusal::Usage(problem.to_owned()).into());
    };
    let form = Published::on(publish.to.clone());
    let archive = store.export_as(&form, &[run], Vec::new()).map_err(form::explain)?;
    let publisher = Publisher::named(publish.key.as_deref())?;
    let (system, price) = described(store, &row)?;
    let manifest = Manifest {
        board: publish.to.to_string(),
        run: row.summary.uuid.clone(),
        archive_sha256: sha256(&archive),
        plan_hash: row.plan_hash.clone(),
        seed: row.seed,
        created: row.summary.created.clone(),
        signed: wall_clock(),
        visibility: publish.visibility,
        name,
        system: publish.system.clone().or(system),
        price: publish.price.clone().or(price),
    };
    let text = manifest.text();
    Manifest::read(&text).map_err(|error| Refusal::Usage(error.to_string()))?;
    let (signature, key) = (publisher.sign(&text)?, publisher.public.to_string());
    Ok(Publication { row, archive, manifest, signature, key })
}

/// What the user noted about the run's machine.
fn described(store: &Store, row: &RunRow) -> anyhow::Result<machine::Description> {
    let Some(environment) = before(row) else { return Ok((None, None)) };
    let key = traits(&environment).key();
    let note = store.machine_notes()?.into_iter().find(|note| note.key == key.as_str());
    Ok(note.map_or((None, None), |note| (note.name, note.price)))
}

/// The end of `--dry-run`.
fn end_dry(publication: &Publication, files: &Files, common: &Common) -> anyhow::Result<()> {
    if common.json {
        return print_json(&json!({
            "run": publication.row.summary.id, "files": files.names(),
            "manifest": publication.manifest.text(), "key": publication.key,
        }));
    }
    print(
        "Nothing was sent. To publish, remove these files or name another --output, and leave out --dry-run.",
    )
}
