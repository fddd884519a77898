//! What `iperf3 -J` prints, at a client or at a server.
//!
//! "Up" is from the client to the server in every file, so that the files of both ends agree. An end
//! counts what it sends or receives; a client also gets the counts of its server, and says them under
//! `end`. A server's file has zeros there for what only its client knows: they are left out.

mod document;
mod words;

use btu_contract::foreign::{ForeignCourse, ForeignQuantity, ForeignRun, ForeignUnit, MeasuredBy};
use btu_units::Span;

use self::document::{Iperf3Document, Sum};
use super::parse::document;
use super::{Began, Imported};

/// Reads a document of iperf3.
///
/// # Errors
/// A sentence that names the field that is wrong or missing, or the error of iperf3 where it measured
/// nothing.
pub fn read(text: &str) -> Result<Imported, String> {
    let document: Iperf3Document = document(text)?;
    let ways = ways(&document);
    if ways.iter().all(|way| way.sent.or(way.received).or(way.datagrams).is_none()) {
        return Err(words::nothing(&document));
    }
    let run = ForeignRun {
        program: words::program(&document),
        measured_by: MeasuredBy::Program,
        subject: words::subject(&document),
        answer: words::answer(&ways),
        quantities: quantities(&document, &ways),
        courses: ways.iter().filter_map(|way| course(&document, way)).collect(),
        remarks: words::remarks(&document, &ways),
        warnings: Vec::new(),
        faults: words::fault(&document).into_iter().collect(),
    };
    let began = document.start.timestamp.as_ref().map(|at| Began::UnixSeconds(at.timesecs));
    let lengths = ways.iter().filter_map(|way| way.own().map(|sum| sum.seconds));
    let duration = lengths.reduce(f64::max).map(Span::from_seconds_f64);
    Ok(Imported { run, began, duration })
}

/// A direction in which data went, with the counts of those ends that the file knows.
struct DataDirection<'a> {
    /// Its place in the document's pairs.
    place: usize,
    /// `up` is from the client to the server.
    name: &'static str,
    /// Whether the file is of the end that sent.
    is_sender: bool,
    sent: Option<&'a Sum>,
    received: Option<&'a Sum>,
    /// The sum with the receiver's counts of datagrams.
    datagrams: Option<&'a Sum>,
}

impl DataDirection<'_> {
    /// What the end counted that wrote the file.
    fn own(&self) -> Option<&Sum> {
        if self.is_sender { self.sent } else { self.received.or(self.datagrams) }
    }
}

fn ways(document: &Iperf3Document) -> Vec<DataDirection<'_>> {
    let end = &document.end;
    let has = |place: usize| {
        [&end.sum, &end.sum_sent, &end.sum_received].iter().any(|sums| sums[place].is_some())
    };
    let first = way(document, 0, !document.is_reverse());
    [first].into_iter().chain(has(1).then(|| way(document, 1, false))).collect()
}

fn way(document: &Iperf3Document, place: usize, is_up: bool) -> DataDirection<'_> {
    let end = &document.end;
    let is_sender = is_up == document.is_client();
    // The end that did not finish has not heard from the other one.
    let hears = document.is_client() && document.error.is_none();
    // Versions before 3.11 have only one sum of datagrams: its rate is that of the sender.
    let old = end.sum[place].as_ref();
    let has_rate = |sum: &&Sum| sum.bits_per_second.is_some();
    let sent = end.sum_sent[place].as_ref().or(old).filter(has_rate);
    let received = end.sum_received[place].as_ref().filter(has_rate);
    let received = received.filter(|_| !is_sender || hears);
    // A sum that only the sender counted has zeros in the place of losses and jitter.
    let is_counted = |sum: &&Sum| {
        [sum.jitter_ms, sum.lost_packets].iter().any(|one| one.is_some_and(|one| one > 0.0))
    };
    DataDirection {
        place,
        name: if is_up { "up" } else { "down" },
        is_sender,
        sent: sent.filter(|_| is_sender || hears),
        received,
        datagrams: received.filter(|sum| sum.jitter_ms.is_some()).or(old.filter(is_counted)),
    }
}

fn quantities(document: &Iperf3Document, ways: &[DataDirection<'_>]) -> Vec<ForeignQuantity> {
    let of = |one: fn(&DataDirection<'_>) -> Option<ForeignQuantity>| ways.iter().filter_map(one);
    of(goodput)
        .chain(of(lost_share))
        .chain(of(jitter))
        .chain(of(sent))
        .chain(of(sent_again))
        .chain(of(lost))
        .chain(of(datagrams))
        .chain(round_trip(document))
        .collect()
}

fn quantity(what: &str, way: &DataDirection<'_>, unit: ForeignUnit, value: f64) -> ForeignQuantity {
    ForeignQuantity::once(&format!("{what} {}", way.name), unit, value)
}

fn goodput(way: &DataDirection<'_>) -> Option<ForeignQuantity> {
    let rate = way.received?.bits_per_second?;
    let goodput = quantity("goodput", way, ForeignUnit::BitsPerSecond, rate);
    Some(goodput.noted("what the receiver counted"))
}

fn sent(way: &DataDirection<'_>) -> Option<ForeignQuantity> {
    let rate = way.sent?.bits_per_second?;
    let sent = quantity("sent", way, ForeignUnit::BitsPerSecond, rate);
    Some(sent.noted("what the sender handed to its system"))
}

fn sent_again(way: &DataDirection<'_>) -> Option<ForeignQuantity> {
    // A sender that cannot count them says -1.
    let count = way.sent?.retransmits.filter(|count| *count >= 0.0)?;
    Some(quantity("segments sent again", way, ForeignUnit::Count, count))
}

fn lost_share(way: &DataDirection<'_>) -> Option<ForeignQuantity> {
    let percent = way.datagrams?.lost_percent?;
    Some(quantity("lost datagrams", way, ForeignUnit::Share, percent / 100.0))
}

fn jitter(way: &DataDirection<'_>) -> Option<ForeignQuantity> {
    let milliseconds = way.datagrams?.jitter_ms?;
    let jitter = quantity("jitter", way, ForeignUnit::Seconds, milliseconds / 1000.0);
    Some(jitter.noted("RFC 3550, at the end of the test"))
}

fn lost(way: &DataDirection<'_>) -> Option<ForeignQuantity> {
    let count = way.datagrams?.lost_packets?;
    Some(quantity("number of lost datagrams", way, ForeignUnit::Count, count))
}

fn datagrams(way: &DataDirection<'_>) -> Option<ForeignQuantity> {
    let count = way.datagrams.or(way.sent)?.packets?;
    Some(quantity("number of datagrams", way, ForeignUnit::Count, count))
}

/// TCP's own round trip at the end that wrote the file, where it sent.
fn round_trip(document: &Iperf3Document) -> Option<ForeignQuantity> {
    let senders = document.end.streams.0.iter().filter_map(|stream| stream.sender.as_ref());
    // An old version does not say whose numbers these are; zero stands for no measurement.
    let own = senders.filter(|sender| sender.sender == Some(true));
    let times: Vec<f64> = own.filter_map(|one| one.mean_rtt.filter(|rtt| *rtt > 0.0)).collect();
    let mean_us = times.iter().sum::<f64>() / times.len() as f64;
    let way = if document.is_client() { "up" } else { "down" };
    let name = format!("TCP round trip {way}");
    (!times.is_empty()).then(|| {
        ForeignQuantity::once(&name, ForeignUnit::Seconds, mean_us / 1e6)
            .noted("the sender's smoothed time, mean of all intervals and streams")
    })
}

/// What the end that wrote the file counted in each interval; omitted ones are left out.
fn course(document: &Iperf3Document, way: &DataDirection<'_>) -> Option<ForeignCourse> {
    let mut points: Vec<[f64; 2]> = Vec::new();
    for interval in &document.intervals.0 {
        let sum = interval.sum[way.place].as_ref();
        let Some(sum) = sum.filter(|sum| !sum.omitted) else { continue };
        let rate =
            sum.bits_per_second.filter(|_| points.last().is_none_or(|last| sum.end > last[0]));
        points.extend(rate.map(|rate| [sum.end, rate]));
    }
    let what = if way.is_sender { "sent" } else { "goodput" };
    let name = format!("{what} {}", way.name);
    let unit = ForeignUnit::BitsPerSecond;
    (!points.is_empty()).then_some(ForeignCourse { name, unit, points })
}
