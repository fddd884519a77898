//! `btu runs import` of files that other programs wrote.

use std::io::Write as _;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::shelf::Shelf;

/// A file of the readers' own tests.
fn fixture(name: &str) -> String {
    let fixtures = "../studies/src/imports/fixtures";
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(fixtures).join(name);
    path.display().to_string()
}

fn import(shelf: &Shelf, name: &str) {
    let (code, out, errors) = shelf.btu(&["runs", "import", &fixture(name)]);
    assert!(code == Some(0) && out.contains("  imported"), "{name}: {out}{errors}");
}

fn shown(shelf: &Shelf, arguments: &[&str]) -> String {
    let (code, out, errors) = shelf.btu(arguments);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{arguments:?}: {out}");
    out
}

#[test]
fn files_of_other_programs_become_runs() {
    let shelf = Shelf::new();
    for name in ["iperf3-tcp-up.json", "flent-upload.flent.gz", "hyperfine-two.json"] {
        import(&shelf, name);
    }
    let list = shown(&shelf, &["runs"]);
    for words in ["goodput 18.7 Mb/s up", "tcp_upload to server", "2 commands", "2026-11-28 00:15"]
    {
        assert!(list.contains(words), "{words}: {list}");
    }
    let text = shown(&shelf, &["show", "r1"]);
    for words in ["goodput 18.7 Mb/s up", "not measured by btu", "iperf3 3.12", "r1: TCP to server"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    let json = shelf.json(&["show", "r1"]);
    assert_eq!(json["result"]["measured_by"], "program");
    assert_eq!(json["result"]["quantities"][0]["name"], "goodput up");
    assert_eq!(json["run"]["created"], "2026-11-28T00:15:53Z");
    assert!(shown(&shelf, &["show", "r2", "--all"]).contains("average of `TCP upload`; median"));
    assert!(shown(&shelf, &["show", "r3", "--cells"]).contains("time of `sleep 0.01`"));
    let gauges = shown(&shelf, &["show", "r1", "--openmetrics"]);
    let goodput = "btu_runs_import_bytes_per_second{network=\"TCP to server port 5201\",result=\"goodput up\"} 2337";
    assert!(gauges.contains(goodput), "{gauges}");
    shown(&shelf, &["report", "r2", "-o", "report.html"]);
    let page = std::fs::read_to_string(shelf.path("report.html")).unwrap();
    for words in ["sent up", "round trip", "not measured by btu", "<svg"] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn a_file_is_imported_once() {
    let shelf = Shelf::new();
    for name in ["iperf3-tcp-up.json", "flent-ping.flent.gz", "hyperfine-one.json"] {
        import(&shelf, name);
        let again = shelf.json(&["runs", "import", &fixture(name)]);
        assert_eq!(again[0]["new"], false, "{name}");
    }
    assert_eq!(shelf.json(&["runs"]).as_array().map(Vec::len), Some(3));
}

#[test]
fn imported_runs_are_compared_and_move_to_another_database() {
    let (from, to) = (Shelf::new(), Shelf::new());
    for name in ["iperf3-tcp-up.json", "iperf3-tcp-both.json"] {
        import(&from, name);
    }
    let compared = from.json(&["compare", "r1", "r2"]);
    let rows = compared.to_string();
    for name in ["goodput up", "sent up"] {
        assert!(rows.contains(name), "{name}: {compared}");
    }
    assert!(shown(&from, &["compare", "r1", "r2"]).contains("goodput up"));
    shown(&from, &["runs", "export", "r1", "r2", "-o", "runs.btu"]);
    let archive = from.path("runs.btu").display().to_string();
    assert_eq!(shown(&to, &["runs", "import", &archive]), "r1  imported\nr2  imported\n");
    assert_eq!(to.json(&["show", "r2"])["result"], from.json(&["show", "r2"])["result"]);
    // A run that came in an archive is found again in its file.
    let again = to.json(&["runs", "import", &fixture("iperf3-tcp-up.json")]);
    assert_eq!((&again[0]["new"], &again[0]["run"]), (&json!(false), &json!(1)));
}

/// A test of iperf3 that broke off is kept, and does not count.
#[test]
fn what_broke_off_does_not_count() {
    let shelf = Shelf::new();
    import(&shelf, "iperf3-interrupted.json");
    let text = shown(&shelf, &["show", "r1"]);
    assert!(text.contains("does not count: iperf3 did not finish: interrupt"), "{text}");
}

/// Impossible lengths of time neither stop an import nor the list of runs.
#[test]
fn impossible_times_are_kept_as_what_fits() {
    let shelf = Shelf::new();
    let flent = std::fs::read_to_string(fixture("flent-both.flent")).unwrap();
    for length in ["1e300", "-7", "0"] {
        let changed = flent.replace("\"TOTAL_LENGTH\": 7", &format!("\"TOTAL_LENGTH\": {length}"));
        assert_ne!(changed, flent);
        // With another time of the start, so that each is a run.
        let changed = changed.replace("00:14:28.185", &format!("0{}:14:28.185", length.len()));
        std::fs::write(shelf.path("long.flent"), changed).unwrap();
        let (code, _, errors) = shelf.btu(&["runs", "import", "long.flent"]);
        assert_eq!((code, errors.as_str()), (Some(0), ""), "{length}");
    }
    assert_eq!(shelf.json(&["runs"]).as_array().map(Vec::len), Some(3));
    shown(&shelf, &["runs"]);
    shown(&shelf, &["show", "r1", "--all"]);
    shown(&shelf, &["runs", "export", "r1", "-o", "one.btu"]);
}

/// Times of version 2 of Flent's format are local ones; the first value came 17 s after the start.
#[test]
fn local_times_of_flent_get_their_zone() {
    for (first, created) in [
        ("1436816328.06", "2015-07-13T19:38:31Z"),
        ("1436843328.06", "2015-07-14T03:08:31Z"),
        ("\"x\"", "2015-07-13T21:38:31Z"),
    ] {
        let shelf = Shelf::new();
        let text = format!(
            r#"{{"version": 2, "metadata": {{"NAME": "x", "TIME": "2015-07-13T21:38:31.530151"}},
            "x_values": [0.0], "results": {{"TCP upload": [1.0]}}, "raw_values": {{"TCP upload": [{{"t": {first}}}]}}}}"#
        );
        // As PowerShell writes it.
        let octets = format!("\u{feff}{text}");
        let octets: Vec<u8> = octets.encode_utf16().flat_map(u16::to_le_bytes).collect();
        std::fs::write(shelf.path("old.flent"), octets).unwrap();
        let (code, _, errors) = shelf.btu(&["runs", "import", "old.flent"]);
        assert_eq!((code, errors.as_str()), (Some(0), ""));
        assert_eq!(shelf.json(&["show", "r1"])["run"]["created"], created);
    }
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(text).unwrap();
    packed.finish().unwrap()
}

#[test]
fn what_no_program_wrote_is_refused_in_one_line() {
    let shelf = Shelf::new();
    let flent = std::fs::read(fixture("flent-ping.flent.gz")).unwrap();
    let hyperfine = std::fs::read_to_string(fixture("hyperfine-one.json")).unwrap();
    let iperf3 = std::fs::read_to_string(fixture("iperf3-tcp-up.json")).unwrap();
    let text = |text: &str| text.as_bytes().to_vec();
    let times = vec!["0.1"; 99_999].join(",");
    let command =
        format!(r#"{{"command": "x", "mean": 1, "user": 0, "system": 0, "times": [{times}]}}"#);
    let many = [command.as_str(); 3].join(",");
    let mut damaged = flent.clone();
    damaged.truncate(flent.len() - 8);
    damaged.extend([0; 8]);
    for (name, content, words) in [
        ("bomb.gz", packed(&vec![b' '; (32 << 20) + 1]), "more than 32 MiB of text"),
        ("half.flent.gz", flent[..flent.len() / 2].to_vec(), "compression is damaged"),
        ("checksum.flent.gz", damaged, "compression is damaged"),
        ("more.flent.gz", [&flent[..], b"more"].concat(), "compression is damaged"),
        ("negative.json", text(&hyperfine.replacen("0.02054526206", "-1.5", 1)), "below 0"),
        ("two-bytes.gz", vec![0x1f, 0x8b], "compression is damaged"),
        ("text.gz", packed(b"hello"), "not a file that can be imported"),
        ("empty.json", Vec::new(), "not a file that can be imported"),
        ("other.json", text("{\"a\": 1}"), "not a file that can be imported: btu imports what"),
        ("binary", vec![0xff; 100], "not a file that can be imported"),
        ("half.json", text(&hyperfine[..hyperfine.len() / 2]), "cut short at line"),
        ("nan.json", text(&hyperfine.replace("0.000916945", "NaN")), "`user` cannot be read"),
        ("huge.json", text(&hyperfine.replace("0.000916945", "1e999")), "out of range"),
        ("many.json", text(&format!("{{\"results\": [{many}]}}")), "more than 200000 values"),
        (
            "when.json",
            text(&iperf3.replace("1795824953", "99999999999999")),
            "its time of the start",
        ),
        ("long-ago.json", text(&iperf3.replace("1795824953", "-5")), "its time of the start"),
    ] {
        std::fs::write(shelf.path(name), content).unwrap();
        let (code, out, errors) = shelf.btu(&["runs", "import", name]);
        let lines = errors.lines().count();
        assert_eq!((code, out.as_str(), lines), (Some(2), "", 1), "{name}: {errors}");
        assert!(errors.contains(words) && errors.contains("nothing was imported"), "{errors}");
        assert!(errors.starts_with(&format!("btu: {name}: ")), "{errors}");
    }
    std::fs::create_dir(shelf.path("directory")).unwrap();
    let (code, _, errors) = shelf.btu(&["runs", "import", "directory"]);
    assert!(code == Some(2) && errors.contains("reading directory: Is a directory"), "{errors}");
    assert_eq!(shelf.json(&["runs"]), Value::Array(Vec::new()));
}
