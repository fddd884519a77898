//! The load that the traffic offers to the media.

use crate::drawing::{Attachment, Drawing};
use crate::id::SegmentId;
use crate::traffic::Arrivals;

/// The load that a segment's own stations offer to it, without frames that arrive over bridges.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Offered {
    /// Bits per second of frames, from destination address to check sequence, of senders that keep
    /// a rate.
    pub bits_per_second: f64,
    /// The number of senders that always have another frame.
    pub saturated: u64,
    /// The number of senders that wait for replies to their requests.
    pub closed: u64,
}

impl Drawing {
    /// The load that each segment's stations offer to it while all traffic is on, in the order of
    /// the segments.
    pub fn offered(&self) -> Vec<Offered> {
        let mut offered = vec![Offered::default(); self.segments.len()];
        for flow in &self.traffic {
            let bits = flow.sizes.mean() * 8.0;
            for sender in &flow.from {
                let Attachment::Segment(SegmentId(segment), _) = self.station(*sender).attachment
                else {
                    continue;
                };
                let offered = &mut offered[segment as usize];
                match flow.arrivals {
                    Arrivals::Poisson { per_second } | Arrivals::Periodic { per_second } => {
                        offered.bits_per_second += per_second * bits;
                    }
                    Arrivals::Saturated => offered.saturated += 1,
                    Arrivals::Closed { .. } => offered.closed += 1,
                }
            }
        }
        offered
    }
}
