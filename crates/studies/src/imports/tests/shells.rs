//! What shells, `2>&1`, editors and `--json-stream` make of a program's JSON.

use super::*;

/// The same result as that of the file without anything around it.
fn is_same(text: &str) -> Imported {
    let plain = imported("iperf3-tcp-up.json").run;
    let read = of(text);
    assert_eq!((&read.run.quantities, &read.run.courses), (&plain.quantities, &plain.courses));
    assert_eq!((read.run.answer == plain.answer, &read.run.subject), (true, &plain.subject));
    read
}

#[test]
fn lines_around_the_json_are_kept_as_a_remark() {
    let json = fixture("iperf3-tcp-up.json");
    let warned = is_same(&format!("warning: {{odd}} clock\n\n{json}"));
    let remark = "Around its JSON the file has: warning: {odd} clock.";
    assert_eq!(warned.run.remarks.last().map(String::as_str), Some(remark));
    assert!(warned.run.faults.is_empty());
    is_same(&format!("^[[F{json}"));
    // Some versions print all of it twice.
    is_same(&json.repeat(2));
    // The program ended with an error that is not in its JSON.
    let failed = is_same(&format!("{json}\niperf3: error - unable to send \u{1b}[2J\n"));
    assert_eq!(failed.run.faults, ["iperf3: error - unable to send ?[2J"]);
    // Lines of errors are those of the file.
    let wrong = json.replacen("\"sum_sent\":\t{", "\"sum_sent\":\t3, \"x\":\t{", 1);
    let line = |text: &str| {
        let why = read(text).expect_err("a wrong sum");
        why.split_once(" at line ").expect("a line").1.split(' ').next().map(str::to_owned)
    };
    let number: usize = line(&wrong).expect("a number").parse().expect("a number");
    assert_eq!(line(&format!("a\nb\n{wrong}")), Some((number + 2).to_string()));
}

#[test]
fn encodings_of_windows_are_read() {
    let json = fixture("iperf3-tcp-up.json").replace('\n', "\r\n");
    let wide = |write: fn(u16) -> [u8; 2]| {
        let units = "\u{feff}".encode_utf16().chain(json.encode_utf16());
        units.flat_map(write).collect::<Vec<u8>>()
    };
    let marked = format!("\u{feff}{json}").into_bytes();
    for octets in
        [wide(u16::to_le_bytes), wide(u16::to_be_bytes), marked, json.clone().into_bytes()]
    {
        is_same(&text(octets).expect("a text"));
    }
    for damaged in
        [&[0xff, 0xfe, 0x7b][..], &[0xff, 0xfe, 0x00, 0xd8], &[0xef, 0xbb, 0xbf, 0xff], &[0xff; 9]]
    {
        assert_eq!(text(damaged.to_vec()), None, "{damaged:?}");
    }
    assert_eq!(text(vec![0xff, 0xfe]).as_deref(), Some(""));
}

/// The events of `--json-stream` for a document.
fn events(document: &Value) -> Vec<String> {
    let event = |name: &str, data: &Value| format!("{{\"event\":\"{name}\",\"data\":{data}}}");
    let intervals = document["intervals"].as_array().unwrap();
    let intervals = intervals.iter().map(|interval| event("interval", interval));
    let start = event("start", &document["start"]);
    [start].into_iter().chain(intervals).chain([event("end", &document["end"])]).collect()
}

#[test]
fn a_stream_of_events_is_the_document_that_it_stands_for() {
    let json = fixture("iperf3-tcp-up.json");
    let document: Value = serde_json::from_str(&json).unwrap();
    let events = events(&document);
    let stream = events.join("\n");
    is_same(&stream);
    // With `--json-stream-full-output` the document follows.
    is_same(&format!("{stream}\n{json}"));
    let failed = format!("{stream}\n{{\"event\":\"error\",\"data\":\"interrupt\"}}");
    assert_eq!(of(&failed).run.faults, ["iperf3 did not finish: interrupt"]);
    let why = |text: &str| read(text).expect_err(text);
    assert!(why(&events[..2].join("\n")).contains("no result of the whole test"));
    assert!(why(&stream.repeat(2)).contains("more than one test"));
    assert!(why("{\"event\":\"end\",\"data\":{}}").contains("not a file that can be imported"));
    for end in (1..stream.len()).step_by(37) {
        let _ = read(&stream[..end]);
    }
    let many = "{\"event\":\"interval\",\"data\":{}}\n".repeat(100_001);
    assert!(why(&many).contains("more than 100000 JSON documents"));
}
