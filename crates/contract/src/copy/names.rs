//! Factors of few levels, each with a name.

use thiserror::Error;

/// A name that is none of the known ones.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no {what} `{name}`; there are {known}")]
pub struct ProgramError {
    pub(super) what: &'static str,
    pub(super) name: String,
    pub(super) known: String,
}

/// A factor of few levels, each with the name under which it is written and stored.
macro_rules! named {
    ($what:literal: { $(#[$about:meta])* $name:ident { $($(#[$each:meta])* $variant:ident = $text:literal,)+ } }) => {
        btu_units::named! {
            $(#[$about])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
            #[serde(rename_all = "kebab-case")]
            pub enum $name {
                $($(#[$each])* $variant = $text,)+
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::copy::ProgramError;

            fn from_str(text: &str) -> Result<Self, crate::copy::ProgramError> {
                let known = || Self::ALL.iter().map(|one| one.name()).collect::<Vec<_>>().join(", ");
                let found = Self::ALL.iter().find(|one| one.name() == text).copied();
                found.ok_or_else(|| crate::copy::ProgramError { what: $what, name: text.to_owned(), known: known() })
            }
        }
    };
}
