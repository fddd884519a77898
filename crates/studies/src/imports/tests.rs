//! Each file in `fixtures` was made by its program; the text with its name is what the program (for
//! iperf3, its other end) printed of the same measurement.

use std::io::Read as _;

use proptest::prelude::*;
use serde_json::Value;

use super::*;

mod old_flent;
mod old_iperf3;
mod refusals;
mod shells;

fn fixture(name: &str) -> String {
    let path = format!("{}/src/imports/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let octets = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    if !octets.starts_with(&[0x1f, 0x8b]) {
        return String::from_utf8(octets).unwrap();
    }
    let mut text = String::new();
    flate2::read::GzDecoder::new(&octets[..]).read_to_string(&mut text).unwrap();
    text
}

fn imported(name: &str) -> Imported {
    let imported = read(&fixture(name)).unwrap_or_else(|why| panic!("{name}: {why}"));
    assert_eq!(imported.run.check(), Ok(()), "{name}");
    imported
}

/// What a text is read as, which must be fit to be kept.
fn of(text: &str) -> Imported {
    let imported = read(text).unwrap_or_else(|why| panic!("{text}: {why}"));
    assert_eq!(imported.run.check(), Ok(()), "{text}");
    imported
}

fn value(imported: &Imported, name: &str) -> f64 {
    let found = imported.run.quantities.iter().find(|quantity| quantity.name == name);
    let names = || imported.run.quantities.iter().map(|one| &one.name).collect::<Vec<_>>();
    found.and_then(btu_contract::foreign::ForeignQuantity::typical).unwrap_or_else(|| {
        panic!("no `{name}` in {:?}", names());
    })
}

fn has(imported: &Imported, name: &str) -> bool {
    imported.run.quantities.iter().any(|quantity| quantity.name == name)
}

/// Whether a value is printed as this word, whose last digit was rounded.
fn assert_printed(value: f64, word: &str) {
    let printed: f64 = word.parse().unwrap_or_else(|_| panic!("`{word}` is not a number"));
    let digits = word.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    // Half a unit of the last digit, and what the fraction of a binary number may differ.
    let allowed = 0.5 * 0.1_f64.powi(i32::try_from(digits).unwrap()) * (1.0 + 1e-9);
    assert!((value - printed).abs() <= allowed, "{value} is not printed as {word}");
}

/// The words of the last line of `text` that has all of `parts`.
fn line<'a>(text: &'a str, parts: &[&str]) -> Vec<&'a str> {
    let found = text.lines().rfind(|line| parts.iter().all(|part| line.contains(part)));
    found.unwrap_or_else(|| panic!("no line with {parts:?}")).split_whitespace().collect()
}

/// The word before `unit`.
fn before<'a>(words: &[&'a str], unit: &str) -> &'a str {
    let place = words.iter().position(|word| *word == unit);
    words[place.unwrap_or_else(|| panic!("no {unit} in {words:?}")) - 1]
}

#[test]
fn iperf3_prints_the_same_rates() {
    for (name, quantity, parts) in [
        ("tcp-up", "goodput up", ["receiver", "["]),
        ("tcp-both", "goodput up", ["receiver", "[RX-S]"]),
        ("udp-up", "goodput up", ["receiver", "["]),
        ("udp-both", "goodput up", ["receiver", "[RX-S]"]),
        ("tcp-down", "sent down", ["sender", "[SUM]"]),
        ("server-tcp-up", "goodput up", ["receiver", "["]),
        ("server-udp-up", "goodput up", ["receiver", "["]),
        ("server-tcp-both", "goodput up", ["[TX-C]", "receiver"]),
    ] {
        let imported = imported(&format!("iperf3-{name}.json"));
        let text = fixture(&format!("iperf3-{name}.txt"));
        let printed = line(&text, &parts);
        assert_printed(value(&imported, quantity) / 1e6, before(&printed, "Mbits/sec"));
        assert!(imported.run.faults.is_empty() && imported.run.program == "iperf3 3.12");
    }
}

/// Of both ways at once, each end divides by its own time: they differ by 10 ms of 3 s.
#[test]
fn both_ends_of_iperf3_agree() {
    for (name, parts) in [
        ("tcp-both", ["sender", "[TX-S]"]),
        ("udp-both", ["sender", "[TX-S]"]),
        ("server-tcp-both", ["[RX-C]", "sender"]),
    ] {
        let sent = value(&imported(&format!("iperf3-{name}.json")), "sent down");
        let text = fixture(&format!("iperf3-{name}.txt"));
        let printed: f64 = before(&line(&text, &parts), "Mbits/sec").parse().unwrap();
        assert!((sent / 1e6 / printed - 1.0).abs() < 0.01, "{name}: {sent}, {printed}");
    }
}

#[test]
fn iperf3_prints_the_same_losses() {
    for name in ["udp-up", "server-udp-up"] {
        let imported = imported(&format!("iperf3-{name}.json"));
        let text = fixture(&format!("iperf3-{name}.txt"));
        let words = line(&text, &["receiver"]);
        assert_printed(value(&imported, "jitter up") * 1e3, before(&words, "ms"));
        let counts = [
            value(&imported, "number of lost datagrams up"),
            value(&imported, "number of datagrams up"),
        ];
        assert!(words.contains(&format!("{}/{}", counts[0], counts[1]).as_str()), "{words:?}");
        let share = format!("({:.0}%)", value(&imported, "lost datagrams up") * 100.0);
        assert!(words.contains(&share.as_str()), "{share} {words:?}");
    }
}

#[test]
fn iperf3_says_what_each_end_knows() {
    let up = imported("iperf3-tcp-up.json");
    assert_printed(value(&up, "segments sent again up"), "188");
    assert!(value(&up, "sent up") > value(&up, "goodput up"), "a queue was full at the end");
    assert!((value(&up, "TCP round trip up") - 0.068_624).abs() < 1e-9);
    assert_eq!(up.began, Some(Began::UnixSeconds(1_795_824_953)));
    assert!(up.duration.is_some_and(|time| time.seconds() > 2.9), "{:?}", up.duration);
    assert_eq!(up.run.subject, "TCP to server port 5201");

    let down = imported("iperf3-tcp-down.json");
    assert!(has(&down, "goodput down") && !has(&down, "goodput up"));
    assert!(
        down.run.remarks.contains(&"4 streams at a time.".to_owned()),
        "{:?}",
        down.run.remarks
    );
    let [course] = &down.run.courses[..] else { panic!("{:?}", down.run.courses) };
    assert_eq!((course.name.as_str(), course.points.len()), ("goodput down", 3));

    // A server hears nothing from its client, and the seconds that do not count are left out.
    let server = imported("iperf3-server-tcp-up.json");
    assert!(has(&server, "goodput up") && !has(&server, "sent up"));
    assert_eq!(server.run.courses[0].points.len(), 4);
    assert!(server.run.subject.starts_with("TCP with the client 198.18.0.1"));
    let both = imported("iperf3-server-tcp-both.json");
    assert!(has(&both, "sent down") && !has(&both, "goodput down") && !has(&both, "sent up"));
    let names: Vec<&str> = both.run.courses.iter().map(|course| course.name.as_str()).collect();
    assert_eq!(names, ["goodput up", "sent down"]);
    assert_eq!(imported("iperf3-udp-up.json").run.answer, "goodput 19.1 Mb/s up (20.9 % lost)");
}

#[test]
fn a_test_of_iperf3_that_broke_off_does_not_count() {
    let imported = imported("iperf3-interrupted.json");
    assert_eq!(
        imported.run.faults,
        ["iperf3 did not finish: interrupt - the client has terminated"]
    );
    assert!(has(&imported, "sent up") && !has(&imported, "goodput up"));
}

/// Before 3.11 a client of datagrams had one sum.
#[test]
fn an_old_sum_of_datagrams_is_that_of_the_sender() {
    let mut document: Value = serde_json::from_str(&fixture("iperf3-udp-up.json")).unwrap();
    let end = document["end"].as_object_mut().unwrap();
    end.remove("sum_sent");
    end.remove("sum_received");
    let imported = read(&document.to_string()).unwrap();
    assert!((value(&imported, "sent up") - 24_993_677.5).abs() < 1.0);
    assert!((value(&imported, "lost datagrams up") - 0.209_485).abs() < 1e-6);
    assert!(!has(&imported, "goodput up"));
}

/// The name of a series of Flent as btu calls it.
fn of_flent(name: &str, all: &[&str]) -> String {
    match name {
        "TCP download sum" | "TCP download" => "goodput down".to_owned(),
        "TCP upload sum" | "TCP upload" => "sent up".to_owned(),
        "Ping (ms) avg" => "round trip".to_owned(),
        "Ping (ms) ICMP" if !all.contains(&"Ping (ms) avg") => "round trip".to_owned(),
        other => other.replace("Ping (ms)", "round trip"),
    }
}

#[test]
fn flent_prints_the_same_averages() {
    for (file, lines) in [
        ("flent-ping.flent.gz", 2),
        ("flent-upload.flent.gz", 2),
        ("flent-both.flent", 3),
        ("flent-rrul.flent.gz", 18),
    ] {
        let imported = imported(file);
        let text = fixture(&format!("{}.txt", file.split_once('.').unwrap().0));
        let series: Vec<(&str, &str)> = text
            .lines()
            .filter_map(|line| line.split_once(" :"))
            .map(|(name, rest)| (name.trim(), rest))
            .collect();
        assert_eq!((series.len(), imported.run.quantities.len()), (lines, lines), "{file}");
        let names: Vec<&str> = series.iter().map(|(name, _)| *name).collect();
        for (name, rest) in &series {
            let words: Vec<&str> = rest.split_whitespace().collect();
            let unit = if words.contains(&"ms") { 1e-3 } else { 1e6 };
            assert_printed(value(&imported, &of_flent(name, &names)) / unit, words[0]);
        }
        assert_eq!(imported.run.program, "Flent 2.3.0");
        assert!(
            matches!(&imported.began, Some(Began::Written { text, .. }) if text.starts_with("2026-11-28T00:14"))
        );
    }
}

#[test]
fn flent_keeps_its_series() {
    let rrul = imported("flent-rrul.flent.gz");
    let names: Vec<&str> = rrul.run.quantities.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names[..4], ["goodput down", "sent up", "round trip", "round trip ICMP"]);
    assert_eq!(rrul.run.subject, "rrul_be to server");
    assert_eq!(rrul.run.courses.len(), 18);
    let ping = rrul.run.courses.iter().find(|course| course.name == "round trip ICMP").unwrap();
    assert!(ping.points.len() > 30 && ping.points[0][1] < 0.011, "{:?}", ping.points[0]);
    let note = &rrul.run.quantities[3].note;
    assert!(note.starts_with("average of `Ping (ms) ICMP`; median 80.5 ms"), "{note}");
}

#[test]
fn series_in_another_unit_are_named_and_left_out() {
    let mut document: Value = serde_json::from_str(&fixture("flent-upload.flent.gz")).unwrap();
    document["metadata"]["SERIES_META"]["TCP upload"]["UNITS"] = "W".into();
    let imported = read(&document.to_string()).unwrap();
    let left = "Left out, without values or in another unit: TCP upload.";
    assert_eq!(imported.run.remarks, [left]);
    assert!(!has(&imported, "sent up") && has(&imported, "round trip"));
    // Old files have neither units nor printed values: a mean over the grid.
    document["metadata"].as_object_mut().unwrap().remove("SERIES_META");
    document.as_object_mut().unwrap().remove("raw_values");
    assert!((value(&read(&document.to_string()).unwrap(), "sent up") / 1e6 - 19.2).abs() < 0.1);
    document["metadata"]["FAILED_RUNNERS"] = 2.into();
    let failed = read(&document.to_string()).unwrap().run.faults;
    assert_eq!(failed, ["2 of the programs that Flent started failed"]);
}

#[test]
fn hyperfine_prints_the_same_means() {
    for (name, commands) in [("one", 1), ("two", 2), ("parameters", 2)] {
        let imported = imported(&format!("hyperfine-{name}.json"));
        let text = fixture(&format!("hyperfine-{name}.txt"));
        let mut lines = text.lines();
        let mut compared = 0;
        while let Some(heading) = lines.find(|line| line.starts_with("Benchmark")) {
            let command = heading.split_once(": ").unwrap().1;
            let name = format!("time of `{command}`");
            let Some(found) = imported.run.quantities.iter().find(|one| one.name == name) else {
                assert!(
                    imported.run.warnings[0].starts_with(&format!("`{command}` failed in 5 of 5"))
                );
                continue;
            };
            let times: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
            let ends: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
            let mean = found.values.iter().sum::<f64>() / found.values.len() as f64;
            assert_printed(mean * 1e3, times[4]);
            let printed = format!("mean {} ms", times[4]);
            assert!(found.note.starts_with(&printed), "{printed}: {}", found.note);
            let [low, high] =
                [f64::min, f64::max].map(|of| found.values.iter().copied().reduce(of));
            assert_printed(low.unwrap() * 1e3, ends[4]);
            assert_printed(high.unwrap() * 1e3, ends[7]);
            assert_eq!(found.values.len().to_string(), ends[9], "{ends:?}");
            compared += 1;
        }
        assert_eq!((compared, imported.run.quantities.len()), (commands, commands));
        assert_eq!(imported.began, None);
    }
}

/// A copy of a document of one command with these codes of its repetitions.
fn with_codes(codes: &Value) -> Imported {
    let mut document: Value = serde_json::from_str(&fixture("hyperfine-one.json")).unwrap();
    document["results"][0]["exit_codes"] = codes.clone();
    of(&document.to_string())
}

#[test]
fn repetitions_that_failed_do_not_count() {
    let whole = imported("hyperfine-one.json").run.quantities.remove(0);
    let mut codes = vec![Some(0); whole.values.len()];
    (codes[0], codes[3]) = (Some(1), None);
    let run = with_codes(&serde_json::json!(codes)).run;
    let [some] = &run.quantities[..] else { panic!("{run:?}") };
    let expected = [&whole.values[1..3], &whole.values[4..]].concat();
    assert_eq!((&some.values, run.faults.len()), (&expected, 0));
    let all = whole.values.len();
    let warning = format!("`sleep 0.02` failed in 2 of {all} repetitions, which do not count");
    assert_eq!(run.warnings, [warning]);
    // Its own figures are of all of them.
    assert!(!some.note.contains("mean"), "{}", some.note);

    let run = with_codes(&serde_json::json!(vec![127; all])).run;
    assert_eq!((run.quantities.len(), run.faults.len(), run.warnings.len()), (0, 1, 1));
    assert_eq!(run.answer, "no command ended without an error");
}

#[test]
fn hyperfine_names_what_failed_and_its_parameters() {
    let run = imported("hyperfine-parameters.json").run;
    assert_eq!(
        run.warnings,
        ["`sleep 0.02; test 2 -ne 2` failed in 5 of 5 repetitions, which do not count"]
    );
    assert!(run.quantities[1].note.ends_with(", seconds = 3"), "{}", run.quantities[1].note);
    assert_eq!((run.subject.as_str(), run.quantities.len()), ("3 commands", 2));
    // A command that is measured twice has two results.
    let mut document: Value = serde_json::from_str(&fixture("hyperfine-one.json")).unwrap();
    let again = document["results"][0].clone();
    document["results"].as_array_mut().unwrap().push(again);
    let run = read(&document.to_string()).unwrap().run;
    assert_eq!(run.quantities[1].name, "time of `sleep 0.02 (2)`");
}

/// Any JSON, with the names that the readers look for.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    let name = prop::sample::select(vec![
        "start",
        "intervals",
        "end",
        "error",
        "sum",
        "sum_sent",
        "sum_received",
        "streams",
        "sender",
        "sum_sent_bidir_reverse",
        "bits_per_second",
        "seconds",
        "jitter_ms",
        "test_start",
        "reverse",
        "metadata",
        "x_values",
        "results",
        "raw_values",
        "NAME",
        "TIME",
        "SERIES_META",
        "UNITS",
        "TOTAL_LENGTH",
        "TCP upload",
        "Ping (ms) ICMP",
        "command",
        "mean",
        "user",
        "system",
        "times",
        "exit_codes",
        "parameters",
        "timesecs",
        "timestamp",
        "num_streams",
        "protocol",
        "omit",
    ]);
    leaf.prop_recursive(5, 60, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..8).prop_map(|fields| {
                Value::Object(
                    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
                )
            }),
        ]
    })
}

/// Replaces one value of a document, found by following `path`.
fn replace(document: &mut Value, path: &[usize], with: Value) {
    let Some((first, rest)) = path.split_first() else {
        *document = with;
        return;
    };
    let inner = match document {
        Value::Array(entries) if !entries.is_empty() => {
            let place = first % entries.len();
            entries.get_mut(place)
        }
        Value::Object(fields) if !fields.is_empty() => {
            let place = first % fields.len();
            fields.values_mut().nth(place)
        }
        _ => None,
    };
    match inner {
        Some(inner) => replace(inner, rest, with),
        None => *document = with,
    }
}

proptest! {
    #[test]
    fn no_json_panics(document in json()) {
        let text = document.to_string();
        let _ = read(&text);
        let _ = (iperf3::read(&text), flent::read(&text), hyperfine::read(&text));
    }

    #[test]
    fn no_changed_file_panics(
        file in prop::sample::select(vec![
            "iperf3-udp-both.json", "iperf3-tcp-up.json", "flent-ping.flent.gz", "hyperfine-two.json",
        ]),
        path in prop::collection::vec(any::<usize>(), 0..6),
        with in json(),
    ) {
        let mut document: Value = serde_json::from_str(&fixture(file)).unwrap();
        replace(&mut document, &path, with);
        if let Ok(imported) = read(&document.to_string()) {
            let _ = imported.run.check();
        }
    }
}
