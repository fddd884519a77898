//! The list of machines.

use std::collections::BTreeMap;

use btu_contract::machine::MachineKey;

use crate::head::TextOptions;
use crate::number::NOTHING;
use crate::paint::Paint;
use crate::rank::{MachineCard, kernel, processor};
use crate::sheet::Sheet;

/// The list of machines; `this` is marked.
pub fn machines_text(
    machines: &BTreeMap<MachineKey, MachineCard>,
    this: &MachineKey,
    options: &TextOptions,
) -> String {
    let head = ["key", "name", "processor", "kernel", "price"];
    let mut sheet = Sheet::new(head.map(str::to_owned).to_vec(), head.len());
    for (key, card) in machines {
        let mark = if key == this { " (this)" } else { "" };
        sheet.row(vec![
            format!("{key}{mark}"),
            if card.name == key.as_str() { NOTHING.to_owned() } else { card.name.clone() },
            processor(card),
            kernel(card),
            card.price.as_ref().map_or_else(|| NOTHING.to_owned(), ToString::to_string),
        ]);
    }
    let hint = Paint(options.colour)
        .quiet("`btu runs machine set KEY --name WORD --price '1200 EUR'` describes one.");
    sheet.lines().join("\n") + "\n\n" + &hint + "\n"
}
