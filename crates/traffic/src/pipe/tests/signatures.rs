//! Whole signatures over every transport.

use btu_contract::pipe::{
    Buffers, Cache, Check, End, Kind, Pattern, PipePlan, Precision, SocketOptions,
};
use btu_units::{Bytes, Span};

use super::{assert_sound, describe, every_way, measure, measure_noting, plan};

#[test]
fn every_transport_moves_every_size_and_its_accounts_balance() {
    for plan in every_way(Pattern::PingPong, "1,2,3,64,1000,65000,150000,1000001") {
        let (points, left_out) = measure(&plan);
        let expected = match plan.kind {
            Kind::Udp => 6,
            Kind::UnixSeqpacket => 7,
            _ => 8,
        };
        assert_eq!(
            (points.len(), left_out),
            (expected, 8 - expected as u64),
            "{}",
            describe(&plan)
        );
        assert_sound(&plan, &points);
    }
}

/// What the schedule decides is tested there: with much time, the far ends come first.
#[test]
fn a_limited_time_spreads_the_sizes() {
    for pattern in Pattern::ALL {
        let plan = plan(Kind::UnixStream, pattern, "1,2,4,16,300000");
        let time = Some(Span::from_seconds(3600));
        let plan = PipePlan { precision: Precision { time, ..plan.precision }, ..plan };
        let (points, left_out) = measure(&plan);
        assert_sound(&plan, &points);
        let sizes: Vec<u64> = points.iter().map(|point| point.size.count()).collect();
        assert_eq!((&sizes[..], left_out), (&[1, 16, 300_000, 4, 2][..], 0), "{pattern}");
    }
}

#[test]
fn streams_are_timed_where_they_arrive() {
    for plan in every_way(Pattern::Streaming, "1,1000,60000") {
        let (points, _) = measure(&plan);
        assert_eq!(points.len(), 3);
        // Datagrams of a stream may get lost, here as anywhere.
        if plan.kind != Kind::Udp {
            assert_sound(&plan, &points);
        }
        assert!(points.iter().flat_map(|point| &point.trials).all(|trial| trial.clock == End::Far));
    }
}

#[test]
fn both_directions_at_once_never_wait_for_each_other() {
    // More than both sockets' buffers together hold, where a transport moves so much.
    for plan in every_way(Pattern::Bidirectional, "1,1000,60000,200000,10000000") {
        let plan = PipePlan {
            precision: Precision { least_repetitions: 10, most_repetitions: 10, ..plan.precision },
            ..plan
        };
        let (points, _) = measure(&plan);
        let expected = match plan.kind {
            Kind::Udp => 3,
            Kind::UnixSeqpacket => 4,
            _ => 5,
        };
        assert_eq!(points.len(), expected, "{}", describe(&plan));
        assert_sound(&plan, &points);
    }
}

#[test]
fn every_byte_of_every_transport_is_right() {
    for plan in every_way(Pattern::PingPong, "1,1000,60000") {
        let plan = PipePlan { buffers: Buffers { check: Check::Whole, ..plan.buffers }, ..plan };
        assert_sound(&plan, &measure(&plan).0);
    }
}

#[test]
fn several_pairs_are_measured_together() {
    for pattern in Pattern::ALL {
        for plan in every_way(pattern, "1,10000") {
            let plan = PipePlan {
                pairs: 3,
                precision: Precision { most_repetitions: 50, ..plan.precision },
                ..plan
            };
            let (points, _) = measure(&plan);
            assert_eq!(points.len(), 2, "{}", describe(&plan));
            if plan.kind != Kind::Udp || pattern != Pattern::Streaming {
                assert_sound(&plan, &points);
            }
        }
    }
}

#[test]
fn what_the_kernel_did_is_noted() {
    let zero_copy = SocketOptions { zero_copy: true, ..SocketOptions::default() };
    let plan = PipePlan { socket: zero_copy, ..plan(Kind::Tcp, Pattern::PingPong, "100000") };
    let (_, _, notes) = measure_noting(&plan);
    assert!(
        matches!(&notes[..], [note] if note.contains("the kernel copied all of them after all")),
        "{notes:?}"
    );
    let (_, _, notes) = measure_noting(&self::plan(Kind::Quic, Pattern::PingPong, "1000"));
    assert!(matches!(&notes[..], [note] if note.contains("segmentation offload")), "{notes:?}");
}

#[test]
fn cold_unaligned_whole_and_timed_one_by_one() {
    let cold = Cache::Cold { pool: Bytes::new(1 << 20) };
    let buffers = Buffers { cache: cold, offset: Bytes::new(5), check: Check::Whole };
    let plan = plan(Kind::UnixStream, Pattern::PingPong, "1,1000,150000");
    let plan = PipePlan { buffers, precision: Precision { each: true, ..plan.precision }, ..plan };
    let (points, _) = measure(&plan);
    assert_sound(&plan, &points);
    for point in &points {
        let rounds: u64 = point.trials.iter().map(|trial| trial.repetitions).sum();
        assert_eq!(point.each.as_ref().map(btu_stats::Histogram::count), Some(rounds));
    }
}

#[cfg(feature = "mpi")]
#[test]
fn mpi_tells_which_library_it_is_and_which_way_messages_went() {
    for plan in
        every_way(Pattern::PingPong, "1000").into_iter().filter(|plan| plan.kind == Kind::Mpi)
    {
        let (_, _, notes) = measure_noting(&plan);
        let [note] = &notes[..] else { panic!("{notes:?}") };
        assert!(
            note.starts_with("MPI by ") && note.contains("messages") && note.contains("busy"),
            "{note}"
        );
    }
}
