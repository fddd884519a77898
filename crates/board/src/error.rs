//! What can go wrong, with what the caller is told.

use thiserror::Error;

/// Why a request was not served.
#[derive(Debug, Error)]
pub enum BoardError {
    /// The publication, or another request, is against the rules: the reader is told why.
    #[error("{0}")]
    Refused(String),
    /// There is nothing at this address, or not for this caller.
    #[error("{0}")]
    NotFound(String),
    /// The publisher deleted it.
    #[error("{0}")]
    Gone(String),
    /// The caller has to show a token.
    #[error("{0}")]
    Forbidden(String),
    /// The caller, or all together, asked too often.
    #[error("{0}")]
    TooMany(String),
    /// The disk of the database is full.
    #[error("the board's disk is full: nothing was stored; try again later")]
    Full,
    /// The database ended the connection: what was asked for can be tried again.
    #[error("{0}")]
    Again(String),
    /// The database, or the program that computes, failed.
    #[error("{0}")]
    Failed(String),
}

impl BoardError {
    /// An error of the database.
    pub(crate) fn database(said: String) -> Self {
        Self::Failed(said)
    }

    /// A refusal with its reason.
    pub(crate) fn refused(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }
}
