//! The files of other programs that `btu runs import` reads: iperf3, Flent and hyperfine.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use anyhow::Context as _;
use btu_contract::foreign::{ForeignRun, STUDY};
use btu_store::{Imported, RunId, Store};
use btu_studies::imports::{self, Began, MOST_BYTES};
use flate2::bufread::MultiGzDecoder;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::exit::Refusal;
use crate::results::foreign;
use crate::stored::wall_clock;

/// The first bytes of a gzip stream (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The first bytes of an archive of btu once it is unpacked.
const ARCHIVE: &[u8] = br#"{"archive":"#;

/// What a file is.
pub(crate) enum Content {
    /// Runs that btu exported.
    Archive,
    /// The text of another program, unpacked.
    Text(String),
}

/// Looks at a file, which is at its beginning before, and after if it is an archive.
pub(crate) fn content(path: &Path, file: &mut File) -> anyhow::Result<Content> {
    let reading = |error: std::io::Error| {
        Refusal::Usage(format!("reading {}: {error}; nothing was imported", path.display()))
    };
    let refused = |why: &str| refusal(path, why);
    let mut first = Vec::new();
    (&mut *file).take(2).read_to_end(&mut first).map_err(reading)?;
    file.rewind().map_err(reading)?;
    let mut octets = Vec::new();
    if first == GZIP {
        let mut unpacked = MultiGzDecoder::new(BufReader::new(&mut *file));
        let damaged = |error| refused(&format!("its compression is damaged ({error})"));
        (&mut unpacked).take(ARCHIVE.len() as u64).read_to_end(&mut octets).map_err(damaged)?;
        if octets == ARCHIVE {
            file.rewind().map_err(reading)?;
            return Ok(Content::Archive);
        }
        unpacked.take(MOST_BYTES).read_to_end(&mut octets).map_err(damaged)?;
    } else {
        (&mut *file).take(MOST_BYTES + 1).read_to_end(&mut octets).map_err(reading)?;
    }
    if octets.len() as u64 > MOST_BYTES {
        let most = MOST_BYTES >> 20;
        return Err(refused(&format!("it has more than {most} MiB of text")).into());
    }
    let text = imports::text(octets).ok_or_else(|| refused(&imports::unknown()))?;
    Ok(Content::Text(text))
}

fn refusal(path: &Path, why: &str) -> Refusal {
    Refusal::Usage(format!("{}: {why}; nothing was imported", path.display()))
}

/// Stores the run of a text, unless it is stored already.
pub(crate) fn store(store: &mut Store, path: &Path, text: &str) -> anyhow::Result<Imported> {
    let imported = imports::read(text).map_err(|why| refusal(path, &why))?;
    let run = &imported.run;
    run.check().map_err(|why| refusal(path, &why))?;
    let began = imported.began.as_ref().map(created).transpose();
    let began = began.map_err(|why| refusal(path, &why))?;
    let found = stored(store, run, began.as_deref())?;
    let id = if let Some(id) = found {
        id
    } else {
        let created = began.unwrap_or_else(wall_clock);
        foreign::save(store, run, (foreign::IMPORTED, created), imported.duration, None)?
    };
    let uuid = store.summary(id).context("reading what was imported")?.uuid;
    Ok(Imported { uuid, run: id, new: found.is_none() })
}

/// Wall time as the store has it.
fn created(began: &Began) -> Result<String, String> {
    let at = match began {
        Began::UnixSeconds(seconds) => Timestamp::from_second(*seconds).ok(),
        Began::Written { text, first } => text.parse().ok().or_else(|| {
            let at: DateTime = text.parse().ok()?;
            let local = at.to_zoned(TimeZone::UTC).ok()?.timestamp();
            // The first value came within some seconds of the start, and zones differ by quarters of
            // an hour.
            let ahead = first.map_or(0.0, |first| local.as_second() as f64 - first);
            let ahead = (ahead / 900.0).round() * 900.0;
            local.checked_sub(SignedDuration::try_from_secs_f64(ahead).ok()?).ok()
        }),
    };
    // Before 1970 no program of today measured; later years would not fit the form.
    at.filter(|at| *at >= Timestamp::UNIX_EPOCH)
        .map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        .ok_or_else(|| format!("its time of the start is none: {}", said(began)))
}

fn said(began: &Began) -> String {
    match began {
        Began::UnixSeconds(seconds) => format!("{seconds} s after 1970"),
        Began::Written { text, .. } => format!("`{}`", btu_units::plain(text)),
    }
}

/// The same results with the same time, where the file says one: the file was imported before.
fn stored(store: &Store, run: &ForeignRun, began: Option<&str>) -> anyhow::Result<Option<RunId>> {
    let candidates = store.runs()?.into_iter().filter(|summary| {
        summary.study == STUDY && began.is_none_or(|began| summary.created == began)
    });
    for candidate in candidates {
        // A run that cannot be read is not this one.
        let records = store.records::<ForeignRun>(candidate.id).unwrap_or_default();
        if records.first() == Some(run) {
            return Ok(Some(candidate.id));
        }
    }
    Ok(None)
}
