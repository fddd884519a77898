//! Reads a policy file. Every mistake is reported with its line and a mark under it.

use std::ops::Range;
use std::path::{Component, PathBuf};
use std::str::FromStr;

use btu_contract::copy::Program;
use btu_network::ReadError;
use serde::Deserialize;
use thiserror::Error;
use toml::Spanned;

use super::{Policy, Rule, known_kinds};

/// What the smallest room of a worker has (`btu_contract::room`): with fewer files and sockets nothing
/// can be done.
const OPEN_FILES: u64 = 128;

/// Why a policy file cannot be used.
#[derive(Debug, Error)]
pub enum PolicyError {
    /// It cannot be read at all.
    #[error("reading the policy {path}: {source}")]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The reason that the system gives.
        source: std::io::Error,
    },
    /// It has a mistake.
    #[error(transparent)]
    Wrong(#[from] ReadError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    activities: Option<Spanned<Vec<Spanned<String>>>>,
    peers: Option<Spanned<Vec<Spanned<String>>>>,
    runs_at_once: Option<Spanned<usize>>,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    impair: Impair,
    #[serde(default)]
    scratch: Scratch,
    #[serde(default)]
    share: Share,
    #[serde(default)]
    copy: Copies,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    workers: Option<Spanned<u64>>,
    rate: Option<Spanned<String>>,
    bytes: Option<Spanned<String>>,
    duration: Option<Spanned<String>>,
    memory: Option<Spanned<String>>,
    open_files: Option<Spanned<u64>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Impair {
    interfaces: Option<Spanned<Vec<String>>>,
    loss: Option<Spanned<f64>>,
    delay: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scratch {
    directory: Option<Spanned<PathBuf>>,
    bytes: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Share {
    directories: Option<Spanned<Vec<Spanned<String>>>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Copies {
    programs: Option<Spanned<Vec<Spanned<String>>>>,
}

/// A mistake at a line.
struct Wrong {
    at: Range<usize>,
    message: String,
}

struct Text<'a>(&'a str);

/// Reads a policy; `source` is the name of the file.
pub(super) fn parse(source: &str, text: &str) -> Result<Policy, PolicyError> {
    let file = toml::from_str::<File>(text).map_err(|error| Wrong {
        at: error.span().unwrap_or(0..0),
        message: error.message().to_owned(),
    });
    let policy = file.and_then(|file| Text(text).policy(file));
    policy.map_err(|wrong| ReadError::at(source, text, wrong.at, wrong.message.trim_end()).into())
}

impl Text<'_> {
    fn policy(&self, file: File) -> Result<Policy, Wrong> {
        let usual = Policy::default();
        let runs_at_once =
            self.rule(file.runs_at_once, usual.runs_at_once, |at, runs| match runs {
                0 => Err(Wrong {
                    at,
                    message: "a host that takes no run needs no agent: at least 1".to_owned(),
                }),
                runs => Ok(runs),
            })?;
        Ok(Policy {
            source: None,
            activities: self.list(file.activities, usual.activities, known_activity)?,
            peers: self.list(file.peers, usual.peers, str::parse)?,
            runs_at_once,
            workers: self
                .rule(file.limits.workers, usual.workers, |at, count| at_least(at, count, 1))?,
            rate: self
                .rule(file.limits.rate, usual.rate, |at, text| quantity(at, &text).map(Some))?,
            bytes: self
                .rule(file.limits.bytes, usual.bytes, |at, text| quantity(at, &text).map(Some))?,
            duration: self
                .rule(file.limits.duration, usual.duration, |at, text| quantity(at, &text))?,
            memory: self.rule(file.limits.memory, usual.memory, |at, text| quantity(at, &text))?,
            open_files: self.rule(file.limits.open_files, usual.open_files, |at, count| {
                at_least(at, count, OPEN_FILES)
            })?,
            impair_interfaces: self.rule(
                file.impair.interfaces,
                usual.impair_interfaces,
                |_, names| Ok(Some(names)),
            )?,
            impair_loss: self.rule(file.impair.loss, usual.impair_loss, probability)?,
            impair_delay: self
                .rule(file.impair.delay, usual.impair_delay, |at, text| quantity(at, &text))?,
            scratch_directory: self.rule(
                file.scratch.directory,
                usual.scratch_directory,
                absolute,
            )?,
            scratch_bytes: self
                .rule(file.scratch.bytes, usual.scratch_bytes, |at, text| quantity(at, &text))?,
            share_directories: self.list(
                file.share.directories,
                usual.share_directories,
                whole_path,
            )?,
            copy_programs: self.list(file.copy.programs, usual.copy_programs, ssh_program)?,
        })
    }

    fn rule<S, T>(
        &self,
        written: Option<Spanned<S>>,
        usual: Rule<T>,
        read: impl FnOnce(Range<usize>, S) -> Result<T, Wrong>,
    ) -> Result<Rule<T>, Wrong> {
        let Some(written) = written else { return Ok(usual) };
        let at = written.span();
        Ok(Rule { line: Some(self.line(at.start)), value: read(at, written.into_inner())? })
    }

    fn list<T>(
        &self,
        written: Option<Spanned<Vec<Spanned<String>>>>,
        usual: Rule<Vec<T>>,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Rule<Vec<T>>, Wrong> {
        self.rule(written, usual, |_, items| {
            let item = |item: Spanned<String>| {
                read(item.get_ref()).map_err(|message| Wrong { at: item.span(), message })
            };
            items.into_iter().map(item).collect()
        })
    }

    /// Number of the line of an octet, from 1.
    fn line(&self, at: usize) -> usize {
        self.0.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
    }
}

fn known_activity(name: &str) -> Result<String, String> {
    if known_kinds().any(|kind| kind == name) {
        return Ok(name.to_owned());
    }
    Err(format!(
        "there is no activity `{name}`: there are {}",
        known_kinds().collect::<Vec<_>>().join(", ")
    ))
}

/// A program of the system's that agents can confine.
fn ssh_program(name: &str) -> Result<Program, String> {
    match name.parse() {
        Ok(program @ (Program::Scp | Program::Sftp)) => Ok(program),
        _ => Err(format!(
            "there is no program `{name}` to name here: there are scp, sftp; copies by btu's own programs are `activities`"
        )),
    }
}

fn at_least(at: Range<usize>, count: u64, least: u64) -> Result<u64, Wrong> {
    if count >= least { Ok(count) } else { Err(Wrong { at, message: format!("at least {least}") }) }
}

fn probability(at: Range<usize>, value: f64) -> Result<f64, Wrong> {
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(Wrong { at, message: "from 0 to 1".to_owned() })
    }
}

fn quantity<T: FromStr<Err: std::fmt::Display>>(at: Range<usize>, text: &str) -> Result<T, Wrong> {
    text.parse().map_err(|error: T::Err| Wrong { at, message: error.to_string() })
}

/// A path in comparable form, without `.`, `..` and links.
fn whole_path(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let is_plain = path.components().all(|part| !matches!(part, Component::ParentDir));
    if path.is_absolute() && is_plain {
        Ok(path)
    } else {
        Err("a share's directory begins with / and has no `..`".to_owned())
    }
}

fn absolute(at: Range<usize>, path: PathBuf) -> Result<PathBuf, Wrong> {
    if path.is_absolute() {
        return Ok(path);
    }
    Err(Wrong { at, message: "the scratch directory has to begin with /".to_owned() })
}
