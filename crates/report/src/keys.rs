//! Lists the certificates that were issued.

use crate::head::TextOptions;
use crate::paint::Paint;
use crate::sheet::Sheet;

/// A certificate in a list.
#[derive(Debug, Clone)]
pub struct KeyRow {
    /// The name of the certificate's holder.
    pub name: String,
    /// The holder's role.
    pub role: String,
    /// The last day on which it is valid.
    pub last_day: String,
    /// Whether it is valid, and for how long.
    pub state: KeyState,
    /// The serial number of the certificate.
    pub serial: String,
}

/// Whether a certificate is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyState {
    /// It is valid for this number of days.
    Valid {
        /// The number of whole days.
        days: i64,
        /// Whether it should be replaced soon.
        ends_soon: bool,
    },
    /// It has expired.
    Lapsed,
    /// It was revoked on this day.
    Revoked(String),
}

/// The list of issued certificates.
pub fn keys_text(rows: &[KeyRow], options: &TextOptions) -> String {
    let head = ["name", "role", "until", "state", "serial number"];
    let mut sheet = Sheet::new(head.map(str::to_owned).to_vec(), head.len());
    for row in rows {
        let KeyRow { name, role, last_day, serial, .. } = row.clone();
        sheet.row(vec![name, role, last_day, state(&row.state), serial]);
    }
    let hint = Paint(options.colour).quiet(
        "`btu hosts keys issue NAME --role ROLE` issues one, `btu hosts keys revoke NAME` takes it back.",
    );
    sheet.lines().join("\n") + "\n\n" + &hint + "\n"
}

fn state(state: &KeyState) -> String {
    match state {
        KeyState::Valid { days: 0, .. } => "lapses within a day: issue a new one".to_owned(),
        KeyState::Valid { days: 1, .. } => "lapses in a day: issue a new one".to_owned(),
        KeyState::Valid { days, ends_soon: true } => {
            format!("lapses in {days} days: issue a new one")
        }
        KeyState::Valid { days, .. } => format!("valid, {days} days left"),
        KeyState::Lapsed => "lapsed".to_owned(),
        KeyState::Revoked(day) => format!("revoked on {day}"),
    }
}
