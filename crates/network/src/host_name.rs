//! The name of a host.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::drawing::Station;
use crate::inventory::{HostRole, is_host_name};

/// The name by which a script, its records and its reports know a host: a station of a network
/// file, a host of an inventory, or a role of a study. Cheap to clone; stored as the plain text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostName(Arc<str>);

/// A text that cannot name a host.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` cannot name a host: write letters, digits, `-` and `_`, at most 63 between two dots"
)]
pub struct HostNameError(String);

impl HostName {
    /// As users see and write it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for HostName {
    type Error = HostNameError;

    fn try_from(text: String) -> Result<Self, HostNameError> {
        if is_host_name(&text) { Ok(Self(text.into())) } else { Err(HostNameError(text)) }
    }
}

impl TryFrom<&str> for HostName {
    type Error = HostNameError;

    fn try_from(text: &str) -> Result<Self, HostNameError> {
        text.to_owned().try_into()
    }
}

/// A station's name is a label, which the reader has checked.
impl From<&Station> for HostName {
    fn from(station: &Station) -> Self {
        Self(station.name.as_str().into())
    }
}

/// A study that does not care which machine plays a role calls the host by its role.
impl From<HostRole> for HostName {
    fn from(role: HostRole) -> Self {
        Self(role.name().into())
    }
}

impl From<HostName> for String {
    fn from(name: HostName) -> Self {
        name.as_str().to_owned()
    }
}

impl PartialEq<HostRole> for HostName {
    fn eq(&self, role: &HostRole) -> bool {
        self.as_str() == role.name()
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_and_a_name_are_stored_as_the_same_text() {
        let name = HostName::from(HostRole::Active);
        assert_eq!(
            serde_json::to_string(&name).unwrap(),
            serde_json::to_string(&HostRole::Active).unwrap()
        );
        assert_eq!(serde_json::from_str::<HostName>("\"active\"").unwrap(), name);
        assert!(name == HostRole::Active && name != HostRole::Test);
    }

    #[test]
    fn what_cannot_name_a_host_is_refused() {
        for name in ["a", "host-1", "alpha.example.org", "lab_3"] {
            assert_eq!(HostName::try_from(name).unwrap().to_string(), name);
        }
        for text in ["", "-a", "a b", "a/b", "a..b", "ä"] {
            assert!(HostName::try_from(text).is_err(), "{text}");
            assert!(serde_json::from_value::<HostName>(text.into()).is_err(), "{text}");
        }
    }
}
