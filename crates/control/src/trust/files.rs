//! Files that hold keys: read only when they are private, and private from the first written byte
//! on.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::TrustError;

/// The most bytes that are read of a file that another person may have sent: an identity has 2 kB,
/// a list with ten thousand entries 400 kB.
pub(super) const MOST_BYTES: u64 = 1 << 20;

/// Permission bits of files that only the owner may read.
pub(super) const PRIVATE: u32 = 0o600;
/// Permission bits of files that every user may read.
pub(super) const PUBLIC: u32 = 0o644;

/// The default place of an authority, from the environment variables that `variable` looks up:
/// `$BTU_KEYS`, else `btu/keys` in the user's [`configuration`]; an empty variable counts as unset.
pub fn default_directory(
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, TrustError> {
    if let Some(keys) = variable("BTU_KEYS").filter(|value| !value.is_empty()) {
        return Ok(keys.into());
    }
    Ok(configuration(variable).ok_or(TrustError::NoHome)?.join("btu/keys"))
}

/// The user's configuration, from the environment variables that `variable` looks up (XDG Base
/// Directory Specification: an empty variable counts as unset, a relative one is ignored).
pub fn configuration(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let directory = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let named = directory("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    named.or_else(|| directory("HOME").map(|home| home.join(".config")))
}

/// Reads a file that holds a key; refuses it when other users could read it.
pub(super) fn read_private(path: &Path) -> Result<String, TrustError> {
    let file = File::open(path).map_err(reading(path))?;
    let mode = file.metadata().map_err(reading(path))?.permissions().mode() & 0o777;
    if mode & exposing(path, std::env::var_os("CREDENTIALS_DIRECTORY").as_deref()) != 0 {
        return Err(TrustError::Exposed { path: path.to_owned(), mode });
    }
    bounded(file, path)
}

/// The permissions with which others could read the file at `path`. systemd has a service's
/// credentials in `credentials` (systemd.exec(5), `$CREDENTIALS_DIRECTORY`) as root's, with an
/// access control list for the service's user: the mask of such a list is in the place of the
/// group's permissions (acl(5)), and no group may read.
fn exposing(path: &Path, credentials: Option<&OsStr>) -> u32 {
    let shown = credentials.filter(|directory| !directory.is_empty()).map(Path::new);
    if shown.is_some() && path.parent() == shown { 0o037 } else { 0o077 }
}

/// Reads a file that every user may see.
pub(super) fn read_public(path: &Path) -> Result<String, TrustError> {
    bounded(File::open(path).map_err(reading(path))?, path)
}

/// Reads a file that only btu writes, of any size.
pub(super) fn read_own(path: &Path) -> Result<String, TrustError> {
    fs::read_to_string(path).map_err(reading(path))
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
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(|error| {
        match error.kind() {
            std::io::ErrorKind::AlreadyExists => TrustError::Exists { path: path.to_owned() },
            _ => writing(path)(error),
        }
    })
}

/// Writes the content of `file`, down to the disk.
pub(super) fn fill(mut file: File, path: &Path, text: &str) -> Result<(), TrustError> {
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(writing(path))
}

/// Replaces a file of btu, so that a reader sees the old or the new one, never a part.
pub(super) fn replace(path: &Path, mode: u32, text: &str) -> Result<(), TrustError> {
    let part = path.with_extension("part");
    // An existing part was left by a crash; the process that writes here holds the lock.
    let _ = fs::remove_file(&part);
    fill(create(&part, mode)?, &part, text)?;
    fs::rename(&part, path).map_err(writing(path))?;
    // Without this a power cut may bring the old file back: a revoked certificate would be trusted
    // again.
    let parent =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent).and_then(|parent| parent.sync_all()).map_err(writing(path))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_the_users_own() {
        let with = |variables: &[(&str, &str)]| {
            let found = |name: &str| variables.iter().find(|(known, _)| *known == name);
            default_directory(|name| found(name).map(|(_, value)| OsString::from(value)))
        };
        let all = [("BTU_KEYS", "/k"), ("XDG_CONFIG_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(with(&all).unwrap(), Path::new("/k"));
        assert_eq!(with(&all[1..]).unwrap(), Path::new("/x/btu/keys"));
        assert_eq!(with(&all[2..]).unwrap(), Path::new("/h/.config/btu/keys"));
        assert_eq!(
            with(&[("XDG_CONFIG_HOME", "x"), all[2]]).unwrap(),
            Path::new("/h/.config/btu/keys")
        );
        assert!(with(&[("HOME", "")]).unwrap_err().to_string().contains("--keys"));
    }
}
