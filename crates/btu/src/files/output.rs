//! Files for results, in directories where other users may have made something of that name; and
//! directories that the user names for what a command writes.

use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use btu_chart::Picture;
use nix::fcntl::{OFlag, readlinkat};
use nix::libc::ELOOP;

use crate::exit::Refusal;

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

/// Draws a picture to the requested file, if any; making it may fail.
pub(crate) fn save_picture(
    svg: Option<&Path>,
    picture: impl FnOnce() -> anyhow::Result<Picture>,
) -> anyhow::Result<()> {
    match svg {
        Some(path) => super::save(path, btu_chart::svg(&picture()?).as_bytes()),
        None => Ok(()),
    }
}

/// Refuses a directory that does not exist: one that is made because of a typing error would stay.
pub(crate) fn is_directory(option: &str, directory: &Path) -> Result<(), Refusal> {
    // The relative path with one component has the empty path above it.
    if directory.as_os_str().is_empty() || directory.is_dir() {
        return Ok(());
    }
    let what = if directory.exists() { "not a directory" } else { "no such directory" };
    Err(Refusal::Usage(format!(
        "{option}: {what}: {}; make it first, or name another",
        directory.display()
    )))
}

/// A directory that the user names for what `option` writes: it may be new, but its parents must
/// exist.
pub(crate) fn new_directory(option: &str, directory: &Path) -> Result<(), Refusal> {
    directory.parent().map_or(Ok(()), |above| is_directory(option, above))
}

/// Makes `directory`, and nothing above it, unless it is there.
pub(crate) fn make_last(directory: &Path) -> std::io::Result<()> {
    match std::fs::create_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
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
