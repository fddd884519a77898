//! Files for results, in directories where other users may have made something of that name.

use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{OFlag, readlinkat};
use nix::libc::ELOOP;

/// Opens a file to be written from its beginning, and makes it if it is missing. A link of this
/// user or of the superuser (`/dev/stdout`) is followed.
///
/// # Errors
/// Those of the system, and a link of another user: it could lead to any file of this user.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut how = File::options();
    how.write(true).create(true).truncate(true);
    match how.clone().custom_flags(OFlag::O_NOFOLLOW.bits()).open(path) {
        Err(error) if error.raw_os_error() == Some(ELOOP) => how.open(target(path)?),
        opened => opened,
    }
}

/// Where the link leads. Its owner is that of the link that is read, whatever is at this path by
/// then.
fn target(path: &Path) -> io::Result<PathBuf> {
    let only_itself = OFlag::O_PATH | OFlag::O_NOFOLLOW;
    let link = File::options().read(true).custom_flags(only_itself.bits()).open(path)?;
    let owner = link.metadata()?.uid();
    if owner != 0 && owner != nix::unistd::geteuid().as_raw() {
        let why = "it is a symbolic link of another user, who chose its target: name another file";
        return Err(io::Error::other(why));
    }
    Ok(path.parent().unwrap_or(Path::new("")).join(readlinkat(&link, "")?))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn own_links_are_followed() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("target"), "something longer").unwrap();
        symlink("target", path("link")).unwrap();
        create(&path("link")).unwrap().write_all(b"new").unwrap();
        assert_eq!(std::fs::read(path("target")).unwrap(), b"new");
        symlink("missing", path("nowhere")).unwrap();
        create(&path("nowhere")).unwrap().write_all(b"made").unwrap();
        assert_eq!(std::fs::read(path("missing")).unwrap(), b"made");
        symlink(path("circle"), path("circle")).unwrap();
        assert!(create(&path("circle")).is_err());
        create(Path::new("/dev/null")).unwrap();
    }
}
