//! What is no file of a program, or a damaged one.

use super::*;

fn refused(text: &str) -> String {
    let why = read(text).map(|imported| imported.run.answer).expect_err(text);
    assert!(!why.contains(btu_units::controls), "{why:?}");
    assert!(why.chars().count() < 600, "{why}");
    why
}

#[test]
fn what_no_program_wrote_is_refused_with_what_can_be_imported() {
    for text in ["", "hello", "[1, 2]", "{}", "{\"results\": null}", "{\"start\": {}}", "\u{1b}[2J"]
    {
        let why = refused(text);
        assert!(
            why.contains("not a file that can be imported") && why.contains("iperf3 -J"),
            "{why}"
        );
    }
}

#[test]
fn each_field_that_is_wrong_is_named() {
    let changed = |name: &str, from: &str, to: &str| {
        let text = fixture(name);
        assert!(text.contains(from), "{name}: {from}");
        refused(&text.replacen(from, to, 1))
    };
    for (why, words) in [
        (changed("hyperfine-one.json", "\"mean\": 0.020654337435", "\"mean\": NaN"), "`mean`"),
        (
            changed("hyperfine-one.json", "0.02054526206", "1e999"),
            "`times` cannot be read: number out of range",
        ),
        (
            changed("hyperfine-one.json", "\"user\": ", "\"user\": -"),
            "its `user` of `sleep 0.02` is below 0",
        ),
        (
            changed("hyperfine-one.json", "0.02054526206", "-1.5"),
            "its `times` of `sleep 0.02` is below 0",
        ),
        (changed("hyperfine-one.json", "\"times\": [", "\"no\": ["), "missing field `times`"),
        (
            changed("iperf3-tcp-up.json", "\"timesecs\":\t1795824953", "\"timesecs\":\"x\\u001b\""),
            "`timesecs`",
        ),
        (
            changed("iperf3-tcp-up.json", "\"sum_sent\":\t{", "\"sum_sent\":\t3, \"x\":\t{"),
            "`sum_sent`",
        ),
        (changed("iperf3-tcp-up.json", "\"reverse\":\t0", "\"reverse\":\ttrue"), "`reverse`"),
        (changed("flent-upload.flent.gz", "\"x_values\": [", "\"x_values\": [0.0,"), "`x_values`"),
        (
            changed("flent-upload.flent.gz", "\"x_values\": [", "\"x_values\": [9.0,"),
            "do not ascend",
        ),
        (changed("flent-upload.flent.gz", "\"NAME\": \"tcp_upload\"", "\"NAME\": 3"), "`NAME`"),
        (refused(r#"{"results": []}"#), "`results` are empty"),
        (refused(r#"{"start": {}, "end": {}}"#), "no result of the whole test"),
        (refused(&fixture("iperf3-refused.json")), "iperf3 failed: unable to connect to server"),
        (
            refused(&(fixture("iperf3-tcp-up.json") + &fixture("iperf3-tcp-down.json"))),
            "more than one JSON document, the second one in line 178",
        ),
        (
            refused(&format!("{{\"results\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000))),
            "`results` cannot be read",
        ),
    ] {
        assert!(why.contains(words), "{why}");
    }
}

#[test]
fn a_truncated_file_is_cut_short_wherever_it_ends() {
    for name in ["iperf3-tcp-up.json", "flent-ping.flent.gz", "hyperfine-one.json"] {
        let text = fixture(name);
        let text = text.trim_end();
        for end in (1..text.len()).step_by(97) {
            let why = refused(&text[..end]);
            assert!(why.contains("is cut short at line"), "{name} to {end}: {why}");
        }
    }
}

#[test]
fn a_list_without_end_is_refused_before_it_fills_the_memory() {
    let interval = r#"{"sum": {"end": 1, "bits_per_second": 1}}, "#.repeat(200_000);
    let why =
        refused(&format!("{{\"start\": {{}}, \"end\": {{}}, \"intervals\": [{interval}{{}}]}}"));
    assert!(why.contains("its longest list has more than 100000 entries at line 1"), "{why}");
}

#[test]
fn a_table_without_end_is_refused_too() {
    let series: Vec<String> = (0..2000).map(|number| format!("\"{number}\": []")).collect();
    let series = series.join(",");
    let metadata = r#""metadata": {"NAME": "x"}, "x_values": []"#;
    let why = refused(&format!("{{{metadata}, \"results\": {{{series}}}}}"));
    assert!(why.contains("its longest table has more than 1000 entries at line 1"), "{why}");
}

#[test]
fn names_do_nothing_to_a_terminal() {
    let text = fixture("hyperfine-one.json").replace("sleep 0.02", r"sleep\u001b[2J\n\u202e0");
    let run = read(&text).unwrap().run;
    assert_eq!(run.quantities[0].name, "time of `sleep?[2J??0`");
    let long = fixture("hyperfine-one.json").replace("sleep 0.02", &"x".repeat(100_000));
    assert!(read(&long).unwrap().run.subject.len() == 200);
    let text =
        fixture("iperf3-tcp-up.json").replace("\"host\":\t\"server\"", r#""host": "\u0007""#);
    assert_eq!(read(&text).unwrap().run.subject, "TCP to ? port 5201");
}
