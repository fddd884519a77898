//! What traffic offers to the media.

use crate::drawing::{Drawing, SegmentId};
use crate::station::Attachment;
use crate::traffic::Arrivals;

/// What a segment's own stations offer to it. What comes over bridges is not counted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Offered {
    /// Bits per second of frames, from destination address to check sequence, of senders that keep
    /// a rate.
    pub bits_per_second: f64,
    /// How many senders always have one more.
    pub saturated: u64,
    /// How many senders wait for what they asked for.
    pub closed: u64,
}

impl Drawing {
    /// What each segment's stations offer to it while all traffic is on, in the order of the
    /// segments.
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
