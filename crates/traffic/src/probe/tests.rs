//! Offers over loopback. Other tests check their promptness on known networks; these check the
//! counts.

use super::*;

const PATIENT: Timeouts =
    Timeouts { lateness: Span::from_seconds(10), arrival: Span::from_seconds(2) };

fn sockets(count: u8) -> Vec<UdpSocket> {
    (1..=count).map(|number| socket(Ipv4Addr::new(127, 0, 0, number)).unwrap()).collect()
}

/// So many packets, a fifth of a millisecond apart, from each socket in turn to the next one.
fn round(count: u32, sockets: u32) -> Vec<ScheduledPacket> {
    let scheduled = |number: u32| ScheduledPacket {
        due: Span::from_microseconds(200 * u64::from(number)),
        from: number % sockets,
        to: (number + 1) % sockets,
        payload: Bytes::new(8 + u64::from(number % 1400)),
    };
    (0..count).map(scheduled).collect()
}

#[test]
fn everything_is_sent_not_before_its_time_and_arrives_after_it_was_sent() {
    let schedule = round(1500, 3);
    let log = offer(&sockets(3), &schedule, PATIENT).unwrap();
    assert_eq!((log.outcomes.len(), log.refused, log.duplicates), (1500, 0, 0));
    let arrived = log.outcomes.iter().filter(|outcome| outcome.arrived.is_some()).count() as u64;
    assert_eq!(arrived + log.buffer_drops, 1500);
    for (scheduled, outcome) in schedule.iter().zip(&log.outcomes) {
        let sent = outcome.sent.expect("the sender is patient");
        assert!(sent >= scheduled.due);
        // The clocks are read together within a microsecond, or so many as the processor was away.
        assert!(
            outcome.arrived.is_none_or(|arrived| arrived + Span::from_milliseconds(1) >= sent),
            "{scheduled:?} {outcome:?}"
        );
    }
}

#[test]
fn what_is_not_of_the_offer_does_not_count() {
    let sockets = sockets(2);
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (schedule, target) = (round(200, 2), sockets[1].local_addr().unwrap());
    let log = thread::scope(|scope| {
        scope.spawn(|| {
            for length in (0..40).cycle().take(2000) {
                stranger.send_to(&[0xFF; 40][..length], target).unwrap();
            }
        });
        offer(&sockets, &schedule, PATIENT).unwrap()
    });
    let arrived = log.outcomes.iter().filter(|outcome| outcome.arrived.is_some()).count() as u64;
    assert!(arrived <= 200 && arrived + log.buffer_drops >= 200, "{arrived} {}", log.buffer_drops);
    assert_eq!(log.duplicates, 0);
}

#[test]
fn a_sender_that_cannot_follow_gives_up_and_says_what_it_did_not_send() {
    let schedule =
        vec![ScheduledPacket { due: Span::ZERO, from: 0, to: 0, payload: LEAST_PAYLOAD }; 5000];
    let hasty = Timeouts { lateness: Span::ZERO, arrival: Span::from_milliseconds(300) };
    let log = offer(&sockets(1), &schedule, hasty).unwrap();
    assert!(log.outcomes.iter().filter(|outcome| outcome.sent.is_none()).count() > 4000);
}

#[test]
fn packets_that_do_not_come_are_waited_for_a_while_and_missing() {
    let sockets = sockets(2);
    // The receiver's socket is connected to another address, so its kernel turns these packets
    // away.
    sockets[1].connect("127.0.0.9:9").unwrap();
    let schedule =
        [0, 1].map(|to| ScheduledPacket { due: Span::ZERO, from: 0, to, payload: LEAST_PAYLOAD });
    let log = offer(&sockets, &schedule, PATIENT).unwrap();
    assert_eq!(
        log.outcomes.iter().map(|outcome| outcome.arrived.is_some()).collect::<Vec<_>>(),
        [true, false]
    );
    assert!(log.outcomes[1].sent.is_some());
}

#[test]
fn nonsense_is_refused() {
    let good =
        ScheduledPacket { due: Span::from_seconds(1), from: 0, to: 0, payload: LEAST_PAYLOAD };
    let nobody = ScheduledPacket { to: 1, ..good };
    let small = ScheduledPacket { payload: Bytes::new(7), ..good };
    let early = ScheduledPacket { due: Span::ZERO, ..good };
    for schedule in [vec![nobody], vec![small], vec![good, early]] {
        assert!(
            matches!(offer(&sockets(1), &schedule, PATIENT), Err(TrafficError::Order { .. })),
            "{schedule:?}"
        );
    }
    assert_eq!(offer(&sockets(1), &[], PATIENT).unwrap(), Log::default());
}
