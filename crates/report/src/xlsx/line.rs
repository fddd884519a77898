//! Sheets of lines: links, and the lines of a star. Each direction is an M/G/1 queue of its own.

use btu_model::predict::{LinePrediction, Occupation, SegmentPrediction};
use btu_network::{Direction, Link, Star};
use rust_xlsxwriter::XlsxError;

use super::page::SheetBuilder;
use super::server::{Book, Formula, Solved};
use super::sizes::cell_name;
use super::value::{SheetColumn, SheetValue};

const ABOUT: &str = "M/G/1 (Pollaczek and Khinchine; Kleinrock, Queueing Systems I, 1975) in each direction. Yellow cells may be changed.";

/// The sheet of a link, with its two directions.
pub(super) fn link(
    book: &Book,
    sheet: &str,
    link: &Link,
    directions: &[LinePrediction],
) -> Result<(SheetBuilder, Vec<Solved>), XlsxError> {
    let mut page = SheetBuilder::new(sheet, &format!("Link {}", link.name), ABOUT)?;
    let ways = [&link.forth, &link.back];
    let solved =
        directions.iter().zip(ways).map(|(line, way)| block(book, &mut page, line, way, None));
    let solved = solved.collect::<Result<_, _>>()?;
    Ok((page, solved))
}

/// The sheet of a star: a block for each direction of its lines that are not alike, and the whole.
pub(super) fn star(
    book: &Book,
    sheet: &str,
    segment: &SegmentPrediction,
    star: &Star,
) -> Result<(SheetBuilder, Vec<Solved>, Whole), XlsxError> {
    let mut page = SheetBuilder::new(sheet, &format!("Star {}", segment.name), ABOUT)?;
    let name = cell_name(&["segment", &segment.name, "latency"]);
    let latency = page.input("Latency of the switch", "s", star.latency.seconds(), &name)?;
    let mut solved = Vec::new();
    for line in &segment.lines {
        let up = line.name.ends_with(" up");
        let (way, latency) = if up { (&star.up, None) } else { (&star.down, Some(&latency)) };
        solved.push(block(book, &mut page, line, way, latency)?);
    }
    let whole = whole(&mut page, segment, &solved)?;
    Ok((page, solved, whole))
}

/// A star seen as one.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) frames: SheetValue,
    pub(super) data: SheetValue,
    pub(super) used: SheetValue,
    pub(super) delay: SheetValue,
}

/// Every frame comes in by one line of a star and goes out by another.
fn whole(
    page: &mut SheetBuilder,
    segment: &SegmentPrediction,
    solved: &[Solved],
) -> Result<Whole, XlsxError> {
    let none = SheetValue::constant(0.0);
    let entering = solved.iter().zip(&segment.lines).filter(|(_, line)| line.name.ends_with(" up"));
    let frames = entering.fold(none.clone(), |sum, (line, _)| sum + line.alike * &line.frames);
    let spent = solved.iter().fold(none.clone(), |sum, line| {
        sum + line.frames.above(0.0, &(line.alike * &line.frames * &line.delay), &none)
    });
    let largest = |of: fn(&Solved) -> &SheetValue| {
        let cells: Vec<&str> = solved.iter().map(|line| of(line).text.as_str()).collect();
        let numbers = solved.iter().map(|line| of(line).number).chain([0.0]).collect();
        SheetColumn { text: [cells, vec!["0"]].concat().join(","), numbers }.largest()
    };
    page.heading("The whole star")?;
    let frames = page.computed("Packets", "1/s, each counted once", &frames)?;
    let data = page.computed(
        "Utilisation of the busiest line, data",
        "share of time",
        &largest(|line| &line.data),
    )?;
    let used = page.computed(
        "Utilisation of the busiest line",
        "share of time; stable below 1",
        &largest(|line| &line.used),
    )?;
    let delay = frames.above(0.0, &(spent / &frames), &none);
    let delay =
        page.computed("Delay of a packet", "s, mean; up one line and down another", &delay)?;
    Ok(Whole { frames, data, used, delay })
}

/// One direction of a line. `latency` is the switch's, spent before the queue.
fn block(
    book: &Book,
    page: &mut SheetBuilder,
    line: &LinePrediction,
    way: &Direction,
    latency: Option<&SheetValue>,
) -> Result<Solved, XlsxError> {
    page.heading(&line.name)?;
    if line.alike > 1 {
        page.note(&format!("{} lines are alike; this is one of them.", line.alike))?;
    }
    let name = |what: &str| cell_name(&["line", &line.name, what]);
    let rate = page.input("Rate, R", "bit/s", line.rate_bits_per_second, &name("rate"))?;
    let propagation =
        page.input("Propagation delay", "s", line.propagation_seconds, &name("delay"))?;
    let occupation = Occupation::of_line(way);
    let load = book.load(page, &line.kinds, occupation, &rate)?;
    page.heading("The formula")?;
    let waiting = &load.second / (2.0 * (1.0 - &load.busy));
    let waiting = waiting.unless_saturated(&load.busy, &SheetValue::constant(1.0));
    let waiting = page.computed("W = lambda E[X^2] / (2 (1 - rho))", "s", &waiting)?;
    let pipelined = match latency {
        Some(latency) => &propagation + latency,
        None => propagation,
    };
    let formula = Formula {
        name: line.name.clone(),
        alike: f64::from(line.alike),
        used: load.busy.clone(),
        capacity: load.own_share(&rate),
        waiting,
        beyond: &pipelined - occupation.gap_bits() / &rate,
        pipelined,
    };
    load.results(page, &rate, formula)
}
