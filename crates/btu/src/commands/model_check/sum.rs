//! Combines all replications of a point, and decides whether the point is valid.

use std::collections::BTreeMap;

use btu_contract::record::WireAccount;
use btu_network::{Drawing, Medium};
use btu_report::{MeasuredAccounts, MeasuredFlow};
use btu_stats::{Level, arithmetic_mean, mean_interval};
use btu_units::Span;

use super::words::{FlowRecord, Record, Replication, warm_up};

/// The largest share of the mean delay that may be lateness of this machine.
const MOST_LATE_SHARE: f64 = 0.1;

/// As in the simulator: the share of a flow's packets that full queues may drop before it counts as
/// overload, and the share of sent frames by which the network may fill up.
const LOST: f64 = 0.01;
const GROWN: f64 = 0.02;

/// The reason that is counted when a bridge drops a copy of a frame that it need not forward. This
/// is not a loss.
const NO_LOSS: &str = "no route";
const QUEUE_FULL: &str = "queue full";

/// Each flow of `drawing`, from replications of this length. `reasons` has further causes for a void
/// point.
pub(super) fn sum(
    drawing: &Drawing,
    duration: Span,
    replications: &[Replication],
    reasons: &[String],
) -> Vec<MeasuredFlow> {
    let network = Network::of(drawing, duration, replications);
    let flow = |place: usize| {
        let records = replications.iter().filter_map(|(record, _)| record.flows.get(place));
        let mut measured = network.flow(&records.collect::<Vec<_>>());
        measured.void = reasons.iter().cloned().chain(network.void(&measured)).collect();
        measured
    };
    (0..drawing.traffic.len()).map(flow).collect()
}

/// The data that all flows share.
struct Network<'a> {
    replications: &'a [Replication],
    counted: Span,
    /// Whether frames may be damaged: the receiver's kernel drops those without a report.
    damages: bool,
    accounts: MeasuredAccounts,
    wire_late_seconds: f64,
}

impl<'a> Network<'a> {
    fn of(drawing: &Drawing, duration: Span, replications: &'a [Replication]) -> Self {
        let lateness = replications.iter().filter_map(|(_, account)| account.lateness.mean());
        Self {
            replications,
            counted: duration.saturating_sub(warm_up(duration)),
            damages: damages(drawing),
            accounts: accounts(replications),
            wire_late_seconds: arithmetic_mean(&lateness.collect::<Vec<_>>()).unwrap_or(0.0) / 1e9,
        }
    }

    fn flow(&self, records: &[&FlowRecord]) -> MeasuredFlow {
        let means: Vec<f64> = records.iter().filter_map(|record| record.delay_seconds).collect();
        let goodputs: Vec<f64> = records
            .iter()
            .map(|record| record.octets as f64 * 8.0 / self.counted.seconds())
            .collect();
        let lateness: Vec<f64> = records.iter().map(|record| record.late_seconds).collect();
        let (sent, received) =
            (total(records, |record| record.sent), total(records, |record| record.received));
        MeasuredFlow {
            delay: mean_interval(&means, Level::P95),
            simulated: None,
            replications_seconds: means,
            overloaded: self.is_overloaded(records, sent, received),
            void: Vec::new(),
            goodput_bits_per_second: mean_interval(&goodputs, Level::P95),
            sent,
            received,
            sender_late_seconds: arithmetic_mean(&lateness).unwrap_or(0.0),
            wire_late_seconds: self.wire_late_seconds,
            network: self.accounts.clone(),
        }
    }

    /// By the simulator's rule: full queues drop more than a little of the flow, or it falls behind
    /// while the network fills.
    fn is_overloaded(&self, records: &[&FlowRecord], sent: u64, received: u64) -> bool {
        let dropped: u64 = self.accounts.dropped.values().sum();
        let full = self.accounts.dropped.get(QUEUE_FULL).copied().unwrap_or(0) as f64
            / dropped.max(1) as f64;
        let overflow = full * share(sent - received, sent);
        let falls_behind =
            (total(records, |record| record.in_time) as f64) < sent as f64 * (1.0 - GROWN);
        overflow > LOST || (falls_behind && self.is_growing())
    }

    fn is_growing(&self) -> bool {
        let sum = |figure: fn(&Record) -> u64| {
            self.replications.iter().map(|(record, _)| figure(record)).sum::<u64>()
        };
        let grown = sum(|record| record.inside_at_end)
            .saturating_sub(sum(|record| record.inside_at_start)) as f64;
        grown > GROWN * self.accounts.sent as f64 && grown > 10.0 * self.replications.len() as f64
    }

    /// Why a flow's result is not, or not only, an effect of the network.
    fn void(&self, measured: &MeasuredFlow) -> Vec<String> {
        let sum = |figure: fn(&Record) -> u64| {
            self.replications.iter().map(|(record, _)| figure(record)).sum::<u64>()
        };
        let missed: u64 = self.replications.iter().map(|(_, account)| account.port_drops).sum();
        let counted = [
            (
                sum(|record| record.unsent),
                "packets were given up, because this machine was 1 s late with them",
            ),
            (sum(|record| record.refused), "packets were refused by the senders' kernels"),
            (sum(|record| record.buffer_drops), "packets arrived faster than they could be taken"),
            (missed, "packets came faster than the link emulator could take them"),
            (self.unexplained(), "packets are missing, and no accounts say why"),
        ];
        let counted = counted
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"));
        let late = measured
            .late_share()
            .filter(|late| *late > MOST_LATE_SHARE && !measured.overloaded)
            .map(|late| {
                format!(
                    "{:.0} % of the delay is lateness of this machine (sender {}, emulator {})",
                    late * 100.0,
                    Span::from_seconds_f64(measured.sender_late_seconds),
                    Span::from_seconds_f64(measured.wire_late_seconds)
                )
            });
        counted.chain(late).collect()
    }

    /// Packets that neither arrived, nor were dropped with a record, nor are in flight.
    fn unexplained(&self) -> u64 {
        let noted: u64 = self.accounts.dropped.values().sum();
        let machine: u64 = self
            .replications
            .iter()
            .map(|(record, account)| record.buffer_drops + account.port_drops)
            .sum();
        if self.damages { 0 } else { self.accounts.lost.saturating_sub(noted + machine) }
    }
}

fn total(records: &[&FlowRecord], figure: fn(&FlowRecord) -> u64) -> u64 {
    records.iter().map(|record| figure(record)).sum()
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn accounts(replications: &[Replication]) -> MeasuredAccounts {
    let mut accounts = MeasuredAccounts::default();
    for (record, account) in replications {
        let in_flight = account.held().min(record.sent - record.received);
        accounts.sent += record.sent;
        accounts.received += record.received;
        accounts.in_flight += in_flight;
        accounts.lost += record.sent - record.received - in_flight;
        for (cause, frames) in drops(account) {
            *accounts.dropped.entry(cause.clone()).or_insert(0) += frames;
        }
    }
    accounts
}

fn drops(account: &WireAccount) -> BTreeMap<String, u64> {
    let mut drops = BTreeMap::new();
    for (cause, frames) in account.elements.iter().flat_map(|element| &element.dropped) {
        if cause != NO_LOSS {
            *drops.entry(cause.clone()).or_insert(0) += frames;
        }
    }
    drops
}

fn damages(drawing: &Drawing) -> bool {
    let stars = drawing.segments.iter().filter_map(|segment| match &segment.medium {
        Medium::SwitchedEthernet(star) => Some(star),
        Medium::Atm(atm) => Some(&atm.star),
        Medium::SharedEthernet(_) | Medium::TokenRing(_) | Medium::Fddi(_) => None,
    });
    let lines = stars.flat_map(|star| [&star.up, &star.down]);
    lines
        .chain(drawing.links.iter().flat_map(|link| [&link.forth, &link.back]))
        .any(|line| line.corrupt.share() > 0.0)
}

#[cfg(test)]
mod tests {
    use btu_contract::record::ElementAccount;
    use btu_stats::Histogram;

    use super::*;

    const LINE: &str = "[stations.a]\n[stations.b]\n[links.line]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mb/s\"\n\
                        [traffic.load]\nfrom = \"a\"\nto = \"b\"\nsize = \"1000 B\"\nload = \"30 %\"\n";

    /// 1000 packets with a mean delay of 1 ms, with the number of missing ones and the causes.
    fn replication(missing: u64, dropped: &[(&str, u64)], held: u64) -> Replication {
        let received = 1000 - missing;
        let (delay_seconds, late_seconds) = (Some(1e-3), 10e-6);
        let flow = FlowRecord {
            sent: 1000,
            received,
            octets: 1000 * received,
            in_time: received,
            delay_seconds,
            late_seconds,
        };
        let record = Record { flows: vec![flow], sent: 1000, received, ..Record::default() };
        let dropped =
            dropped.iter().map(|(cause, frames)| ((*cause).to_owned(), *frames)).collect();
        let element = |name: &str, dropped, held| ElementAccount {
            name: name.to_owned(),
            received: 0,
            duplicated: 0,
            delivered: 0,
            dropped,
            held,
        };
        let mut lateness = Histogram::new();
        lateness.record(20_000);
        let elements =
            vec![element("line/forth", dropped, held), element("p-a/receive", Vec::new(), 0)];
        (record, WireAccount { elements, lateness, ..WireAccount::default() })
    }

    fn measured(replications: &[Replication]) -> MeasuredFlow {
        let drawing = Drawing::read(LINE, "line.toml").unwrap();
        sum(&drawing, Span::from_seconds(2), replications, &[]).remove(0)
    }

    #[test]
    fn replications_make_a_mean_with_its_interval_and_one_set_of_accounts() {
        let mut second = replication(3, &[("loss", 2), ("no route", 7)], 1);
        second.0.flows[0].delay_seconds = Some(2e-3);
        let measured = measured(&[replication(0, &[], 0), second]);
        let delay = measured.delay.unwrap();
        assert!((delay.value - 1.5e-3).abs() < 1e-12 && delay.interval.is_some());
        assert!(measured.void.is_empty() && !measured.overloaded, "{measured:?}");
        let MeasuredAccounts { sent, received, dropped, lost, in_flight } = measured.network;
        assert_eq!((sent, received, lost, in_flight), (2000, 1997, 2, 1));
        assert_eq!(dropped, BTreeMap::from([("loss".to_owned(), 2)]));
        assert!((measured.wire_late_seconds - 20e-6).abs() < 1e-7, "within the histogram's grain");
        // 1000 and 997 frames of 1000 octets in the nine tenths that count.
        assert!(
            (measured.goodput_bits_per_second.unwrap().value - 998.5 * 8000.0 / 1.8).abs() < 1e-6
        );
    }

    #[test]
    fn what_no_accounts_explain_makes_a_point_void() {
        let void = |replication: Replication| measured(&[replication]).void.join("; ");
        assert!(void(replication(3, &[("loss", 2)], 0)).contains("1 packets are missing"));
        let mut full = replication(3, &[("loss", 2)], 0);
        full.0.buffer_drops = 1;
        assert_eq!(void(full), "1 packets arrived faster than they could be taken");
        let with = |change: fn(&mut Replication)| {
            let mut one = replication(0, &[], 0);
            change(&mut one);
            void(one)
        };
        assert!(with(|(record, _)| record.unsent = 5).contains("5 packets were given up"));
        assert!(with(|(record, _)| record.refused = 6).contains("refused"));
        assert!(
            with(|(record, _)| record.buffer_drops = 7).contains("faster than they could be taken")
        );
        assert!(
            with(|(_, account)| account.port_drops = 8).contains("faster than the link emulator")
        );
        // With the wire's 20 us that is 120 of 1000 us.
        assert!(
            with(|(record, _)| record.flows[0].late_seconds = 100e-6)
                .starts_with("12 % of the delay is lateness")
        );
        assert_eq!(with(|_| {}), "");
    }

    #[test]
    fn full_queues_are_overload_and_chance_is_not() {
        assert!(!measured(&[replication(100, &[("loss", 100)], 0)]).overloaded);
        assert!(measured(&[replication(100, &[("queue full", 90), ("loss", 10)], 0)]).overloaded);
        let mut behind = replication(0, &[], 0);
        (behind.0.inside_at_end, behind.0.flows[0].in_time) = (100, 900);
        assert!(measured(std::slice::from_ref(&behind)).overloaded);
        // In a network that is as full at the end as at the beginning, these numbers are only an
        // effect of the delay.
        behind.0.inside_at_start = 95;
        assert!(!measured(&[behind]).overloaded);
    }
}
