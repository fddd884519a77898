//! Intervals of samples that are known.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use btu_units::BitRate;

use super::*;
use crate::activity::{
    OpenLoop, Order, Receiving, Rendezvous, Request, Respond, TcpReceive, TcpSend, Transport,
    UdpReceive, UdpSend, Work,
};
use crate::network::Impairments;
use crate::record::TcpInfo;
use crate::script::{Role, Step};

const UNSET: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
const EVERY: Span = Span::from_seconds(1);

fn step(host: &str, peer: Option<usize>, activity: Activity) -> Step {
    let order = Order::new(1, Span::from_seconds(9), activity);
    Step { host: HostName::try_from(host).expect("a name"), role: Role::Network, peer, order }
}

/// Requests from `near`, two connections to `far`, and a stream of datagrams back.
fn script() -> Script {
    let (token, message, window, duration) =
        ([7; 16], Bytes::new(100), None, Span::from_seconds(3));
    let (listen, call) =
        (Rendezvous::Listen(UNSET), Rendezvous::Connect(SocketAddr::new(UNSET, 0)));
    let respond = Respond { on: UNSET, transport: Transport::Tcp, token, message };
    let request = Request {
        to: SocketAddr::new(UNSET, 0),
        transport: Transport::Tcp,
        token,
        message,
        duration,
        open_loop: Some(OpenLoop::every(Span::from_milliseconds(20))),
    };
    let receive = |meeting| {
        Activity::TcpReceive(TcpReceive {
            meeting,
            token,
            message,
            window,
            volume: None,
            receiving: Receiving::Plain,
        })
    };
    let send = |meeting| {
        Activity::TcpSend(TcpSend {
            meeting,
            token,
            message,
            work: Work::For(duration),
            window,
            unsent: None,
        })
    };
    let offered = BitRate::from_megabits_per_second(1);
    let datagrams = Activity::UdpSend(UdpSend {
        meeting: listen,
        token,
        message,
        offered,
        duration,
        hold: None,
    });
    let counted = Activity::UdpReceive(UdpReceive {
        meeting: call,
        token,
        message,
        expected_datagrams: 9,
        offered: None,
        tells: false,
    });
    let steps = vec![
        step("far", None, Activity::Respond(respond)),
        step("near", Some(0), Activity::Request(request)),
        step("far", None, receive(listen)),
        step("near", Some(2), send(call)),
        step("far", None, receive(listen)),
        step("near", Some(4), send(call)),
        step("far", None, datagrams),
        step("near", Some(6), counted),
    ];
    Script { impairments: Impairments::new(), steps }
}

fn sample(milliseconds: u64, bytes: u64) -> Sample {
    Sample {
        at: Span::from_milliseconds(milliseconds),
        bytes: Bytes::new(bytes),
        missing: None,
        tcp: None,
        requests: None,
    }
}

/// Seven requests were answered since the last sample, with a median of 1.87 s.
fn answered(milliseconds: u64) -> Sample {
    let [median, longest] = [1870, 1900].map(Span::from_milliseconds);
    let requests = Some(Answered { count: 7, median, longest });
    Sample { requests, ..sample(milliseconds, 0) }
}

fn sent(milliseconds: u64, total_retransmits: u32, rtt_us: u32) -> Sample {
    let tcp = TcpInfo {
        total_retransmits,
        rtt_us,
        cwnd_segments: 10,
        send_mss_bytes: 1448,
        ..TcpInfo::default()
    };
    Sample { tcp: Some(tcp), ..sample(milliseconds, 0) }
}

/// The samples of all steps at one moment.
fn all_tell(
    intervals: &mut Intervals,
    milliseconds: u64,
    bytes: u64,
    sent_again: u32,
    missing: u64,
) {
    for (step, sample) in [
        (1, answered(milliseconds)),
        (2, sample(milliseconds, bytes)),
        (3, sent(milliseconds, sent_again, 40_000)),
        (4, sample(milliseconds, bytes)),
        (5, sent(milliseconds, 0, 50_000)),
        (7, Sample { missing: Some(missing), ..sample(milliseconds, bytes / 2) }),
    ] {
        assert_eq!(intervals.ready(), None, "before step {step} has told");
        intervals.add(step, sample);
    }
}

#[test]
fn connections_of_one_direction_are_one_flow() {
    let mut intervals = Intervals::of(&script(), EVERY);
    assert_eq!(intervals.steps().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 7]);
    all_tell(&mut intervals, 1000, 125_000, 2, 3);
    let first = intervals.ready().expect("all have told");
    assert_eq!(
        (first.from_seconds, first.to_seconds, first.request_seconds, first.requests),
        (0.0, 1.0, Some(1.87), Some(7))
    );
    let [up, down] = &first.flows[..] else { panic!("two directions: {first:?}") };
    assert_eq!((up.from.as_str(), up.to.as_str(), down.from.as_str()), ("near", "far", "far"));
    assert_eq!(
        (up.goodput_bits_per_second, up.segments_sent_again, up.missed),
        (2e6, Some(2), None)
    );
    assert_eq!((up.congestion_window_bytes, up.round_trip_seconds), (Some(28_960), Some(0.05)));
    assert_eq!(
        (down.goodput_bits_per_second, down.missed, down.segments_sent_again),
        (0.5e6, Some(3), None)
    );
    // The next one a little late: rates are those of the time between.
    all_tell(&mut intervals, 2250, 375_000, 5, 1);
    let second = intervals.ready().expect("all have told");
    assert_eq!(
        (second.flows[0].goodput_bits_per_second, second.flows[0].segments_sent_again),
        (3.2e6, Some(3))
    );
    assert_eq!(second.flows[1].missed, Some(-2), "late ones filled gaps");
}

#[test]
fn nobody_waits_for_who_has_ended() {
    let mut intervals = Intervals::of(&script(), EVERY);
    for step in [1, 3, 4, 5, 7] {
        intervals.end(step);
    }
    assert_eq!(intervals.ready(), None);
    intervals.add(2, sample(1001, 1000));
    // An end that is still at work may be late by several intervals: they are one.
    intervals.add(2, sample(3000, 3000));
    assert!(intervals.ready().is_some_and(|first| first.flows.len() == 1));
    let second = intervals.ready().expect("the third second was told");
    assert_eq!(
        [second.from_seconds, second.to_seconds].map(f64::to_bits),
        [1.0, 3.0].map(f64::to_bits)
    );
    // 2000 bytes in 1.999 s.
    assert!(
        (second.flows[0].goodput_bits_per_second - 16_000.0 / 1.999).abs() < 1e-6,
        "{second:?}"
    );
    assert_eq!(intervals.ready(), None);
    intervals.add(99, sample(4000, 1));
}

/// A host with a wrong clock or wrong samples costs one interval for each sample, not one for each
/// second that it claims.
#[test]
fn a_sample_from_far_ahead_is_one_interval() {
    let mut intervals = Intervals::of(&script(), EVERY);
    for step in [1, 3, 4, 5, 7] {
        intervals.end(step);
    }
    let last = Span::from_nanoseconds(u64::MAX);
    intervals.add(2, sample(1000, 1000));
    intervals.add(2, Sample { at: last, ..sample(0, 2000) });
    assert!(intervals.ready().is_some_and(|first| first.to_seconds < 1.5));
    assert!(intervals.ready().is_some_and(|second| second.to_seconds > 1e10));
    intervals.add(2, sample(5000, 3000));
    assert_eq!(intervals.ready(), None, "what comes after its time is late");
}

/// A gap that is filled brings the application in one second what crossed the line in five; drawn is
/// what reached the receiver's kernel.
#[test]
fn a_gap_that_is_filled_is_no_fast_stream() {
    let mut intervals = Intervals::of(&script(), EVERY);
    for step in [1, 3, 4, 5, 7] {
        intervals.end(step);
    }
    let segments = |milliseconds: u64, bytes: u64, data_segments_received: u32| {
        let tcp = TcpInfo { data_segments_received, receive_mss_bytes: 1448, ..TcpInfo::default() };
        Sample { tcp: Some(tcp), ..sample(milliseconds, bytes) }
    };
    for (second, bytes) in [(1, 115_840), (2, 115_840), (3, 115_840), (4, 463_360)] {
        intervals.add(2, segments(second * 1000, bytes, 80 * second as u32));
    }
    let rates: Vec<f64> = std::iter::from_fn(|| intervals.ready())
        .map(|interval| interval.flows[0].goodput_bits_per_second)
        .collect();
    assert_eq!(rates, [80.0 * 1448.0 * 8.0; 4]);
}
