//! `btu runs machine`: lists machines, and stores the user's names and prices for them.

use std::collections::BTreeMap;

use btu_contract::machine::{MachineKey, Traits};
use btu_contract::price::Price;
use btu_control::environment::{Environment, collect};
use btu_report::{MachineCard, machines_text};
use btu_store::{MachineNote, Store};
use btu_testbed::note;
use serde::Serialize;

use crate::cli::{Common, Machine, SetMachine};
use crate::exit::Refusal;
use crate::stored::provenance::traits;
use crate::stored::{self, among_others, before};
use crate::terminal::{print, print_json, text_options};

/// The user's name and price of a machine.
pub(crate) type Description = (Option<String>, Option<Price>);

/// The machines by key.
pub(crate) type Cards = BTreeMap<MachineKey, MachineCard>;

/// Lists the machines or describes one.
pub(crate) fn run(machine: &Machine, common: &Common) -> anyhow::Result<()> {
    let store = stored::open(common)?;
    match machine {
        Machine::List => list(&store, common),
        Machine::Set(set) => describe(&store, set, common),
    }
}

/// The data that `--json` prints.
#[derive(Serialize)]
struct ListedMachines<'a> {
    this: &'a MachineKey,
    machines: &'a Cards,
}

fn list(store: &Store, common: &Common) -> anyhow::Result<()> {
    let (cards, this) = known(store)?;
    if common.json {
        return print_json(&ListedMachines { this: &this, machines: &cards });
    }
    print(&machines_text(&cards, &this, &text_options()))
}

/// The machines of all runs and this one, with this one's key.
fn known(store: &Store) -> anyhow::Result<(Cards, MachineKey)> {
    let notes = store.machine_notes()?;
    let mut cards = Cards::new();
    for run in store.runs()?.iter().rev() {
        match among_others(store.run(&run.id.to_string()).map_err(Into::into))? {
            Ok(row) => before(&row)
                .iter()
                .for_each(|environment| drop(add(&mut cards, environment, &notes))),
            Err(why) => note!("btu: {why}"),
        }
    }
    let this = add(&mut cards, &collect(), &notes);
    Ok((cards, this))
}

/// Adds an environment's machine and kernel; the newest must come first.
pub(crate) fn add(
    cards: &mut Cards,
    environment: &Environment,
    notes: &[MachineNote],
) -> MachineKey {
    let traits = traits(environment);
    let key = traits.key();
    let card = cards.entry(key.clone()).or_insert_with(|| card(traits, &key, notes));
    if let Some(kernel) = &environment.kernel.release
        && !card.kernels.contains(kernel)
    {
        card.kernels.push(kernel.clone());
    }
    key
}

fn card(traits: Traits, key: &MachineKey, notes: &[MachineNote]) -> MachineCard {
    let note = notes.iter().find(|note| note.key == key.as_str());
    MachineCard {
        name: note.and_then(|note| note.name.clone()).unwrap_or_else(|| key.to_string()),
        processor: traits.processor,
        cpus: traits.cpus,
        memory_bytes: traits.memory_bytes,
        virtual_machine: traits.virtual_machine,
        kernels: Vec::new(),
        price: note.and_then(|note| note.price.clone()),
    }
}

fn describe(store: &Store, set: &SetMachine, common: &Common) -> anyhow::Result<()> {
    let (cards, this) = known(store)?;
    let key = chosen(&set.machine, &cards, &this)?;
    if let Some(taken) =
        set.name.as_ref().and_then(|name| named(&cards, name)).filter(|taken| **taken != key)
    {
        let name = set.name.as_deref().unwrap_or_default();
        return Err(Refusal::Usage(format!(
            "the name `{name}` belongs to {taken} already: choose another"
        ))
        .into());
    }
    let old = store.machine_notes()?.into_iter().find(|note| note.key == key.as_str());
    let (old_name, old_price) = old.map_or((None, None), |old| (old.name, old.price));
    let price = if set.no_price { None } else { set.price.clone().or(old_price) };
    let note = MachineNote { key: key.to_string(), name: set.name.clone().or(old_name), price };
    store.save_machine_note(&note)?;
    if common.json {
        return print_json(&note);
    }
    let name = note.name.as_ref().map_or_else(String::new, |name| format!(", named {name}"));
    let price = note
        .price
        .as_ref()
        .map_or_else(|| ", without a price".to_owned(), |price| format!(", for {price}"));
    print(&format!("Machine {key}{name}{price}."))
}

fn named<'a>(cards: &'a Cards, name: &str) -> Option<&'a MachineKey> {
    cards.iter().find(|(key, card)| card.name == name || key.as_str() == name).map(|(key, _)| key)
}

fn chosen(word: &str, cards: &Cards, this: &MachineKey) -> Result<MachineKey, Refusal> {
    if word == "this" {
        return Ok(this.clone());
    }
    let unknown = || {
        let known: Vec<&str> = cards.values().map(|card| card.name.as_str()).collect();
        Refusal::Usage(format!(
            "there is no machine `{word}`: write `this`, or one of {}",
            known.join(", ")
        ))
    };
    named(cards, word).cloned().ok_or_else(unknown)
}
