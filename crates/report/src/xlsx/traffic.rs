//! The sheet of traffic: how many frames each flow sends.

use btu_network::{Arrivals, Flow, Sizes};
use rust_xlsxwriter::XlsxError;

use super::page::{SheetBuilder, SheetCell};
use super::sizes::{ClassCells, cell_name};
use super::structure::Structure;
use super::value::SheetValue;

/// The cells of a flow.
#[derive(Debug)]
pub(super) struct FlowCells {
    /// Frames per second of each sender.
    pub(super) each: SheetValue,
    /// Frames per second of all.
    pub(super) total: SheetValue,
}

/// The sheet, and each flow's cells.
pub(super) fn sheet(
    structure: &Structure,
    classes: &[ClassCells],
) -> Result<(SheetBuilder, Vec<FlowCells>), XlsxError> {
    let about = "Yellow cells may be changed. More senders count as more of the same, spread as the drawn ones are.";
    let mut page = SheetBuilder::new("Traffic", "Traffic", about)?;
    let head = [
        "flow",
        "senders",
        "packets/s of each",
        "packets/s together",
        "mean size, bits",
        "offered, bit/s",
        "sizes",
        "pace",
    ];
    let mut table = page.table(&head)?;
    let mut cells = Vec::new();
    let mut outcomes = false;
    for (number, flow) in structure.drawing.traffic.iter().enumerate() {
        let paced = matches!(flow.arrivals, Arrivals::Poisson { .. } | Arrivals::Periodic { .. });
        outcomes |= !paced;
        let bits = structure
            .classes
            .iter()
            .zip(classes)
            .find(|(class, _)| class.flow == number && !class.reply)
            .map_or(SheetValue::constant(0.0), |(_, cells)| cells.own_bits.clone());
        cells.push(row(&mut page, &mut table, structure, number, &bits)?);
    }
    if outcomes {
        page.note(
            "Senders that wait for replies, or always have one more, have no given rate: btu computed it (mean-value \
             analysis), and it does not follow changes of other cells.",
        )?;
    }
    Ok((page, cells))
}

fn row(
    page: &mut SheetBuilder,
    table: &mut super::page::TableBuilder,
    structure: &Structure,
    number: usize,
    bits: &SheetValue,
) -> Result<FlowCells, XlsxError> {
    let flow = &structure.drawing.traffic[number];
    let each = match flow.arrivals {
        Arrivals::Poisson { per_second } | Arrivals::Periodic { per_second } => SheetCell::Input(
            or_none(per_second),
            cell_name(&["traffic", &flow.name, "packets_per_s"]),
        ),
        Arrivals::Saturated | Arrivals::Closed { .. } => SheetCell::Drawn(
            structure.prediction.flows[number].packets_per_second_each.value.unwrap_or(0.0),
        ),
    };
    let senders = flow.from.len() as f64;
    let rate = match &each {
        SheetCell::Input(rate, _) | SheetCell::Drawn(rate) => *rate,
        SheetCell::Label(_) | SheetCell::Formula(_) => 0.0,
    };
    let total = page.next_cell(1, senders) * page.next_cell(2, rate);
    let all = page.next_cell(3, total.number);
    let values = page.row(
        table,
        vec![
            SheetCell::Label(flow.name.clone()),
            SheetCell::Input(senders, cell_name(&["traffic", &flow.name, "senders"])),
            each,
            SheetCell::Formula(total),
            SheetCell::Formula(bits.clone()),
            SheetCell::Formula(all * bits),
            SheetCell::Label(sizes(flow).to_owned()),
            SheetCell::Label(pace(flow).to_owned()),
        ],
    )?;
    Ok(FlowCells { each: values[2].clone(), total: values[3].clone() })
}

fn sizes(flow: &Flow) -> &'static str {
    match flow.sizes {
        Sizes::Fixed(_) => "all alike",
        Sizes::Mix(_) => "a mix",
        Sizes::Uniform(..) => "even between two",
        Sizes::Exponential(_) => "exponential",
    }
}

fn pace(flow: &Flow) -> &'static str {
    match flow.arrivals {
        Arrivals::Poisson { .. } => "independent",
        Arrivals::Periodic { .. } => "even; the formulas take it as independent",
        Arrivals::Saturated => "always one more",
        Arrivals::Closed { .. } => "waits for replies",
    }
}

/// Network files write a rate of zero as the smallest possible one; a workbook shows a frame in ten
/// days as zero.
fn or_none(per_second: f64) -> f64 {
    if per_second < 1e-6 { 0.0 } else { per_second }
}
