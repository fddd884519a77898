//! The rates of senders that always have another frame.
//!
//! Max-min fairness (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2): all rates grow
//! equally, in bits per second of each sender, until a server is full; the senders that pass it
//! keep their rates, the others continue.

use std::f64::consts::E;

use btu_network::Arrivals;

use super::network::QueueingNetwork;
use super::ring;
use super::server::{FrameServer, Nature, Visit};

/// Segments of a bulk transfer for each acknowledgement (RFC 9293, section 3.8.6.3).
const SEGMENTS_FOR_ONE: f64 = 2.0;

impl QueueingNetwork<'_> {
    /// Gives the remaining capacity to senders that always have another frame.
    pub(super) fn fill(&mut self) {
        // Slightly more than the capacity, so that rounding does not make a full server look as if
        // it had room.
        const FULL: f64 = 1.0 + 1e-9;
        let saturated =
            |number: &usize| matches!(self.drawing.traffic[*number].arrivals, Arrivals::Saturated);
        let mut growing: Vec<usize> = (0..self.rates.len()).filter(saturated).collect();
        while !growing.is_empty() {
            let growth = self.growth(&growing);
            let Some((step, full)) = self.first_full(&growth) else { return };
            self.rates
                .iter_mut()
                .zip(&growth)
                .for_each(|(rate, growth)| *rate += step * growth * FULL);
            let passes = |flow: usize| {
                let visits = &self.servers[full].visits;
                visits.iter().any(|visit| self.classes[visit.class].flow == flow)
            };
            let stops = |flow: &usize| passes(*flow) || self.answers_of(*flow).is_some_and(passes);
            let before = growing.len();
            growing.retain(|flow| !stops(flow));
            if growing.len() == before {
                return;
            }
        }
    }

    /// Frames per second of each flow for each bit per second of the growing ones.
    fn growth(&self, growing: &[usize]) -> Vec<f64> {
        let mut growth = vec![0.0; self.rates.len()];
        for flow in growing {
            growth[*flow] = 1.0 / self.classes[self.of_flow[*flow].0].mean_bits;
            if let Some(answers) = self.answers_of(*flow) {
                growth[answers] = growth[*flow] / SEGMENTS_FOR_ONE;
            }
        }
        growth
    }

    /// The flow of the acknowledgements of a flow.
    fn answers_of(&self, flow: usize) -> Option<usize> {
        self.tied.filter(|[data, _]| *data == flow).map(|[_, answers]| answers)
    }

    /// The growth of senders until the first server is full, and that server.
    fn first_full(&self, growth: &[f64]) -> Option<(f64, usize)> {
        let room = |server: &FrameServer| {
            let busy = |rates: &[f64]| -> f64 {
                let of = |visit: &Visit| {
                    visit.unit * rates[self.classes[visit.class].flow] * cost(server, visit)
                };
                server.visits.iter().map(of).sum()
            };
            (busy(growth) > 0.0).then(|| ((1.0 - busy(&self.rates)) / busy(growth)).max(0.0))
        };
        let rooms = self
            .servers
            .iter()
            .enumerate()
            .filter_map(|(number, server)| Some((room(server)?, number)));
        rooms.min_by(|left, right| left.0.total_cmp(&right.0))
    }
}

/// Seconds of a full server that a frame takes.
pub(super) fn cost(server: &FrameServer, visit: &Visit) -> f64 {
    match server.nature {
        // A station that is alone on its cable has no other station to contend with.
        Nature::Cable { .. } if server.visits.len() == 1 && visit.unit <= 1.0 => visit.mean,
        Nature::Cable { .. } => visit.mean + server.propagation * (1.0 + 2.0 * E),
        Nature::TokenRing { .. } | Nature::TimedToken { .. } => ring::cost(server, visit),
        Nature::Line | Nature::Delay => visit.mean,
    }
}
