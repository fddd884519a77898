//! Screenshots of a board with runs of every kind.

use std::path::{Path, PathBuf};

use btu_publication::Visibility;
use btu_store::State;

use super::reader::Reader;
use crate::databases::Stored;
use crate::states::form;
use crate::support::{Made, Published, Publisher, Sent, Server, curl, post, publish_as};

/// A machine of a publisher: its name, its words, its price, its processor, its rate, and how much
/// its blocks differ.
type Row = (&'static str, &'static str, &'static str, &'static str, f64, f64);

const ROWS: &[Row] = &[
    (
        "Ada Example",
        "rack server, two sockets",
        "9800 EUR",
        "AMD EPYC 9554 64-Core Processor",
        8760.0,
        0.002,
    ),
    (
        "University of Somewhere, Computing Centre",
        "node 17 of a cluster",
        "",
        "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz",
        8745.0,
        0.004,
    ),
    ("Bob", "", "", "AMD Ryzen 9 7950X 16-Core Processor", 7420.0, 0.06),
    ("Carol", "desktop of 2021", "1450 USD", "Intel(R) Core(TM) i7-11700 @ 2.50GHz", 4180.0, 0.003),
    ("Dan", "rented: 4 vCPU, 8 GB", "24 EUR", "AMD EPYC Processor (with IBPB)", 2210.0, 0.2),
    (
        "Erin",
        "laptop with its power supply",
        "899 GBP",
        "Intel(R) Core(TM) Ultra 7 155H",
        2190.0,
        0.001,
    ),
    ("Faythe", "old laptop", "120 EUR", "Intel(R) Core(TM) i5-3320M CPU @ 2.60GHz", 1240.0, 0.001),
    ("Grace", "mini computer behind the television", "190 EUR", "Intel(R) N100", 1235.0, 0.01),
    ("Heidi", "single board", "80 EUR", "Cortex-A76", 640.0, 0.001),
    ("Ivan", "router", "55 USD", "Cortex-A53", 93.4, 0.001),
];

/// Fills the board and looks at it, if pictures are wanted.
pub(super) fn of_a_full_board(reader: &Reader<'_>, stored: &Stored, server: &Server) {
    let Some(directory) = std::env::var_os("BTU_BOARD_PICTURES").map(PathBuf::from) else { return };
    let runs: Vec<Published> =
        ROWS.iter().map(|row| published(row, server, &|made| made)).collect();
    let part = published(&ROWS[3], server, &|made| Made { is_part: true, ..made });
    let stopped = |made| Made { state: State::Interrupted, rows: Some(40), ..made };
    let stopped = published(&ROWS[4], server, &stopped);
    certify(&runs[0], stored, server);
    let words = "Two sockets and one memory controller in use?\nThe interval is narrower than the clock allows.";
    let objection = [("by_run", &*runs[2].id), ("token", &runs[2].token), ("text", words)];
    assert_eq!(form(server, &runs[3].id, "/objections", &objection).status, 303);
    let why = [("token", &*runs[9].token), ("text", "The disk was a RAM disk.")];
    assert_eq!(form(server, &runs[9].id, "/withdrawal", &why).status, 303);
    let hidden = Made::of(300.0);
    let hidden = publish_as(&hidden, &Publisher::new("Judy"), server, Visibility::Private);
    let deleted = published(&ROWS[8], server, &|made| made);
    let token = [("token", &*deleted.token)];
    assert_eq!(form(server, &deleted.id, "/deletion", &token).status, 303);
    let run = |run: &Published| format!("/runs/{}", run.id);
    let [plan, publisher] = super::around(reader, &runs[3]);
    let pages = [
        ("front", "/".to_owned()),
        ("plan", plan),
        ("publisher", publisher),
        ("certified", run(&runs[0])),
        ("low", run(&runs[4])),
        ("objected", run(&runs[3])),
        ("withdrawn", run(&runs[9])),
        ("part", run(&part)),
        ("stopped", run(&stopped)),
        ("private", run(&hidden)),
        ("deleted", run(&deleted)),
        ("search", "/search?words=laptop".to_owned()),
        ("none", "/search?words=nothing".to_owned()),
        ("rules", "/rules".to_owned()),
        ("publish", "/publish".to_owned()),
        ("missing", "/nowhere".to_owned()),
        ("compare", format!("/compare?base={}&other={}", runs[0].id, runs[3].id)),
        ("report", format!("/runs/{}/report", runs[0].id)),
    ];
    for (name, address) in pages {
        pictures(reader, &directory, name, &address);
    }
}

/// Wide, on a phone, and in the dark.
pub(super) fn pictures(reader: &Reader<'_>, directory: &Path, name: &str, address: &str) {
    let looks =
        [("", 1200, 900, "light"), ("-dark", 1200, 900, "dark"), ("-phone", 390, 844, "light")];
    for (look, width, height, scheme) in looks {
        reader.browser.prefer(scheme);
        reader.browser.size(width, height);
        let refusal = [("missing", 404), ("private", 403), ("deleted", 410)];
        let expected = refusal.iter().find(|(refused, _)| *refused == name);
        assert_eq!(reader.go(address), expected.map_or(200, |(_, status)| *status), "{address}");
        if matches!(name, "compare" | "report") {
            reader.has_charts();
        }
        let file = directory.join(format!("{name}{look}.png"));
        std::fs::write(file, reader.browser.screenshot(true)).expect("written");
    }
}

fn published(
    (name, system, price, processor, megabits, drift): &Row,
    server: &Server,
    change: &dyn Fn(Made) -> Made,
) -> Published {
    let publisher = Publisher::new(name);
    let made = change(Made { processor, drift: *drift, ..Made::of(*megabits) });
    let mut sent = Sent::of(&made, &publisher, &server.url);
    sent.manifest.system = (!system.is_empty()).then(|| (*system).to_owned());
    sent.manifest.price = price.parse().ok();
    let answer = sent.send(&publisher, &server.url);
    assert_eq!(answer.status, 201, "{}", answer.text());
    let answer = answer.json();
    let text = |name: &str| answer[name].as_str().expect("a text").to_owned();
    Published { id: text("id"), token: text("token") }
}

/// Has a laboratory sign a run.
fn certify(run: &Published, stored: &Stored, server: &Server) {
    let laboratory = Publisher::new("irrelevant");
    let key = laboratory.key.public().expect("a key");
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str| directory.path().join(name).display().to_string();
    std::fs::write(file("lab.pub"), key.file()).expect("written");
    stored
        .command(&["laboratory", "--name", "Example Laboratory", &file("lab.pub")])
        .expect("done");
    let manifest = curl(&[&format!("{}/runs/{}/manifest", server.url, run.id)]).text();
    let signature = laboratory.key.sign(&manifest).expect("signed");
    let address = format!("{}/api/v1/runs/{}/certificates", server.url, run.id);
    let fields = [("signature", signature.as_str()), ("key", &key.to_string())];
    assert_eq!(post(&address, &fields).status, 201);
}
