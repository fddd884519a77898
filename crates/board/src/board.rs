//! A board: its database, the program that computes, and its own address.

use jiff::SignedDuration;
use ring::rand::{SecureRandom, SystemRandom};

use crate::database::Database;
use crate::error::BoardError;
use crate::program::Program;
use crate::ranking::Rankings;

/// How far a publisher's clock may be from the board's.
pub(crate) const MOST_CLOCK_ERROR: SignedDuration = SignedDuration::from_mins(10);

/// A board.
#[derive(Debug)]
pub struct Board {
    /// Its address, without a slash at its end, as publishers sign it.
    pub url: String,
    /// What is stored.
    pub database: Database,
    /// The program that computes everything again.
    pub program: Program,
    /// Rankings that need not be computed again.
    pub(crate) rankings: Rankings,
}

impl Board {
    /// A board at this address, which has no slash at its end.
    pub fn new(url: String, database: Database, program: Program) -> Self {
        Self { url, database, program, rankings: Rankings::default() }
    }
}

/// The time of day, RFC 3339, to the second.
pub(crate) fn now() -> String {
    let now = moment();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

/// The time of day: publishers' signatures and challenges are by it.
pub(crate) fn moment() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// The same time a day ago, RFC 3339.
pub(crate) fn yesterday() -> String {
    (moment() - SignedDuration::from_hours(24)).to_string()
}

/// Random octets as hexadecimal digits, two for each.
pub(crate) fn random_hexadecimal(octets: usize) -> Result<String, BoardError> {
    let mut random = vec![0; octets];
    let drawn = SystemRandom::new().fill(&mut random);
    drawn.map_err(|_| BoardError::Failed("the system gives no random numbers".to_owned()))?;
    Ok(btu_units::hexadecimal(&random))
}

/// Writes a line to standard error. A reader that is gone is no failure.
pub(crate) fn note(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
