//! The sheets of bridges, of flows' paths and of the transfer.

use btu_model::predict::{TransferLimit, TransferPrediction};
use btu_network::Target;
use rust_xlsxwriter::XlsxError;

use super::page::{SheetBuilder, SheetCell};
use super::server::{Book, Solved};
use super::sizes::cell_name;
use super::value::SheetValue;

/// A bridge, as flows pass it.
#[derive(Debug)]
pub(super) struct BridgeCells {
    name: String,
    place: usize,
    /// The number of frames per second.
    pub(super) frames: SheetValue,
    /// The latency in seconds.
    pub(super) latency: SheetValue,
}

/// The sheet of a bridge.
pub(super) fn bridge(
    book: &Book,
    sheet: &str,
    place: usize,
) -> Result<(SheetBuilder, BridgeCells), XlsxError> {
    let bridge = &book.structure.drawing.bridges[place];
    let about =
        "Store and forward: the wait is the next medium's or line's. Yellow cells may be changed.";
    let mut page = SheetBuilder::new(sheet, &format!("Bridge {}", bridge.name), about)?;
    let name = cell_name(&["bridge", &bridge.name, "latency"]);
    let latency = page.input(
        "Latency",
        "s, from a frame's last bit until it waits for the next medium",
        bridge.latency.seconds(),
        &name,
    )?;
    page.heading("What passes")?;
    let mut table = page.table(&["flow", "passes per packet sent", "packets/s"])?;
    for (number, flow) in book.structure.drawing.traffic.iter().enumerate() {
        let replies =
            book.structure.classes.iter().filter(|class| class.flow == number).count() as f64;
        let passes = book.structure.forwarded[place][number] * replies;
        let frames = &book.flows[number].total * page.next_cell(1, passes);
        page.row(
            &mut table,
            vec![
                SheetCell::Label(flow.name.clone()),
                SheetCell::Drawn(passes),
                SheetCell::Formula(frames),
            ],
        )?;
    }
    let column = page.column(&table, 2);
    page.heading("Results")?;
    let frames = page.computed(
        "Forwarded",
        "packets/s, one to several ports counted for each",
        &column.sum(),
    )?;
    page.computed("Delay of a packet", "s", &latency)?;
    Ok((page, BridgeCells { name: bridge.name.clone(), place, frames, latency }))
}

/// A flow's path, as the transfer needs it.
#[derive(Debug)]
pub(super) struct PathDelays {
    /// Mean delay of the flow's own frames.
    pub(super) delay: SheetValue,
    /// The longest per-packet delay on the path.
    pub(super) longest: SheetValue,
    /// The delay of the whole path once, with every submodel's mean packet.
    pub(super) once: SheetValue,
    /// Whether it follows the inputs.
    pub(super) live: bool,
}

/// The sheet of flows: each one's path, and the sum of its delays.
pub(super) fn flows(
    book: &Book,
    submodels: &[Solved],
    bridges: &[BridgeCells],
) -> Result<(SheetBuilder, Vec<PathDelays>), XlsxError> {
    let about = "Delay end to end: the sum over the way (Kleinrock's independence assumption, 1964; Jackson 1957).";
    let mut page = SheetBuilder::new("Flows", "Flows from end to end", about)?;
    let ways = (0..book.structure.drawing.traffic.len())
        .map(|flow| way(book, &mut page, flow, submodels, bridges));
    let ways = ways.collect::<Result<_, _>>()?;
    Ok((page, ways))
}

fn way(
    book: &Book,
    page: &mut SheetBuilder,
    number: usize,
    submodels: &[Solved],
    bridges: &[BridgeCells],
) -> Result<PathDelays, XlsxError> {
    let flow = &book.structure.drawing.traffic[number];
    page.heading(&flow.name)?;
    if flow.to == Target::Broadcast {
        page.note("To all stations: the delay to one of them is as btu worked it out and does not follow the inputs.")?;
        let delay = match book.structure.prediction.flows[number].delay_seconds.value {
            Some(delay) => SheetValue::constant(delay),
            None => SheetValue::new("\"saturated\"", f64::NAN),
        };
        let delay = page.computed("Delay of a packet", "s", &delay)?;
        return Ok(PathDelays { longest: delay.clone(), once: delay.clone(), delay, live: false });
    }
    let class =
        book.structure.classes.iter().position(|class| class.flow == number && !class.reply);
    let head = [
        "submodel",
        "passes",
        "own delay there, s",
        "times passes",
        "mean packet's delay, s",
        "times passes",
        "takes of the medium, s",
    ];
    let mut table = page.table(&head)?;
    for submodel in submodels {
        for (_, passes, mean) in submodel.kinds.iter().filter(|(kind, ..)| Some(*kind) == class) {
            let own = &submodel.waiting + mean + &submodel.beyond;
            let each = &submodel.delay - &submodel.pipelined;
            hop(
                page,
                &mut table,
                &submodel.name,
                passes * submodel.alike,
                [&own, &submodel.delay, &each],
            )?;
        }
    }
    for bridge in bridges {
        let passes = book.structure.forwarded[bridge.place][number];
        if passes > 0.0 {
            let none = SheetValue::constant(0.0);
            hop(page, &mut table, &bridge.name, passes, [&bridge.latency, &bridge.latency, &none])?;
        }
    }
    let (own, all) = (page.column(&table, 3), page.column(&table, 5));
    let longest = page.column(&table, 6).largest();
    let (once, longest) = (all.sum().if_numbers(&all), longest.if_numbers(&all));
    let own = own.sum().if_numbers(&own);
    let delay = page.computed(
        "Delay of a packet",
        "s, mean, from ready to the last bit at the receiver",
        &own,
    )?;
    let once = page.computed("The same of each submodel's mean packet", "s", &once)?;
    let longest = page.computed(
        "Longest delay of one submodel",
        "s; propagation and latency of lines not counted",
        &longest,
    )?;
    Ok(PathDelays { delay, longest, once, live: true })
}

fn hop(
    page: &mut SheetBuilder,
    table: &mut super::page::TableBuilder,
    name: &str,
    passes: f64,
    [own, all, each]: [&SheetValue; 3],
) -> Result<(), XlsxError> {
    let count = page.next_cell(1, passes);
    let cells = vec![
        SheetCell::Label(name.to_owned()),
        SheetCell::Drawn(passes),
        SheetCell::Formula(own.clone()),
        SheetCell::Formula(&count * own),
        SheetCell::Formula(all.clone()),
        SheetCell::Formula(&count * all),
        SheetCell::Formula(each.clone()),
    ];
    page.row(table, cells).map(|_| ())
}

/// The results of the transfer.
#[derive(Debug)]
pub(super) struct TransferCells {
    pub(super) simple: SheetValue,
    pub(super) aggregate: SheetValue,
    pub(super) seconds: SheetValue,
}

/// The sheet of the transfer.
pub(super) fn transfer(
    book: &Book,
    ways: &[PathDelays],
    asked: &TransferPrediction,
) -> Result<Option<(SheetBuilder, TransferCells)>, XlsxError> {
    let drawing = book.structure.drawing;
    let Some(paced) = &asked.paced else { return Ok(None) };
    let Some(number) = drawing.traffic.iter().position(|flow| flow.name == paced.flow) else {
        return Ok(None);
    };
    let about = "Simple and aggregate delay, as in the Network Modeling Tool of CITI, University of Michigan. Yellow cells may be changed.";
    let mut page = SheetBuilder::new(
        "Transfer",
        &format!("Transfer of a file at the rate of {}", paced.flow),
        about,
    )?;
    let size = page.input("Size", "octets", asked.size_bytes, "transfer_size")?;
    let class = book
        .structure
        .classes
        .iter()
        .position(|class| class.flow == number && !class.reply)
        .unwrap_or(0);
    let packets = 8.0 * &size / &book.classes[class].own_bits;
    let packets = page.computed("Packets", "", &packets)?;
    let note = "s; packets over the rate at which the software makes them";
    let simple = page.computed("Simple delay", note, &(&packets / &book.flows[number].each))?;
    let way = &ways[number];
    page.computed("Delay of a packet where it is longest", "s", &way.longest)?;
    let rest = (&way.once - &way.longest).max(&SheetValue::constant(0.0));
    let note = "s; packets times that delay, and once the rest of the way";
    let aggregate = page.computed("Aggregate delay", note, &(&packets * &way.longest + rest))?;
    let seconds = aggregate.max(&simple);
    let seconds = page.computed("Time of the transfer", "s; the larger of the two", &seconds)?;
    limit(&mut page, &simple, &aggregate, paced.limit)?;
    if let Some(crossing) = &paced.overtaken {
        page.heading(
            "Where the network begins to limit, computed by btu for the network as drawn",
        )?;
        page.drawn(
            &format!("Rate of {} from which on", crossing.flow),
            "packets/s of each sender",
            crossing.packets_per_second,
        )?;
        page.drawn(
            "The first whole number",
            "packets/s of each sender",
            crossing.whole_packets_per_second,
        )?;
    }
    if !way.live {
        page.note("The flow goes to all stations: its delays do not follow the inputs.")?;
    }
    Ok(Some((page, TransferCells { simple, aggregate, seconds })))
}

fn limit(
    page: &mut SheetBuilder,
    simple: &SheetValue,
    aggregate: &SheetValue,
    limit: TransferLimit,
) -> Result<(), XlsxError> {
    let (simple, aggregate) = (&simple.text, &aggregate.text);
    let formula = format!(
        "IF(ISNUMBER({aggregate}),IF({aggregate}>{simple},\"network\",\"software\"),\"saturated\")"
    );
    let word = match limit {
        TransferLimit::Software => "software",
        TransferLimit::Network => "network",
        TransferLimit::Saturated => "saturated",
    };
    page.computed_word("What limits", &formula, word)
}
