//! What was published, signed or deleted once, sent again: by its publisher, and by strangers who have read it.

use btu_publication::{Manifest, sha256};

use crate::databases::{Stored, directory};
use crate::publish::{now, resealed};
use crate::states::form;
use crate::support::{
    Answer, Made, Published, Publisher, Sent, Server, curl, line, publish, upload,
};

/// Everything that each reader gets of a run, as who never saw its publisher can send it.
struct Copied {
    manifest: String,
    signature: String,
    key: String,
    archive: Vec<u8>,
}

impl Copied {
    fn of(server: &Server, id: &str) -> Self {
        let get = |name: &str| curl(&[&format!("{}/runs/{id}/{name}", server.url)]);
        let shown = curl(&[&format!("{}/api/v1/runs/{id}", server.url)]).json();
        Self {
            manifest: get("manifest").text(),
            signature: get("manifest.minisig").text(),
            key: shown["key"].as_str().expect("a key").to_owned(),
            archive: get("archive").body,
        }
    }

    fn send(&self, server: &Server) -> Answer {
        let directory = tempfile::tempdir().expect("a directory");
        let line = line(&self.manifest, &self.signature, &self.key);
        let arguments = upload(directory.path(), &line, &self.archive, &server.url);
        curl(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

fn published(answer: &Answer) -> Published {
    assert_eq!(answer.status, 201, "{}", answer.text());
    let answer = answer.json();
    let text = |name: &str| answer[name].as_str().expect("a text").to_owned();
    Published { id: text("id"), token: text("token") }
}

/// A stranger does not put a deleted run back, nor does its publisher, whose withdrawal and objections would be gone.
pub(crate) fn deleted_runs_do_not_come_back(stored: &Stored) {
    let server = stored.server();
    let (ada, bob) = (Publisher::new("Ada"), Publisher::new("Bob"));
    let his = publish(&Made::of(100.0), &bob, &server);
    let sent = Sent::of(&Made::of(200.0), &ada, &server.url);
    let hers = published(&sent.send(&ada, &server.url));
    let copied = Copied::of(&server, &hers.id);
    assert!(copied.send(&server).refused().contains("here already"));
    let objection = [("by_run", his.id.as_str()), ("token", &his.token), ("text", "too fast")];
    assert_eq!(form(&server, &hers.id, "/objections", &objection).status, 303);
    stored.command(&["withdraw", &hers.id, "--why", "made up"]).expect("withdrawn");
    assert_eq!(form(&server, &hers.id, "/deletion", &[("token", &hers.token)]).status, 303);
    assert!(copied.send(&server).refused().contains("was deleted"));
    // Signed anew, and under another name of the run.
    let again =
        Sent { manifest: Manifest { signed: now(), ..sent.manifest.clone() }, ..sent.copy() };
    assert!(again.send(&ada, &server.url).refused().contains("was deleted"));
    let renamed = renamed(&sent);
    assert!(renamed.send(&ada, &server.url).refused().contains("cells count once"));
    assert!(stored.command(&["check"]).expect("the chain holds").contains("2 accepted"));
}

/// The same measurement under another name.
fn renamed(sent: &Sent) -> Sent {
    let other = "0199d8a2-0000-7000-8000-000000000000";
    let mut renamed = sent.copy();
    renamed.archive = resealed(&sent.archive, |text| text.replace(&sent.manifest.run, other));
    other.clone_into(&mut renamed.manifest.run);
    renamed.manifest.archive_sha256 = sha256(&renamed.archive);
    renamed
}

/// What was measured once counts once, whatever its run and its publisher are called.
pub(crate) fn known_cells_count_once(stored: &Stored) {
    let server = stored.server();
    let (ada, mallory) = (Publisher::new("Ada"), Publisher::new("Mallory"));
    let sent = Sent::of(&Made::of(200.0), &ada, &server.url);
    let renamed = renamed(&sent);
    published(&sent.send(&ada, &server.url));
    for publisher in [&ada, &mallory] {
        let refused = renamed.send(publisher, &server.url).refused();
        assert!(refused.contains("cells count once"), "{refused}");
    }
    let stolen = sent.send(&mallory, &server.url).refused();
    assert!(stolen.contains("here already"), "{stolen}");
    publish(&Made::of(200.0), &mallory, &server);
}

/// A publisher who never got the answer signs the same once more, and has a token for the run; no other caller has.
pub(crate) fn a_lost_answer_is_made_good(stored: &Stored) {
    let server = stored.server();
    let ada = Publisher::new("Ada");
    let sent = Sent::of(&Made::of(200.0), &ada, &server.url);
    let first = published(&sent.send(&ada, &server.url));
    let copied = Copied::of(&server, &first.id);
    let signed = |signed: String| {
        let manifest = Manifest { signed, ..sent.manifest.clone() };
        Sent { manifest, ..sent.copy() }
    };
    let again = signed(now());
    let second = published(&again.send(&ada, &server.url));
    assert_eq!(second.id, first.id, "no second run");
    let withdraw = |token: &str| {
        form(&server, &first.id, "/withdrawal", &[("token", token), ("text", "mine")]).status
    };
    assert_eq!([withdraw(&first.token), withdraw(&second.token)], [403, 303]);
    // A clock that was ahead has to be passed, by whom who signs is told.
    let ahead = (jiff::Timestamp::now() + jiff::SignedDuration::from_secs(50)).to_string();
    published(&signed(ahead.clone()).send(&ada, &server.url));
    let refused = signed(now()).send(&ada, &server.url).refused();
    assert!(refused.contains(&format!("later than {ahead}")), "{refused}");
    // What readers have, and what another host on the way has seen, opens nothing.
    for seen in [copied.send(&server), again.send(&ada, &server.url)] {
        assert!(seen.refused().contains("here already"), "{}", seen.text());
    }
    let mallory = Publisher::new("Mallory");
    assert!(signed(now()).send(&mallory, &server.url).refused().contains("here already"));
    // With the same text it is the same run; anything else is another publication.
    let mut other = signed(now());
    other.manifest.system = Some("another laptop".to_owned());
    assert!(other.send(&ada, &server.url).refused().contains("published once"));
    assert!(stored.command(&["check"]).expect("the chain holds").contains("1 accepted"));
}

/// A signature is not kept for later.
pub(crate) fn what_was_signed_long_ago_is_refused(stored: &Stored) {
    let server = stored.server();
    let ada = Publisher::new("Ada");
    let ago = |hours: i64| jiff::Timestamp::now() - jiff::SignedDuration::from_hours(hours);
    let mut sent = Sent::of(&Made::of(200.0), &ada, &server.url);
    sent.manifest.signed = ago(25).to_string();
    assert!(sent.send(&ada, &server.url).refused().contains("more than a day ago"));
    sent.manifest.signed = ago(23).to_string();
    published(&sent.send(&ada, &server.url));
}

/// Nothing that a publisher wrote is left in the files of an embedded database.
#[test]
fn what_is_deleted_is_gone_from_the_files() {
    let stored = directory();
    let mut server = stored.server();
    let ada = Publisher::new("Zzuniquename Ada");
    let run = publish(&Made { processor: "Zzuniqueprocessor", ..Made::of(100.0) }, &ada, &server);
    let Stored::Directory(directory) = &stored else { return };
    let is_found = || {
        let files = std::fs::read_dir(directory.path().join("board")).expect("files");
        files.map(|file| file.expect("one").path()).any(|file| {
            let content = std::fs::read(file).expect("its content");
            content.windows(8).any(|octets| octets == b"Zzunique")
        })
    };
    assert!(is_found());
    assert_eq!(form(&server, &run.id, "/deletion", &[("token", &run.token)]).status, 303);
    assert!(!is_found());
    // Another program reads the file meanwhile: the next change after it makes that good.
    let other = publish(&Made { processor: "Zzuniqueother", ..Made::of(90.0) }, &ada, &server);
    let reader =
        rusqlite::Connection::open(directory.path().join("board/board.sqlite")).expect("a reader");
    reader.execute_batch("BEGIN; SELECT count(*) FROM runs").expect("it reads");
    assert_eq!(form(&server, &other.id, "/deletion", &[("token", &other.token)]).status, 303);
    drop(reader);
    drop(publish(&Made::of(80.0), &Publisher::new("Bob"), &server));
    assert!(!is_found());
    assert!(server.end());
    assert!(!is_found());
}
