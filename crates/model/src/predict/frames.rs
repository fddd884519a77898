//! The bits that frames occupy on each medium.
//!
//! Sources: IEEE 802.3 clause 4 (preamble and start delimiter 8 octets, gap 12, shortest frame 64,
//! at 1 Gb/s on a shared medium extended to 512); IEEE 802.5 clause 3 (9 octets around addresses
//! and payload, 2 of them behind the check sequence) and ISO 9314-2 (10 and 2), each with 6 octets
//! more of LLC and SNAP than of type (RFC 1042, RFC 1390); RFC 1662; RFC 2684 and ITU-T I.363.5.

use btu_network::{Contention, Direction, Framing, Rate, SharedEthernet, Sizes};
use btu_units::{BitRate, Bytes};

use crate::frame_times::FrameTimes;

/// How a medium turns the octets of a frame, from destination address to check sequence, into bits
/// on the medium.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Occupation {
    /// Preamble and start delimiter, padding, and gap (IEEE 802.3 clause 4).
    Ethernet {
        /// Octets to which a frame is padded.
        shortest: f64,
    },
    /// A constant number of octets more than the frame has.
    Octets {
        /// Octets that the medium adds; negative if it leaves octets out.
        more: f64,
        /// Bits that each octet takes.
        bits: f64,
    },
    /// Cells of AAL5 with LLC and SNAP (RFC 2684 and ITU-T I.363.5).
    Cells,
}

impl Occupation {
    /// The frame's own bits, from destination address to check sequence.
    pub const OWN: Self = Self::Octets { more: 0.0, bits: 8.0 };
    /// On a token ring (IEEE 802.5): 3 octets before the addresses, 6 of LLC and SNAP, 2 behind the
    /// check sequence.
    pub const TOKEN_RING: Self = Self::Octets { more: 11.0, bits: 8.0 };
    /// On FDDI (ISO 9314-2): 10 octets before the addresses, 6 of LLC and SNAP, 2 behind the check
    /// sequence.
    pub const FDDI: Self = Self::Octets { more: 18.0, bits: 8.0 };

    /// The occupation of a shared Ethernet; at 1 Gb/s frames are extended to 512 octets.
    pub fn of_cable(cable: &SharedEthernet) -> Self {
        const GIGABIT: BitRate = BitRate::from_megabits_per_second(1000);
        match cable.contention {
            Contention::Ideal => Self::OWN,
            Contention::Standard if cable.rate >= GIGABIT => Self::Ethernet { shortest: 512.0 },
            Contention::Standard => Self::Ethernet { shortest: 64.0 },
        }
    }

    /// The occupation of a line. A recorded one counts a frame as its packet and the 4 octets of
    /// Mahimahi's header, whatever its framing.
    pub fn of_line(line: &Direction) -> Self {
        match line.rate {
            Rate::Fixed(_) => Self::of_framing(line.framing),
            Rate::Trace(_) => Self::of_framing(Framing::Serial { overhead: 4, bits_per_octet: 8 }),
        }
    }

    fn of_framing(framing: Framing) -> Self {
        // Header and check sequence: lines other than Ethernet carry a packet without them.
        const AROUND: f64 = 18.0;
        match framing {
            Framing::Ethernet => Self::Ethernet { shortest: 64.0 },
            Framing::Serial { overhead, bits_per_octet } => {
                Self::Octets { more: f64::from(overhead) - AROUND, bits: f64::from(bits_per_octet) }
            }
            Framing::Aal5 => Self::Cells,
            Framing::Bare => Self::Octets { more: -4.0, bits: 8.0 },
        }
    }

    /// Bits that a frame of this many octets occupies, the gap after it included.
    fn bits(self, octets: f64) -> f64 {
        match self {
            Self::Ethernet { shortest } => 8.0 * (octets.max(shortest) + 20.0),
            Self::Octets { more, bits } => (octets + more).max(1.0) * bits,
            Self::Cells => {
                let packet = Bytes::new((octets - 18.0).max(0.0).ceil() as u64);
                cells_of_packet(packet) as f64 * 53.0 * 8.0
            }
        }
    }

    /// Bits of the shortest frame, which are a shared Ethernet's slot (IEEE 802.3 clause 4); 0 for
    /// other media.
    pub(super) fn shortest_bits(self) -> f64 {
        if let Self::Ethernet { shortest } = self { shortest * 8.0 } else { 0.0 }
    }

    /// How many of the occupied bits are the gap after the frame.
    pub fn gap_bits(self) -> f64 {
        if let Self::Ethernet { .. } = self { 96.0 } else { 0.0 }
    }
}

/// The frames of one flow, or their replies.
#[derive(Debug)]
pub(super) struct Class {
    /// Place of the flow in the drawing.
    pub(super) flow: usize,
    /// Whether these are replies.
    pub(super) reply: bool,
    /// Shares and octets; a continuous distribution as many points.
    points: Vec<(f64, f64)>,
    /// The mean, where sizes are exponential.
    exponential: Option<f64>,
    /// The mean of the frames' own bits.
    pub(super) mean_bits: f64,
    /// Share of the frames that are not too long for their way. The others are dropped at its
    /// beginning, and do not count in sizes.
    pub(super) fitting: f64,
    /// Moments that were computed before.
    known: Vec<(Occupation, SizeMoments)>,
}

/// Mean and second moment in bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct SizeMoments {
    pub(super) mean: f64,
    pub(super) second: f64,
}

impl Class {
    /// Frames of which those of more than `longest` octets are dropped. Only exponential sizes have
    /// such: a network file refuses the others.
    pub(super) fn new(flow: usize, reply: bool, sizes: &Sizes, longest: f64) -> Self {
        let mut new = Self {
            flow,
            reply,
            points: points(sizes, longest),
            exponential: None,
            mean_bits: sizes.mean() * 8.0,
            fitting: 1.0,
            known: Vec::new(),
        };
        if let Sizes::Exponential(mean) = sizes {
            let mean = mean.count() as f64;
            new.fitting = -(-longest / mean).exp_m1();
            new.exponential = (new.fitting >= 1.0).then_some(mean);
            new.mean_bits = new.moments(Occupation::OWN).mean;
        }
        new
    }

    /// Moments of the bits that frames occupy.
    pub(super) fn moments(&mut self, occupation: Occupation) -> SizeMoments {
        if let Some((_, moments)) = self.known.iter().find(|(known, _)| *known == occupation) {
            return *moments;
        }
        let expect = |power| {
            self.points
                .iter()
                .map(|(share, octets)| share * occupation.bits(*octets).powi(power))
                .sum()
        };
        let moments = SizeMoments { mean: expect(1), second: expect(2) };
        self.known.push((occupation, moments));
        moments
    }

    /// How long frames occupy a medium of so many bits per second.
    pub(super) fn times(&self, occupation: Occupation, rate: f64) -> FrameTimes {
        match self.exponential {
            Some(mean) if occupation == Occupation::OWN => {
                FrameTimes::exponential(mean * 8.0 / rate)
            }
            _ => FrameTimes::mix(self.points.iter().map(|(share, octets)| {
                (*share, FrameTimes::fixed(occupation.bits(*octets) / rate))
            })),
        }
    }
}

fn points(sizes: &Sizes, longest: f64) -> Vec<(f64, f64)> {
    match sizes {
        Sizes::Fixed(size) => vec![(1.0, size.count() as f64)],
        Sizes::Mix(parts) => {
            let weights: f64 = parts.iter().map(|(_, weight)| weight).sum();
            parts.iter().map(|(size, weight)| (weight / weights, size.count() as f64)).collect()
        }
        Sizes::Uniform(least, most) => evenly(least.count(), most.count()),
        Sizes::Exponential(mean) => exponentially(mean.count() as f64, longest),
    }
}

/// Every whole number between these two where there are few, else so many of them.
fn evenly(least: u64, most: u64) -> Vec<(f64, f64)> {
    const MOST: u64 = 4096;
    let count = (most - least + 1).min(MOST);
    let width = (most - least + 1) as f64 / count as f64;
    let point =
        |number: u64| (1.0 / count as f64, least as f64 - 0.5 + (number as f64 + 0.5) * width);
    (0..count).map(point).collect()
}

/// Twentieths of the mean up to the longest, or to 25 means; each with the mean of the values in it:
/// the mean is exact, the second moment to 1e-4.
fn exponentially(mean: f64, longest: f64) -> Vec<(f64, f64)> {
    let end = (longest / mean).min(25.0);
    let count = (end * 20.0).ceil();
    let (width, all) = (end / count, -(-end).exp_m1());
    let bin = |number: i32| {
        let (from, to) = (f64::from(number) * width, f64::from(number + 1) * width);
        let share = (-from).exp() - (-to).exp();
        // The integral of x exp(-x) from here to there, over the share.
        let inside = (1.0 + from) * (-from).exp() - (1.0 + to) * (-to).exp();
        (share / all, mean * inside / share)
    };
    (0..count as i32).map(bin).collect()
}

// The overhead of ATM on a packet. Sources: ITU-T I.363.5 (AAL5: a trailer of 8 octets, padded to whole cells of 48), I.361 (cells
// of 53 octets), RFC 2684 section 5 (LLC and SNAP: 8 octets before the packet). Exact, no
// assumptions.

const CELL_PAYLOAD: u64 = 48;
const TRAILER: u64 = 8;
const LLC_SNAP: u64 = 8;

/// Cells for a PDU of `octets`, headers included.
const fn cells(octets: Bytes) -> u64 {
    octets.count().saturating_add(TRAILER).div_ceil(CELL_PAYLOAD)
}

/// Cells for an IP packet behind LLC and SNAP.
const fn cells_of_packet(packet: Bytes) -> u64 {
    cells(Bytes::new(packet.count().saturating_add(LLC_SNAP)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mean(sizes: &Sizes, occupation: Occupation) -> f64 {
        Class::new(0, false, sizes, f64::INFINITY).moments(occupation).mean
    }

    #[test]
    fn frames_occupy_what_the_standards_say() {
        let ethernet = Occupation::of_framing(Framing::Ethernet);
        let sizes = |octets| Sizes::Fixed(Bytes::new(octets));
        for (octets, occupation, bits) in [
            (1518, ethernet, 12_304.0),
            (18, ethernet, 672.0),
            (1518, Occupation::OWN, 12_144.0),
            (1518, Occupation::of_framing(Framing::Bare), 12_112.0),
            (
                594,
                Occupation::of_framing(Framing::Serial { overhead: 8, bits_per_octet: 10 }),
                5840.0,
            ),
            // A packet of 1500 octets in 32 cells.
            (1518, Occupation::of_framing(Framing::Aal5), 13_568.0),
            (1518, Occupation::TOKEN_RING, 12_232.0),
            (1518, Occupation::FDDI, 12_288.0),
        ] {
            assert!(
                (mean(&sizes(octets), occupation) - bits).abs() < 1e-9,
                "{octets} {occupation:?}"
            );
        }
    }

    #[test]
    fn continuous_sizes_keep_their_moments() {
        let mut class = Class::new(0, false, &Sizes::Exponential(Bytes::new(1000)), f64::INFINITY);
        let moments = class.moments(Occupation::OWN);
        assert!((moments.mean / 8000.0 - 1.0).abs() < 1e-3, "{moments:?}");
        assert!((moments.second / (2.0 * 8000.0 * 8000.0) - 1.0).abs() < 1e-3, "{moments:?}");
        let uniform = Sizes::Uniform(Bytes::new(64), Bytes::new(1518));
        assert!((mean(&uniform, Occupation::OWN) - 6328.0).abs() < 1e-6);
        let wide = Sizes::Uniform(Bytes::new(64), Bytes::new(60_000));
        assert!((mean(&wide, Occupation::OWN) / 8.0 - 30_032.0).abs() < 1e-6);
    }

    #[test]
    fn packets_in_cells() {
        for (packet, cells) in [(40, 2), (576, 13), (1500, 32), (9180, 192)] {
            assert_eq!(cells_of_packet(Bytes::new(packet)), cells);
        }
    }

    proptest! {
        #[test]
        fn padding_is_less_than_a_cell(octets in 0u64..100_000) {
            let padded = cells(Bytes::new(octets)) * 48;
            prop_assert!(padded >= octets + 8 && padded < octets + 8 + 48);
        }
    }
}
