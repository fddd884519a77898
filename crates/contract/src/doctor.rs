//! The findings of `btu hosts doctor`: which features work on each host.

use serde::{Deserialize, Serialize};

btu_units::named! {
    /// How well something works.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Health {
        /// As it should be.
        Ok = "ok",
        /// It works with a limitation, or btu works without it.
        Limited = "limited",
        /// It does not work.
        Missing = "missing",
    }
}

/// One check and its finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The topic of the check.
    pub topic: String,
    /// How well it works.
    pub health: Health,
    /// Whether btu cannot work without it.
    pub essential: bool,
    /// What the check observed.
    #[serde(alias = "seen")]
    pub observed: String,
    /// The impact; empty if there is no problem.
    #[serde(default)]
    #[serde(alias = "matters")]
    pub impact: String,
    /// The command that fixes it, if there is one.
    #[serde(default)]
    #[serde(alias = "mend")] // retired word: runs stored before
    pub fix: Option<String>,
}
