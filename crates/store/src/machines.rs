//! The user's names and prices of machines.

use btu_contract::price::Price;
use rusqlite::params;
use serde::{Deserialize, Serialize};

use crate::{Store, StoreError};

/// A machine as the user describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineNote {
    /// Its key, from the environment of its runs ([`btu_contract::machine::MachineKey`]).
    pub key: String,
    /// The name that the user gave the machine; no two machines share one.
    pub name: Option<String>,
    /// The price of the machine; absent when the user gave none.
    pub price: Option<Price>,
}

impl Store {
    /// Every machine that was described, by key.
    pub fn machine_notes(&self) -> Result<Vec<MachineNote>, StoreError> {
        let sql = "SELECT key, name, price_hundredths, currency FROM machines ORDER BY key";
        let rows = self.all("list the machines", sql, [], |row| {
            let price = row.get::<_, Option<i64>>(2)?.zip(row.get::<_, Option<String>>(3)?);
            Ok((row.get::<_, String>(0)?, row.get(1)?, price))
        })?;
        rows.into_iter()
            .map(|(key, name, price)| {
                Ok(MachineNote { price: self.price(&key, price)?, key, name })
            })
            .collect()
    }

    /// Stores `note` in place of the earlier note about that machine.
    pub fn save_machine_note(&self, note: &MachineNote) -> Result<(), StoreError> {
        let sql =
            "INSERT INTO machines (key, name, price_hundredths, currency) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (key) DO UPDATE SET name = ?2, price_hundredths = ?3, currency = ?4";
        // Only a price of some 10^17 does not fit; it is stored as the largest that does.
        let hundredths =
            note.price.as_ref().map(|price| i64::try_from(price.hundredths).unwrap_or(i64::MAX));
        let currency = note.price.as_ref().map(|price| &price.currency);
        self.update("describe a machine", sql, params![note.key, note.name, hundredths, currency])
    }

    fn price(&self, key: &str, stored: Option<(i64, String)>) -> Result<Option<Price>, StoreError> {
        let Some((hundredths, currency)) = stored else { return Ok(None) };
        let hundredths = u64::try_from(hundredths)
            .map_err(|_| self.damaged(format!("the price of {key} is {hundredths}")))?;
        Ok(Some(Price { hundredths, currency }))
    }
}
