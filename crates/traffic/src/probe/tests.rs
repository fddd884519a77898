//! Offers over loopback. How prompt they are is tested where there is a known network; here it is what is counted.

use super::*;

const PATIENT: Patience = Patience { lateness: Span::from_seconds(10), arrival: Span::from_seconds(2) };

fn sockets(count: u8) -> Vec<UdpSocket> {
    (1..=count).map(|number| socket(Ipv4Addr::new(127, 0, 0, number)).unwrap()).collect()
}

/// So many packets, a fifth of a millisecond apart, from each socket in turn to the next one.
fn round(count: u32, sockets: u32) -> Vec<Parcel> {
    let parcel = |number: u32| Parcel {
        due: Span::from_microseconds(200 * u64::from(number)),
        from: number % sockets,
        to: (number + 1) % sockets,
        payload: Bytes::new(8 + u64::from(number % 1400)),
    };
    (0..count).map(parcel).collect()
}

#[test]
fn everything_is_sent_not_before_its_time_and_arrives_after_it_was_sent() {
    let parcels = round(1500, 3);
    let log = offer(&sockets(3), &parcels, PATIENT).unwrap();
    assert_eq!((log.fates.len(), log.refused, log.duplicates), (1500, 0, 0));
    let arrived = log.fates.iter().filter(|fate| fate.arrived.is_some()).count() as u64;
    assert_eq!(arrived + log.buffer_drops, 1500);
    for (parcel, fate) in parcels.iter().zip(&log.fates) {
        let sent = fate.sent.expect("the sender is patient");
        assert!(sent >= parcel.due);
        // The clocks are read together within a microsecond, or so many as the processor was away.
        assert!(fate.arrived.is_none_or(|arrived| arrived + Span::from_milliseconds(1) >= sent), "{parcel:?} {fate:?}");
    }
}

#[test]
fn what_is_not_of_the_offer_does_not_count() {
    let sockets = sockets(2);
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (parcels, target) = (round(200, 2), sockets[1].local_addr().unwrap());
    let log = thread::scope(|scope| {
        scope.spawn(|| {
            for length in (0..40).cycle().take(2000) {
                stranger.send_to(&[0xFF; 40][..length], target).unwrap();
            }
        });
        offer(&sockets, &parcels, PATIENT).unwrap()
    });
    let arrived = log.fates.iter().filter(|fate| fate.arrived.is_some()).count() as u64;
    assert!(arrived <= 200 && arrived + log.buffer_drops >= 200, "{arrived} {}", log.buffer_drops);
    assert_eq!(log.duplicates, 0);
}

#[test]
fn a_sender_that_cannot_follow_gives_up_and_says_what_it_did_not_send() {
    let parcels = vec![Parcel { due: Span::ZERO, from: 0, to: 0, payload: LEAST_PAYLOAD }; 5000];
    let hasty = Patience { lateness: Span::ZERO, arrival: Span::from_milliseconds(300) };
    let log = offer(&sockets(1), &parcels, hasty).unwrap();
    assert!(log.fates.iter().filter(|fate| fate.sent.is_none()).count() > 4000);
}

#[test]
fn packets_that_do_not_come_are_waited_for_a_while_and_missing() {
    let sockets = sockets(2);
    // Connected to somebody else, the receiver's kernel turns these packets away.
    sockets[1].connect("127.0.0.9:9").unwrap();
    let parcels = [0, 1].map(|to| Parcel { due: Span::ZERO, from: 0, to, payload: LEAST_PAYLOAD });
    let log = offer(&sockets, &parcels, PATIENT).unwrap();
    assert_eq!(log.fates.iter().map(|fate| fate.arrived.is_some()).collect::<Vec<_>>(), [true, false]);
    assert!(log.fates[1].sent.is_some());
}

#[test]
fn nonsense_is_refused() {
    let good = Parcel { due: Span::from_seconds(1), from: 0, to: 0, payload: LEAST_PAYLOAD };
    let nobody = Parcel { to: 1, ..good };
    let small = Parcel { payload: Bytes::new(7), ..good };
    let early = Parcel { due: Span::ZERO, ..good };
    for parcels in [vec![nobody], vec![small], vec![good, early]] {
        assert!(matches!(offer(&sockets(1), &parcels, PATIENT), Err(TrafficError::Order { .. })), "{parcels:?}");
    }
    assert_eq!(offer(&sockets(1), &[], PATIENT).unwrap(), Log::default());
}
