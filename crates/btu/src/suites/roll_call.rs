//! Every host of an inventory, greeted at once.

use std::process::ExitCode;

use anyhow::Context;
use btu_report::html::Page;
use btu_report::{TextOptions, roll_page, roll_text};
use btu_store::{RunRow, Store};
use btu_suite::history::Study;
use btu_suite::roll::{Roll, SUITE};

use super::{Suite, json, lines, refuse_studies};
use crate::cli::{Common, Compare};
use crate::exit::Refusal;
use crate::stored::{Surroundings, head};

pub(super) struct RollCall;

impl Suite for RollCall {
    fn has(&self, name: &str) -> bool {
        name == SUITE
    }

    fn resumed_by(&self, row: &RunRow) -> Result<&'static str, String> {
        let run = row.summary.id;
        Err(format!("run {run} greeted hosts, which takes no time to do again: `btu hosts check`"))
    }

    fn json(&self, store: &Store, row: &RunRow) -> anyhow::Result<String> {
        json(row, roll(store, row)?)
    }

    fn text(&self, store: &Store, row: &RunRow, options: &TextOptions) -> anyhow::Result<String> {
        Ok(roll_text(&roll(store, row)?, &head(store, row), options))
    }

    fn cells(&self, store: &Store, row: &RunRow, is_json: bool) -> anyhow::Result<String> {
        let greeted = roll(store, row)?.hosts;
        lines(&greeted, is_json, |host| {
            let trouble = host.trouble.as_deref().unwrap_or("answers as it should");
            format!("{:<24} {:<24} {trouble}", host.name, host.reached)
        })
    }

    fn compare(&self, _: &Store, _: &Compare, _: &Common) -> anyhow::Result<ExitCode> {
        let problem = "what hosts answered when they were greeted is no speed: nothing of it can be compared";
        Err(Refusal::Usage(problem.to_owned()).into())
    }

    fn page(&self, store: &Store, row: &RunRow, with: &[Study]) -> anyhow::Result<Page> {
        refuse_studies(row, with)?;
        Ok(roll_page(&Surroundings::of(store, row).stored(), &roll(store, row)?))
    }
}

fn roll(store: &Store, row: &RunRow) -> anyhow::Result<Roll> {
    store.records::<Roll>(row.summary.id)?.into_iter().next().context("this run has stored no roll call")
}
