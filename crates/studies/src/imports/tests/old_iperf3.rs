//! Documents of iperf3 in the shapes of its versions, made by hand: a second of a test.

use super::*;

/// A document of a client, or of a server, with this end.
fn document(is_client: bool, reverse: u8, end: &str) -> String {
    let peer = if is_client { "connecting_to" } else { "accepted_connection" };
    format!(
        r#"{{"start": {{"version": "iperf 3.9", "{peer}": {{"host": "a", "port": 1}}, "test_start":
        {{"protocol": "UDP", "num_streams": 1, "reverse": {reverse}}}}}, "intervals": [], "end": {{{end}}}}}"#
    )
}

/// Numbers of datagrams as iperf3 writes them.
fn sum(name: &str, rate: f64, [jitter, lost, packets]: [f64; 3]) -> String {
    let percent = if packets > 0.0 { 100.0 * lost / packets } else { 0.0 };
    format!(
        r#""{name}": {{"seconds": 1.0, "bits_per_second": {rate}, "jitter_ms": {jitter},
        "lost_packets": {lost}, "packets": {packets}, "lost_percent": {percent}}}"#
    )
}

/// Zeros of 3.1.3 to 3.9, which have one sum, and of those since 3.11.
#[test]
fn zeros_of_a_sender_are_no_losses() {
    let zeros = [0.0, 0.0, 691.0];
    let new =
        [sum("sum", 2e6, zeros), sum("sum_sent", 2e6, zeros), sum("sum_received", 0.0, [0.0; 3])];
    for end in [sum("sum", 2e6, zeros), new.join(",")] {
        let server = of(&document(false, 1, &end));
        for name in ["lost datagrams down", "jitter down", "number of lost datagrams down"] {
            assert!(!has(&server, name), "{name}: {server:?}");
        }
        assert!((value(&server, "sent down") - 2e6).abs() < 1.0);
        assert!((value(&server, "number of datagrams down") - 691.0).abs() < 0.1);
        assert_eq!(server.run.answer, "sent 2.00 Mb/s down");
    }
    // A receiver's zeros are counts.
    let end = [sum("sum_sent", 2e6, zeros), sum("sum_received", 2e6, [0.0, 0.0, 691.0])];
    let client = of(&document(true, 0, &end.join(",")));
    assert!(value(&client, "lost datagrams up").abs() < 1e-9);
}

/// Before 3.11 the rate in it is that of what the server sent: none.
#[test]
fn losses_of_an_old_server_are_read() {
    let server = of(&document(false, 0, &sum("sum", 0.0, [0.006, 14.0, 340.0])));
    assert!((value(&server, "lost datagrams up") - 14.0 / 340.0).abs() < 1e-9);
    assert!((value(&server, "jitter up") - 6e-6).abs() < 1e-12);
    assert_eq!(server.run.answer, "4.12 % lost up");
    assert!(!has(&server, "sent up") && !has(&server, "goodput up"), "{server:?}");
    assert_eq!(server.duration, Some(Span::from_seconds(1)));
}

#[test]
fn names_that_occur_twice_are_both_ways() {
    let both = |name: &str, up: f64, down: f64| {
        [up, down]
            .map(|rate| {
                format!(r#""{name}": {{"seconds": 1.0, "end": 1.0, "bits_per_second": {rate}}}"#)
            })
            .join(",")
    };
    let end = [both("sum_sent", 3e6, 8e6), both("sum_received", 2e6, 7e6)].join(",");
    let text =
        document(true, 0, &end).replace("[]", &format!("[{{{}}}]", both("sum", 3.5e6, 7.5e6)));
    let tcp = of(&text);
    for (name, rate) in
        [("sent up", 3e6), ("goodput up", 2e6), ("sent down", 8e6), ("goodput down", 7e6)]
    {
        assert!((value(&tcp, name) - rate).abs() < 1.0, "{name}: {tcp:?}");
    }
    let courses: Vec<_> =
        tcp.run.courses.iter().map(|one| (&*one.name, one.points[0][1])).collect();
    assert_eq!(courses, [("sent up", 3.5e6), ("goodput down", 7.5e6)]);
    let end = [sum("sum", 2e6, [0.1, 5.0, 100.0]), sum("sum", 4e6, [0.2, 30.0, 200.0])].join(",");
    let udp = of(&document(true, 0, &end));
    assert_eq!(udp.run.answer, "sent 2.00 Mb/s up (5.00 % lost), 4.00 Mb/s down (15.0 % lost)");
    // Other names that occur twice are called so.
    let twice = document(true, 0, "").replace("\"start\": {", "\"start\": {\"version\": \"x\", ");
    let why = read(&twice).expect_err("the version");
    assert!(why.contains("it cannot be read: duplicate field `version`"), "{why}");
}

/// 3.1.3 writes an error for each datagram that comes late, and the test goes on.
#[test]
fn late_datagrams_are_no_error() {
    let late =
        r#""error": "OUT OF ORDER - incoming packet = 2 and received packet = 3 AND SP = 5""#;
    let end = sum("sum", 0.0, [0.006, 14.0, 340.0]);
    let file = |errors: &str| {
        let text = document(false, 0, &end);
        of(&format!("{}, {errors}}}", text.strip_suffix('}').expect("an object"))).run
    };
    assert!(file(&vec![late; 1200].join(", ")).faults.is_empty());
    let failed = file(&format!(r#"{late}, "error": "interrupt", {late}"#));
    assert_eq!(failed.faults, ["iperf3 did not finish: interrupt"]);
}

/// `-nan` of a share of nothing, `null` of a rate in no time.
#[test]
fn numbers_that_are_none_are_left_out() {
    let end = sum("sum", 0.0, [0.006, 14.0, 340.0]).replace("4.117647058823529", "-nan");
    assert!(end.contains("-nan"), "{end}");
    let server = of(&document(false, 0, &end));
    assert!(has(&server, "jitter up") && !has(&server, "lost datagrams up"));
    let end = sum("sum_sent", 1.0, [0.0; 3])
        .replace("\"bits_per_second\": 1", "\"bits_per_second\": null");
    assert!(end.contains("null"), "{end}");
    let text =
        document(true, 0, &end).replace("\"intervals\"", "\"error\": \"interrupt\", \"intervals\"");
    let why = read(&text).expect_err("nothing moved");
    assert!(why.contains("no result, because iperf3 failed: interrupt"), "{why}");
}
