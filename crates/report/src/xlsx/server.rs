//! Servers: the part that all submodels share.

use btu_model::predict::{FrameKind, Occupation};
use rust_xlsxwriter::XlsxError;

use super::page::{SheetBuilder, SheetCell, TableBuilder};
use super::sizes::{ClassCells, Occupied};
use super::structure::Structure;
use super::traffic::FlowCells;
use super::value::SheetValue;

/// The cells to which submodels refer.
pub(super) struct Book<'a> {
    pub(super) structure: &'a Structure<'a>,
    pub(super) classes: &'a [ClassCells],
    pub(super) flows: &'a [FlowCells],
}

/// The frames that pass a submodel: their table and sums over all frames of a second.
pub(super) struct Load<'a> {
    pub(super) kinds: Vec<FrameClass<'a>>,
    /// The number of frames per second.
    pub(super) frames: SheetValue,
    /// Own bits per second.
    pub(super) own: SheetValue,
    /// Seconds that they occupy.
    pub(super) busy: SheetValue,
    /// Sum of the squares of these.
    pub(super) second: SheetValue,
    /// Mean seconds that a frame occupies, 0 without frames.
    pub(super) mean: SheetValue,
    /// Mean of the squares of these.
    pub(super) mean_square: SheetValue,
}

/// Frames of a class at a submodel.
#[derive(Clone)]
pub(super) struct FrameClass<'a> {
    pub(super) class: usize,
    /// How many pass for each that the flow sends.
    pub(super) passes: f64,
    /// The number of frames per second.
    pub(super) frames: SheetValue,
    /// Mean seconds that one occupies the submodel.
    pub(super) mean: SheetValue,
    pub(super) occupied: &'a Occupied,
}

/// A solved submodel, as other sheets refer to it.
#[derive(Debug, Clone)]
pub(super) struct Solved {
    /// Its name.
    pub(super) name: String,
    /// The classes, the passages for each frame that is sent, and the mean seconds for which a
    /// frame occupies it.
    pub(super) kinds: Vec<(usize, f64, SheetValue)>,
    /// The number of equal submodels.
    pub(super) alike: f64,
    /// The number of frames per second.
    pub(super) frames: SheetValue,
    /// Share of time in frames' own bits.
    pub(super) data: SheetValue,
    /// Share of time in everything.
    pub(super) used: SheetValue,
    /// The largest share of time in frames' own bits.
    pub(super) capacity: SheetValue,
    pub(super) waiting: SheetValue,
    /// From a frame's last bit at the sender to the receiver, the gap taken off.
    pub(super) beyond: SheetValue,
    /// The part of `beyond` for which the next frame need not wait.
    pub(super) pipelined: SheetValue,
    /// Mean delay of all frames.
    pub(super) delay: SheetValue,
}

impl<'a> Book<'a> {
    /// The table of the passing frames, and its sums. `rate` is the medium's in bits per second.
    pub(super) fn load(
        &self,
        page: &mut SheetBuilder,
        kinds: &[FrameKind],
        occupation: Occupation,
        rate: &SheetValue,
    ) -> Result<Load<'a>, XlsxError> {
        page.heading("What passes")?;
        let head =
            ["flow", "passes per packet sent", "packets/s", "own bits", "E[X], s", "E[X^2], s^2"];
        let mut table = page.table(&head)?;
        let mut rows = Vec::new();
        for (class, passes) in kinds.iter().filter_map(|kind| self.structure.passes(kind)) {
            let Some(occupied) = self.classes[class].occupied(occupation) else { continue };
            let total = &self.flows[self.structure.classes[class].flow].total;
            let passing = page.next_cell(1, passes);
            let values = page.row(
                &mut table,
                vec![
                    SheetCell::Label(self.structure.classes[class].label.clone()),
                    SheetCell::Drawn(passes),
                    SheetCell::Formula(total * passing),
                    SheetCell::Formula(self.classes[class].own_bits.clone()),
                    SheetCell::Formula(&occupied.mean / rate),
                    SheetCell::Formula(&occupied.second / (rate * rate)),
                ],
            )?;
            rows.push(FrameClass {
                class,
                passes,
                frames: values[2].clone(),
                mean: values[4].clone(),
                occupied,
            });
        }
        if rows.is_empty() {
            let empty = ["nothing".to_owned()].map(SheetCell::Label).to_vec();
            let zeros = (0..5).map(|_| SheetCell::Drawn(0.0));
            page.row(&mut table, empty.into_iter().chain(zeros).collect())?;
        }
        sums(page, &table, rows)
    }
}

fn sums<'a>(
    page: &mut SheetBuilder,
    table: &TableBuilder,
    kinds: Vec<FrameClass<'a>>,
) -> Result<Load<'a>, XlsxError> {
    page.heading("Together")?;
    let column = |page: &SheetBuilder, number| page.column(table, number);
    let (rates, own, mean, second) =
        (column(page, 2), column(page, 3), column(page, 4), column(page, 5));
    let frames = page.computed("Packets, lambda", "1/s", &rates.sum())?;
    let own = page.computed("Data offered", "bit/s", &rates.times(&own))?;
    let busy =
        page.computed("Seconds occupied in a second, lambda E[X]", "s/s", &rates.times(&mean))?;
    let second = page.computed("lambda E[X^2]", "s", &rates.times(&second))?;
    let none = SheetValue::constant(0.0);
    let size = frames.above(0.0, &(&own / &frames), &none);
    page.computed("Mean packet", "bits, from destination address to check sequence", &size)?;
    let mean = page.computed(
        "E[X]",
        "s that a packet occupies",
        &frames.above(0.0, &(&busy / &frames), &none),
    )?;
    let mean_square =
        page.computed("E[X^2]", "s^2", &frames.above(0.0, &(&second / &frames), &none))?;
    Ok(Load { kinds, frames, own, busy, second, mean, mean_square })
}

/// The results of a submodel's own formula.
pub(super) struct Formula {
    pub(super) name: String,
    pub(super) alike: f64,
    /// Share of time in everything.
    pub(super) used: SheetValue,
    pub(super) capacity: SheetValue,
    pub(super) waiting: SheetValue,
    pub(super) beyond: SheetValue,
    pub(super) pipelined: SheetValue,
}

impl Load<'_> {
    /// The share of frames' own bits in what they occupy; one without frames.
    pub(super) fn own_share(&self, rate: &SheetValue) -> SheetValue {
        self.frames.above(0.0, &(&self.own / rate / &self.busy), &SheetValue::constant(1.0))
    }

    /// The results' lines, equal for every submodel.
    pub(super) fn results(
        self,
        page: &mut SheetBuilder,
        rate: &SheetValue,
        formula: Formula,
    ) -> Result<Solved, XlsxError> {
        page.heading("Results")?;
        let data = page.computed("Utilisation, data", "share of time", &(&self.own / rate))?;
        let used = page.computed(
            "Utilisation, data and collisions or overhead",
            "share of time",
            &formula.used,
        )?;
        let capacity = page.computed(
            "Effective throughput, at most",
            "share of time in data",
            &formula.capacity,
        )?;
        let none = SheetValue::constant(0.0);
        let waiting =
            page.computed("Mean wait", "s", &self.frames.above(0.0, &formula.waiting, &none))?;
        let delay = &waiting + &self.mean + &formula.beyond;
        let delay = page.computed(
            "Delay of a packet",
            "s, mean; from ready to the last bit at the receiver",
            &delay,
        )?;
        Ok(Solved {
            name: formula.name,
            kinds: self
                .kinds
                .into_iter()
                .map(|kind| (kind.class, kind.passes, kind.mean))
                .collect(),
            alike: formula.alike,
            frames: self.frames,
            data,
            used,
            capacity,
            waiting,
            beyond: formula.beyond,
            pipelined: formula.pipelined,
            delay,
        })
    }
}
