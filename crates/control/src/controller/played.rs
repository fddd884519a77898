//! A script that is played once, without a run.

use std::path::Path;
use std::slice;

use btu_contract::experiment::Observation;
use btu_contract::program::Programs;
use btu_contract::script::Script;
use btu_testbed::testbed::RaisedNetwork;

use super::error::ControllerError;
use super::run_monitor::{cause, until};
use super::stage::Stage;
use super::{Observer, hosts};

/// Plays `script` in a network that is up, which has an agent in each station of the script. Nothing
/// is stored. If `stopped` returns a value first, ends the activities and returns that value.
///
/// # Errors
/// An activity could not be prepared, or the network stopped.
pub fn play<T>(
    raised: &RaisedNetwork,
    executable: &Path,
    script: &Script,
    observer: &mut dyn Observer,
    stopped: impl Fn() -> Option<T>,
) -> Result<Result<Observation, T>, ControllerError> {
    let played = async {
        let names = raised.stations().iter().map(|place| place.station.clone());
        let mut stage = Stage::open(raised, names, executable).await?;
        let programs = Programs::default();
        let stopped = tokio::select! {
            biased;
            stopped = until(stopped) => stopped,
            seen = stage.play_watched(script, &programs, observer) => return seen.map(Ok),
        };
        stage.abandon().await?;
        Ok(Err(stopped))
    };
    let played = hosts::runtime()?.block_on(played);
    played.map_err(|error| cause(error, slice::from_ref(raised)))
}
