//! Opens the files of a data directory, where another user may have made something of that name.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc;
use nix::unistd::geteuid;

/// Opens a file of a data directory; one that is made is for its owner only. Neither a link is followed nor the
/// other end of a FIFO waited for.
///
/// # Errors
/// Those of the system, and whatever is no regular file of this user, the superuser, or the owner of the directory.
pub fn open_data_file(path: &Path, how: &mut OpenOptions) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let opened = how.mode(0o600).custom_flags(flags).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => io::Error::other("it is a link"),
        Some(libc::ENXIO) => io::Error::other("it is not a regular file"),
        _ => error,
    })?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if !is_trusted(&about) && about.uid() != directory_of(path).metadata()?.uid() {
        return Err(io::Error::other("it belongs to another user"));
    }
    Ok(file)
}

/// Where a database is: a link of this user or of the superuser is followed, to a place with more room.
///
/// # Errors
/// It is a link of another user, or leads nowhere.
pub(crate) fn place_of(path: &Path) -> io::Result<PathBuf> {
    match path.symlink_metadata() {
        Ok(about) if !about.is_symlink() => Ok(path.to_owned()),
        Ok(about) if is_trusted(&about) => path.canonicalize(),
        Ok(_) => Err(io::Error::other("it is a link of another user")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_owned()),
        Err(error) => Err(error),
    }
}

fn is_trusted(about: &Metadata) -> bool {
    about.uid() == geteuid().as_raw() || about.uid() == 0
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    /// A user whom a test run by root can stand for.
    const OTHER: u32 = 65534;

    fn opened(path: &Path) -> Result<(), String> {
        let all = [
            open_data_file(path, File::options().read(true)),
            open_data_file(path, File::options().append(true).create(true)),
            open_data_file(path, File::options().read(true).write(true).create(true)),
        ];
        let results = all.map(|one| one.map(drop).map_err(|error| error.to_string()));
        results.into_iter().collect()
    }

    #[test]
    fn links_and_pipes_are_neither_followed_nor_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("file"), "").unwrap();
        opened(&path("file")).unwrap();
        symlink("file", path("link")).unwrap();
        symlink("missing", path("nowhere")).unwrap();
        mkfifo(&path("pipe"), Mode::S_IRWXU).unwrap();
        assert_eq!(opened(&path("link")), Err("it is a link".to_owned()));
        assert_eq!(opened(&path("nowhere")), Err("it is a link".to_owned()));
        assert!(!path("missing").exists());
        assert_eq!(opened(&path("pipe")), Err("it is not a regular file".to_owned()));
    }

    #[test]
    fn files_of_others_are_refused_but_where_all_is_theirs() {
        if !geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "").unwrap();
        chown(&path, Some(OTHER), None).unwrap();
        assert_eq!(opened(&path), Err("it belongs to another user".to_owned()));
        let link = directory.path().join("link");
        symlink(&path, &link).unwrap();
        std::os::unix::fs::lchown(&link, Some(OTHER), None).unwrap();
        assert!(place_of(&link).is_err());
        // The superuser helps the owner of a whole directory.
        chown(directory.path(), Some(OTHER), None).unwrap();
        opened(&path).unwrap();
    }
}
