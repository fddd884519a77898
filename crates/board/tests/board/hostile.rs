//! Publishers who write into archives, names and manifests what they like.

use std::cell::RefCell;

use btu_publication::{ChallengeRequest, Visibility, sha256};

use crate::databases::{Stored, directory};
use crate::publish::{now, resealed};
use crate::states::form;
use crate::support::{Made, Publisher, Sent, curl, publish, publish_as};

/// Words that would run, move a cursor, turn the text round, or end a line of a list.
const EVIL: &str =
    "</title><script>alert(1)</script>\u{1b}[31m\u{202e}\u{0}\r\nSet-Cookie: a=b\u{85}";

/// What a publisher writes into an archive is shown as text of one line, and is not long.
pub(crate) fn words_are_only_words(stored: &Stored) {
    let server = stored.server();
    let evil: &'static str = Box::leak((EVIL.to_owned() + &"long ".repeat(4000)).into_boxed_str());
    let made = Made { processor: evil, ..Made::of(100.0) };
    let mallory = Publisher::new("<b onclick=alert(1)>Mallory</b>");
    let run = publish(&made, &mallory, &server);
    for page in [
        "/",
        "/runs.csv",
        "/feed.atom",
        "/api/v1/runs",
        "/search?words=alert",
        &format!("/runs/{}", run.id),
    ] {
        let said = curl(&[&format!("{}{page}", server.url)]);
        assert_eq!(said.status, 200, "{page}");
        let text = said.text();
        let is_page = !page.contains("csv") && !page.contains("api");
        assert!(!is_page || !text.contains("<script") && !text.contains("<b "), "{page}: {text}");
        let control = text.chars().find(|letter| btu_units::controls(*letter) && *letter != '\n');
        assert_eq!(control, None, "{page}");
        assert!(text.len() < 30_000, "{page}: {}", text.len());
    }
}

/// The report of a hostile run has an origin of its own, and runs no script but its own.
pub(crate) fn reports_have_an_origin_of_their_own(stored: &Stored) {
    let server = stored.server();
    let mallory = Publisher::new("Mallory");
    let made = || Made { processor: EVIL, ..Made::of(100.0) };
    let [one, other] = [(); 2].map(|()| publish(&made(), &mallory, &server));
    for page in
        [format!("/runs/{}/report", one.id), format!("/compare?base={}&other={}", one.id, other.id)]
    {
        let answer = curl(&["-i", &format!("{}{page}", server.url)]).text();
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let policy = head.lines().find_map(|line| line.strip_prefix("content-security-policy: "));
        let policy = policy.expect("a policy");
        assert!(policy.contains("sandbox allow-scripts") && policy.contains("'none'"), "{policy}");
        assert!(!policy.contains("allow-same-origin"), "{policy}");
        let scripts = policy.split(';').find(|part| part.trim().starts_with("script-src"));
        assert!(scripts.is_none_or(|scripts| !scripts.contains("unsafe")), "{policy}");
        assert!(!head.to_lowercase().contains("set-cookie"), "{head}");
        assert!(!body.contains("<script>alert"), "{page}");
    }
}

/// Names that nothing has, whatever they are made of.
pub(crate) fn strange_names_find_nothing(stored: &Stored) {
    let server = stored.server();
    let run = publish(&Made::of(100.0), &Publisher::new("Ada"), &server);
    for (name, known) in [
        ("/runs/", ""),
        ("/plans/", ""),
        ("/publishers/", ""),
        ("/badge/", ".svg"),
        ("/api/v1/runs/", ""),
    ] {
        for strange in [
            "%00",
            "a%00b",
            "..%2f..%2fetc%2fpasswd",
            "%0d%0aSet-Cookie:%20a=b",
            "%27%20OR%201=1--",
            "%ff",
        ] {
            let answer = curl(&["-i", &format!("{}{name}{strange}{known}", server.url)]);
            assert!(matches!(answer.status, 400 | 404), "{name}{strange}: {}", answer.text());
            assert!(!answer.text().to_lowercase().contains("\nset-cookie"), "{}", answer.text());
        }
    }
    let shown = curl(&[&format!("{}/api/v1/runs/{}", server.url, run.id)]).json();
    let plan = shown["plan"].as_str().expect("a plan");
    for (from, status) in [("4294967295", 200), ("18446744073709551615", 400)] {
        assert_eq!(curl(&[&format!("{}/plans/{plan}?from={from}", server.url)]).status, status);
    }
    for address in ["/search?words=%00", "/runs.csv?words=%00", "/compare?base=%00&other=x"] {
        let status = curl(&[&format!("{}{address}", server.url)]).status;
        assert!(matches!(status, 200 | 404), "{address}: {status}");
    }
    for token in ["", "%00", "0", &"f".repeat(32), &run.token[1..], &format!("{}0", run.token)] {
        assert_eq!(form(&server, &run.id, "/deletion", &[("token", token)]).status, 403, "{token}");
    }
    let objections = format!("{}/runs/{}/objections", server.url, run.id);
    assert_eq!(curl(&["-d", "by_run=a%00b&token=x&text=x", &objections]).status, 404);
}

/// Rates that no machine has are refused or shown, and break nothing.
pub(crate) fn strange_rates_break_nothing(stored: &Stored) {
    let server = stored.server();
    let mallory = Publisher::new("Mallory");
    for megabits in [0.0, -5.0, 1e-300, 1e12, 1e290] {
        let sent = Sent::of(&Made::of(megabits), &mallory, &server.url);
        let answer = sent.send(&mallory, &server.url);
        eprintln!("{megabits}: {} {}", answer.status, answer.text());
        assert!(matches!(answer.status, 201 | 422), "{megabits}: {}", answer.text());
        let id = answer.json()["id"].as_str().map(str::to_owned);
        for page in ["/", "/runs.csv", "/api/v1/runs", &format!("/runs/{}", id.unwrap_or_default())]
        {
            let status = curl(&[&format!("{}{page}", server.url)]).status;
            assert!(status == 200 || page == "/runs/", "{page}: {status}");
        }
        let listed = curl(&[&format!("{}/api/v1/runs", server.url)]).json();
        let plan = listed["runs"][0]["plan"].as_str().unwrap_or("none").to_owned();
        let status = curl(&[&format!("{}/plans/{plan}", server.url)]).status;
        assert!(status == 200 || plan == "none", "{megabits}: {status}");
    }
}

/// An archive ends where its last line ends, and nests no deeper than cells do.
#[test]
fn archives_have_one_form() {
    let stored = directory();
    let server = stored.server();
    let mallory = Publisher::new("Mallory");
    let sent = Sent::of(&Made::of(100.0), &mallory, &server.url);
    let packed = |text: &str| resealed(&sent.archive, |_| text.to_owned());
    let unpacked = RefCell::new(String::new());
    resealed(&sent.archive, |text| {
        unpacked.borrow_mut().clone_from(&text);
        text
    });
    let unpacked = unpacked.into_inner();
    let deep = "[".repeat(1 << 20) + &"]".repeat(1 << 20);
    let key = "{\"run\":{";
    let with = |value: &str| unpacked.replacen(key, &format!("{key}\"label\":{value},"), 1);
    let archives = [
        [sent.archive.clone(), b"garbage".to_vec()].concat(),
        [sent.archive.clone(), sent.archive.clone()].concat(),
        [sent.archive.clone(), packed(&" ".repeat(1 << 28))].concat(),
        packed(&with(&deep)),
        packed(&with("1e999999")),
        packed(&with("\"\\ud800\"")),
        packed(&unpacked.replacen("\"seed\":", "\"seed\":-", 1)),
        packed(&unpacked.replacen("\"seed\":", "\"seed\":NaN,\"x\":", 1)),
        packed(&"\n".repeat(100 << 20)),
        packed(&packed("").iter().map(|octet| char::from(*octet)).collect::<String>()),
    ];
    for (n, archive) in archives.into_iter().enumerate() {
        let mut forged = sent.copy();
        forged.manifest.archive_sha256 = sha256(&archive);
        forged.archive = archive;
        let answer = forged.send(&mallory, &server.url);
        assert_eq!(answer.status, 422, "{n}: {}", answer.text());
        assert!(answer.text().len() < 2000, "{n}: {}", answer.text());
    }
    assert_eq!(sent.send(&mallory, &server.url).status, 201);
}

/// Signed texts have one form: what looks like another line, name or board is refused.
#[test]
fn manifests_have_one_form() {
    let stored = directory();
    let server = stored.server();
    let mallory = Publisher::new("Mallory");
    let sent = Sent::of(&Made::of(100.0), &mallory, &server.url);
    let text = sent.manifest.text();
    let name = "name Mallory\n";
    for (to, word) in [
        ("name Mallory\nname Ada\n", "line 11"),
        ("name Mallory\u{2028}name Ada\n", "not shown"),
        ("name Mallory\u{85}visibility private\n", "not shown"),
        ("name Mallory\rname Ada\n", "not shown"),
        ("name \u{a0}Mallory\n", "spaces"),
        ("n\u{430}me Mallory\n", "line 10"),
        ("name\tMallory\n", "line 10"),
        ("", "line 10"),
        ("name \n", "empty"),
    ] {
        let mut forged = sent.copy();
        forged.text = Some(text.replacen(name, to, 1));
        let said = forged.send(&mallory, &server.url).refused();
        assert!(said.contains(word), "{to:?}: {said}");
    }
    let mut long = sent.copy();
    long.text = Some(text.replacen(name, &format!("name {}\n", "M".repeat(5000)), 1));
    assert!(long.send(&mallory, &server.url).refused().contains("4096 bytes"));
    // A request for a challenge is no manifest, though the same key signed it.
    let request = ChallengeRequest { board: server.url.clone(), signed: now() }.text();
    let mut other = sent.copy();
    other.text = Some(request);
    assert!(other.send(&mallory, &server.url).refused().contains("first line"));
    assert_eq!(sha256(&sent.archive), sent.manifest.archive_sha256);
    assert_eq!(sent.send(&mallory, &server.url).status, 201);
}

/// Names that a reader takes for none, or for that of a laboratory; and those that a spreadsheet takes for a formula.
pub(crate) fn names_are_what_readers_see(stored: &Stored) {
    let server = stored.server();
    let laboratory = Publisher::new("irrelevant");
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("lab.pub").display().to_string();
    std::fs::write(&file, laboratory.key.public().expect("a key").file()).expect("written");
    stored.command(&["laboratory", "--name", "Example Laboratory", &file]).expect("appointed");
    for (name, word) in [
        ("Example Laboratory", "of a laboratory"),
        ("EXAMPLE-LABORATORY", "of a laboratory"),
        ("certified by Example Laboratory", "of a laboratory"),
        ("Ех\u{430}mple L\u{430}b\u{43e}ratory", "of a laboratory"),
        ("Ｅｘａｍｐｌｅ Laboratory", "of a laboratory"),
        ("Examp1e Lab0ratory", "of a laboratory"),
        ("name x\u{ffff}", "not shown"),
        ("\u{200b}", "not shown"),
        ("\u{3164}", "not shown"),
    ] {
        let mallory = Publisher::new(name);
        let sent = Sent::of(&Made::of(100.0), &mallory, &server.url);
        let said = sent.send(&mallory, &server.url).refused();
        assert!(said.contains(word), "{name:?}: {said}");
    }
    let formula = Publisher::new("＝cmd|x");
    let run =
        publish(&Made { processor: "x\u{fffe}y\u{ffff}", ..Made::of(100.0) }, &formula, &server);
    let csv = curl(&[&format!("{}/runs.csv", server.url)]).text();
    assert!(csv.contains("\"'＝cmd|x\""), "{csv}");
    for page in ["/feed.atom".to_owned(), format!("/runs/{}", run.id)] {
        let text = curl(&[&format!("{}{page}", server.url)]).text();
        assert!(!text.contains(['\u{fffe}', '\u{ffff}']), "{page}");
    }
}

/// A laboratory has a name that no other key has, as readers see it, and keeps it when another key follows its own.
pub(crate) fn laboratories_have_names_of_their_own(stored: &Stored) {
    let server = stored.server();
    let mallory = Publisher::new("Dr. Ex\u{430}mple Laboratory");
    publish(&Made::of(100.0), &mallory, &server);
    let directory = tempfile::tempdir().expect("a directory");
    let key = |publisher: &Publisher| publisher.key.public().expect("a key");
    let [laboratory, next, other] = ["Example Laboratory"; 3].map(Publisher::new);
    let appoint = |publisher: &Publisher, name: &str| {
        let file = directory.path().join("lab.pub").display().to_string();
        std::fs::write(&file, key(publisher).file()).expect("written");
        stored.command(&["laboratory", "--name", name, &file])
    };
    let remove = format!("remove --name {}", key(&mallory));
    for (name, word) in [
        ("Example Laboratory", remove.as_str()),
        ("EXAMP1E-LABORATORY", &remove),
        ("!!", "letters or digits"),
        ("Example\nLaboratory", "not shown"),
    ] {
        let refused = appoint(&laboratory, name).expect_err("it is taken, or none");
        assert!(refused.contains(word), "{name:?}: {refused}");
    }
    stored.command(&["remove", "--name", &key(&mallory).to_string()]).expect("removed");
    for _ in 0..2 {
        appoint(&laboratory, "Example Laboratory").expect("it is free, and its own");
    }
    let refused = appoint(&other, "example laboratory").expect_err("it is taken");
    assert!(refused.contains(&key(&laboratory).to_string()), "{refused}");
    let follow = ["follow", &key(&laboratory).to_string(), &key(&next).to_string()];
    stored.command(&follow).expect("followed");
    publish(&Made::of(101.0), &next, &server);
    appoint(&next, "Example Laboratory").expect("it is its own");
    stored.command(&["block", &key(&other).to_string()]).expect("blocked");
    let refused = appoint(&other, "Another Laboratory").expect_err("it is blocked");
    assert!(refused.contains("the key is blocked"), "{refused}");
}

/// A private or unlisted run changes nothing that is public of its publisher.
pub(crate) fn what_is_private_changes_no_name(stored: &Stored) {
    let server = stored.server();
    let mut ada = Publisher::new("pseudonym");
    let public = publish(&Made::of(100.0), &ada, &server);
    "Dr. Real Name".clone_into(&mut ada.name);
    for visibility in [Visibility::Private, Visibility::Unlisted] {
        publish_as(&Made::of(101.0), &ada, &server, visibility);
        for page in ["/".to_owned(), format!("/runs/{}", public.id), "/runs.csv".to_owned()] {
            let text = curl(&[&format!("{}{page}", server.url)]).text();
            assert!(text.contains("pseudonym") && !text.contains("Real Name"), "{page}: {text}");
        }
    }
    publish(&Made::of(102.0), &ada, &server);
    assert!(curl(&[&server.url]).text().contains("Real Name"));
}

/// Times that contradict each other.
pub(crate) fn runs_begin_before_they_end_and_are_signed(stored: &Stored) {
    let server = stored.server();
    let mallory = Publisher::new("Mallory");
    let later = Made { created: "2099-01-01T00:00:00Z".to_owned(), ..Made::of(100.0) };
    let sent = Sent::of(&later, &mallory, &server.url);
    let said = sent.send(&mallory, &server.url).refused();
    assert!(said.contains("began after it was signed"), "{said}");
    let in_minutes = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(2);
    let soon = Made { created: in_minutes.to_string(), ..Made::of(100.0) };
    let said = Sent::of(&soon, &mallory, &server.url).send(&mallory, &server.url).refused();
    assert!(said.contains("began after it was signed"), "{said}");
    for (year, word) in [("1999", "ended before it began"), ("2099", "ended after it was signed")] {
        let mut sent = Sent::of(&Made::of(100.0), &mallory, &server.url);
        let finished = format!("\"finished\":\"{year}");
        sent.archive =
            resealed(&sent.archive, |text| text.replace("\"finished\":\"2026", &finished));
        sent.manifest.archive_sha256 = sha256(&sent.archive);
        let said = sent.send(&mallory, &server.url).refused();
        assert!(said.contains(word), "{said}");
    }
}
