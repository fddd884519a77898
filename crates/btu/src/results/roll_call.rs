//! The runs of `btu hosts check`, which contacts every host of an inventory.

use std::process::ExitCode;

use anyhow::Context;
use btu_contract::roll::{Greeted, Roll, STUDY};
use btu_report::html::Page;
use btu_report::{RawRow, TextOptions, page_text, roll_page};
use btu_store::{RunRow, Store};
use btu_studies::papers::Study;

use super::{StoredStudy, first_values, json, lines, refuse_studies, value};
use crate::cli::{Common, Compare};
use crate::exit::Refusal;
use crate::stored::Surroundings;

pub(super) struct RollCall;

impl StoredStudy for RollCall {
    fn has(&self, name: &str) -> bool {
        name == STUDY
    }

    fn command(&self) -> &'static str {
        "btu hosts check"
    }

    fn resumed_by(&self, row: &RunRow) -> Result<&'static str, String> {
        let run = row.summary.id;
        Err(format!("run {run} greeted hosts, which takes no time to do again: `btu hosts check`"))
    }

    fn json(&self, store: &Store, row: &RunRow) -> anyhow::Result<String> {
        json(row, roll(store, row)?)
    }

    fn text(&self, store: &Store, row: &RunRow, options: &TextOptions) -> anyhow::Result<String> {
        Ok(page_text(&self.page(store, row, &[])?, options))
    }

    fn cells(&self, store: &Store, row: &RunRow, is_json: bool) -> anyhow::Result<String> {
        let greeted = roll(store, row)?.hosts;
        lines(&greeted, is_json, &format!("{:<24} {:<24} answer", "host", "reached by"), |host| {
            let trouble = host.trouble.as_deref().unwrap_or("answers as it should");
            format!("{:<24} {:<24} {trouble}", host.name, host.reached)
        })
    }

    fn compare(&self, _: &Store, _: &Compare, _: &Common) -> anyhow::Result<ExitCode> {
        let problem = "the hosts' answers to a check are not speeds: there is nothing to compare";
        Err(Refusal::Usage(problem.to_owned()).into())
    }

    fn raw(&self, store: &Store, row: &RunRow) -> anyhow::Result<Vec<RawRow>> {
        let of = |host: &Greeted| {
            let started = host.answer.as_ref().and_then(|answer| answer.started_after_ns);
            let mut raw = first_values(row, host.trouble.is_none());
            raw.extend([
                value("host", &host.name),
                value("reached", &host.reached),
                value(
                    "start_after_seconds",
                    started.map_or_else(String::new, |ns| (ns as f64 * 1e-9).to_string()),
                ),
                value("faults", host.trouble.as_deref().unwrap_or_default()),
            ]);
            raw
        };
        Ok(roll(store, row)?.hosts.iter().map(of).collect())
    }

    fn page(&self, store: &Store, row: &RunRow, with: &[Study]) -> anyhow::Result<Page> {
        refuse_studies(row, with)?;
        Ok(roll_page(&Surroundings::of(store, row).stored(), &roll(store, row)?))
    }
}

fn roll(store: &Store, row: &RunRow) -> anyhow::Result<Roll> {
    store
        .records::<Roll>(row.summary.id)?
        .into_iter()
        .next()
        .context("this run has stored no roll call")
}
