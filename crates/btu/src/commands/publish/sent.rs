//! The files of a publication, its way to the board, and the token that comes back.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use btu_store::{Store, open_data_file};
use btu_units::plain;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Publication;
use crate::cli::Board;
use crate::exit::Refusal;
use crate::published::client;
use crate::{files, results};

/// The files of a publication; those that are not kept are removed again.
pub(super) struct Files {
    pub(super) archive: PathBuf,
    written: Vec<PathBuf>,
    is_kept: bool,
}

impl Files {
    /// Writes the files, over none that is there.
    pub(super) fn write(directory: &Path, publication: &Publication) -> Result<Self, Refusal> {
        let run = publication.row.summary.id;
        let directory = if directory == Path::new(".") { Path::new("") } else { directory };
        let place = |end: &str| directory.join(format!("{run}.{end}"));
        let (manifest, key) = (publication.manifest.text(), &publication.signature);
        let all = [
            (place("published.gz"), publication.archive.as_slice()),
            (place("manifest"), manifest.as_bytes()),
            (place("manifest.minisig"), key.as_bytes()),
        ];
        if let Some((there, _)) = all.iter().find(|(path, _)| path.exists()) {
            let problem = format!(
                "{} is there already; remove it, or name another directory with --output",
                there.display()
            );
            return Err(Refusal::Usage(problem));
        }
        let mut files =
            Self { archive: place("published.gz"), written: Vec::new(), is_kept: false };
        for (path, content) in all {
            files.add(path, content)?;
        }
        Ok(files)
    }

    fn add(&mut self, path: PathBuf, content: &[u8]) -> Result<(), Refusal> {
        let made = File::options().write(true).create_new(true).open(&path);
        let mut file = made.map_err(|error| files::unwritable(&path, &error))?;
        let written = file.write_all(content).map_err(|error| files::unwritable(&path, &error));
        self.written.push(path);
        written
    }

    /// Lets the files stay.
    pub(super) fn keep(&mut self) {
        self.is_kept = true;
    }

    pub(super) fn names(&self) -> &[PathBuf] {
        &self.written
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if !self.is_kept {
            // What cannot be removed is whole, and is told when it is in the way.
            self.written.iter().for_each(|path| drop(std::fs::remove_file(path)));
        }
    }
}

/// The board's answer to a publication.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BoardAnswer {
    id: String,
    url: String,
    token: String,
    /// What the board says of the number: `unverified`.
    word: String,
    /// Whether it is shown.
    state: String,
}

/// Sends a publication.
pub(super) fn send(board: &Board, publication: &Publication) -> anyhow::Result<BoardAnswer> {
    let Publication { archive, manifest, signature, key, .. } = publication;
    let line = json!({"manifest": manifest.text(), "signature": signature, "key": key});
    let octets = [format!("{line}\n").as_bytes(), archive].concat();
    let answer = client::post(board, "api/v1/runs", client::Sent::Archive(&octets))?;
    let answer: Option<BoardAnswer> = serde_json::from_str(&answer).ok();
    let answer = answer.filter(BoardAnswer::is_plain);
    answer.with_context(|| {
        format!(
            "{board} gave an answer that is not a publication: check there whether the run has arrived"
        )
    })
}

impl BoardAnswer {
    /// Whether its texts are words that can be shown and kept in a line.
    fn is_plain(&self) -> bool {
        let is_word = |text: &str| {
            !text.contains(char::is_whitespace) && btu_publication::plain(text).is_ok()
        };
        [&self.id, &self.url, &self.token].into_iter().all(|text| is_word(text))
    }
}

/// The tokens of what was published, a line each, for their owner only.
pub(super) struct Tokens {
    path: PathBuf,
    file: File,
}

impl Tokens {
    /// The file next to the stored runs.
    pub(super) fn next_to(database: &Path) -> Result<Self, Refusal> {
        let path = database.with_file_name("publications");
        let opened = open_data_file(&path, File::options().append(true).create(true));
        let file = opened.map_err(|error| files::unwritable(&path, &error))?;
        Ok(Self { path, file })
    }

    /// Adds a token.
    pub(super) fn keep(
        &mut self,
        board: &Board,
        run: &str,
        answer: &BoardAnswer,
    ) -> Result<(), Refusal> {
        let BoardAnswer { id, url, token, .. } = answer;
        let written = writeln!(self.file, "{board} {run} {id} {url} {token}");
        written.and_then(|()| self.file.sync_all()).map_err(|error| {
            let path = self.path.display();
            Refusal::Machine(format!(
                "writing {path}: {error}; the run is published: keep its token yourself"
            ))
        })
    }
}

/// What the user reads of a publication.
pub(super) fn text(
    store: &Store,
    publication: &Publication,
    answer: &BoardAnswer,
    tokens: &Tokens,
) -> anyhow::Result<String> {
    let row = &publication.row;
    let number = results::of(row)?.answer(store, row)?;
    let BoardAnswer { url, token, word, state, .. } = answer;
    Ok(format!(
        "Published: {url}\n{number}, {} ({})\n\n\
         Your token for it: {token}\n\
         With it you delete or withdraw the run, see a private one, answer objections, and object to\n\
         runs of others. It is shown only now; {} keeps it.",
        plain(word),
        plain(state),
        tokens.path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_token_is_written_where_a_link_leads() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("runs.sqlite");
        let other = directory.path().join("other");
        std::os::unix::fs::symlink(&other, directory.path().join("publications")).unwrap();
        assert!(Tokens::next_to(&database).is_err());
        assert!(!other.exists());
    }
}
