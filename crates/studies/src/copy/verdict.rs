//! The verdict over a run of `btu copy`: the times of every cell. Their parts are in
//! [`super::effects`].

use btu_model::BlockTransfer;
use btu_stats::median;
use btu_units::{BitRate, Span};
use serde::Serialize;

use super::effects::{CopyChain, Fit, StorageEffect, chains, fits, storage_effects};
use super::modelled::Cable;
use super::paper::{PaperRow, PaperTime, TIMES, compared_with_paper};
use super::plan::{Ends, ends};
use super::warning::copy_warnings;
use super::{
    BackgroundUse, CopyBreakdown, CopyCell, CopyPlan, Direction, Displacement, Marks, Modelled,
    Packets, Program, Summary,
};
use crate::limits::PathLimits;
use btu_contract::experiment::{Measured, Scripts, Warning};
use btu_contract::network::HostName;

/// The verdict over a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CopyVerdict {
    /// The network's rate: that of an Ethernet with full frames of equal time; `None` without
    /// emulation.
    #[serde(rename = "rate_bits_per_second")]
    pub rate: Option<BitRate>,
    /// One for each cell of the plan, in the plan's order.
    pub rows: Vec<CopyRow>,
    /// Time as a fixed part and a rate, for each program and background.
    pub fits: Vec<Fit>,
    /// Hardware, software and contention, for each program, size and background.
    pub chains: Vec<CopyChain>,
    /// Program and storage, two levels of each.
    pub storage: Vec<StorageEffect>,
    /// The printed values of the report of 1989, next to the measured ones.
    pub paper: Vec<PaperRow>,
    /// Times of that report, where the plan wants them in the picture.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paper_times: Vec<PaperTime>,
    /// The warnings about the result.
    pub warnings: Vec<Warning>,
}

/// One cell's copies. Times are seconds, medians of the valid cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CopyRow {
    /// Program, size, storage and background.
    #[serde(flatten)]
    pub cell: CopyCell,
    /// From the start of the command until the receiver has the file durable.
    pub seconds: Option<Summary>,
    /// The sender's marks, as medians: from the command's start where it put the file, else from
    /// when it let the receiver in.
    pub sender: Option<Marks>,
    /// The receiver's: from when it let the sender in, or from the command's start where it got the
    /// file.
    pub receiver: Option<Marks>,
    /// The line alone: the file's bits at the rate of full packets of TCP/IP.
    pub line_seconds: Option<f64>,
    /// The closed form's time: the program's round trips, and the line, or NFS's blocks one window
    /// after the other. With a background that does not give way, the copy has the remaining share
    /// of time, or an equal share if queues are fair. `None` with a background that gives way, on a
    /// shared medium.
    pub expected_seconds: Option<f64>,
    /// The median against that: a share.
    pub error: Option<f64>,
    /// The result of the background.
    pub background_use: Option<BackgroundUse>,
    /// Packets by the second at the end that measures the time, of the valid copy with the time
    /// nearest to the median.
    pub packets: Option<Packets>,
    /// The report's model of that copy, on a shared Ethernet.
    pub modelled: Option<Modelled>,
    /// Segments that were sent again, for programs with a visible connection.
    pub retransmits: Option<f64>,
    /// Where the time of that copy went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breakdown: Option<CopyBreakdown>,
    /// Cells that do not count.
    pub invalid: usize,
}

impl CopyRow {
    /// The median time of the copies, in seconds; `None` without a valid one.
    pub fn median(&self) -> Option<f64> {
        self.seconds.map(|summary| summary.median.value)
    }
}

/// Octets of a WRITE of NFS version 3 in addition to its data, and those of its reply: record mark,
/// call, credential with the token, handle, attributes.
const WRITE_BYTES: f64 = 144.0;
const WRITTEN_BYTES: f64 = 140.0;

/// Octets of a READ, and those of its reply in addition to the data.
const READ_BYTES: f64 = 136.0;
const PIECE_BYTES: f64 = 132.0;

impl PathLimits {
    pub(super) fn of(plan: &CopyPlan) -> Option<Self> {
        let drawing = plan.frame().network.drawing()?;
        let station = |host: Option<&HostName>| drawing.station_called(host?.as_str());
        let [from, to] = plan.hosts();
        Self::between(&drawing, station(from)?, station(to)?)
    }

    /// The closed form's time of a copy that has this share of the time, in seconds: the file, and
    /// the waits for answers.
    fn expected(&self, cell: CopyCell, left: f64) -> Option<f64> {
        let waiting = f64::from(round_trips(cell.program, cell.direction)?) * self.round_trip;
        let line = self.seconds(cell.size)?.1 / left;
        let Program::Nfs(writes) = cell.program else { return Some(line + waiting) };
        // Octets that go with the block, and those of the message the other way.
        let (around, other) = match cell.direction {
            Direction::Put => (WRITE_BYTES, WRITTEN_BYTES),
            Direction::Get => (PIECE_BYTES, READ_BYTES),
        };
        let blocks = BlockTransfer {
            bytes: cell.size.count() as f64,
            block_bytes: writes.block().count() as f64,
            around_bytes: around,
            other_bytes: other,
            bits_per_second: self.rate.bits_per_second() as f64,
            round_trip: self.round_trip,
            server: 0.0,
        };
        // A block enters the queue at once: datagrams of the background wait behind it rather than
        // between its frames.
        let line = blocks.line() / left;
        Some(blocks.windowed(writes.window() as f64).value?.max(line) + waiting)
    }
}

/// The number of a program's waits for answers, in addition to NFS's waits for its blocks. TCP's
/// handshake is one wait; the end of a file that is put is another, since only the receiver knows
/// when the file is durable. `None` for the system's programs, because their versions differ, and
/// for a share, because its client decides it.
const fn round_trips(program: Program, direction: Direction) -> Option<u8> {
    let trips = match (program, direction) {
        (Program::Local, _) => 0,
        // HTTP's request. Bare's token; the host that gets the file has its first octets with the
        // answer to it.
        (Program::Http, _) | (Program::Bare, Direction::Get) => 2,
        // Bare's token. NFS's token with the first call, LOOKUP.
        (Program::Bare, Direction::Put) | (Program::Nfs(_), Direction::Get) => 3,
        // The token, and rcp's record; the host that gets the file asks for the record, and for the
        // file.
        (Program::Rcp, _) => 4,
        // The token with the first call, CREATE, and COMMIT, which is the end.
        (Program::Nfs(writes), Direction::Put) => 4 - writes.is_sync() as u8,
        // The greeting, user, password, binary, the data connection's port, its handshake, RETR,
        // with the file in its answer.
        (Program::Ftp, Direction::Get) => 8,
        // Like a get, with STOR instead of RETR, and the end.
        (Program::Ftp, Direction::Put) => 9,
        (Program::Scp | Program::Sftp | Program::Rsync | Program::Vsftpd | Program::Mount, _) => {
            return None;
        }
    };
    Some(trips)
}

/// Judges a run by all its stored data.
pub(super) fn judge(plan: &CopyPlan, cells: &[Measured<CopyCell>]) -> CopyVerdict {
    let wire = PathLimits::of(plan);
    let cable = plan.frame().network.drawing().and_then(|drawing| Cable::of(&drawing));
    let rows: Vec<CopyRow> =
        plan.cells().into_iter().map(|cell| row(plan, cell, cells, (wire, cable))).collect();
    let chains = wire.map(|wire| chains(&rows, cells, wire)).unwrap_or_default();
    CopyVerdict {
        rate: wire.map(|wire| wire.rate),
        fits: fits(plan, cells, wire.map_or(0.0, |wire| wire.round_trip)),
        storage: storage_effects(plan, &rows),
        paper: compared_with_paper(&chains),
        paper_times: if plan.paper { TIMES.to_vec() } else { Vec::new() },
        chains,
        warnings: copy_warnings(&rows, cells, plan.mode),
        rows,
    }
}

/// Seconds of a valid cell's copy.
pub(super) fn seconds(measured: &Measured<CopyCell>) -> Option<f64> {
    let durable = ends(measured.cell.direction, &measured.seen)
        .filter(|_| measured.is_valid())?
        .marks
        .durable;
    (durable > Span::ZERO).then(|| durable.seconds())
}

fn row(
    plan: &CopyPlan,
    cell: CopyCell,
    cells: &[Measured<CopyCell>],
    (wire, cable): (Option<PathLimits>, Option<Cable>),
) -> CopyRow {
    let own: Vec<&Measured<CopyCell>> =
        cells.iter().filter(|measured| measured.cell == cell).collect();
    let valid = || own.iter().filter(|measured| measured.is_valid());
    let both: Vec<Ends<'_>> =
        valid().filter_map(|measured| ends(cell.direction, &measured.seen)).collect();
    let times: Vec<f64> = own.iter().filter_map(|measured| seconds(measured)).collect();
    let summary = Summary::of(&times);
    let is_remote = !cell.program.is_on_one_host();
    let line_seconds = wire.filter(|_| is_remote).and_then(|wire| Some(wire.seconds(cell.size)?.1));
    let background_use =
        typical_use(valid().filter_map(|measured| plan.background_use(&cell, &measured.seen)));
    let rest = 1.0 - background_use.map_or(0.0, |used| used.arrived.alone);
    let left =
        if wire.is_some_and(|wire| wire.is_fair) { rest.max(equal_share(plan)) } else { rest };
    let is_known = |wire: &PathLimits| {
        is_remote && left > 0.0 && (cell.background.is_quiet() || !wire.is_shared)
    };
    let expected_seconds = wire.filter(is_known).and_then(|wire| wire.expected(cell, left));
    let typical = typical(&both, summary);
    let command = typical.map(Ends::command_end);
    let retransmits: Vec<f64> =
        both.iter().filter_map(|ends| Some(f64::from(ends.sent.tcp?.total_retransmits))).collect();
    CopyRow {
        cell,
        seconds: summary,
        sender: typical_marks(both.iter().map(|ends| ends.sent.marks)),
        receiver: typical_marks(both.iter().map(|ends| ends.received.marks)),
        line_seconds,
        expected_seconds,
        error: summary
            .zip(expected_seconds)
            .map(|(summary, expected)| summary.median.value / expected - 1.0),
        background_use,
        packets: command.and_then(|command| Packets::of(&command.packets)),
        modelled: command.zip(cable).and_then(|(command, cable)| {
            let background = background_use.map_or(0.0, |used| used.arrived.during);
            let is_sent = cell.direction == Direction::Put;
            cable.modelled(
                &command.packets,
                is_sent,
                background * plan.full.bits_per_second() as f64,
            )
        }),
        retransmits: median(&retransmits),
        breakdown: typical.and_then(CopyBreakdown::of),
        invalid: own.iter().filter(|measured| !measured.is_valid()).count(),
    }
}

/// The share of each flow if all need more: those of the background, and the copy.
fn equal_share(plan: &CopyPlan) -> f64 {
    1.0 / (plan.pairs.len() as f64 + 1.0)
}

/// The copy with the time nearest to the median.
fn typical<'a, 'b>(both: &'b [Ends<'a>], summary: Option<Summary>) -> Option<&'b Ends<'a>> {
    let median = summary?.median.value;
    let distance = |ends: &&Ends<'_>| (ends.marks.durable.seconds() - median).abs();
    both.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// The median of each mark.
fn typical_marks(marks: impl Iterator<Item = Marks>) -> Option<Marks> {
    let marks: Vec<Marks> = marks.collect();
    let typical = |of: fn(&Marks) -> Span| {
        median(&marks.iter().map(|marks| of(marks).seconds()).collect::<Vec<_>>())
            .map(Span::from_seconds_f64)
    };
    Some(Marks {
        connected: typical(|marks| marks.connected)?,
        first_byte: typical(|marks| marks.first_byte)?,
        last_byte: typical(|marks| marks.last_byte)?,
        durable: typical(|marks| marks.durable)?,
    })
}

/// The median of each share.
fn typical_use(used: impl Iterator<Item = BackgroundUse>) -> Option<BackgroundUse> {
    let used: Vec<BackgroundUse> = used.collect();
    let typical = |of: fn(&BackgroundUse) -> f64| median(&used.iter().map(of).collect::<Vec<_>>());
    let arrived = Displacement {
        alone: typical(|used| used.arrived.alone)?,
        during: typical(|used| used.arrived.during)?,
    };
    Some(BackgroundUse {
        offered: typical(|used| used.offered)?,
        arrived,
        lost: typical(|used| used.lost)?,
    })
}
