//! What is accepted, what is refused, and what is said of it.

use std::cell::RefCell;
use std::process::Command;

use btu_publication::{ChallengeRequest, SigningKey, Visibility, sha256};
use btu_store::State;
use serde_json::Value;

use crate::databases::Stored;
use crate::races::count;
use crate::support::{
    Answer, Made, Publisher, Sent, Server, btu, curl, post_from, publish, publish_as,
};

fn api(server: &Server, id: &str) -> Value {
    let answer = curl(&[&format!("{}/api/v1/runs/{id}", server.url)]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

pub(crate) fn a_published_rating_is_the_local_one(stored: &Stored) {
    let server = stored.server();
    let (publisher, made) = (Publisher::new("Ada"), Made::of(640.0));
    let sent = Sent::of(&made, &publisher, &server.url);
    let answer = sent.send(&publisher, &server.url);
    assert_eq!(answer.status, 201, "{}", answer.text());
    let id = answer.json()["id"].as_str().expect("an id").to_owned();
    let local = Command::new(btu())
        .args(["show", "r1", "--json"])
        .env("BTU_DATA", sent.directory.path())
        .output()
        .expect("btu shows");
    let local: Value = serde_json::from_slice(&local.stdout).expect("JSON");
    let local = &local["result"]["rating"]["btu_bits_per_second"];
    let shown = api(&server, &id);
    let pairs = [
        (&local["value"], &shown["bits_per_second"]),
        (&local["interval"]["low"], &shown["interval_bits_per_second"][0]),
        (&local["interval"]["high"], &shown["interval_bits_per_second"][1]),
    ];
    for (one, other) in pairs {
        let (one, other) = (one.as_f64().expect("a rate"), other.as_f64().expect("a rate"));
        assert!((one / other - 1.0).abs() < 1e-9, "{one} {other}");
    }
    assert_eq!((&shown["word"], &shown["number"]), (&"unverified".into(), &"BTU rating".into()));
    // What was sent is what every reader gets, and the signature holds without the board.
    let get = |name: &str| curl(&[&format!("{}/runs/{id}/{name}", server.url)]).body;
    assert_eq!(sha256(&get("archive")), sent.manifest.archive_sha256);
    let manifest = String::from_utf8(get("manifest")).expect("text");
    assert_eq!(manifest, sent.manifest.text());
    let signature = String::from_utf8(get("manifest.minisig")).expect("text");
    publisher.key.public().expect("a key").verify(&manifest, &signature).expect("it holds");
    minisign_verifies(&sent, &publisher, &manifest, &signature);
    for page in
        ["/", &format!("/runs/{id}"), &format!("/plans/{}", shown["plan"].as_str().unwrap())]
    {
        let page = curl(&[&format!("{}{page}", server.url)]).text();
        assert!(page.contains("641") && page.contains("unverified"), "{page}");
    }
}

fn minisign_verifies(sent: &Sent, publisher: &Publisher, manifest: &str, signature: &str) {
    let file = |name: &str| sent.directory.path().join(name);
    std::fs::write(file("check"), manifest).expect("written");
    std::fs::write(file("check.minisig"), signature).expect("written");
    let key = publisher.key.public().expect("a key").to_string();
    let checked =
        Command::new("minisign").args(["-V", "-q", "-P", &key, "-m"]).arg(file("check")).status();
    if let Ok(status) = checked {
        assert!(status.success());
    } else {
        assert!(std::env::var("BTU_LAB").as_deref() != Ok("required"), "minisign is missing");
        eprintln!("LAB SKIPPED: no minisign");
    }
}

/// Unpacks an archive, changes its text, and seals it again as only a forger would.
pub(crate) fn resealed(archive: &[u8], change: impl Fn(String) -> String) -> Vec<u8> {
    let pipe = |arguments: &[&str], input: &[u8]| {
        use std::io::Write;
        let mut child = Command::new("gzip")
            .args(arguments)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("gzip");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_vec();
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().expect("gzip ends").stdout;
        writer.join().expect("written");
        output
    };
    let text = String::from_utf8(pipe(&["-dc"], archive)).expect("text");
    let (lines, _) = text.trim_end().rsplit_once('\n').expect("lines");
    let lines = change(format!("{lines}\n"));
    let end = format!("{{\"end\":{{\"sha256\":\"{}\"}}}}\n", sha256(lines.as_bytes()));
    pipe(&["-c"], format!("{lines}{end}").as_bytes())
}

/// Publications that are refused, and what the refusal has to say.
struct Forger<'a> {
    server: &'a Server,
    publisher: Publisher,
}

impl Forger<'_> {
    fn fresh(&self) -> Sent {
        Sent::of(&Made::of(100.0), &self.publisher, &self.server.url)
    }

    fn refused(&self, sent: &Sent, word: &str) {
        let said = sent.send(&self.publisher, &self.server.url).refused();
        assert!(said.contains(word), "{word}: {said}");
    }

    /// A fresh publication after this change.
    fn refused_with(&self, word: &str, change: impl FnOnce(&mut Sent)) {
        let mut sent = self.fresh();
        change(&mut sent);
        self.refused(&sent, word);
    }

    /// A fresh publication whose archive was changed before it was signed.
    fn refused_archive(&self, word: &str, change: impl Fn(String) -> String) {
        self.refused_with(word, |sent| {
            sent.archive = resealed(&sent.archive, change);
            sent.manifest.archive_sha256 = sha256(&sent.archive);
        });
    }
}

pub(crate) fn forgeries_are_refused(stored: &Stored) {
    let server = stored.server();
    let forger = Forger { server: &server, publisher: Publisher::new("Mallory") };
    forged_archives(&forger);
    forged_manifests(&forger);
    // The same run twice.
    let sent = forger.fresh();
    assert_eq!(sent.send(&forger.publisher, &server.url).status, 201);
    forger.refused(&sent, "here already");
    // Nothing of all this was stored but the last.
    let listed = curl(&[&format!("{}/api/v1/runs", server.url)]).json();
    assert_eq!(listed["runs"].as_array().expect("a list").len(), 1);
    // A blocked publisher stays outside.
    let key = forger.publisher.key.public().expect("a key").to_string();
    stored.command(&["block", &key]).expect("blocked");
    forger.refused(&forger.fresh(), "the key is blocked");
}

/// The lines of cells.
fn cells(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| line.starts_with("{\"cell\""))
}

/// The row and the block of a cell's line.
fn row(line: &str) -> [Value; 4] {
    let line: Value = serde_json::from_str(line).expect("JSON");
    ["block", "component", "message_bytes", "load"].map(|name| line["cell"][name].clone())
}

fn forged_archives(forger: &Forger<'_>) {
    // Cells that were changed after they were signed, and before: what lists say of a cell is not
    // what the cell says.
    let rate = "\"goodput_bits_per_second\":100000000.0";
    let faster = |text: String| text.replacen(rate, &rate.replace('1', "9"), 1);
    forger.refused_with("not the one that was signed", |sent| {
        sent.archive = resealed(&sent.archive, faster);
    });
    forger.refused_archive("differ", faster);
    // A cell whose number is in every place the same, and not the one of its reports.
    let is_stream = |line: &&str| line.contains(rate) && line.contains("\"last_byte_ns\":8");
    let line = |text: &str| cells(text).find(is_stream).expect("one").to_owned();
    let everywhere = |from: &'static str, to: &'static str| {
        move |text: String| text.replacen(&line(&text), &line(&text).replace(from, to), 1)
    };
    forger.refused_archive(
        "its goodput in b/s is 1000000000, and its reports give 100000000",
        everywhere(rate, "\"goodput_bits_per_second\":1000000000.0"),
    );
    for (from, to) in [
        ("\"samples_wrong\":0", "\"samples_wrong\":10"),
        ("\"last_byte_ns\":8", "\"last_byte_ns\":7"),
        ("\"bytes\":10000000,\"messages\"", "\"bytes\":0,\"messages\""),
        ("\"faults\":[]", "\"faults\":[\"not published\"]"),
    ] {
        forger.refused_archive("its reports give", everywhere(from, to));
    }
    // A cell that was left out.
    forger.refused_archive("which its plan and seed prescribe, is missing", |text| {
        let own = cells(&text).nth(200).expect("a cell").to_owned() + "\n";
        text.replacen(&own, "", 1)
    });
    // A cell of another run.
    let other = RefCell::new(String::new());
    resealed(&forger.fresh().archive, |text| {
        other.borrow_mut().clone_from(&text);
        text
    });
    let other = other.into_inner();
    let of_other = |own: &str| cells(&other).find(|line| row(line) == row(own)).expect("all rows");
    forger.refused_archive("where the seed of its plan puts it", |text| {
        let own = cells(&text).next().expect("a cell");
        text.replacen(own, of_other(own), 1)
    });
    forger.refused_archive("is in it twice", |text| {
        let (own, next) = (cells(&text).next(), cells(&text).nth(1));
        text.replacen(own.expect("a cell"), next.expect("a cell"), 1)
    });
    // A rating, which no archive has, and a text of the user.
    let rated = |text: String| text.replacen("{\"run\":{", "{\"run\":{\"rating\":1e12,", 1);
    forger.refused_archive("rating", rated);
    let named = |text: String| text.replacen("\"label\":null", "\"label\":\"host\"", 1);
    forger.refused_archive("form in which runs are published", named);
    // A bomb, garbage, and what is too large.
    forger.refused_archive("refused at line", |text| text + &" ".repeat(64 << 20) + "\n");
    forger.refused_with("", |sent| {
        sent.archive = vec![0x1f, 0x8b, 8, 0, 0, 0];
        sent.manifest.archive_sha256 = sha256(&sent.archive);
    });
    forger.refused_with("more than", |sent| sent.archive = vec![0; (64 << 20) + 1]);
}

fn forged_manifests(forger: &Forger<'_>) {
    forger.refused_with("line `run`", |sent| {
        "0199d8a2-0000-7000-8000-000000000000".clone_into(&mut sent.manifest.run);
    });
    forger.refused_with("line `seed`", |sent| sent.manifest.seed += 1);
    forger.refused_with("signed for https://elsewhere", |sent| {
        "https://elsewhere.example.org".clone_into(&mut sent.manifest.board);
    });
    forger.refused_with("in the future", |sent| {
        "2126-11-22T10:00:00Z".clone_into(&mut sent.manifest.signed);
    });
    // Signatures: of another key, over another text, none.
    forger.refused_with("signature", |sent| {
        let other = SigningKey::new().expect("a key");
        sent.signature = Some(other.sign(&sent.manifest.text()).expect("signed"));
    });
    forger.refused_with("signature", |sent| {
        sent.signature = Some(forger.publisher.key.sign("other\n").expect("signed"));
    });
    forger.refused_with("no signature of minisign", |sent| {
        sent.signature = Some("nothing".to_owned());
    });
}

pub(crate) fn what_breaks_the_rules_is_not_ranked(stored: &Stored) {
    let server = stored.server();
    let publisher = Publisher::new("Ada");
    let part = publish(&Made { is_part: true, ..Made::of(500.0) }, &publisher, &server);
    let stopped = Made { state: State::Interrupted, rows: Some(40), ..Made::of(9000.0) };
    let stopped = publish(&stopped, &publisher, &server);
    let whole = publish(&Made::of(300.0), &publisher, &server);
    let [part, stopped, whole] = [part, stopped, whole].map(|run| api(&server, &run.id));
    assert_eq!(part["number"], "Part of a BTU rating");
    assert_ne!(part["plan"], whole["plan"]);
    assert_eq!(stopped["number"], "Part of a BTU rating");
    assert!(stopped["why_not_ranked"].as_str().expect("a reason").contains("missing"), "{stopped}");
    let plan = whole["plan"].as_str().expect("a plan");
    let page = curl(&[&format!("{}/plans/{plan}", server.url)]).text();
    let (ranking, newest) = page.split_once("Newest runs").expect("two lists");
    let id = stopped["id"].as_str().expect("an id");
    assert!(!ranking.contains(id) && newest.contains(id), "{page}");
    // Nothing else calls it a rating either.
    let page = curl(&[&format!("{}/runs/{id}", server.url)]).text();
    assert!(page.contains("Part of a BTU rating") && page.contains("Not ranked"), "{page}");
    let badge = curl(&[&format!("{}/badge/{id}.svg", server.url)]).text();
    assert!(badge.contains("Part of a BTU rating") && badge.contains("unverified"), "{badge}");
}

/// The way of a user: `btu publish` sends a stored run, and the board has its number.
pub(crate) fn the_command_publishes(stored: &Stored) {
    let server = stored.server();
    let (home, made) = (tempfile::tempdir().expect("a directory"), Made::of(320.0));
    made.store(home.path());
    let sent = Command::new(btu())
        .args(["publish", "r1", "--to", &server.url, "--name", "Ada", "--price", "10 EUR", "--yes"])
        .args(["--json", "--output"])
        .arg(home.path())
        .env("BTU_DATA", home.path())
        .env("XDG_CONFIG_HOME", home.path())
        .output()
        .expect("btu publishes");
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    let listed = curl(&[&format!("{}/api/v1/runs", server.url)]).json();
    let run = &listed["runs"][0];
    assert_eq!((&run["publisher"], &run["price"]), (&"Ada".into(), &"10 EUR".into()));
    let rate = run["bits_per_second"].as_f64().expect("a rate");
    assert!((rate / 320.32e6 - 1.0).abs() < 1e-3, "{run}");
}

pub(crate) fn challenge(server: &Server, key: &SigningKey, signed: &str) -> Answer {
    challenge_from("127.0.0.1", server, key, signed)
}

/// Asks from another address of this host.
pub(crate) fn challenge_from(
    from: &str,
    server: &Server,
    key: &SigningKey,
    signed: &str,
) -> Answer {
    let request = ChallengeRequest { board: server.url.clone(), signed: signed.to_owned() }.text();
    let signature = key.sign(&request).expect("signed");
    let public = key.public().expect("a key").to_string();
    let fields = [("request", &*request), ("signature", &signature), ("key", &public)];
    post_from(from, &format!("{}/api/v1/challenges", server.url), &fields)
}

pub(crate) fn now() -> String {
    jiff::Timestamp::now().to_string()
}

pub(crate) fn challenges_come_back_once(stored: &Stored) {
    let server = stored.server();
    let (publisher, other) = (Publisher::new("Ada"), Publisher::new("Bob"));
    let (first, second) = (now(), now());
    let seed = challenge(&server, &publisher.key, &first);
    assert_eq!(seed.status, 201, "{}", seed.text());
    let seed = btu_publication::Challenge::read(&seed.text()).expect("a challenge").seed;
    assert!(challenge(&server, &publisher.key, &first).refused().contains("answered already"));
    assert_eq!(challenge(&server, &publisher.key, &second).status, 201);
    assert!(challenge(&server, &publisher.key, "2026-01-01T00:00:00Z").refused().contains("clock"));
    let made_at = |megabits: f64| Made { seed, created: now(), ..Made::of(megabits) };
    let made = || made_at(100.0);
    // Of another publisher, and from before it was given out.
    let sent = Sent::of(&made(), &other, &server.url);
    assert!(sent.send(&other, &server.url).refused().contains("another publisher"));
    let early = Made { seed, ..Made::of(100.0) };
    let early = Sent::of(&early, &publisher, &server.url);
    assert!(early.send(&publisher, &server.url).refused().contains("before its challenge"));
    let met = publish(&made(), &publisher, &server);
    assert!(api(&server, &met.id)["challenged"].is_string());
    let again = Sent::of(&made_at(101.0), &publisher, &server.url);
    assert!(again.send(&publisher, &server.url).refused().contains("met once"));
    let key = publisher.key.public().expect("a key").to_string();
    let id: String = sha256(key.as_bytes()).chars().take(16).collect();
    let page = curl(&[&format!("{}/publishers/{id}", server.url)]).text();
    assert!(page.contains("1 of 2 challenges came back"), "{page}");
}

/// A run that began long after its challenge was given out, or came back long after it had ended, may be the best of many:
/// it is taken, and its challenge did not come back.
pub(crate) fn late_runs_meet_no_challenge(stored: &Stored) {
    let server = stored.server();
    let ada = Publisher::new("Ada");
    let ago = |minutes: i64| {
        (jiff::Timestamp::now() - jiff::SignedDuration::from_mins(minutes)).to_string()
    };
    // When it was given out, when the run began, and whether it is back in time.
    for (issued, began, is_met) in
        [(100, 2, false), (300, 295, false), (20, 15, true), (60, 55, true)]
    {
        let seed = challenge(&server, &ada.key, &now()).text();
        let seed = btu_publication::Challenge::read(&seed).expect("a challenge").seed;
        stored.execute(&format!(
            "UPDATE challenges SET issued = '{}' WHERE seed = '{seed}'",
            ago(issued)
        ));
        let made = Made { seed, created: ago(began), ..Made::of(100.0) };
        let run = api(&server, &publish(&made, &ada, &server).id);
        assert_eq!(run["challenged"].is_string(), is_met, "{issued} {began}: {run}");
    }
}

pub(crate) fn the_chain_holds(stored: &Stored) {
    let server = stored.server();
    let publisher = Publisher::new("Ada");
    for megabits in [100.0, 200.0] {
        publish(&Made::of(megabits), &publisher, &server);
    }
    let lines = curl(&[&format!("{}/chain", server.url)]).text();
    let mut previous = "btu-board".to_owned();
    for line in lines.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words[3], sha256(format!("{previous} {} {}\n", words[1], words[2]).as_bytes()));
        words[3].clone_into(&mut previous);
    }
    assert_eq!(lines.lines().count(), 2);
    assert!(stored.command(&["check"]).expect("it holds").contains("2 accepted"));
    stored.execute(
        "DELETE FROM chain WHERE place = 2;
         UPDATE chain_end SET place = 1, link = (SELECT link FROM chain)",
    );
    assert!(stored.command(&["check"]).expect_err("a link is gone").contains("link 2 was taken"));
    if let Stored::Directory(directory) = stored {
        let file = directory.path().join("board/board.sqlite");
        let change = rusqlite::Connection::open(file).expect("a database");
        let sql = "UPDATE runs SET manifest = replace(manifest, 'Ada', 'Eve') WHERE place = 1";
        change.execute(sql, []).expect("changed");
        assert!(stored.command(&["check"]).expect_err("changed").contains("link 1"));
    }
}

/// A column that says something else than the archive is found, and the chain alone does not find it.
pub(crate) fn changed_columns_are_found(stored: &Stored) {
    let server = stored.server();
    let ada = Publisher::new("Ada");
    let run = publish(&Made::of(100.0), &ada, &server);
    let stopped = Made { state: State::Interrupted, rows: Some(40), ..Made::of(200.0) };
    publish_as(&stopped, &ada, &server, Visibility::Private);
    let deleted = publish(&Made::of(300.0), &ada, &server);
    let form = format!("token={}", deleted.token);
    assert_eq!(
        curl(&["-d", &form, &format!("{}/runs/{}/deletion", server.url, deleted.id)]).status,
        303
    );
    let check = || stored.command(&["check", "--compute"]);
    assert!(check().expect("all is so").contains("2 runs were computed again"));
    let id = &run.id;
    let changes = [
        ("rate_bits_per_second", "rate_bits_per_second + 1"),
        ("low_bits_per_second", "NULL"),
        ("why_not_ranked", "'x'"),
        ("visibility", "'unlisted'"),
        ("system", "'another one'"),
        ("cells", "cells + 1"),
        ("machine", "'another one'"),
        ("signed", "'2126-01-01T00:00:00Z'"),
    ];
    let set = changes.map(|(column, change)| format!("{column} = {change}")).join(", ");
    stored.execute(&format!("UPDATE runs SET {set} WHERE id = '{id}'"));
    stored.command(&["check"]).expect("the chain does not say it");
    let said = check().expect_err("it is found");
    for (column, _) in changes {
        assert!(said.contains(&format!("run {id}: {column} is ")), "{column}: {said}");
    }
    assert_eq!(said.matches("is computed").count(), changes.len(), "{said}");
}

/// Pieces behind a gap, before the first one and of no run are found and change no answer; so is a time that is not the
/// chain's.
pub(crate) fn stray_pieces_and_other_times_are_found(stored: &Stored) {
    let server = stored.server();
    let ada = Publisher::new("Ada");
    let sent = Sent::of(&Made::of(100.0), &ada, &server.url);
    let answer = sent.send(&ada, &server.url);
    let id = answer.json()["id"].as_str().expect("an id").to_owned();
    let archive = format!("{}/runs/{id}/archive", server.url);
    let found = || stored.command(&["check"]).expect_err("it is found");
    for (run, number, word) in [
        (id.as_str(), 7, "the archive at link 1"),
        (&id, -1, "the archive at link 1"),
        ("another", 3, "piece 3 of the archive of run another"),
    ] {
        stored.execute(&format!(
            "INSERT INTO archive_pieces (run, number, octets) SELECT '{run}', {number}, octets FROM archive_pieces"
        ));
        let head = curl(&["-I", "-X", "GET", &archive]).text().to_lowercase();
        let length = format!("content-length: {}\r\n", sent.archive.len());
        assert!(head.contains(&length), "{run} {number}: {head}");
        assert_eq!(curl(&[&archive]).body, sent.archive);
        assert!(found().contains(word), "{}", found());
        let stray = format!("run = '{run}' AND number = {number}");
        stored.execute(&format!("DELETE FROM archive_pieces WHERE {stray}"));
    }
    stored.command(&["check"]).expect("all is so");
    stored.execute("UPDATE runs SET received = '2026-01-01T00:00:00Z'");
    assert!(found().contains("the time at link 1"), "{}", found());
}

/// A name that no public manifest has, and a page that no archive gives.
pub(crate) fn changed_names_and_reports_are_found(stored: &Stored) {
    let server = stored.server();
    let (mut ada, bob) = (Publisher::new("Ada"), Publisher::new("Bob"));
    let first = publish(&Made::of(100.0), &ada, &server);
    let his = publish(&Made::of(90.0), &bob, &server);
    let get = |path: &str| curl(&[&format!("{}{path}", server.url)]).text();
    get(&format!("/runs/{}/report", first.id));
    get(&format!("/compare?base={}&other={}", first.id, his.id));
    // A deleted run gives its publisher no name, and what others say stays.
    "Dr. Real Name".clone_into(&mut ada.name);
    let second = publish(&Made::of(110.0), &ada, &server);
    assert!(get("/").contains("Real Name"));
    stored.command(&["delete", &second.id]).expect("deleted");
    assert!(!get("/").contains("Real Name") && get("/").contains("without a name"));
    "Ada".clone_into(&mut ada.name);
    let third = publish(&Made::of(120.0), &ada, &server);
    stored.command(&["delete", &third.id]).expect("deleted");
    assert!(get("/").contains("Ada"), "{}", get("/"));
    let [old, new] = [&bob, &Publisher::new("irrelevant")]
        .map(|publisher| publisher.key.public().expect("a key").to_string());
    stored.command(&["follow", &old, &new]).expect("followed");
    let check = || stored.command(&["check", "--compute"]);
    // A page of another version of btu, which is no wrong one.
    let columns = "run, other, made, bytes, page";
    stored.execute(&format!(
        "INSERT INTO kept_pages (name, {columns}) SELECT 'x', {columns} FROM kept_pages WHERE run = other"
    ));
    assert!(check().expect("all is so").contains("2 runs were computed again"));
    assert_eq!(count(stored, "SELECT count(*) FROM kept_pages"), 2);
    stored.execute(
        "UPDATE kept_pages SET page = (SELECT octets FROM archive_pieces LIMIT 1);
         UPDATE publishers SET name = 'Eve' WHERE name = 'Ada'",
    );
    let said = check().expect_err("it is found");
    for words in [
        format!("runs {}, {}: the page", first.id, first.id),
        format!("runs {}, {}: the page", first.id, his.id),
        "the name is \"Eve\"".to_owned(),
    ] {
        assert!(said.contains(&words), "{words}: {said}");
    }
    assert_eq!(said.matches("the page that is kept").count(), 2, "{said}");
}

/// Of a chain that is longer than an answer, the newest links are shown.
pub(crate) fn the_newest_links_are_shown(stored: &Stored) {
    let server = stored.server();
    publish(&Made::of(100.0), &Publisher::new("Ada"), &server);
    stored.execute(
        "INSERT INTO chain (place, manifest_sha256, received, link)
             WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 10050)
             SELECT i, 'manifest-' || i, received, link FROM n, chain;
         UPDATE chain_end SET place = 10050",
    );
    let places = |asked: &str| -> Vec<i64> {
        let links = curl(&[&format!("{}/chain{asked}", server.url)]).text();
        let places = links.lines().map(|line| line.split(' ').next().expect("a place").parse());
        places.map(|place| place.expect("a number")).collect()
    };
    assert_eq!(places(""), (51..=10_050).collect::<Vec<_>>());
    assert_eq!(places("?after=10048"), [10_049, 10_050]);
    assert_eq!(places("?after=0"), (1..=10_000).collect::<Vec<_>>());
}
