use std::net::Ipv4Addr;

use btu_network::{Drawing, Reader};
use proptest::prelude::*;

use super::*;
use crate::run::{Better, Doing, What};
use btu_contract::program::{Part, Ready};

const GOOD: &str = r#"
name = "redis-on-a-busy-laptop"
about = "What a client gets"
network = "home-fq-codel"

[service.redis]
on = "server"
run = ["redis-server", "--port", "6379"]
ready = { port = 6379 }

[measure.get]
on = "laptop"
run = ["redis-benchmark", "-h", "{server}", "-n", "{requests}", "--csv"]
environment = { LEVEL = "{requests}", BRACE = "{{server}", SHELL = "${HOME}" }
value = { pattern = '"GET","([0-9.]+)"', unit = "requests/s", better = "higher" }

[load.cpu]
on = "laptop"
activity = "cpu"
[load.upload]
on = "phone"
to = "server"
activity = "tcp-stream"
message = "64 KiB"

[factors]
load = ["none", "cpu", "cpu + upload"]
"links.access.forth.rate" = ["1 Mb/s", "10 Mb/s"]
requests = [100, 200]

[order]
blocks = 3
at_most = "10 min"
"#;

fn find(asked: &ExperimentNetwork) -> Result<Found, String> {
    let name = asked.name.clone().unwrap_or_default();
    let text =
        btu_network::library_text(&name).ok_or_else(|| format!("there is no network `{name}`"))?;
    let reader = asked
        .settings
        .iter()
        .fold(Reader::new(&name), |reader, (key, value)| reader.set(key, value));
    let drawing: Drawing = reader.read(text).map_err(|error| error.to_string())?;
    let raised = Raised {
        name,
        text: format!("{:?}", asked.settings),
        stations: Vec::new(),
        congestion_control: asked.congestion_control.clone(),
        ipv6: false,
    };
    Ok(Found { raised, drawing })
}

fn read_all(text: &str) -> Result<ExperimentFile, String> {
    let ground = Ground::Networks { find: &find, instead: None };
    read(text, "lab.toml", &[], ground).map_err(|error| error.to_string())
}

fn wrong(text: &str) -> String {
    read_all(text).unwrap_err()
}

#[test]
fn the_whole_of_a_file_is_read() {
    let file = read_all(GOOD).unwrap();
    assert_eq!(
        (file.name.as_str(), file.rows.len(), file.networks.len()),
        ("redis-on-a-busy-laptop", 12, 2)
    );
    let order = &file.order;
    assert_eq!((order.blocks, order.at_most), (3, btu_units::Span::from_seconds(600)));
    let base = &file.rows[0];
    assert_eq!(
        (base.levels.as_slice(), base.network, base.activities.len()),
        (&[0, 0, 0][..], 0, 0)
    );
    let [service, get] = &base.programs[..] else { panic!("{base:?}") };
    assert_eq!(
        (service.part, service.order.ready.clone()),
        (Part::Service, Some(Ready::Port(6379)))
    );
    let address = file.networks[0]
        .drawing
        .stations
        .iter()
        .find(|station| station.name == "server")
        .unwrap()
        .address;
    assert!(address != Ipv4Addr::UNSPECIFIED);
    assert_eq!(get.order.command[2..5], [address.to_string(), "-n".to_owned(), "100".to_owned()]);
    let environment: Vec<&str> = get.order.environment.values().map(String::as_str).collect();
    assert_eq!(environment, ["{server}", "100", "${HOME}"]);
    let last = &file.rows[11];
    assert_eq!(
        (last.levels.as_slice(), last.network, last.activities.len()),
        (&[2, 1, 1][..], 1, 2)
    );
    assert!(
        matches!(&last.activities[1].doing, Doing::TcpStream { message, .. } if message.count() == 65536)
    );
    let [value] = &file.values[..] else { panic!("one value") };
    assert_eq!((value.unit.as_str(), value.better), ("requests/s", Better::Higher));
    assert!(matches!(value.what, What::Pattern { .. }));
    assert_eq!(file.hosts.len(), 3);
}

/// A factor like any other, though the network's file has no such key.
#[test]
fn congestion_controls_are_levels() {
    let file = read_all(&with("[factors]\ncongestion_control = [\"reno\", \"cubic\"]")).unwrap();
    let control = |network: usize| {
        let raised = &file.networks[network].raised;
        raised.congestion_control.as_ref().map(ToString::to_string)
    };
    let used: Vec<_> = file.rows.iter().map(|row| control(row.network)).collect();
    assert_eq!(used, [Some("reno".to_owned()), Some("cubic".to_owned())]);
    let file = read_all(&format!("congestion_control = \"bbr\"\n{}", with(""))).unwrap();
    assert_eq!(file.networks[0].raised.congestion_control, "bbr".parse().ok());
    let said = wrong(&with("[factors]\ncongestion_control = [\"reno\", \"New Reno\"]"));
    assert!(said.contains("`New Reno` names no congestion control"), "{said}");
    let hosts = ["laptop".try_into().unwrap(), "phone".try_into().unwrap()];
    let text = "congestion_control = \"bbr\"\n[measure.a]\non = \"laptop\"\nactivity = \"cpu\"\n";
    let refused = read(text, "lab.toml", &[], Ground::Hosts(&hosts)).unwrap_err().to_string();
    assert!(refused.contains("real hosts have their own"), "{refused}");
}

#[test]
fn mistakes_are_told_all_at_once_where_they_stand() {
    let text = "network = \"home-fq-codel\"\n[measure.get]\non = \"labtop\"\nrun = [\"curl\", \"{sevrer}\"]\nvalue = \"speed\"\n";
    assert_eq!(
        wrong(text),
        "lab.toml:3:6: measure.get.on: `labtop` is not known here (did you mean `laptop`?); there are `laptop`, `phone`, `server`\n    \
         3 | on = \"labtop\"\n      |      ^^^^^^^^\n\
         lab.toml:4:16: measure.get.run[1]: `{sevrer}` is neither a station nor a factor (did you mean `server`?); there are `laptop`, \
         `phone`, `server`; `{{` is a brace\n    4 | run = [\"curl\", \"{sevrer}\"]\n      |                ^^^^^^^^^^\n\
         lab.toml:5:9: measure.get.value: `speed` is not known here; there are `elapsed`, `cpu`, `memory`, `switches`, `goodput`, \
         `round-trip`, `round-trip-p99`, `loss`\n    5 | value = \"speed\"\n      |         ^^^^^^^"
    );
}

/// A file that is right except for what is added.
fn with(more: &str) -> String {
    format!(
        "network = \"home-fq-codel\"\n[measure.a]\non = \"laptop\"\nrun = [\"true\"]\n[load.cpu]\non = \"phone\"\nactivity = \"cpu\"\n{more}\n"
    )
}

#[test]
fn each_mistake_is_told() {
    for (text, told) in [
        (String::new(), "`network` is missing"),
        ("network = \"none\"\n".to_owned(), "there is no network `none`"),
        ("network = \"home-fq-codel\"\n".to_owned(), "there is nothing to measure"),
        (with("[order]\nblocks = 0"), "0 is not possible here"),
        (with("[factors]\nload = [\"none\", \"cpu + dsik\"]"), "`dsik` is not known here"),
        (with("[factors]\nload = [\"none\"]"), "a list of 2 to 100 levels"),
        (with("[factors]\nx = [1, 1]"), "is listed twice"),
        (with("[factors]\n\"links.acces.delay\" = [\"1 ms\", \"2 ms\"]"), "did you mean `access`?"),
        (with("[factors]\n\"links.access.delay\" = [\"1 ms\", \"2 furlongs\"]"), "furlongs"),
        (with("[factors]\n\"measure.a.deadline\" = [\"1 s\", \"1 parsec\"]"), "parsec"),
        (with("[factors]\nmeasure = [1, 2]"), "`measure` is not a value"),
        (with("[variant.old]\nmeasure.a.run = [\"true\"]"), "write two of them"),
        (with("[measure.\"a b\"]\non = \"phone\"\nrun = [\"a\"]"), "this is not a name here"),
        (with("[mesure.b]\non = \"phone\""), "did you mean `measure`?"),
        (
            with("[measure.b]\non = \"phone\"\nrun = [\"a\"]\ndirectroy = \"x\""),
            "did you mean `directory`?",
        ),
        (
            with("[factors]\na = [1, 2]\nb = [1, 2, 3]\n[order]\nresolution = 3"),
            "needs two levels of every factor",
        ),
        ("[measure".to_owned(), "this is not TOML"),
    ] {
        let message = wrong(&text);
        assert!(message.contains(told), "{text}: {message}");
    }
}

#[test]
fn each_mistake_in_what_is_measured_is_told() {
    for (text, told) in [
        (with("[measure.b]\non = \"phone\""), "nothing says what is done"),
        (
            with("[measure.b]\non = \"phone\"\nrun = [\"a\"]\nactivity = \"cpu\""),
            "write one of them",
        ),
        (with("[measure.b]\non = \"phone\"\nrun = \"curl x\""), "a list of texts is wanted"),
        (with("[measure.b]\non = \"phone\"\nrun = []"), "there is no program"),
        (
            with(
                "[measure.b]\non = \"phone\"\nrun = [\"a\"]\nvalue = { pattern = \"(\", unit = \"x\", better = \"lower\" }",
            ),
            "not a regular expression",
        ),
        (
            with("[measure.b]\non = \"phone\"\nrun = [\"a\"]\nvalue = { pattern = \"a\" }"),
            "`unit` is missing",
        ),
        (
            with(
                "[measure.b]\non = \"phone\"\nrun = [\"a\"]\nvalue = { pointer = \"a\", unit = \"x\", better = \"lower\" }",
            ),
            "begins with `/`",
        ),
        (
            with("[measure.b]\non = \"phone\"\nrun = [\"a\"]\nvalue = {}"),
            "one of `of`, `pattern`, `pointer` and `column`",
        ),
        (
            with("[measure.b]\non = \"phone\"\nrun = [\"a\"]\nvalue = \"goodput\""),
            "a program has no such value",
        ),
        (
            with("[measure.b]\non = \"phone\"\nactivity = \"cpu\"\nvalue = \"memory\""),
            "an activity has no such value",
        ),
        (with("[measure.b]\non = \"phone\"\nactivity = \"requests\""), "`to` is missing"),
        (
            with("[measure.b]\non = \"phone\"\nto = \"phone\"\nactivity = \"requests\""),
            "two stations",
        ),
        (
            with(
                "[measure.b]\non = \"phone\"\nto = \"laptop\"\nactivity = \"tcp-stream\"\namount = \"1 MB\"\ntime = \"1 s\"",
            ),
            "both say how much",
        ),
        (
            with(
                "[service.b]\non = \"phone\"\nrun = [\"a\"]\nready = { port = 1, after = \"1 s\" }",
            ),
            "one of `port = 80`",
        ),
    ] {
        let message = wrong(&text);
        assert!(message.contains(told), "{text}: {message}");
    }
}

/// What is said of a key that is right would hide the mistake.
#[test]
fn an_unknown_network_is_the_only_mistake() {
    let message = wrong(
        "network = \"nowhere\"\n[service.web]\non = \"a\"\nrun = [\"true\"]\nready = { port = 80 }\n\
         [measure.a]\non = \"b\"\nrun = [\"true\"]\n",
    );
    assert!(message.contains("nowhere"), "{message}");
    assert!(!message.contains("no such key"), "{message}");
}

#[test]
fn too_many_combinations_are_a_fraction_where_one_is_asked_for() {
    let factors: Vec<String> = (0..11).map(|number| format!("f{number} = [1, 2]")).collect();
    let text = |order: &str| {
        let factors = factors.join("\n");
        format!(
            "network = \"veth\"\n[measure.a]\non = \"test\"\nrun = [\"true\"]\n[factors]\n{factors}\n[order]\n{order}\n"
        )
    };
    assert!(wrong(&text("blocks = 3")).contains("would be 2048 rows"));
    let file = read_all(&text("resolution = 4")).unwrap();
    assert_eq!((file.rows.len(), file.resolution), (32, Some(4)));
    assert_eq!(file.rows[0].levels, [0; 11]);
}

#[test]
fn programs_are_refused_on_real_hosts() {
    let text = "[measure.a]\non = \"alpha\"\nrun = [\"true\"]\n";
    let hosts = ["alpha", "beta"].map(|name| HostName::try_from(name).unwrap());
    let refused = read(text, "lab.toml", &[], Ground::Hosts(&hosts)).unwrap_err().to_string();
    assert!(
        refused
            .contains("programs run in stations of a network that btu starts, never on real hosts"),
        "{refused}"
    );
    let text = "[measure.a]\non = \"alpha\"\nto = \"beta\"\nactivity = \"requests\"\n";
    let file = read(text, "lab.toml", &[], Ground::Hosts(&hosts)).unwrap();
    assert_eq!((file.rows.len(), file.networks.len()), (1, 0));
}

#[test]
fn a_file_can_name_an_inventory_of_hosts() {
    let text = "hosts = \"lab.toml\"\n[measure.a]\non = \"alpha\"\nto = \"beta\"\nactivity = \"requests\"\n";
    assert_eq!(inventory_of(text).as_deref(), Some("lab.toml"));
    assert_eq!(inventory_of("network = \"veth\"\n"), None);
    assert_eq!(inventory_of("hosts = ["), None);
    let hosts = ["alpha", "beta"].map(|name| HostName::try_from(name).unwrap());
    assert_eq!(read(text, "lab.toml", &[], Ground::Hosts(&hosts)).unwrap().hosts.len(), 2);
    let both =
        read(&format!("network = \"veth\"\n{text}"), "both.toml", &[], Ground::Hosts(&hosts))
            .unwrap_err();
    assert!(both.to_string().contains("leave the network out, or the hosts"), "{both}");
    let number = wrong("hosts = 3\n[measure.a]\non = \"alpha\"\nactivity = \"cpu\"\n");
    assert!(number.contains("hosts = 3"), "{number}");
}

#[test]
fn every_example_is_right() {
    for example in crate::run::EXAMPLES {
        let file =
            read_all(example.text).unwrap_or_else(|error| panic!("{}: {error}", example.name));
        assert_eq!(file.name, example.name);
        assert!(
            !example.question().is_empty() && file.about == example.question(),
            "{}",
            example.name
        );
        let has_programs = file.rows.iter().any(|row| !row.programs.is_empty());
        assert_eq!(has_programs, !example.programs.is_empty(), "{}", example.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn nothing_makes_the_reader_panic(cut in 0usize..GOOD.len(), more in "\\PC{0,40}") {
        let start = &GOOD[..GOOD.floor_char_boundary(cut)];
        let _ = read_all(&format!("{start}{more}"));
    }
}
