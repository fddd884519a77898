//! What of a network does not change with its rates: kinds of frames, and how often each passes a
//! submodel.

use btu_model::predict::{FrameKind, Prediction, predict};
use btu_network::{Arrivals, Contention, Drawing, Framing, SharedEthernet, Sizes};
use btu_units::BitRate;

/// How a medium turns a frame's octets into bits. Written anew from the standards (IEEE 802.3
/// clause 4, IEEE 802.5 clause 3, ISO 9314-2, RFC 1662, RFC 2684), so that the tests compare it
/// with the predictions' own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Occupation {
    /// Preamble, padding to so many octets, gap.
    Ethernet { shortest: f64 },
    /// So many octets more, or less, and so many bits for each.
    Octets { more: f64, bits: f64 },
    /// Cells of AAL5 behind LLC and SNAP.
    Cells,
}

impl Occupation {
    /// The frame's own bits.
    pub(super) const OWN: Self = Self::Octets { more: 0.0, bits: 8.0 };
    /// 3 octets before the addresses, 6 of LLC and SNAP, 2 behind the check sequence.
    pub(super) const TOKEN_RING: Self = Self::Octets { more: 11.0, bits: 8.0 };
    /// 10 octets before the addresses, 6 of LLC and SNAP, 2 behind the check sequence.
    pub(super) const FDDI: Self = Self::Octets { more: 18.0, bits: 8.0 };

    /// Of a shared Ethernet; at 1 Gb/s frames are extended to 512 octets.
    pub(super) fn of_cable(cable: &SharedEthernet) -> Self {
        match cable.contention {
            Contention::Ideal => Self::OWN,
            Contention::Standard if cable.rate >= BitRate::from_megabits_per_second(1000) => {
                Self::Ethernet { shortest: 512.0 }
            }
            Contention::Standard => Self::Ethernet { shortest: 64.0 },
        }
    }

    /// Of a line.
    pub(super) fn of_line(framing: Framing) -> Self {
        match framing {
            Framing::Ethernet => Self::Ethernet { shortest: 64.0 },
            Framing::Serial { overhead, bits_per_octet } => {
                Self::Octets { more: f64::from(overhead) - 18.0, bits: f64::from(bits_per_octet) }
            }
            Framing::Aal5 => Self::Cells,
            Framing::Bare => Self::Octets { more: -4.0, bits: 8.0 },
        }
    }

    /// Bits after the frame's last: the gap.
    pub(super) fn gap_bits(self) -> f64 {
        if let Self::Ethernet { .. } = self { 96.0 } else { 0.0 }
    }

    /// In words.
    pub(super) fn words(self) -> String {
        match self {
            Self::Ethernet { shortest } => {
                format!("bits with preamble and gap, padded to {shortest} B (IEEE 802.3 clause 4)")
            }
            Self::Octets { .. } if self == Self::OWN => "the frame's own bits".to_owned(),
            Self::Octets { more, bits } => format!("bits with {more:+} B, {bits} bits for each"),
            Self::Cells => "bits in AAL5 cells behind LLC/SNAP (I.363.5, RFC 2684)".to_owned(),
        }
    }
}

/// The frames of a flow, or their replies.
#[derive(Debug, Clone)]
pub(super) struct Class {
    /// Place of the flow.
    pub(super) flow: usize,
    /// Whether these are replies.
    pub(super) reply: bool,
    /// How long they are.
    pub(super) sizes: Sizes,
    /// What the workbook calls them.
    pub(super) label: String,
}

/// A network's kinds of frames and where they pass.
#[derive(Debug)]
pub(super) struct Structure<'a> {
    pub(super) drawing: &'a Drawing,
    /// What the program predicts for the drawing.
    pub(super) prediction: &'a Prediction,
    /// The same with a frame or so per second of every flow, whatever the drawing says: shares of
    /// frames can be read from it even where a flow sends nothing.
    pub(super) unit: Prediction,
    /// How many frames of a flow each bridge forwards for each that is sent: by bridge, then flow.
    pub(super) forwarded: Vec<Vec<f64>>,
    pub(super) classes: Vec<Class>,
}

impl<'a> Structure<'a> {
    pub(super) fn of(drawing: &'a Drawing, prediction: &'a Prediction) -> Self {
        Self {
            drawing,
            prediction,
            unit: predict(&with_unit_rates(drawing)),
            forwarded: forwarded(drawing),
            classes: classes(drawing),
        }
    }

    /// The class of a kind of frames, and how many frames pass for each that is sent. None for
    /// frames whose rate is nowhere known.
    pub(super) fn passes(&self, kind: &FrameKind) -> Option<(usize, f64)> {
        let flow = self.drawing.traffic.iter().position(|flow| flow.name == kind.flow)?;
        let class = self
            .classes
            .iter()
            .position(|class| class.flow == flow && class.reply == kind.reply)?;
        let flow = &self.unit.flows[flow];
        let sent = flow.packets_per_second_each.value.filter(|each| *each > 0.0)?
            * f64::from(flow.senders.max(1));
        Some((class, kind.packets_per_second / sent))
    }
}

/// Every flow that has a rate gets one near 1/s; all differ, so that lines are alike only if they
/// are so with any rates.
fn with_unit_rates(drawing: &Drawing) -> Drawing {
    let mut drawing = drawing.clone();
    for (number, flow) in drawing.traffic.iter_mut().enumerate() {
        if let Arrivals::Poisson { per_second } | Arrivals::Periodic { per_second } =
            &mut flow.arrivals
        {
            *per_second = 1.0 + 0.013 * number as f64;
        }
    }
    drawing
}

fn classes(drawing: &Drawing) -> Vec<Class> {
    let mut classes = Vec::new();
    for (number, flow) in drawing.traffic.iter().enumerate() {
        let label = flow.name.clone();
        classes.push(Class { flow: number, reply: false, sizes: flow.sizes.clone(), label });
        if let Arrivals::Closed { reply: Some(size), .. } = flow.arrivals {
            let label = format!("{} (replies)", flow.name);
            classes.push(Class { flow: number, reply: true, sizes: Sizes::Fixed(size), label });
        }
    }
    classes
}

fn forwarded(drawing: &Drawing) -> Vec<Vec<f64>> {
    let mut forwarded = vec![vec![0.0; drawing.traffic.len()]; drawing.bridges.len()];
    if drawing.bridges.is_empty() {
        return forwarded;
    }
    let mut alone = drawing.clone();
    for (number, flow) in drawing.traffic.iter().enumerate() {
        let one =
            btu_network::Flow { arrivals: Arrivals::Poisson { per_second: 1.0 }, ..flow.clone() };
        alone.traffic = vec![one];
        for (row, bridge) in forwarded.iter_mut().zip(predict(&alone).bridges) {
            row[number] = bridge.forwarded_packets_per_second / flow.from.len().max(1) as f64;
        }
    }
    forwarded
}
