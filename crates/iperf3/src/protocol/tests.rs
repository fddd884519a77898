use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(value: &Value) -> Result<Parameters, Ending> {
    Parameters::read(value.to_string().as_bytes(), &Limits::STANDARD)
}

fn refused(value: &Value) -> i32 {
    match read(value) {
        Err(Ending::Refused { code, .. }) => code,
        other => panic!("{value}: {other:?}"),
    }
}

/// What iperf3 3.12 sends without options.
#[test]
fn the_usual_parameters_are_read() {
    let usual = json!({"tcp": true, "omit": 0, "time": 10, "num": 0, "blockcount": 0, "parallel": 1,
        "len": 131_072, "pacing_timer": 1000, "client_version": "3.12"});
    let parameters = read(&usual).expect("parameters");
    assert_eq!(parameters.protocol, Protocol::Tcp);
    assert_eq!(parameters.direction, Direction::ToServer);
    assert_eq!(parameters.time, Some(Duration::from_secs(10)));
    assert_eq!((parameters.streams(), parameters.length), (1, 131_072));
    assert!(parameters.rate.is_none() && !parameters.wants_output);
}

#[test]
fn a_test_both_ways_has_twice_the_streams() {
    let both = json!({"udp": true, "time": 1, "parallel": 3, "len": 1448, "bidirectional": true,
        "bandwidth": 1e9, "udp_counters_64bit": 1});
    let parameters = read(&both).expect("parameters");
    assert_eq!(parameters.streams(), 6);
    let sends: Vec<bool> = (0..6).map(|place| parameters.server_sends(place)).collect();
    assert_eq!(sends, [false, false, false, true, true, true]);
    assert_eq!(parameters.rate, Some(1_000_000_000));
    assert!(parameters.has_long_counters);
}

#[test]
fn what_is_out_of_range_is_refused_by_its_number() {
    for (value, code) in [
        (json!([]), code::PARAMETERS),
        (json!({"time": 1, "sctp": true}), code::UNIMPLEMENTED),
        (json!({"time": 1, "authtoken": "x"}), code::AUTHENTICATION),
        (json!({"time": 3601}), code::DURATION),
        (json!({"time": 0}), code::DURATION),
        (json!({"time": -1}), code::DURATION),
        (json!({"time": "ten"}), code::DURATION),
        (json!({"time": 1, "parallel": 129}), code::STREAMS),
        (json!({"time": 1, "len": 1 << 21}), code::BLOCK_SIZE),
        (json!({"time": 1, "udp": true, "len": 15}), code::BLOCK_SIZE),
        (json!({"time": 1, "omit": 601}), code::OMIT),
        (json!({"time": 1, "congestion": "../../etc"}), code::SET_CONGESTION),
    ] {
        assert_eq!(refused(&value), code, "{value}");
    }
}

#[test]
fn streams_are_numbered_as_iperf3_does() {
    assert_eq!((0..5).map(stream_id).collect::<Vec<_>>(), [1, 3, 4, 5, 6]);
}

/// Those of clients before 3.2 begin with the name of their host.
#[test]
fn cookies_are_any_octets_and_a_nul() {
    for letter in [b'a', b'1', b'.', b'B', 0xff] {
        let mut octets = [letter; Cookie::LENGTH];
        assert_eq!(Cookie::read(octets), None);
        octets[36] = 0;
        assert!(Cookie::read(octets).is_some());
    }
}

/// Clients since 3.20 have a message of their own for a server's limit.
#[test]
fn a_test_that_is_too_long_is_refused_in_the_words_of_its_client() {
    for (version, code) in [
        ("3.1.3", code::DURATION),
        ("3.12", code::DURATION),
        ("3.19.1+", code::DURATION),
        ("3.20", code::SERVER_DURATION),
        ("3.21+", code::SERVER_DURATION),
        ("4", code::SERVER_DURATION),
        ("99999999999999", code::DURATION),
        ("", code::DURATION),
    ] {
        for time in [0, 7200] {
            let asked = json!({"tcp": true, "time": time, "client_version": version});
            assert_eq!(refused(&asked), code, "{version}");
        }
    }
    let endless = read(&json!({"time": 0})).expect_err("no end").to_string();
    assert!(endless.contains("it asks for a test without an end"), "{endless}");
}

#[test]
fn states_are_their_octets() {
    for state in State::ALL {
        assert_eq!(State::of(state.octet()), Some(state));
    }
    assert_eq!(State::of(0xff), Some(State::AccessDenied));
    assert_eq!(State::of(0x7f), None);
}

proptest! {
    #[test]
    fn no_octets_panic(octets in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let _ = Parameters::read(&octets, &Limits::STANDARD);
    }

    #[test]
    fn no_values_panic(
        key in prop::sample::select(vec![
            "omit", "time", "num", "blockcount", "parallel", "len", "MSS", "window", "bandwidth", "fqrate",
            "burst", "TOS", "udp", "reverse", "bidirectional", "congestion", "title",
        ]),
        value in prop_oneof![
            any::<i64>().prop_map(|number| json!(number)),
            any::<f64>().prop_map(|number| json!(number)),
            any::<bool>().prop_map(|flag| json!(flag)),
            ".{0,40}".prop_map(|text| json!(text)),
            Just(Value::Null),
        ],
    ) {
        let mut whole = json!({"time": 1});
        whole[key] = value;
        if let Ok(parameters) = read(&whole) {
            prop_assert!(parameters.streams() <= 256 && parameters.length <= 1 << 20);
        }
    }
}

#[test]
fn cookies_of_clients_are_read_and_differ() {
    let [one, other] = [Cookie::random(), Cookie::random()];
    assert_eq!(Cookie::read(*one.octets()), Some(one));
    assert_ne!(one, other);
}

proptest! {
    /// What this client says is what its server reads.
    #[test]
    fn parameters_survive(
        is_udp: bool, way in 0..3_usize, parallel in 1..128_u16, length in 16..65_507_usize, omit in 0..600_u64,
        time in 1..3600_u64, rate in prop::option::of(1..MOST_RATE), burst in 1..2_u32, no_delay: bool,
        octet in prop::option::of(1..=255_u8), has_long_counters: bool,
        congestion in prop::option::of("[a-z_]{1,15}"),
    ) {
        let parameters = Parameters {
            protocol: if is_udp { Protocol::Udp } else { Protocol::Tcp },
            direction: [Direction::ToServer, Direction::ToClient, Direction::Both][way],
            parallel,
            length,
            omit: Duration::from_secs(omit),
            time: Some(Duration::from_secs(time)),
            no_delay,
            segment_bytes: None,
            window_bytes: None,
            rate,
            burst,
            type_of_service: octet,
            congestion,
            wants_output: false,
            has_long_counters,
            repeats_payload: false,
            title: None,
        };
        let read = Parameters::read(parameters.text().as_bytes(), &Limits::STANDARD);
        prop_assert_eq!(read.expect("parameters"), parameters);
    }
}
