//! The process in the emulated network. It sends the drawn packets and receives what arrives, in
//! all stations.

use std::collections::BTreeSet;
use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use btu_contract::json;
use btu_medium::sim::{Offer, offers};
use btu_network::{Drawing, StationId};
use btu_stats::Welford;
use btu_testbed::{testbed, wire};
use btu_traffic::probe::{self, AROUND_PAYLOAD, Log, PacketOutcome, ScheduledPacket, Timeouts};
use btu_units::{Bytes, Span};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::words::{FlowRecord, PointOrder, Record};
use crate::terminal;

/// A sender with this lateness gives up. The point is void long before.
const MOST_LATE: Span = Span::from_seconds(1);

/// The longest wait for packets after the last was sent.
const TIMEOUT: Span = Span::from_seconds(10);

/// The longest wait for frames that are still inside after that, so that the accounts have none.
const DRAINING: Duration = Duration::from_secs(2);

/// The interval of checks for that.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The number of open files in addition to one for each station.
const FURTHER_FILES: u64 = 64;

/// Performs replication `number` of the order in this file, in the network with this runtime
/// directory, and prints the record. It gets the packets of the simulator's replication with this
/// number.
pub(crate) fn offer(directory: &Path, order: &Path, number: u32) -> anyhow::Result<()> {
    let order = fs::read(order).context("reading the order")?;
    let order: PointOrder = json::from_octets(&order).context("understanding the order")?;
    let offers = offers(&order.drawing, order.seed, number, order.duration);
    let stations: Vec<StationId> = offers
        .iter()
        .flat_map(|offer| [Some(offer.from), offer.to])
        .flatten()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let sockets = sockets(directory, &order.drawing, &stations)?;
    let parcels: Vec<ScheduledPacket> =
        offers.iter().map(|offer| parcel(offer, &stations)).collect();
    // This thread sends.
    let _wakefulness = wire::prepare();
    let log = probe::offer(&sockets, &parcels, Timeouts { lateness: MOST_LATE, arrival: TIMEOUT })?;
    await_drained(directory)?;
    terminal::print(&serde_json::to_string(&record(&order, &offers, &log))?)
}

/// Waits until the emulator holds no frame any more, or for a while.
fn await_drained(directory: &Path) -> anyhow::Result<()> {
    let deadline = Instant::now() + DRAINING;
    while testbed::account(directory)?.held() > 0 && Instant::now() < deadline {
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// A socket in each station.
fn sockets(
    directory: &Path,
    drawing: &Drawing,
    stations: &[StationId],
) -> anyhow::Result<Vec<UdpSocket>> {
    let wanted = stations.len() as u64 + FURTHER_FILES;
    let (now, most) =
        getrlimit(Resource::RLIMIT_NOFILE).context("asking for the limit of open files")?;
    if now < wanted {
        // A refusal shows when a socket cannot be opened.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, wanted.min(most), most);
    }
    let open = |&station: &StationId| {
        let station = drawing.station(station);
        Ok(testbed::inside(directory, &station.name, || probe::socket(station.address))??)
    };
    stations.iter().map(open).collect()
}

fn parcel(offer: &Offer, stations: &[StationId]) -> ScheduledPacket {
    // Every station of an offer was collected from the offers; no packet is sent to all.
    let place = |station: StationId| stations.binary_search(&station).unwrap_or_default() as u32;
    let payload = Bytes::new(offer.size.count().saturating_sub(AROUND_PAYLOAD.count()));
    ScheduledPacket {
        due: offer.at,
        from: place(offer.from),
        to: place(offer.to.unwrap_or(offer.from)),
        payload,
    }
}

fn record(order: &PointOrder, offers: &[Offer], log: &Log) -> Record {
    let inside_at = |time: Span| {
        let both = offers.iter().zip(&log.outcomes);
        both.filter(|(offer, outcome)| {
            offer.at <= time && outcome.arrived.is_some_and(|at| at > time)
        })
        .count() as u64
    };
    let flows = (0..order.drawing.traffic.len() as u32).map(|flow| {
        let own = offers.iter().zip(&log.outcomes).filter(move |(offer, _)| offer.flow == flow);
        flow_record(order, own)
    });
    let sent = log.outcomes.iter().filter(|outcome| outcome.sent.is_some()).count() as u64;
    Record {
        flows: flows.collect(),
        sent,
        received: log.outcomes.iter().filter(|outcome| outcome.arrived.is_some()).count() as u64,
        unsent: log.outcomes.len() as u64 - sent - log.refused,
        refused: log.refused,
        buffer_drops: log.buffer_drops,
        inside_at_start: inside_at(order.warm_up),
        inside_at_end: inside_at(order.duration),
    }
}

fn flow_record<'a>(
    order: &PointOrder,
    packets: impl Iterator<Item = (&'a Offer, &'a PacketOutcome)>,
) -> FlowRecord {
    let (mut delays, mut lateness) = (Welford::default(), Welford::default());
    let mut record = FlowRecord::default();
    for (offer, outcome) in packets {
        record.in_time +=
            u64::from(outcome.arrived.is_some_and(|at| at > order.warm_up && at <= order.duration));
        let Some(sent) = outcome.sent.filter(|_| offer.at >= order.warm_up) else { continue };
        record.sent += 1;
        lateness.push(sent.saturating_sub(offer.at).seconds());
        if let Some(arrived) = outcome.arrived {
            record.received += 1;
            record.octets += offer.size.count();
            delays.push(arrived.saturating_sub(offer.at).seconds());
        }
    }
    FlowRecord {
        delay_seconds: delays.mean(),
        late_seconds: lateness.mean().unwrap_or(0.0),
        ..record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets with these due times in milliseconds, sent 1 ms later, with their arrival times, if
    /// they arrived.
    fn log(packets: &[(u64, Option<u64>)]) -> (Vec<Offer>, Log) {
        let ms = Span::from_milliseconds;
        let (from, to, size) = (StationId(0), Some(StationId(1)), Bytes::new(1000));
        let offers = packets
            .iter()
            .map(|&(due, _)| Offer { at: ms(due), flow: 0, from, to, size })
            .collect();
        let outcomes = packets
            .iter()
            .map(|&(due, at)| PacketOutcome { sent: Some(ms(due + 1)), arrived: at.map(ms) })
            .collect();
        (offers, Log { outcomes, ..Log::default() })
    }

    fn order() -> PointOrder {
        let text = "[stations.a]\n[stations.b]\n[links.line]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mb/s\"\n\
                    [traffic.load]\nfrom = \"a\"\nto = \"b\"\nsize = \"1000 B\"\npackets_per_s = 10\n";
        let drawing = Drawing::read(text, "line.toml").unwrap();
        let (duration, warm_up) = (Span::from_milliseconds(100), Span::from_milliseconds(10));
        PointOrder { drawing, seed: 1, duration, warm_up }
    }

    #[test]
    fn packets_that_were_due_after_the_warm_up_count() {
        let (offers, log) = log(&[
            (1, Some(3)),
            (9, Some(12)),
            (10, Some(14)),
            (50, Some(58)),
            (70, None),
            (99, Some(105)),
        ]);
        let record = record(&order(), &offers, &log);
        assert_eq!((record.sent, record.received, record.unsent, record.refused), (6, 5, 0, 0));
        assert_eq!((record.inside_at_start, record.inside_at_end), (2, 1));
        let flow = &record.flows[0];
        assert_eq!((flow.sent, flow.received, flow.octets, flow.in_time), (4, 3, 3000, 3));
        assert!((flow.delay_seconds.unwrap() - 0.006).abs() < 1e-12);
        assert!((flow.late_seconds - 0.001).abs() < 1e-12);
    }

    #[test]
    fn frames_are_as_long_as_they_are_drawn() {
        let (offers, _) = log(&[(5, None)]);
        let parcel = parcel(&offers[0], &[StationId(0), StationId(1)]);
        assert_eq!((parcel.from, parcel.to, parcel.due), (0, 1, Span::from_milliseconds(5)));
        assert_eq!(parcel.payload, Bytes::new(1000 - 46));
    }

    #[test]
    fn an_order_comes_over_as_it_was() {
        let text = serde_json::to_string(&order()).unwrap();
        let heard: PointOrder = serde_json::from_str(&text).unwrap();
        assert_eq!(heard.drawing, order().drawing);
    }
}
