//! The search for a greatest value: the most stations, or the largest other value, at which a delay
//! or a transfer stays within a bound.

mod formula;
mod simulated;
mod turned;

use btu_model::predict::{Found, last_that_holds};
use btu_network::Drawing;
use btu_report::{Answered, MostFound, most_text};
use btu_units::Span;

use crate::cli::{By, Common, Model};
use crate::exit::Refusal;
use crate::files::Source;
use crate::terminal;

use turned::Turned;

/// Searches for the greatest value and prints it.
pub(super) fn run(
    model: &Model,
    common: &Common,
    source: &Source,
    most: &str,
) -> anyhow::Result<()> {
    let search = Search { model, source, turned: Turned::of(model, source, most)? };
    // The file must accept the least value; a problem with it is a usage error.
    check_flow(&search.drawing(search.turned.range.from)?, model.flow.as_deref())?;
    let found = match model.by.unwrap_or(By::Formula) {
        By::Formula => formula::found(&search)?,
        By::Sim => simulated::found(&search)?,
    };
    if common.json {
        return terminal::print_json(&found);
    }
    terminal::print(&most_text(&found, &terminal::text_options()))
}

/// Whether the network has frames with a delay.
fn check_flow(drawing: &Drawing, flow: Option<&str>) -> Result<(), Refusal> {
    let names: Vec<&str> = drawing.traffic.iter().map(|flow| flow.name.as_str()).collect();
    let problem = match flow {
        _ if names.is_empty() => "the network has no traffic, so nothing is delayed".to_owned(),
        Some(name) if !names.contains(&name) => {
            format!("there is no traffic called `{name}`; there is {}", names.join(", "))
        }
        _ => return Ok(()),
    };
    Err(Refusal::Usage(problem))
}

/// The question of a search, and its range.
struct Search<'a> {
    model: &'a Model,
    source: &'a Source,
    turned: Turned,
}

impl Search<'_> {
    /// The range of a search. Without a greatest value, it is doubled until `within` does not hold
    /// or the file accepts no larger one.
    fn ends(&self, within: impl FnMut(f64) -> anyhow::Result<bool>) -> anyhow::Result<[f64; 2]> {
        let Turned { range, open, .. } = &self.turned;
        Ok([range.from, if *open { self.end(range.from, within)? } else { range.to }])
    }

    fn end(
        &self,
        from: f64,
        mut within: impl FnMut(f64) -> anyhow::Result<bool>,
    ) -> anyhow::Result<f64> {
        let (mut last, mut value) = (from, from.max(1.0));
        while value <= self.turned.range.to {
            if self.drawing(value).is_err() {
                return self.largest(last, value);
            }
            if !within(value)? {
                return Ok(value);
            }
            (last, value) = (value, value * 2.0);
        }
        Ok(last)
    }

    /// The largest value that the file accepts: it accepts `taken`, but not `refused`.
    fn largest(&self, taken: f64, refused: f64) -> anyhow::Result<f64> {
        let is_accepted = |value| Ok::<_, anyhow::Error>(self.drawing(value).is_ok());
        Ok(match last_that_holds([taken, refused], self.turned.resolution(1e-6), is_accepted)? {
            Found::UpTo(value) => value,
            Found::Never | Found::Always => taken,
        })
    }

    /// The network at a changed value.
    fn drawing(&self, value: f64) -> Result<Drawing, Refusal> {
        let range = &self.turned.range;
        let setting = (range.key.clone(), range.written(value));
        let settings = [self.model.settings.as_slice(), &[setting]].concat();
        self.source.read(&settings).map_err(|error| Refusal::Usage(error.to_string()))
    }

    /// The bound, in seconds.
    fn bound(&self) -> f64 {
        self.model.mean_delay.or(self.model.transfer_time).map_or(0.0, Span::seconds)
    }

    /// The value at which a search ended.
    fn at([from, to]: [f64; 2], found: Found) -> f64 {
        match found {
            Found::UpTo(value) => value,
            Found::Never => from,
            Found::Always => to,
        }
    }

    fn answer(
        &self,
        tried: [f64; 2],
        found: Option<Found>,
        figure_seconds: Option<f64>,
        answered: Answered,
    ) -> MostFound {
        let transfer = self.model.transfer_time.is_some();
        MostFound {
            key: self.turned.range.key.clone(),
            unit: self.turned.range.unit.clone(),
            figure: if transfer { MostFound::TRANSFER_TIME } else { MostFound::MEAN_DELAY }
                .to_owned(),
            bound_seconds: self.bound(),
            tried,
            found,
            figure_seconds,
            answered,
        }
    }
}
