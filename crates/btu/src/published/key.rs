//! The key with which a publisher signs.

use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use btu_publication::{KeyError, PublicKey, SigningKey};
use btu_testbed::note;
use btu_units::shell_word;

use crate::exit::Refusal;
use crate::files;

/// A key in its file is shorter, in bytes.
const LONGEST: u64 = 4096;

/// A publisher's key.
#[derive(Debug)]
pub(crate) struct Publisher {
    secret: SigningKey,
    /// The key by which its signatures are checked.
    pub(crate) public: PublicKey,
}

impl Publisher {
    /// The key in the named file; else in the usual one, which is made when it is missing.
    pub(crate) fn named(file: Option<&Path>) -> Result<Self, Refusal> {
        match file {
            Some(file) => Self::read(file),
            None => Self::usual(&usual_place(|name| std::env::var_os(name))?),
        }
    }

    fn usual(file: &Path) -> Result<Self, Refusal> {
        if !file.exists() {
            make(file)?;
        }
        Self::read(file)
    }

    fn read(file: &Path) -> Result<Self, Refusal> {
        let refused =
            |why: String| Refusal::Machine(format!("reading the key {}: {why}", file.display()));
        let opened = private(file).map_err(refused)?;
        let mut text = String::new();
        let read = opened.take(LONGEST).read_to_string(&mut text);
        read.map_err(|error| refused(error.to_string()))?;
        let secret = SigningKey::read(&text).map_err(|error| refused(error.to_string()))?;
        let public = secret.public().map_err(|error| refused(error.to_string()))?;
        Ok(Self { secret, public })
    }

    /// The signature over a text: the content of a `.minisig` file.
    pub(crate) fn sign(&self, text: &str) -> Result<String, KeyError> {
        self.secret.sign(text)
    }
}

/// Opens a file that no other user can read, or a pipe that a shell has made.
fn private(path: &Path) -> Result<File, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let about = file.metadata().map_err(|error| error.to_string())?;
    if about.is_file() && about.permissions().mode() & 0o077 != 0 {
        let path = shell_word(&path.display().to_string());
        return Err(format!("others can read it; `chmod 600 {path}` keeps them out"));
    }
    Ok(file)
}

/// `btu/publisher.key` in the user's configuration (XDG Base Directory Specification: an empty
/// variable counts as unset, a relative one is ignored).
fn usual_place(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, Refusal> {
    let none = || {
        let problem = "no place for the publisher's key: neither XDG_CONFIG_HOME nor HOME is set; set one of them";
        Refusal::Machine(problem.to_owned())
    };
    let directory = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let named = directory("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let configuration = named.or_else(|| directory("HOME").map(|home| home.join(".config")));
    Ok(configuration.ok_or_else(none)?.join("btu/publisher.key"))
}

/// Makes a key and its public half next to it.
fn make(file: &Path) -> Result<(), Refusal> {
    let failed = |error: &KeyError| {
        Refusal::Machine(format!("making {}: {error}; try again", file.display()))
    };
    let key = SigningKey::new().map_err(|error| failed(&error))?;
    let public = key.public().map_err(|error| failed(&error))?;
    write_new(file, &key.file()).map_err(|error| files::unwritable(file, &error))?;
    let shown = file.with_extension("pub");
    let written =
        files::create(&shown).and_then(|mut into| into.write_all(public.file().as_bytes()));
    written.map_err(|error| files::unwritable(&shown, &error))?;
    note!(
        "btu: made the key {} with which you sign what you publish; keep a copy. {} is for others.",
        file.display(),
        shown.display()
    );
    Ok(())
}

/// Writes the whole file or none, and never over another one, which may hold another process's key.
fn write_new(file: &Path, text: &str) -> std::io::Result<()> {
    if let Some(directory) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let part = file.with_extension(format!("part-{}", std::process::id()));
    let opened = File::options().write(true).create_new(true).mode(0o600).open(&part);
    let written = opened.and_then(|mut into| {
        into.write_all(text.as_bytes())?;
        into.sync_all()?;
        match std::fs::hard_link(&part, file) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        }
    });
    // Its other name stays, if there is one.
    let _ = std::fs::remove_file(&part);
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_for_its_owner() {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| (name == "HOME").then(|| directory.path().into());
        let file = usual_place(place).unwrap();
        assert!(usual_place(|_| None).is_err());
        let first = Publisher::usual(&file).unwrap();
        assert_eq!(Publisher::usual(&file).unwrap().public, first.public);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let shown = std::fs::read_to_string(file.with_extension("pub")).unwrap();
        assert_eq!(shown.parse::<PublicKey>().unwrap(), first.public);
        assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), 2);
        first.public.verify("text", &first.sign("text").unwrap()).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
        assert!(Publisher::usual(&file).unwrap_err().to_string().contains("chmod 600"));
        assert!(Publisher::named(Some(&directory.path().join("none"))).is_err());
    }
}
