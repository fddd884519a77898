//! The machines' own time for messages, from the echoes before the pictures.

use btu_model::Own;
use btu_stats::{Estimate, Level, mean_interval};

use super::{Drawing, Drawn, Ways};

/// What both ends' systems and the emulator need for messages, by the echoes of all valid cells; in
/// seconds (95 % over the cells).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Echoed {
    /// What an echo takes longer than the network file says.
    pub(super) round: Estimate,
    /// The least time between two messages.
    pub(super) message: Estimate,
}

impl Echoed {
    /// `None` if no cell has echoes.
    pub(super) fn of<'a>(drawn: impl Iterator<Item = &'a Drawn>, ways: &Ways) -> Option<Self> {
        let means: Vec<[f64; 2]> =
            drawn.filter_map(|drawn| drawn.echoes.as_ref()?.means()).collect();
        let rounds: Vec<f64> = means.iter().map(|[alone, _]| alone - ways.echo_seconds()).collect();
        let further = (Drawing::BURST - 1) as f64;
        let messages: Vec<f64> =
            means.iter().map(|[alone, burst]| (burst - alone) / further).collect();
        let estimate = |values: &[f64]| mean_interval(values, Level::P95);
        Some(Self { round: estimate(&rounds)?, message: estimate(&messages)? })
    }

    /// For the closed forms, in which neither is below nothing.
    pub(super) fn own(&self) -> Own {
        Own { round: self.round.value.max(0.0), message: self.message.value.max(0.0) }
    }
}
