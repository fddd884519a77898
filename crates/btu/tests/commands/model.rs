//! `btu model` as a user runs it: its output, its files, its refusals.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// `btu model ARGUMENTS` in `directory`.
fn model(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_btu"));
    command.arg("model").args(arguments).current_dir(directory).stdin(Stdio::null());
    command.output().expect("btu runs")
}

fn json(directory: &Path, arguments: &[&str]) -> Value {
    let output = model(directory, &[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("--json prints JSON")
}

/// The exit code and the message for `arguments`, which print no result.
fn refusal(directory: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = model(directory, arguments);
    assert!(
        output.stdout.is_empty(),
        "{arguments:?} prints {}",
        String::from_utf8_lossy(&output.stdout)
    );
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The study prints 1.06671584 ms (the formula gives 1.06671586), 1141.55 s and 73.06 s; heavy
/// 17.112 ms and 93.73 %.
#[test]
fn the_citi_study_s_figures() {
    let here = tempfile::tempdir().unwrap();
    let near = |value: &Value, expected: f64, tolerance: f64| {
        let value = value.as_f64().unwrap_or(f64::NAN);
        assert!((value - expected).abs() <= tolerance, "{value}, not {expected}");
    };
    let light = json(here.path(), &["citi-1989-light", "--transfer", "100 MB"]);
    near(&light["segments"][0]["delay_seconds"]["value"], 1.066_715_84e-3, 5e-11);
    near(&light["transfer"]["paced"]["simple_seconds"], 1141.55, 5e-3);
    near(&light["transfer"]["paced"]["aggregate_seconds"]["value"], 73.06, 5e-3);
    near(&light["transfer"]["paced"]["overtaken"]["whole_packets_per_second"], 1034.0, 0.0);
    let heavy = json(here.path(), &["citi-1989-heavy"]);
    near(&heavy["segments"][0]["delay_seconds"]["value"], 17.112e-3, 5e-7);
    near(&heavy["segments"][0]["utilisation_data"]["value"], 0.9373, 5e-5);
}

#[test]
fn a_sweep_goes_to_files() {
    let here = tempfile::tempdir().unwrap();
    let sweep = ["--sweep", "traffic.background.packets_per_s=0..1100:100", "--transfer", "20 MB"];
    let files = ["--csv", "c.csv", "--svg", "c.svg"];
    let output = model(here.path(), &[["citi-1989-light"].as_slice(), &sweep, &files].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |name: &str| std::fs::read(here.path().join(name)).unwrap();
    assert_eq!(String::from_utf8(read("c.csv")).unwrap().lines().count(), 13);
    let svg = String::from_utf8(read("c.svg")).unwrap();
    for name in ["TCP", "simple", "aggregate", "file delay", "ether data"] {
        assert!(svg.contains(&format!("data-series=\"{name}\"")), "{name}");
    }
}

/// The found maximum of background is within the bound, and one packet more is not.
#[test]
fn a_question_asked_backwards() {
    let here = tempfile::tempdir().unwrap();
    let delay = |packets: i64| {
        let setting = format!("traffic.background.packets_per_s={packets}");
        let answer = json(here.path(), &["citi-1989-light", "--set", &setting]);
        let file = &answer["flows"].as_array().unwrap()[0];
        assert_eq!(file["name"], "file");
        file["delay_seconds"]["value"].as_f64().unwrap_or(f64::INFINITY)
    };
    let bound =
        ["--most", "traffic.background.packets_per_s", "--mean-delay", "5 ms", "--flow", "file"];
    let found = json(here.path(), &[["citi-1989-light"].as_slice(), &bound].concat());
    let most = found["found"]["up-to"].as_f64().unwrap_or_else(|| panic!("no number in {found}"));
    let whole = most.floor() as i64;
    assert!(
        delay(whole) <= 5e-3 && delay(whole + 1) > 5e-3,
        "{most}: {} and {}",
        delay(whole),
        delay(whole + 1)
    );
}

/// Where real stations back off longer than the formula's, its delay is a lower bound: no answer is
/// given there. The simulator has one.
#[test]
fn b2_a_question_asked_backwards_ends_where_the_formula_does() {
    let here = tempfile::tempdir().unwrap();
    let question = [
        "ethernet-shared-10",
        "--most",
        "traffic.everyone.load=1..100 %",
        "--mean-delay",
        "5 ms",
        "--flow",
        "everyone",
    ];
    let found = json(here.path(), &question);
    let most = found["found"]["up-to"].as_f64().unwrap_or_else(|| panic!("no number in {found}"));
    let limit =
        found["beyond"]["found"]["up-to"].as_f64().unwrap_or_else(|| panic!("no limit in {found}"));
    assert_eq!(
        (found["by"].as_str(), found["beyond"]["warning"].as_str()),
        (Some("formula"), Some("optimistic"))
    );
    assert!(!found["warnings"].as_array().unwrap().is_empty(), "{found}");
    let warning = |load: f64| {
        let setting = format!("traffic.everyone.load={load} %");
        json(here.path(), &["ethernet-shared-10", "--set", &setting])["flows"][0]["delay_seconds"]["warning"].clone()
    };
    assert_eq!(
        (warning(most), warning(most + 0.1)),
        (Value::Null, Value::from("optimistic")),
        "{most}"
    );
    let said = String::from_utf8(model(here.path(), &question).stdout).unwrap();
    assert!(said.contains("lower bound") && said.contains("--by sim"), "{said}");

    let simulated =
        json(here.path(), &[question.as_slice(), &["--by", "sim", "--replications", "2"]].concat());
    let value =
        simulated["found"]["up-to"].as_f64().unwrap_or_else(|| panic!("no number in {simulated}"));
    let [low, high] = [0, 1].map(|end| simulated["interval"][end].as_f64().unwrap());
    assert!(low <= value && value <= high && most < value && value < limit, "{simulated}");
    // `btu sim` itself crosses the bound there, with the same replications and seed.
    let delay = |load: f64| {
        let setting = format!("traffic.everyone.load={load} %");
        let arguments =
            ["sim", "ethernet-shared-10", "--replications", "2", "--set", &setting, "--json"];
        let output = Command::new(env!("CARGO_BIN_EXE_btu")).args(arguments).output().unwrap();
        let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
        outcome["flows"][0]["delay"]["mean"]["value"].as_f64().unwrap()
    };
    assert!(
        delay(value) <= 5e-3 && delay(value + 0.2) > 5e-3,
        "{value}: {} and {}",
        delay(value),
        delay(value + 0.2)
    );
}

#[test]
fn what_cannot_be_answered_is_refused_in_words() {
    let here = tempfile::tempdir().unwrap();
    std::fs::write(
        here.path().join("bad.toml"),
        "[segments.ether]\nmedium = \"shared-ethernet\"\nlenght = \"1 km\"\n",
    )
    .unwrap();
    for (arguments, code, word) in [
        (["bad.toml"].as_slice(), 2, "lenght"),
        (&["no-such-file.toml"], 2, "no-such-file.toml"),
        (&["citi-1989-light", "--set", "traffic.nobody.load=10 %"], 2, "nobody"),
        (&["citi-1989-light", "--sweep", "traffic.background.packets_per_s=5..1"], 2, "5"),
        (&["citi-1989-light", "--svg", "alone.svg"], 2, "--sweep"),
        (&["campus", "--most", "stations", "--mean-delay", "1 s", "--flow", "nobody"], 2, "nobody"),
        (
            &[
                "citi-1989-light",
                "--transfer",
                "1 MB",
                "--most",
                "a.b=1..2",
                "--transfer-time",
                "1 s",
                "--by",
                "sim",
            ],
            2,
            "a.b",
        ),
        (&["citi-1989-light", "--transfer", "1 MB", "--flow", "nobody"], 2, "nobody"),
        (&["satellite", "--transfer", "1 MB", "--to", "nobody"], 2, "nobody"),
        (&["satellite", "--transfer", "1 MB", "--against", "voice-out"], 2, "--flow"),
        (&["satellite", "--delay", "20 ms"], 2, "--delay"),
        (&["citi-1989-light", "--xlsx", "no/such/directory.xlsx"], 3, "no/such/directory.xlsx"),
    ] {
        let (status, said) = refusal(here.path(), arguments);
        assert_eq!(status, Some(code), "{arguments:?}: {said}");
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
    assert!(!here.path().join("alone.svg").exists());
}

/// A transfer by TCP, by arithmetic: 1448 of 1538 octets of what the others leave. 100 MB on an idle
/// line of 50 Mb/s, on one of which others take 60 % in frames' own octets (61 % with preamble and
/// gap), and on one with 20 ms each way, which costs the handshake, slow start and one way more. The
/// simulator agrees within 5 %: next to others a full queue drops theirs, too.
#[test]
fn a_transfer_gets_what_others_leave() {
    let here = tempfile::tempdir().unwrap();
    let alone = 100e6 * 8.0 / 50e6 * 1538.0 / 1448.0;
    let others = 0.6 * 1538.0 / 1518.0;
    let cases: [(&[&str], f64, &str); 3] = [
        (&["50 Mb/s"], alone, "test"),
        (&["50 Mb/s", "--to", "passive"], alone / (1.0 - others), "test"),
        // 40 ms for the handshake, five windows that double from ten, 20 ms.
        (&["50 Mb/s", "--delay", "20 ms"], alone + 0.04 + 0.12 + 0.02, "test"),
    ];
    for (arguments, expected, from) in cases {
        let answer = json(here.path(), &[arguments, &["--transfer", "100 MB"]].concat());
        let bulk = &answer["transfer"]["bulk"];
        let seconds = bulk["seconds"]["value"].as_f64().unwrap();
        assert!(
            (seconds / expected - 1.0).abs() < 5e-3,
            "{arguments:?}: {seconds}, not {expected}"
        );
        let simulated = bulk["simulated"]["seconds"].as_f64().unwrap();
        assert!((simulated / seconds - 1.0).abs() < 0.05, "{arguments:?}: {simulated} {seconds}");
        assert_eq!(bulk["from"], from);
        assert_eq!(answer["transfer"]["paced"], Value::Null, "no file, no software");
    }
    // The file's own traffic is the transfer's: voice is left, 238 octets 50 times a second.
    let satellite = json(here.path(), &["satellite", "--transfer", "20 MB"]);
    let bulk = &satellite["transfer"]["bulk"];
    let goodput = (2e6 - 50.0 * 238.0 * 8.0) * 1448.0 / 1538.0;
    assert!(
        (bulk["goodput_bits_per_second"]["value"].as_f64().unwrap() / goodput - 1.0).abs() < 1e-3
    );
    assert_eq!(bulk["replaces"], "pages");
    let said = String::from_utf8(model(here.path(), &["satellite", "--transfer", "20 MB"]).stdout);
    assert!(said.unwrap().contains("20 MB from ship to server takes 91.4 s"));
}

/// What is said where a line changes, is recorded, loses in bursts, is full of others' frames, or has a
/// short queue; and what the answer leaves out.
#[test]
fn a_first_screen_says_when_and_by_what_a_transfer_varies() {
    let here = tempfile::tempdir().unwrap();
    let line =
        "[stations.a]\n[stations.b]\n[links.l]\nbetween = [\"a\", \"b\"]\ndelay = \"5 ms\"\n";
    let said = |more: &str, options: &[&str]| {
        let file = here.path().join("mine.toml");
        std::fs::write(&file, format!("{line}{more}")).unwrap();
        let arguments = [&["mine.toml"], options].concat();
        let output = model(here.path(), &arguments).stdout;
        String::from_utf8(output).unwrap().replace("\n  ", " ")
    };
    let changes = "rate = \"10 Mb/s\"\n[[links.l.changes]]\nat = \"5 s\"\nway = \"both\"\nrate = \"1 Mb/s\"\n";
    let text = said(changes, &["--transfer", "20 MB"]);
    assert!(text.starts_with("mine: 20 MB from a to b takes 2 min 5 s"), "{text}");
    assert!(text.contains("Limited by l forth, 1 Mb/s from 5.00 s on"), "{text}");
    let text = said("trace = [1, 2, 3, 4, 5, 100, 1000]\n", &["--transfer", "20 kB"]);
    assert!(text.contains("by when you start)"), "{text}");
    let bursts = "rate = \"50 Mb/s\"\nloss = { p = \"0.5 %\", r = \"30 %\", bad = \"60 %\" }\n";
    let text = said(bursts, &["--transfer", "5 MB"]);
    assert!(text.contains("by chance) by Reno, "), "{text}");
    let text = said(
        "rate = \"20 Mb/s\"\nloss = { p = \"0.1 %\", r = \"1 %\" }\n",
        &["--transfer", "1 MB"],
    );
    assert!(text.contains("more than ") && text.contains("! bursts of losses"), "{text}");
    assert!(!text.contains("only a faster line"), "{text}");
    let text = said("rate = \"20 Mb/s\"\ncorrupt = \"1 %\"\n", &["--transfer", "5 MB"]);
    assert!(text.contains("Limited by loss of 1.0 % of the packets"), "{text}");
    let reorder = "rate = \"20 Mb/s\"\nreorder = { share = \"2 %\", depth = 20 }\n";
    let text = said(reorder, &["--transfer", "10 MB"]);
    assert!(text.contains("takes 4.27 s") && text.contains("! reordering"), "{text}");
    let home = model(
        here.path(),
        &["home-bloated", "--transfer", "2 MB", "--from", "phone", "--to", "server"],
    );
    let text = String::from_utf8(home.stdout).unwrap();
    assert!(text.contains("never arrives next to 1.11 Mb/s that do not give way"), "{text}");
    let queue = "rate = \"5 Mb/s\"\nqueue = \"4 frames\"\n[traffic.up]\nfrom = \"a\"\nto = \"b\"\nsize = \"1000 B\"\npackets_per_s = 580\n";
    let text = said(queue, &[]);
    assert!(
        text.starts_with("mine: mean delay of up 9.34") && text.contains("8.14 % lost"),
        "{text}"
    );
}

/// The commands at the end of a first screen are for the network that was asked for: a rate, a
/// file with a name of its own, settings.
#[test]
fn what_to_type_next_names_the_network_as_it_was_given() {
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("mine.toml");
    std::fs::write(&file, btu_network::library_text("path").unwrap()).unwrap();
    let rate = ["--set", "links.path.rate=5 Mb/s"];
    for (arguments, next) in [
        (&["50 Mb/s", "--transfer", "100 MB"][..], "> btu sim '50 Mb/s' "),
        (&["mine.toml"], "> btu sim mine.toml "),
        (&["path", rate[0], rate[1]], "> btu sim path --set 'links.path.rate=5 Mb/s' "),
    ] {
        let output = model(here.path(), arguments);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains(next), "{arguments:?}: {said}");
    }
}
