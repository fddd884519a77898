//! Challenges: a number of the board that a run must have as its seed.
//!
//! A publisher who measures ten times and publishes the best has asked for ten numbers, and the board shows
//! that nine of them did not come back.

use crate::TextError;
use crate::address::check_address;
use crate::lines::{Lines, number, plain};

/// What the future publisher of a run signs to be given a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChallengeRequest {
    /// The address of the board.
    pub board: String,
    /// When it was signed, RFC 3339: the board takes a request once, and soon.
    pub signed: String,
}

impl ChallengeRequest {
    const FIRST_LINE: &'static str = "btu-challenge-request 1";

    /// The text that is signed.
    pub fn text(&self) -> String {
        format!("{}\nboard {}\nsigned {}\n", Self::FIRST_LINE, self.board, self.signed)
    }

    /// Reads a request.
    ///
    /// # Errors
    /// The text is not the one form of a request.
    pub fn read(text: &str) -> Result<Self, TextError> {
        let mut lines = Lines::of("the request for a challenge", Self::FIRST_LINE, text)?;
        let (board, signed) =
            (lines.required("board", check_address)?, lines.required("signed", plain)?);
        lines.end()?;
        Ok(Self { board, signed })
    }
}

/// The board's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Challenge {
    /// The seed of the run that meets it.
    pub seed: u64,
}

impl Challenge {
    const FIRST_LINE: &'static str = "btu-challenge 1";

    /// The text that is sent.
    pub fn text(&self) -> String {
        format!("{}\nseed {}\n", Self::FIRST_LINE, self.seed)
    }

    /// Reads a challenge.
    ///
    /// # Errors
    /// The text is not the one form of a challenge.
    pub fn read(text: &str) -> Result<Self, TextError> {
        let mut lines = Lines::of("the challenge", Self::FIRST_LINE, text)?;
        let seed = lines.required("seed", number)?;
        lines.end()?;
        Ok(Self { seed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let request = ChallengeRequest {
            board: "http://127.0.0.1:8080".to_owned(),
            signed: "2026-11-01T10:00:00Z".to_owned(),
        };
        assert_eq!(ChallengeRequest::read(&request.text()), Ok(request));
        let challenge = Challenge { seed: u64::MAX };
        assert_eq!(Challenge::read(&challenge.text()), Ok(challenge));
        assert!(Challenge::read(&ChallengeRequest::FIRST_LINE.repeat(2)).is_err());
    }
}
