//! Files that hold keys: read only when they are private, and private from the first written byte
//! on.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::libc;

use super::TrustError;

/// The most bytes that are read of a file: a bundle of the most agents has 400 kB.
pub(super) const MOST_BYTES: u64 = 1 << 20;

/// Reads a file that holds a key; refuses it when other users could read it.
pub(super) fn read_private(path: &Path) -> Result<String, TrustError> {
    // The other end of a FIFO is not waited for.
    let how = libc::O_NONBLOCK;
    let opened = File::options().read(true).custom_flags(how).open(path);
    let file = opened.map_err(reading(path))?;
    let about = file.metadata().map_err(reading(path))?;
    if !about.is_file() {
        return Err(reading(path)(std::io::Error::other("it is not a regular file")));
    }
    let mode = about.permissions().mode() & 0o777;
    if mode & exposing(path, std::env::var_os("CREDENTIALS_DIRECTORY").as_deref()) != 0 {
        return Err(TrustError::Exposed { path: path.to_owned(), mode });
    }
    let mut text = String::new();
    file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(reading(path))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(reading(path)(std::io::Error::other("it is too large")));
    }
    Ok(text)
}

/// The permissions with which others could read the file at `path`. A cluster shows a pod's secrets
/// in `credentials`, which the pod's own group may read (`btu hosts kubernetes`).
fn exposing(path: &Path, credentials: Option<&OsStr>) -> u32 {
    let shown = credentials.filter(|directory| !directory.is_empty()).map(Path::new);
    if shown.is_some() && path.parent() == shown { 0o037 } else { 0o077 }
}

/// Writes a new file that only its owner can read, down to the disk.
pub(super) fn write_private(path: &Path, text: &str) -> Result<(), TrustError> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let written = opened.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|source| TrustError::Write { path: path.to_owned(), source })
}

pub(super) fn reading(path: &Path) -> impl Fn(std::io::Error) -> TrustError + '_ {
    move |source| TrustError::Read { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key.pem");
        write_private(&path, "a key").unwrap();
        assert_eq!(read_private(&path).unwrap(), "a key");
        assert!(write_private(&path, "another").is_err(), "a file is never overwritten");
        for mode in [0o640, 0o604, 0o620, 0o666] {
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let error = read_private(&path).unwrap_err().to_string();
            assert!(
                error.contains(&format!("(mode {mode:04o})")) && error.contains("chmod 600"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_pipe_in_the_place_of_a_key_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe.pem");
        mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        let error = read_private(&path).unwrap_err().to_string();
        assert!(error.contains("it is not a regular file"), "{error}");
    }

    #[test]
    fn a_pod_s_group_may_read_its_secrets_and_nobody_else() {
        let (secrets, file) = (Some(OsStr::new("/btu")), Path::new("/btu/bundle"));
        assert_eq!(exposing(file, secrets), 0o037);
        for elsewhere in [None, Some(OsStr::new("")), Some(OsStr::new("/other"))] {
            assert_eq!(exposing(file, elsewhere), 0o077);
        }
    }
}
