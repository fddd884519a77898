//! The emulator's accounts, as text and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use btu_contract::record::{CaptureAccount, ElementAccount, SegmentUse, WireAccount};
use btu_testbed::note;
use btu_units::Span;
use serde::Serialize;

/// The accounts of a wire since its network is up.
#[derive(Debug, Serialize)]
pub(crate) struct Accounts {
    /// Frames that stations sent.
    frames_in: u64,
    /// Frames that stations received.
    frames_out: u64,
    /// Frames that the kernel dropped before the wire could take them.
    missed: u64,
    /// Frames dropped, by cause.
    dropped: BTreeMap<String, u64>,
    /// Frames dropped, by place and cause.
    dropped_at: BTreeMap<String, BTreeMap<String, u64>>,
    /// The lateness of frames against their due times.
    lateness: Lateness,
    /// For how long the emulator polled its ports without a frame.
    polled_ns: u64,
    /// The busy times of the media.
    segments: Vec<SegmentUse>,
    /// The account of the capture, if there was one.
    capture: Option<CaptureAccount>,
}

#[derive(Debug, Serialize)]
struct Lateness {
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
    bound_ns: u64,
    beyond_bound: u64,
    marked: bool,
}

impl Accounts {
    pub(crate) fn of(account: &WireAccount) -> Self {
        let side = |name: &str| {
            let ports = account.elements.iter().filter(|element| element.name.ends_with(name));
            ports.map(|port| port.delivered).sum()
        };
        Self {
            frames_in: side("/receive"),
            frames_out: side("/send"),
            missed: account.port_drops,
            dropped: by_cause(account.elements.iter()),
            dropped_at: dropped_at(&account.elements),
            lateness: Lateness::of(account),
            polled_ns: account.polled.nanoseconds(),
            segments: account.segments.clone(),
            capture: account.capture.clone(),
        }
    }
}

impl Lateness {
    fn of(account: &WireAccount) -> Self {
        let quantile = |share| account.lateness.quantile(share).unwrap_or(0);
        Self {
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            max_ns: account.lateness.max().unwrap_or(0),
            bound_ns: account.late_after.nanoseconds(),
            beyond_bound: account.late,
            marked: account.is_too_late(),
        }
    }
}

fn by_cause<'a>(elements: impl Iterator<Item = &'a ElementAccount>) -> BTreeMap<String, u64> {
    let mut causes = BTreeMap::new();
    for (cause, frames) in elements.flat_map(|element| &element.dropped) {
        *causes.entry(cause.clone()).or_insert(0) += frames;
    }
    causes
}

fn dropped_at(elements: &[ElementAccount]) -> BTreeMap<String, BTreeMap<String, u64>> {
    let places =
        elements.iter().map(|element| (element.name.clone(), by_cause(std::iter::once(element))));
    places.filter(|(_, causes)| !causes.is_empty()).collect()
}

/// A few lines for users.
pub(crate) fn text(account: &WireAccount) -> String {
    let accounts = Accounts::of(account);
    let frames = if account.superframes { "superframes" } else { "frames" };
    let mut text =
        format!("Link emulator: {} {frames} in, {} out, ", accounts.frames_in, accounts.frames_out);
    let dropped = accounts
        .dropped
        .iter()
        .map(|(cause, frames)| format!("{frames} {cause}"))
        .collect::<Vec<_>>();
    // Writing to a string cannot fail.
    let _ = if dropped.is_empty() {
        writeln!(text, "none dropped.")
    } else {
        writeln!(text, "dropped {}.", dropped.join(", "))
    };
    for segment in &account.segments {
        text += &busy(segment);
    }
    if account.lateness.count() > 0 {
        let late = &accounts.lateness;
        let [p50, p99, max] =
            [late.p50_ns, late.p99_ns, late.max_ns].map(Span::from_nanoseconds).map(round);
        let _ =
            writeln!(text, "  Frames left {p50} (p50), {p99} (p99), {max} (max) after their time.");
    }
    if account.polled > Span::ZERO {
        let polled = round(account.polled);
        let _ = writeln!(
            text,
            "  Between frames it polled for {polled}, on a processor that nothing else wanted."
        );
    }
    if let Some(capture) = &account.capture {
        let _ = writeln!(text, "  Captured {} frames, missed {}.", capture.frames, capture.missed);
    }
    text
}

/// The load of a segment; empty if no station used it.
fn busy(segment: &SegmentUse) -> String {
    if segment.frames == 0 && segment.collision_count == 0 {
        return String::new();
    }
    let collisions = match segment.collision_count {
        0 => String::new(),
        count => format!(", {count} collisions {:.1} %", 100.0 * segment.collision_share()),
    };
    format!(
        "  {}: {} frames, data {:.1} % of the time{collisions}.\n",
        segment.name,
        segment.frames,
        100.0 * segment.utilisation()
    )
}

/// To three digits: lateness is no more exact than that.
fn round(span: Span) -> Span {
    let nanoseconds = span.nanoseconds();
    let step = 10_u64.pow(nanoseconds.checked_ilog10().unwrap_or(0).saturating_sub(2));
    Span::from_nanoseconds((nanoseconds + step / 2) / step * step)
}

/// Prints warnings about a measurement over this wire, after its own failures.
pub(crate) fn warn(account: &WireAccount, failures: Vec<String>) {
    for warning in failures.into_iter().chain(warnings(account)) {
        note!("WARNING: {warning}");
    }
}

fn warnings(account: &WireAccount) -> Vec<String> {
    let mut warnings: Vec<String> = account.faults().collect();
    if account.is_too_late() {
        warnings.push(format!(
            "{:.1} % of the frames left more than {} late (up to {:.0} % is usual): what was measured over this network is \
             unreliable. Leave processors free for the link emulator, or draw a slower network.",
            100.0 * account.late_share(),
            account.late_after,
            100.0 * WireAccount::MOST_LATE
        ));
    }
    if account.port_drops > 0 {
        warnings.push(format!(
            "{} frames were lost before the link emulator could take them: stations sent faster than it can carry.",
            account.port_drops
        ));
    }
    if let Some(failure) = account.capture.as_ref().and_then(|capture| capture.failure.as_ref()) {
        warnings.push(format!("the capture ended early: {failure}"));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> WireAccount {
        let element = |name: &str, delivered, dropped: &[(&str, u64)]| ElementAccount {
            name: name.to_owned(),
            received: delivered + dropped.iter().map(|(_, frames)| frames).sum::<u64>(),
            duplicated: 0,
            delivered,
            dropped: dropped.iter().map(|(cause, frames)| ((*cause).to_owned(), *frames)).collect(),
            held: 0,
        };
        let mut account = WireAccount {
            elements: vec![
                element("p-a/receive", 10, &[]),
                element("trunk/forth/queue", 8, &[("queue full", 2)]),
                element("trunk/forth/loss", 7, &[("lost", 1)]),
                element("p-b/send", 7, &[]),
            ],
            late_after: Span::from_milliseconds(1),
            ..WireAccount::default()
        };
        (0..7).for_each(|_| account.lateness.record(12_000));
        account
    }

    #[test]
    fn accounts_are_added_up_by_cause_and_kept_by_place() {
        let accounts = Accounts::of(&account());
        assert_eq!((accounts.frames_in, accounts.frames_out), (10, 7));
        assert_eq!(
            accounts.dropped,
            BTreeMap::from([("lost".to_owned(), 1), ("queue full".to_owned(), 2)])
        );
        assert_eq!(accounts.dropped_at["trunk/forth/loss"]["lost"], 1);
        assert_eq!(accounts.dropped_at.len(), 2);
    }

    #[test]
    fn people_read_a_few_lines() {
        let text = text(&account());
        assert!(
            text.starts_with("Link emulator: 10 frames in, 7 out, dropped 1 lost, 2 queue full.\n"),
            "{text}"
        );
        assert!(text.contains("(p99)"), "{text}");
    }

    #[test]
    fn only_a_late_wire_is_warned_of() {
        let mut account = account();
        assert!(warnings(&account).is_empty());
        account.late = 1;
        assert!(
            warnings(&account)[0].contains("14.3 % of the frames left more than 1 ms late"),
            "{:?}",
            warnings(&account)
        );
    }

    #[test]
    fn an_account_that_does_not_balance_is_warned_of() {
        let mut account = account();
        account.elements[1].delivered -= 1;
        let said =
            "the accounts of the emulated trunk/forth/queue do not balance: 10 in, 9 out or held";
        assert_eq!(warnings(&account), [said]);
    }

    #[test]
    fn lateness_is_shown_to_three_digits() {
        assert_eq!(round(Span::from_nanoseconds(123_456)), Span::from_nanoseconds(123_000));
        assert_eq!(round(Span::ZERO), Span::ZERO);
    }
}
