//! Where a program lies.

use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use btu_suite::program::ProgramOrder;
use btu_units::octets_of_text;
use nix::unistd::{AccessFlags, access};

/// The first executable file of the program's name in the directories of its `$PATH`. `None` where
/// the system has to find it: the name is a path, no directory has it, or one before it is relative
/// to the directory that the program will work in.
///
/// The system tries one directory after another once it has begun to start the program, which would
/// be part of the program's time.
pub(super) fn found(order: &ProgramOrder) -> Option<PathBuf> {
    let name = order.command.first().filter(|name| !name.contains('/'))?;
    let own = order.environment.get("PATH").map(Into::into);
    let path = own.or_else(|| env::var_os("PATH"))?;
    env::split_paths(&path)
        .take_while(|directory| directory.is_absolute())
        .map(|directory| directory.join(OsStr::from_bytes(&octets_of_text(name))))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && access(file, AccessFlags::X_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use btu_units::{Bytes, Span};

    use super::*;

    fn looked_for(name: &str, path: &str) -> Option<PathBuf> {
        found(&ProgramOrder {
            command: vec![name.to_owned(), "--argument".to_owned()],
            environment: [("PATH".to_owned(), path.to_owned())].into(),
            directory: None,
            room: Bytes::ZERO,
            deadline: Span::ZERO,
            ready: None,
        })
    }

    #[test]
    fn the_first_executable_file_is_found() {
        let root = tempfile::tempdir().unwrap();
        let [none, directory, text, program] =
            ["none", "directory", "text", "program"].map(|name| root.path().join(name));
        for (place, mode) in [(&text, 0o644), (&program, 0o755)] {
            fs::create_dir(place).unwrap();
            fs::write(place.join("it"), "").unwrap();
            fs::set_permissions(place.join("it"), Permissions::from_mode(mode)).unwrap();
        }
        fs::create_dir_all(directory.join("it")).unwrap();
        let path = env::join_paths([&none, &directory, &text, &program]).unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(looked_for("it", path), Some(program.join("it")));
        assert_eq!(looked_for("another", path), None);
        assert_eq!(looked_for("./it", path), None, "a path is not looked for");
        assert_eq!(looked_for("it", &format!(".:{path}")), None, "relative to another directory");
    }
}
