//! The certificates that an authority has issued: the only record of serial numbers by name.

use serde::{Deserialize, Serialize};

use super::{Card, Role};

/// Version of the file.
const VERSION: u32 = 1;

/// An issued certificate. Times are seconds since 1970-01-01 UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issued {
    /// The holder's data in the certificate.
    #[serde(flatten)]
    pub card: Card,
    /// The time of its revocation, if it was revoked.
    #[serde(default)]
    pub revoked_at_unix_s: Option<i64>,
}

/// The content of the file `issued.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Ledger {
    version: u32,
    /// Number of the newest list of revoked certificates.
    pub(super) list_number: u64,
    pub(super) issued: Vec<Issued>,
}

impl Ledger {
    pub(super) fn new() -> Self {
        Self { version: VERSION, list_number: 0, issued: Vec::new() }
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let ledger: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if ledger.version == VERSION {
            return Ok(ledger);
        }
        Err(format!(
            "it has version {}, and this btu knows {VERSION}: use a newer btu",
            ledger.version
        ))
    }

    pub(super) fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Marks the certificates that `choice` names as revoked at `now_unix_s`, and returns them;
    /// earlier revocations do not change.
    pub(super) fn revoke(&mut self, choice: &Choice, now_unix_s: i64) -> Vec<Issued> {
        let chosen = self
            .issued
            .iter_mut()
            .filter(|issued| issued.revoked_at_unix_s.is_none() && choice.takes(issued));
        chosen
            .map(|issued| {
                issued.revoked_at_unix_s = Some(now_unix_s);
                issued.clone()
            })
            .collect()
    }
}

/// The selection of certificates that are to be revoked.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Those of this holder.
    pub name: String,
    /// Only those of this role.
    pub role: Option<Role>,
    /// Only the one with this serial number.
    pub serial: Option<String>,
}

impl Choice {
    fn takes(&self, issued: &Issued) -> bool {
        self.name == issued.card.name
            && self.role.is_none_or(|role| role == issued.card.role)
            && self
                .serial
                .as_ref()
                .is_none_or(|serial| serial.eq_ignore_ascii_case(&issued.card.serial))
    }
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "of {}", self.name)?;
        if let Some(role) = self.role {
            write!(f, " as {role}")?;
        }
        self.serial.as_ref().map_or(Ok(()), |serial| write!(f, " with serial number {serial}"))
    }
}
