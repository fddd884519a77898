//! What `btu doctor` finds: per host, what will and will not work.

use serde::{Deserialize, Serialize};

/// How well something works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// As it should be.
    Ok,
    /// It works, or is done without, at a price.
    Limited,
    /// It does not work.
    Missing,
}

impl Health {
    /// As users see it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Limited => "limited",
            Self::Missing => "missing",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The topic: what was looked at.
    pub topic: String,
    /// How well it works.
    pub health: Health,
    /// Whether nothing works without it.
    pub essential: bool,
    /// What the check observed.
    #[serde(alias = "seen")]
    pub observed: String,
    /// Why it matters; empty where nothing is wrong.
    #[serde(default)]
    #[serde(alias = "matters")]
    pub impact: String,
    /// The command that fixes it, where there is one.
    #[serde(default)]
    #[serde(alias = "mend")] // retired word: runs stored before
    pub fix: Option<String>,
}
