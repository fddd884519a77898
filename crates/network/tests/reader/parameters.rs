//! Values of a file that a setting can change.

use btu_network::{Parameter, Quantity, Reader, library};

fn parameters(text: &str, settings: &[(&str, &str)]) -> Vec<Parameter> {
    let reader = settings
        .iter()
        .fold(Reader::new("lab.toml"), |reader, (key, value)| reader.set(key, value));
    reader.read_parameters(text).unwrap_or_else(|error| panic!("{error}")).1
}

fn lines(parameters: &[Parameter]) -> Vec<String> {
    let mark = |written| if written { "" } else { " (standard)" };
    parameters
        .iter()
        .map(|at| format!("{} = {} {:?}{}", at.key, at.text, at.quantity, mark(at.written)))
        .collect()
}

const LAB: &str = r#"
[segments.ether]
medium = "shared-ethernet"
rate = "10 Mb/s"
[segments.ring]
medium = "token-ring"
service = "gated"
[stations.pc]
segment = "ether"
count = 3
[stations.server]
segment = "ring"
[bridges.join]
segments = ["ether", "ring"]
[traffic.everyone]
from = "pc"
to = "server"
size = { mix = [["64 B", 1], ["1518 B", 1]] }
load = "30 %" # of the Ethernet
[traffic.ask]
from = "pc"
to = "server"
think = "1 s"
reply = "1518 B"
"#;

#[test]
fn what_is_written_stands_before_the_standards() {
    let expected = [
        "segments.ether.rate = 10 Mb/s Rate",
        "segments.ether.length = 500 m Length (standard)",
        "segments.ether.velocity = 0.77 Velocity (standard)",
        "segments.ring.service = gated Words",
        "segments.ring.rate = 16 Mb/s Rate (standard)",
        "segments.ring.length = 500 m Length (standard)",
        "segments.ring.velocity = 0.77 Velocity (standard)",
        "segments.ring.station_latency = 1 bits Bits (standard)",
        "stations.pc.count = 3 Count",
        "bridges.join.latency = 0 ms Time (standard)",
        "traffic.everyone.size = { mix = [[\"64 B\", 1], [\"1518 B\", 1]] } Words",
        "traffic.everyone.load = 30 % Load",
        "traffic.ask.think = 1 s Time",
        "traffic.ask.reply = 1518 B Size",
        "traffic.ask.size = 1518 B Size (standard)",
    ];
    assert_eq!(lines(&parameters(LAB, &[])), expected);
}

#[test]
fn settings_count_as_written() {
    let settings = [("traffic.everyone.size", "594 B"), ("segments.ether.length", "1 km")];
    let lines = lines(&parameters(LAB, &settings));
    assert!(lines.contains(&"traffic.everyone.size = 594 B Size".to_owned()), "{lines:#?}");
    assert!(lines.contains(&"segments.ether.length = 1 km Length".to_owned()), "{lines:#?}");
}

#[test]
fn a_direction_s_own_value_hides_the_line_s() {
    let text = "[stations.a]\n[stations.b]\n[links.line]\nbetween = [\"a\", \"b\"]\nrate = \"2 Mb/s\"\n\
                [links.line.back]\nrate = \"1 Mb/s\"\nloss = { p = \"1 %\", r = \"30 %\" }\n";
    let expected = [
        "links.line.rate = 2 Mb/s Rate",
        "links.line.back.rate = 1 Mb/s Rate",
        "links.line.back.loss.p = 1 % Share",
        "links.line.back.loss.r = 30 % Share",
        "links.line.delay = 0 ms Time (standard)",
    ];
    assert_eq!(lines(&parameters(text, &[])), expected);
}

/// Every parameter of every network of the library can be set to its own text, which changes
/// nothing.
#[test]
fn what_is_listed_can_be_set() {
    for (name, text) in library() {
        let (drawing, listed) = Reader::new(name).read_parameters(text).unwrap();
        assert!(!listed.is_empty(), "{name}");
        let all = listed.iter().fold(Reader::new(name), |reader, at| reader.set(&at.key, &at.text));
        let (again, set) =
            all.read_parameters(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(drawing == again, "{name}: a standard is not what the reader takes");
        for parameter in &listed {
            let after = set
                .iter()
                .find(|at| at.key == parameter.key)
                .unwrap_or_else(|| panic!("{parameter:?} is gone"));
            assert_eq!(
                (&after.text, after.quantity),
                (&parameter.text, parameter.quantity),
                "{name}"
            );
            let is_number = after.quantity.value(&after.text).is_some();
            assert_eq!(is_number, after.quantity != Quantity::Words, "{name}: {after:?}");
        }
    }
}
