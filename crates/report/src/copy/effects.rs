//! The parts of copies' times: the chain of factors, the fixed part and the rate, storage against
//! program.

use btu_studies::copy::{Chain, ChainFactor, CopyChain, CopyVerdict, way};

use super::{KILO, MEGA, MILLI, PERCENT, names};
use crate::html::{Block, Cell, Figure, Layout, Panel, Role, Section, Table};
use crate::number::{NOTHING, three_digits};

pub(super) fn chains(verdict: &CopyVerdict) -> Option<Section> {
    let head = [
        "program",
        "file",
        "storage",
        "background",
        "raw, s",
        "hardware",
        "software",
        "contention",
        "of means",
        "all",
        "shares, %",
    ];
    let mut table = Table::new("Factors", &head, 4);
    for one in &verdict.chains {
        let Chain { raw, hardware, software, contention, .. } = one.chain;
        let ratio = |link: ChainFactor| Cell::number(Some(link.ratio));
        let share = |link: ChainFactor| {
            link.share.map_or(NOTHING.to_owned(), |share| format!("{:.0}", share * PERCENT))
        };
        let cells = [
            Cell::number(Some(raw.seconds)),
            ratio(hardware),
            ratio(software),
            ratio(contention),
            Cell::estimate(one.contention_mean.as_ref(), 1.0),
            Cell::number(Some(one.chain.ratio())),
            Cell::text([hardware, software, contention].map(share).join(" + ")),
        ];
        table.rows.push(names(&one.cell).into_iter().chain(cells).collect());
    }
    if table.rows.is_empty() {
        return None;
    }
    let note = "of the medians: raw is the file's bits at the network's rate; hardware is what disks and line allow together, \
                software what the program adds on the quiet network, contention what the background adds; the three multiply \
                to all exactly, and their logarithms add up; contention once more as a ratio of geometric means, 95 %";
    Section::of(
        "Hardware, software, contention",
        note,
        vec![Block::Table(table), Block::Figure(seconds(verdict))],
    )
}

/// The addition of each factor, stacked; for the largest file, a bar for each row.
fn seconds(verdict: &CopyVerdict) -> Figure {
    let head = [
        "program",
        "file",
        "storage",
        "background",
        "raw",
        "hardware",
        "software",
        "contention",
        "all",
    ];
    let mut table = Table::new("Seconds that each adds", &head, 4);
    for CopyChain { cell, chain, .. } in &verdict.chains {
        let added = added(chain).map(|seconds| Cell::number(Some(seconds)));
        let all = Cell::number(Some(chain.contention.seconds));
        table.rows.push(names(cell).into_iter().chain(added).chain([all]).collect());
    }
    let largest = verdict.chains.iter().map(|one| one.cell.size).max();
    let place = |one: &CopyChain| (one.cell.storage, one.cell.cache);
    let first = verdict.chains.first().map(place);
    let shown = |one: &&CopyChain| Some(one.cell.size) == largest && Some(place(one)) == first;
    let bars: Vec<&CopyChain> = verdict.chains.iter().filter(shown).collect();
    let parts = ["raw", "hardware", "software", "contention"].into_iter().enumerate().map(
        |(part, name)| {
            // A factor that makes a copy faster has no height.
            let heights = bars.iter().map(|one| Some(added(&one.chain)[part].max(0.0))).collect();
            (name.to_owned(), Role::Member(part), heights)
        },
    );
    let words = bars
        .iter()
        .map(|one| format!("{} {}", one.cell.program_name(), one.cell.background))
        .collect();
    let panel = Panel::stacked("", ("", words), "s", parts);
    Figure {
        name: "factors".to_owned(),
        title: "Seconds that each factor adds, largest file".to_owned(),
        panels: vec![panel],
        layout: Layout::SideBySide,
        table,
    }
}

/// Seconds that each adds, in the chain's order.
fn added(chain: &Chain) -> [f64; 4] {
    [chain.raw, chain.hardware, chain.software, chain.contention].map(|link| link.added_seconds)
}

pub(super) fn fits(verdict: &CopyVerdict) -> Option<Section> {
    let head = [
        "program",
        "background",
        "fixed, ms",
        "Mb/s",
        "window, kB",
        "furthest from the line, %",
        "100 MB, s",
    ];
    let mut table = Table::new("Fixed part and rate", &head, 2);
    for fit in &verdict.fits {
        let large = three_digits(fit.large_seconds);
        table.rows.push(vec![
            Cell::text(way(fit.program, fit.direction)),
            Cell::text(fit.background.to_string()),
            Cell::estimate(Some(&fit.fixed_seconds), 1.0 / MILLI),
            Cell::number(Some(fit.bits_per_second / MEGA)),
            Cell::number(fit.window_bytes.map(|bytes| bytes / KILO)),
            Cell::number(Some(fit.worst * PERCENT)),
            Cell::text(if fit.is_extrapolated { format!("{large}, extrapolated") } else { large }),
        ]);
    }
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] };
    let note = "T = fixed + size / rate, by least squares of relative errors; 95 %; the window is what that rate lets through in a round trip";
    Section::of("Large files", note, blocks)
}

pub(super) fn storage(verdict: &CopyVerdict) -> Option<Section> {
    let head = [
        "program",
        "file",
        "bare, memory, s",
        "bare, disk, s",
        "memory, s",
        "disk, s",
        "disk effect",
        "program effect",
        "interaction",
    ];
    let mut table = Table::new("Program and storage", &head, 2);
    for one in &verdict.storage {
        let times = [
            one.times.bare_memory,
            one.times.bare_disk,
            one.times.program_memory,
            one.times.program_disk,
        ];
        let effects = [one.disk_effect, one.program_effect, one.interaction];
        let names = [way(one.program, one.direction), one.size.to_string()].map(Cell::text);
        let numbers = times.into_iter().chain(effects).map(|value| Cell::number(Some(value)));
        table.rows.push(names.into_iter().chain(numbers).collect());
    }
    if table.rows.is_empty() {
        return None;
    }
    let interacting: Vec<String> = verdict
        .storage
        .iter()
        .filter(|one| one.stages_interact)
        .map(|one| way(one.program, one.direction))
        .collect();
    let told = if interacting.is_empty() {
        "Storage and program multiply: no interaction is more than a tenth in ln.".to_owned()
    } else {
        format!(
            "Storage and program overlap or hinder each other by more than a tenth in ln: {}.",
            interacting.join(", ")
        )
    };
    let note = "the largest file on the quiet network; effects are ratios, the interaction is what their product misses: \
                below 1 stages overlap";
    Section::of("Storage against program", note, vec![Block::Text(told), Block::Table(table)])
}
