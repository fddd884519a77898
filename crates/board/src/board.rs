//! A board: its database, the program that computes, and its own address.

use std::time::SystemTime;

use jiff::{SignedDuration, Timestamp};
use ring::rand::{SecureRandom, SystemRandom};

use crate::database::Database;
use crate::error::BoardError;
use crate::program::Program;
use crate::ranking::Rankings;

/// How far a publisher's clock may be from the board's. Hosts that set their clocks by NTP agree within an eighth of a
/// second, from where on it steps (RFC 5905, section 11.3); a minute is for those that have just started, and for what is
/// long on its way.
pub(crate) const MOST_CLOCK_ERROR: SignedDuration = SignedDuration::from_mins(1);

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
        crate::pages::set_address(&url);
        Self { url, database, program, rankings: Rankings::default() }
    }
}

/// The address of a board: all its servers have the same. `asked`, without a slash at its end, is stored, and has to be what
/// is stored already unless it `is_changed`; `None` if nothing is asked or stored.
pub fn address(
    database: &Database,
    asked: Option<&str>,
    is_changed: bool,
) -> Result<Option<String>, BoardError> {
    database.write_unlisted(|connection| {
        let known = connection.first("SELECT url FROM address WHERE one = 1", &[])?;
        let known = known.map(|mut row| row.text());
        let (Some(asked), true) = (asked, known.as_deref() != asked) else { return Ok(known) };
        if let Some(known) = known.filter(|_| !is_changed) {
            return Err(BoardError::Refused(format!(
                "the servers of this database are at {known}, and not at {asked}: give them the same --url, or --change-url"
            )));
        }
        let sql = "INSERT INTO address (one, url) VALUES (1, $1) ON CONFLICT (one) DO UPDATE SET url = excluded.url";
        connection.execute(sql, &[asked.into()])?;
        Ok(Some(asked.to_owned()))
    })
}

/// The time of day, RFC 3339, to the second.
pub(crate) fn now() -> String {
    let now = moment();
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

/// The time of day: publishers' signatures and challenges are by it.
pub(crate) fn moment() -> Timestamp {
    moment_of(SystemTime::now())
}

/// The moment of a clock, which may be wrong by thousands of years: a time that has a text, with room for what is added here.
fn moment_of(clock: SystemTime) -> Timestamp {
    let last = Timestamp::MAX - SignedDuration::from_hours(366 * 24);
    Timestamp::try_from(clock).unwrap_or(last).min(last)
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_of_any_year_gives_a_time() {
        for (seconds, year) in
            [(1_796_000_000, "2026"), (253_402_300_799, "9998"), (1 << 40, "9998")]
        {
            let moment = moment_of(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
            let later = moment + SignedDuration::from_hours(24 * 7);
            assert!(moment.to_string().starts_with(year) && later > moment, "{moment}");
        }
    }
}
