//! Files that hold keys: read only when they are private, written so that they are from the first byte on.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::TrustError;

/// The most that is read of any of our files: an identity has 2 kB, a list with ten thousand entries 400 kB.
pub(super) const MOST_BYTES: u64 = 1 << 20;

/// Owner only.
pub(super) const PRIVATE: u32 = 0o600;
/// Everybody may read.
pub(super) const PUBLIC: u32 = 0o644;

/// Reads a file that holds a key; refuses it when others could have.
pub(super) fn read_private(path: &Path) -> Result<String, TrustError> {
    let file = File::open(path).map_err(reading(path))?;
    let mode = file.metadata().map_err(reading(path))?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(TrustError::Exposed { path: path.to_owned(), mode });
    }
    bounded(file, path)
}

/// Reads a file that anybody may see.
pub(super) fn read_public(path: &Path) -> Result<String, TrustError> {
    bounded(File::open(path).map_err(reading(path))?, path)
}

fn bounded(file: File, path: &Path) -> Result<String, TrustError> {
    let mut text = String::new();
    file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(reading(path))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(reading(path)(std::io::Error::other("it is too large")));
    }
    Ok(text)
}

/// Makes a file that must not exist yet.
pub(super) fn create(path: &Path, mode: u32) -> Result<File, TrustError> {
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => TrustError::Exists { path: path.to_owned() },
        _ => writing(path)(error),
    })
}

/// Writes what belongs into `file`, down to the disk.
pub(super) fn fill(mut file: File, path: &Path, text: &str) -> Result<(), TrustError> {
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(writing(path))
}

/// Replaces a file of ours, so that a reader sees the old or the new one, never a half.
pub(super) fn replace(path: &Path, mode: u32, text: &str) -> Result<(), TrustError> {
    let part = path.with_extension("part");
    // A part that is there was left by a crash; whoever writes here holds the lock.
    fs::remove_file(&part).ok();
    fill(create(&part, mode)?, &part, text)?;
    fs::rename(&part, path).map_err(writing(path))
}

/// Makes a directory for keys, with those above it.
pub(super) fn directory(path: &Path) -> Result<(), TrustError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(writing(path))
}

pub(super) fn reading(path: &Path) -> impl Fn(std::io::Error) -> TrustError + '_ {
    move |source| TrustError::Read { path: path.to_owned(), source }
}

pub(super) fn writing(path: &Path) -> impl Fn(std::io::Error) -> TrustError + '_ {
    move |source| TrustError::Write { path: path.to_owned(), source }
}

/// The textual form of `der` (RFC 7468).
pub(super) fn pem(label: &str, der: &[u8]) -> String {
    let line_feeds = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    pem::encode_config(&pem::Pem::new(label, der), line_feeds)
}
