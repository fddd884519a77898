//! Paths in JSON, whatever their octets: as [`btu_units::text_of_octets`] writes them. A path in UTF-8
//! is its own text.

use std::path::{Path, PathBuf};

use btu_units::{octets_of_text, text_of_octets};
use serde::{Deserialize, Deserializer, Serializer};

/// The text of a path.
pub fn text_of_path(path: &Path) -> String {
    text_of_octets(path.as_os_str().as_encoded_bytes())
}

/// The path of such a text.
pub fn path_of_text(text: &str) -> PathBuf {
    path_of_octets(octets_of_text(text))
}

#[cfg(unix)]
fn path_of_octets(octets: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;
    std::ffi::OsString::from_vec(octets).into()
}

/// Where names of files are no octets, no file is opened: plans are read only.
#[cfg(not(unix))]
fn path_of_octets(octets: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&octets).into_owned().into()
}

pub(crate) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&text_of_path(path))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    Ok(path_of_text(&String::deserialize(from)?))
}

/// The same for a path that may be absent.
pub mod optional {
    use super::{Deserialize, Deserializer, PathBuf, Serializer, path_of_text, text_of_path};

    /// For `#[serde(with)]`.
    ///
    /// # Errors
    /// As the serializer's.
    #[allow(clippy::ref_option, reason = "serde's form")]
    pub fn serialize<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
        match path {
            Some(path) => to.serialize_some(&text_of_path(path)),
            None => to.serialize_none(),
        }
    }

    /// For `#[serde(with)]`.
    ///
    /// # Errors
    /// As the deserializer's.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.as_deref().map(path_of_text))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
    struct Paths {
        #[serde(with = "super")]
        one: PathBuf,
        #[serde(default, with = "optional")]
        other: Option<PathBuf>,
    }

    #[test]
    fn a_path_of_any_octets_comes_back() {
        let path = path_of_octets(b"/tmp/\xff\xf0".to_vec());
        let paths = Paths { one: path.clone(), other: Some(path) };
        let text = serde_json::to_string(&paths).unwrap();
        assert_eq!(serde_json::from_str::<Paths>(&text).unwrap(), paths);
        let plain: Paths = serde_json::from_str(r#"{"one": "/tmp/Grüße"}"#).unwrap();
        assert_eq!(plain, Paths { one: "/tmp/Grüße".into(), other: None });
        assert_eq!(text_of_path(&plain.one), "/tmp/Grüße");
    }
}
