//! The parts of a network that do not change with its rates: kinds of frames, and how often each
//! passes a submodel.

use btu_model::predict::{FrameKind, Occupation, Prediction, predict};
use btu_network::{Arrivals, Drawing, Sizes};

/// The parts of a number of bits, for the cell next to it.
pub(super) fn words(occupation: Occupation) -> String {
    match occupation {
        Occupation::Ethernet { shortest } => {
            format!("bits with preamble and gap, padded to {shortest} B (IEEE 802.3 clause 4)")
        }
        Occupation::Octets { .. } if occupation == Occupation::OWN => {
            "the frame's own bits".to_owned()
        }
        Occupation::Octets { more, bits } => format!("bits with {more:+} B, {bits} bits for each"),
        Occupation::Cells => "bits in AAL5 cells behind LLC/SNAP (I.363.5, RFC 2684)".to_owned(),
    }
}

/// The frames of a flow, or their replies.
#[derive(Debug, Clone)]
pub(super) struct Class {
    /// Place of the flow.
    pub(super) flow: usize,
    /// Whether these are replies.
    pub(super) reply: bool,
    /// Their lengths.
    pub(super) sizes: Sizes,
    /// Their name in the workbook.
    pub(super) label: String,
}

/// A network's kinds of frames and their paths.
#[derive(Debug)]
pub(super) struct Structure<'a> {
    pub(super) drawing: &'a Drawing,
    /// The program's prediction for the drawing.
    pub(super) prediction: &'a Prediction,
    /// Like `prediction`, but with about one frame per second of every flow: it gives shares of
    /// frames even for a flow that sends none.
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

    /// The class of a kind of frames, and how many frames pass for each that is sent. `None` for
    /// frames without a known rate.
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

/// Every flow that has a rate gets one near 1/s; all differ, so that lines are equal only if they
/// are equal for any rates.
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
