//! What limits each direction: each has an answer of its own, whatever the other one's is.

use btu_studies::breakdown::{LEAST_OF_LINE, LimitedBy};
use btu_studies::speed::{FlowSpeed, Phase, SpeedRow, SpeedVerdict, Wait};

use super::{PERCENT, name, way};

/// If TCP gets this share of a line's capacity, the line is the limit: the rest is its start and
/// its recovery from losses.
const MOST_OF_LINE: f64 = 0.8;

/// A cause in words, its share, and what that is a share of.
struct LimitCause {
    words: String,
    share: f64,
    of: &'static str,
    name: String,
}

/// `the receiver's window: 99 % of the time of TCP up; the queue of a full line: 75 % of a request during TCP down`: each cause once.
pub(super) fn limit(verdict: &SpeedVerdict) -> String {
    let flows = verdict.rows.iter().flat_map(|row| row.flows.iter().map(move |flow| (row, flow)));
    let mut causes: Vec<LimitCause> =
        flows.clone().flat_map(|(row, flow)| of_flow(verdict, row, flow)).collect();
    // One wait of both directions at once.
    causes.dedup_by(|later, one| later.name == one.name && later.words == one.words);
    let mut said: Vec<String> = Vec::new();
    while let Some(first) = causes.first() {
        let words = first.words.clone();
        let (same, others): (Vec<LimitCause>, Vec<LimitCause>) =
            causes.into_iter().partition(|one| one.words == words);
        said.push(format!("{words}: {}", shares(&same)));
        causes = others;
    }
    // Where the line is not the limit, how much of it is used.
    let small = flows.filter_map(|(row, flow)| {
        let is_full = queue(verdict, row, flow).is_some();
        let share = of_line(row, flow).filter(|share| *share < MOST_OF_LINE && !is_full)?;
        Some((way(row, flow), share))
    });
    let small: Vec<String> = small
        .enumerate()
        .map(|(place, (name, share))| {
            let of = if place == 0 { " of the line" } else { "" };
            format!("{name} gets {:.0} %{of}", share * PERCENT)
        })
        .collect();
    if !small.is_empty() {
        said.push(small.join(", "));
    }
    said.join("; ")
}

/// Of what a network file says that the line carries, one direction at a time.
fn of_line(row: &SpeedRow, flow: &FlowSpeed) -> Option<f64> {
    let is_alone = matches!(row.cell.phase, Phase::Up | Phase::Down);
    Some(flow.goodput?.value / flow.expected_bits_per_second.filter(|_| is_alone)?)
}

/// The queue where requests certainly wait in one for too long, and an end that is small next to it; the line where it is known
/// and most of it is used, else what the time of the flow says.
fn of_flow(verdict: &SpeedVerdict, row: &SpeedRow, flow: &FlowSpeed) -> Vec<LimitCause> {
    let name = way(row, flow);
    let limit = flow.breakdown.map(|breakdown| breakdown.limit());
    let of_time = limit.map(|limit| LimitCause {
        words: limit.words(),
        share: limit.share,
        of: "of the time of",
        name: name.clone(),
    });
    if let Some(queue) = queue(verdict, row, flow) {
        let is_small = |by| matches!(by, LimitedBy::ReceiverWindow | LimitedBy::SendBuffer);
        let end = of_time.filter(|_| limit.is_some_and(|limit| is_small(limit.by)));
        return [queue].into_iter().chain(end).collect();
    }
    let share = of_line(row, flow).filter(|share| *share >= MOST_OF_LINE);
    let line =
        share.map(|share| LimitCause { words: "the line".to_owned(), share, of: "of it by", name });
    line.or(of_time).into_iter().collect()
}

fn queue(verdict: &SpeedVerdict, row: &SpeedRow, flow: &FlowSpeed) -> Option<LimitCause> {
    let share = of_line(row, flow);
    let is_other = |by| {
        use LimitedBy::{FullLine, NotToldApart, Path, ReceiverWindow, SendBuffer};
        !matches!(by, Path | FullLine | NotToldApart | ReceiverWindow | SendBuffer)
    };
    let limit = flow.breakdown.map(|breakdown| breakdown.limit());
    let excludes = limit.is_some_and(|limit| is_other(limit.by) && limit.or.is_none_or(is_other));
    let is_small = share.is_some_and(|share| share < LEAST_OF_LINE);
    let is_line = share.is_some_and(|share| share >= MOST_OF_LINE);
    if is_small || (excludes && !is_line) {
        return None;
    }
    let wait = long_wait(verdict, row)?;
    Some(LimitCause {
        words: "the queue of a full line".to_owned(),
        share: wait.seconds / row.round_trip?.median.value,
        of: "of a request during",
        name: name(row.cell.phase).to_owned(),
    })
}

/// A wait that is certainly longer than calls stand, and that no busy end makes.
fn long_wait<'a>(verdict: &'a SpeedVerdict, row: &SpeedRow) -> Option<&'a Wait> {
    let bloat = verdict.bloat.as_ref()?;
    let is_long = |wait: &&Wait| wait.seconds - wait.uncertainty_seconds > bloat.bound_seconds;
    let busy = |flow: &FlowSpeed| flow.breakdown.is_some_and(|one| one.keeps_requests_waiting());
    let wait = bloat.waits.iter().find(|wait| wait.phase == row.cell.phase).filter(is_long);
    wait.filter(|_| !row.flows.iter().any(busy))
}

/// `98 % of the time of TCP up, 64 % of TCP down`: only the last of the words are said again.
fn shares(causes: &[LimitCause]) -> String {
    let said = causes.iter().enumerate().map(|(place, LimitCause { share, of, name, .. })| {
        let of = if place == 0 { of } else { of.rsplit(' ').next().unwrap_or_default() };
        format!("{:.0} % {of} {name}", share * PERCENT)
    });
    said.collect::<Vec<_>>().join(", ")
}
