//! `run`: a program of the user's.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use btu_network::{Document, Item};
use btu_units::{Bytes, Span};

use super::setup::{Context, GroupEntry, host};
use super::text::filled;
use btu_contract::program::{Part, ProgramOrder, ProgramStep, Ready};

/// The time limits of a program.
pub(super) const DEADLINES: RangeInclusive<Span> =
    Span::from_milliseconds(10)..=Span::from_seconds(24 * 3600);

/// Like `DEADLINES`, by default, and the time for a service to become ready.
const DEADLINE: Span = Span::from_seconds(60);
const READY_WITHIN: Span = Span::from_seconds(10);

/// The size limits of a program's own directory.
const ROOMS: RangeInclusive<Bytes> = Bytes::new(4096)..=Bytes::new(1 << 40);

/// Like `ROOMS`, by default.
const ROOM: Bytes = Bytes::new(1 << 30);

/// Most arguments, and entries of an environment.
const MOST: usize = 1000;

/// The program of an entry.
pub(super) fn read(
    entry: &GroupEntry<'_, '_>,
    document: &Document<'_>,
    context: &Context<'_>,
) -> Option<ProgramStep> {
    let fields = entry.fields;
    let run = fields.get("run");
    if let Some(item) = run.as_ref().filter(|_| !context.with_programs) {
        item.problem(
            "programs run in stations of a network that btu starts, never on real hosts: use btu's own `activity`",
        );
    }
    let host = host(entry, "on", context);
    let command = run.and_then(|item| command(&item, context));
    let environment = fields.get("environment").and_then(|item| environment(&item, context));
    let directory = fields
        .get("directory")
        .and_then(|item| Some(PathBuf::from(filled(&item, item.text()?, context.words)?)));
    let room = fields.quantity_in("room", ROOMS).unwrap_or(ROOM);
    let usual =
        if entry.part == Part::Service { READY_WITHIN } else { entry.deadline.unwrap_or(DEADLINE) };
    let deadline = fields.quantity_in("deadline", DEADLINES).unwrap_or(usual);
    let ready = ready(entry, document);
    let (name, part) = (entry.name.to_owned(), entry.part);
    let environment = environment.unwrap_or_default();
    let order =
        ProgramOrder { command: command?, environment, directory, room, deadline, ready: ready? };
    Some(ProgramStep { name, host: host?, part, order })
}

fn command(item: &Item<'_>, context: &Context<'_>) -> Option<Vec<String>> {
    if !item.is_list() {
        item.problem("a list of texts is wanted, the program first: `run = [\"curl\", \"-sO\", \"http://server/file\"]`; a shell's \
                      command is `[\"sh\", \"-c\", \"...\"]`");
        return None;
    }
    let words = item.each();
    if words.is_empty() || words.len() > MOST {
        item.problem("there is no program: `run = [\"curl\", \"-sO\", \"http://server/file\"]`");
        return None;
    }
    words.iter().map(|item| filled(item, &plain(item)?, context.words)).collect()
}

/// A text of any length, or a number as it is written.
fn plain(item: &Item<'_>) -> Option<String> {
    if item.is_list() || item.is_table() { item.prose() } else { Some(item.written()) }
}

fn environment(item: &Item<'_>, context: &Context<'_>) -> Option<BTreeMap<String, String>> {
    let fields = item.fields()?;
    let mut all = BTreeMap::new();
    for (name, spot, item) in fields.members().take(MOST) {
        if name.is_empty() || name.contains(['=', '\0']) {
            fields.problem_at(&spot, "this is not a valid name of an environment variable");
        }
        all.insert(name.to_owned(), filled(&item, &plain(&item)?, context.words)?);
    }
    Some(all)
}

/// The condition of readiness: by default a service is ready when it listens. The outer `None` is a
/// mistake.
#[allow(
    clippy::option_option,
    reason = "nothing to wait for, and nothing that could be read, are two things"
)]
fn ready(entry: &GroupEntry<'_, '_>, document: &Document<'_>) -> Option<Option<Ready>> {
    let usual = (entry.part == Part::Service).then_some(Ready::Listens);
    let Some(item) = (if entry.part == Part::Measured { None } else { entry.fields.get("ready") })
    else {
        return Some(usual);
    };
    let fields = item.fields()?;
    let port = fields.whole("port", 1..=65_535);
    let output = fields.get("output").and_then(|item| item.prose());
    let after: Option<Span> = fields.quantity_in("after", Span::ZERO..=READY_WITHIN);
    fields.finish();
    match (port, output, after) {
        (Some(port), None, None) => Some(u16::try_from(port).ok().map(Ready::Port)),
        (None, Some(output), None) => Some(Some(Ready::Output(output))),
        (None, None, Some(after)) => Some(Some(Ready::After(after))),
        _ => {
            document.problem_at(
                item.spot(),
                "one of `port = 80`, `output = \"ready\"` and `after = \"1 s\"` is wanted",
            );
            None
        }
    }
}
