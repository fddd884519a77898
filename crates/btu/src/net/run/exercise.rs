//! A stream and requests between two stations of a network, for users who want to see the network
//! at work.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use btu_contract::experiment::CellSetting;
use btu_contract::script::Script;
use btu_control::controller::{self, ControllerError};
use btu_network::{Drawing, StationId};
use btu_studies::speed::upload;
use btu_testbed::testbed::{Ending, RaisedNetwork, Signals};
use btu_units::Span;

use super::looking::Notebook;
use crate::start::preflight;

/// After its time a queue drains.
const MARGIN: Span = Span::from_seconds(60);

/// TCP from the first station to the last, and requests at random moments.
pub(super) struct Exercise {
    /// The stations that take part.
    pub(super) stations: Vec<StationId>,
    script: Script,
}

impl Exercise {
    /// An exercise of this time, before the network is up.
    pub(super) fn of(drawing: &Drawing, time: Span) -> anyhow::Result<Self> {
        let last = drawing.stations.len().checked_sub(1).context("a network without stations")?;
        anyhow::ensure!(last > 0, "a single station has no other one to send to");
        let stations = [StationId(0), StationId(last as u32)];
        let setting = CellSetting {
            seed: u64::from_ne_bytes(preflight::random_bytes()?),
            token: preflight::random_bytes()?,
            deadline: time + MARGIN,
            scratch: PathBuf::new(),
        };
        let script = upload(drawing, stations, time, &setting);
        Ok(Self { script, stations: stations.to_vec() })
    }

    /// Plays it, and records its progress, until its time is over or a signal asks for the end.
    /// Returns how it ended, and what failed.
    pub(super) fn play(
        &self,
        raised: &RaisedNetwork,
        signals: &Signals,
        mut notebook: Notebook,
    ) -> anyhow::Result<(Ending, Vec<String>)> {
        let executable = std::env::current_exe()?;
        let stopped = || signals.request(Duration::ZERO).transpose();
        match controller::play(raised, &executable, &self.script, &mut notebook, stopped) {
            Ok(Ok(seen)) => Ok((Ending::Exited(0), seen.failures())),
            Ok(Err(signal)) => {
                let signal = signal.context("waiting for signals")?;
                Ok((Ending::Killed(signal as i32), Vec::new()))
            }
            // The network itself tells the reason.
            Err(ControllerError::Fallen(_)) => Ok((Ending::Exited(1), Vec::new())),
            Err(error) => Err(error.into()),
        }
    }
}
