//! The sheet of frame sizes, and the sheet of traffic.

use btu_model::predict::Occupation;
use btu_network::Sizes;
use rust_xlsxwriter::XlsxError;

use super::page::{SheetBuilder, SheetCell};
use super::structure::{Class, Structure, words};
use super::value::{SheetColumn, SheetValue};

/// The name of cells for `parts`.
pub(super) fn cell_name(parts: &[&str]) -> String {
    let joined = parts.join("_");
    joined.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
}

/// The cells of a class of frames.
#[derive(Debug)]
pub(super) struct ClassCells {
    /// The mean of the frames' own bits.
    pub(super) own_bits: SheetValue,
    /// Whether sizes are exponential.
    pub(super) exponential: bool,
    shares: SheetColumn,
    occupied: Vec<(Occupation, Occupied)>,
}

/// The bits that a class's frames occupy on one kind of medium.
#[derive(Debug, Clone)]
pub(super) struct Occupied {
    /// The mean of the occupied bits.
    pub(super) mean: SheetValue,
    /// Second moment in bits squared.
    pub(super) second: SheetValue,
    /// The column with the shares of frames.
    pub(super) shares: SheetColumn,
    /// Bits of each share.
    pub(super) bits: SheetColumn,
    /// Whether bits are exponential, so that shares are only an approximation.
    pub(super) exponential: bool,
}

impl ClassCells {
    /// The bits that the class occupies; the sheet has every kind of medium of the network.
    pub(super) fn occupied(&self, occupation: Occupation) -> Option<&Occupied> {
        self.occupied.iter().find(|(known, _)| *known == occupation).map(|(_, occupied)| occupied)
    }
}

/// The sheet, and each class's cells.
pub(super) fn sheet(
    structure: &Structure,
    occupations: &[Occupation],
) -> Result<(SheetBuilder, Vec<ClassCells>), XlsxError> {
    let about = "Sizes in octets from destination address to check sequence, and the bits that frames occupy. Yellow \
                 cells may be changed.";
    let mut page = SheetBuilder::new("Sizes", "Sizes of frames", about)?;
    let classes = structure
        .classes
        .iter()
        .map(|class| block(&mut page, class, occupations))
        .collect::<Result<_, _>>()?;
    Ok((page, classes))
}

fn block(
    page: &mut SheetBuilder,
    class: &Class,
    occupations: &[Occupation],
) -> Result<ClassCells, XlsxError> {
    page.heading(&class.label)?;
    let shape = PointsSource::of(page, class)?;
    let own_bits = page.computed("Mean size", "bits", &(8.0 * shape.mean()))?;
    let mut head = vec!["weight".to_owned(), "octets".to_owned(), "share".to_owned()];
    head.extend(occupations.iter().copied().map(words));
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = page.table(&head)?;
    for (weight, octets) in shape.points(class) {
        let here = page.next_cell(1, octets_number(&octets));
        let weighed = page.next_cell(0, octets_number(&weight));
        let mut cells = vec![weight, octets, SheetCell::Formula(&weighed / shape.weights())];
        cells.extend(
            occupations.iter().map(|occupation| SheetCell::Formula(bits(*occupation, &here))),
        );
        page.row(&mut table, cells)?;
    }
    let shares = page.column(&table, 2);
    let exponential = matches!(class.sizes, Sizes::Exponential(_));
    let mut cells = ClassCells { own_bits, exponential, shares, occupied: Vec::new() };
    for (number, occupation) in occupations.iter().enumerate() {
        let bits = page.column(&table, 3 + number as u16);
        let occupied = moments(page, *occupation, bits, &cells)?;
        cells.occupied.push((*occupation, occupied));
    }
    Ok(cells)
}

fn moments(
    page: &mut SheetBuilder,
    occupation: Occupation,
    bits: SheetColumn,
    cells: &ClassCells,
) -> Result<Occupied, XlsxError> {
    let exponential = cells.exponential && occupation == Occupation::OWN;
    let (mean, second) = if exponential {
        (cells.own_bits.clone(), 2.0 * &cells.own_bits * &cells.own_bits)
    } else {
        (cells.shares.times(&bits), cells.shares.times_square(&bits))
    };
    let words = words(occupation);
    let mean = page.computed(&format!("E[bits], {words}"), "bits", &mean)?;
    let second = page.computed(&format!("E[bits^2], {words}"), "bits^2", &second)?;
    Ok(Occupied { mean, second, shares: cells.shares.clone(), bits, exponential })
}

/// Bits of a frame of this many octets, the gap after it included.
fn bits(occupation: Occupation, octets: &SheetValue) -> SheetValue {
    let constant = SheetValue::constant;
    match occupation {
        Occupation::Ethernet { shortest } => 8.0 * (octets.max(&constant(shortest)) + 20.0),
        Occupation::Octets { more, bits } => (octets + more).max(&constant(1.0)) * bits,
        Occupation::Cells => {
            let up = |value: &SheetValue| SheetValue {
                text: format!("ROUNDUP({},0)", value.text),
                ..value.clone()
            };
            let packet = (octets - 18.0).max(&constant(0.0));
            let packet = SheetValue { number: packet.number.ceil(), ..up(&packet) };
            let cells = (packet + 16.0) / 48.0;
            let cells = SheetValue { number: cells.number.ceil(), ..up(&cells) };
            424.0 * cells
        }
    }
}

fn octets_number(cell: &SheetCell) -> f64 {
    match cell {
        SheetCell::Input(number, _) | SheetCell::Drawn(number) => *number,
        SheetCell::Formula(value) => value.number,
        SheetCell::Label(_) => 0.0,
    }
}

/// The source of a class's points.
enum PointsSource {
    /// The table's own inputs; their mean and the sum of weights come from the table, which lies
    /// this number of rows below.
    Listed { mean: SheetValue, weights: SheetValue },
    /// Sizes are equally likely between two values.
    Even { least: SheetValue, most: SheetValue },
    /// Sizes are exponential with this mean.
    Exponential { mean: SheetValue },
}

impl PointsSource {
    fn of(page: &mut SheetBuilder, class: &Class) -> Result<Self, XlsxError> {
        let name = |what: &str| cell_name(&["size", &class.label, what]);
        match &class.sizes {
            Sizes::Fixed(_) | Sizes::Mix(_) => Ok(Self::listed(page, &class.sizes)),
            Sizes::Uniform(least, most) => Ok(Self::Even {
                least: page.input("Shortest", "octets", least.count() as f64, &name("shortest"))?,
                most: page.input("Longest", "octets", most.count() as f64, &name("longest"))?,
            }),
            Sizes::Exponential(mean) => Ok(Self::Exponential {
                mean: page.input("Mean", "octets", mean.count() as f64, &name("mean"))?,
            }),
        }
    }

    /// The table begins two lines below: the mean's line, the table's head.
    fn listed(page: &SheetBuilder, sizes: &Sizes) -> Self {
        let parts = parts(sizes);
        let column = |column, numbers: Vec<f64>| page.column_below(column, 2, numbers);
        let weights = column(0, parts.iter().map(|(weight, _)| *weight).collect());
        let octets = column(1, parts.iter().map(|(_, octets)| *octets).collect());
        Self::Listed { mean: weights.times(&octets) / weights.sum(), weights: weights.sum() }
    }

    fn mean(&self) -> SheetValue {
        match self {
            Self::Listed { mean, .. } | Self::Exponential { mean } => mean.clone(),
            Self::Even { least, most } => (least + most) / 2.0,
        }
    }

    /// The sum of weights.
    fn weights(&self) -> SheetValue {
        match self {
            Self::Listed { weights, .. } => weights.clone(),
            Self::Even { .. } | Self::Exponential { .. } => SheetValue::constant(1.0),
        }
    }

    /// The weights and octets of a class.
    fn points(&self, class: &Class) -> Vec<(SheetCell, SheetCell)> {
        match self {
            Self::Listed { .. } => {
                let name = |what: &str, number: usize| {
                    cell_name(&[what, &class.label, &(number + 1).to_string()])
                };
                let point = |(number, (weight, octets)): (usize, (f64, f64))| {
                    (
                        SheetCell::Input(weight, name("weight", number)),
                        SheetCell::Input(octets, name("size", number)),
                    )
                };
                parts(&class.sizes).into_iter().enumerate().map(point).collect()
            }
            Self::Even { least, most } => evenly(least, most),
            Self::Exponential { mean } => exponentially(mean),
        }
    }
}

fn parts(sizes: &Sizes) -> Vec<(f64, f64)> {
    match sizes {
        Sizes::Mix(parts) => {
            parts.iter().map(|(size, weight)| (*weight, size.count() as f64)).collect()
        }
        Sizes::Fixed(size) | Sizes::Exponential(size) => vec![(1.0, size.count() as f64)],
        Sizes::Uniform(least, _) => vec![(1.0, least.count() as f64)],
    }
}

/// As many points as there are sizes now, at most so many; if the bounds are changed they move
/// apart or together.
fn evenly(least: &SheetValue, most: &SheetValue) -> Vec<(SheetCell, SheetCell)> {
    const MOST: f64 = 4096.0;
    let count = (most.number - least.number + 1.0).clamp(1.0, MOST);
    let width = (most - least + 1.0) / count;
    let octets = |number: f64| least - 0.5 + (number + 0.5) * &width;
    (0..count as u32)
        .map(|number| {
            (SheetCell::Drawn(1.0 / count), SheetCell::Formula(octets(f64::from(number))))
        })
        .collect()
}

/// Twentieths of the mean, each with the mean of what falls into it.
fn exponentially(mean: &SheetValue) -> Vec<(SheetCell, SheetCell)> {
    const WIDTH: f64 = 0.05;
    let bin = |number: i32| {
        let (from, to) = (f64::from(number) * WIDTH, f64::from(number + 1) * WIDTH);
        let share = (-from).exp() - (-to).exp();
        let inside = (1.0 + from) * (-from).exp() - (1.0 + to) * (-to).exp();
        (SheetCell::Drawn(share), SheetCell::Formula(mean * (inside / share)))
    };
    (0..500).map(bin).collect()
}
