//! The networks of an experiment: from the library, from files, drawn in the experiment's own file,
//! or lines of a rate.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use btu_contract::experiment::Raised;
use btu_studies::run::{ExperimentNetwork, Found, inline_network};
use btu_units::Span;

use super::arguments::RunStudy;
use crate::cli::congestion;
use crate::start::study::NetworkText;

/// Finds networks, each once.
pub(super) struct NetworkFinder<'a> {
    delay: Option<Span>,
    text: &'a str,
    name: &'a str,
    directory: &'a Path,
    found: RefCell<BTreeMap<ExperimentNetwork, Result<Found, String>>>,
}

impl<'a> NetworkFinder<'a> {
    /// For an experiment's file with this text, in this directory.
    pub(super) fn new(
        options: &RunStudy,
        text: &'a str,
        name: &'a str,
        directory: &'a Path,
    ) -> Self {
        Self { delay: options.study.delay, text, name, directory, found: RefCell::default() }
    }

    /// The network that is asked for, or everything that is wrong with its file.
    pub(super) fn find(&self, asked: &ExperimentNetwork) -> Result<Found, String> {
        if let Some(found) = self.found.borrow().get(asked) {
            return found.clone();
        }
        let found = self.read(asked);
        self.found.borrow_mut().insert(asked.clone(), found.clone());
        found
    }

    fn read(&self, asked: &ExperimentNetwork) -> Result<Found, String> {
        let network = match &asked.name {
            Some(name) => NetworkText::of(name, self.delay, &asked.settings, Some(self.directory)),
            None => NetworkText::drawn(
                self.name,
                inline_network(self.text),
                self.directory,
                &asked.settings,
            ),
        };
        let NetworkText { name, text, drawing, .. } = network.map_err(|error| error.to_string())?;
        let congestion_control = asked.congestion_control.clone();
        if let Some(control) = &congestion_control {
            congestion::check(control, "").map_err(|error| error.to_string())?;
        }
        let raised = Raised { name, text, stations: Vec::new(), congestion_control, ipv6: false };
        Ok(Found { raised, drawing: *drawing })
    }
}
