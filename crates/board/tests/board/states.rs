//! What happens to runs after they were published, and who sees them.

use btu_publication::{Visibility, sha256};

use crate::databases::Stored;
use crate::publish::{challenge, now};
use crate::races::count;
use crate::support::{
    Answer, Made, Published, Publisher, Sent, Server, curl, post, publish, publish_as,
};

/// Sends a form of a run's page.
pub(crate) fn form(server: &Server, id: &str, what: &str, fields: &[(&str, &str)]) -> Answer {
    let address = format!("{}/runs/{id}{what}", server.url);
    let mut arguments: Vec<String> = Vec::new();
    for (name, value) in fields {
        arguments.extend(["--data-urlencode".to_owned(), format!("{name}={value}")]);
    }
    arguments.push(address);
    curl(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

fn page(server: &Server, address: &str) -> Answer {
    curl(&[&format!("{}{address}", server.url)])
}

fn run(server: &Server, run: &Published) -> String {
    page(server, &format!("/runs/{}", run.id)).text()
}

pub(crate) fn objections_are_public_and_answered(stored: &Stored) {
    let server = stored.server();
    let (ada, bob) = (Publisher::new("Ada"), Publisher::new("Bob"));
    let (his, hers) =
        (publish(&Made::of(100.0), &bob, &server), publish(&Made::of(9000.0), &ada, &server));
    let object = |token: &str, text: &str| {
        form(
            &server,
            &hers.id,
            "/objections",
            &[("by_run", &his.id), ("token", token), ("text", text)],
        )
    };
    assert_eq!(object("guessed", "too fast").status, 403);
    assert_eq!(object(&his.token, "").status, 422);
    assert_eq!(object(&his.token, "<b>Nine</b> Gb/s through one core?\nHow?").status, 303);
    assert!(object(&his.token, "again").text().contains("waits for its answer"));
    let own = [("by_run", hers.id.as_str()), ("token", &hers.token), ("text", "mine")];
    assert!(form(&server, &hers.id, "/objections", &own).text().contains("own run"));
    let shown = run(&server, &hers);
    assert!(shown.contains("&lt;b&gt;Nine&lt;/b&gt;") && !shown.contains("<b>Nine"), "{shown}");
    assert!(shown.contains("class=\"word objected\""), "{shown}");
    let list = page(&server, "/").text();
    assert!(list.contains("objected"), "{list}");
    let objection = shown.split_once("name=\"objection\" value=\"").expect("a form").1;
    let objection = objection.split_once('"').expect("an end").0;
    let answer = |token: &str| {
        let fields = [("objection", objection), ("token", token), ("text", "By jumbo frames.")];
        form(&server, &hers.id, "/answers", &fields)
    };
    assert_eq!(answer(&his.token).status, 403);
    assert_eq!(answer(&hers.token).status, 303);
    assert_eq!(answer(&hers.token).status, 422, "an answer is given once");
    assert!(run(&server, &hers).contains("By jumbo frames."));
}

pub(crate) fn laboratories_certify(stored: &Stored) {
    let server = stored.server();
    let (ada, laboratory) = (Publisher::new("Ada"), Publisher::new("irrelevant"));
    let published = publish(&Made::of(100.0), &ada, &server);
    let manifest = page(&server, &format!("/runs/{}/manifest", published.id)).text();
    let directory = tempfile::tempdir().expect("a directory");
    let key_file = directory.path().join("lab.pub");
    let key = laboratory.key.public().expect("a key");
    std::fs::write(&key_file, key.file()).expect("written");
    let certify = |signature: String, key: String| {
        let address = format!("{}/api/v1/runs/{}/certificates", server.url, published.id);
        post(&address, &[("signature", &signature), ("key", &key)])
    };
    let signature = laboratory.key.sign(&manifest).expect("signed");
    let refused = certify(signature.clone(), key.to_string()).refused();
    assert!(refused.contains("not the key of a laboratory"), "{refused}");
    let file = key_file.display().to_string();
    stored.command(&["laboratory", "--name", "Example Laboratory", &file]).expect("appointed");
    let other = laboratory.key.sign("another text\n").expect("signed");
    assert!(certify(other, key.to_string()).refused().contains("signature"));
    let own = ada.key.sign(&manifest).expect("signed");
    let own = certify(own, ada.key.public().expect("a key").to_string()).refused();
    assert!(own.contains("not the key of a laboratory"), "{own}");
    assert_eq!(certify(signature, key.to_string()).status, 201);
    let shown = run(&server, &published);
    assert!(shown.contains("certified by Example Laboratory"), "{shown}");
    assert!(page(&server, "/").text().contains("certified by Example Laboratory"));
    stored.command(&["check"]).expect("all is so");
    stored.execute("UPDATE certificates SET signature = (SELECT signature FROM runs)");
    let found = stored.command(&["check"]).expect_err("the publisher's signature");
    assert!(found.contains("the certificate at link 1"), "{found}");
}

pub(crate) fn a_key_follows_another(stored: &Stored) {
    let server = stored.server();
    let [old, new, laboratory, next] =
        ["Ada", "another name", "irrelevant", "irrelevant"].map(Publisher::new);
    let key = |publisher: &Publisher| publisher.key.public().expect("a key").to_string();
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("lab.pub");
    std::fs::write(&file, laboratory.key.public().expect("a key").file()).expect("written");
    let file = file.display().to_string();
    stored.command(&["laboratory", "--name", "Example Laboratory", &file]).expect("appointed");
    let first = publish(&Made::of(100.0), &old, &server);
    let refused =
        stored.command(&["follow", &key(&old), &key(&laboratory)]).expect_err("it is one");
    assert!(refused.contains("laboratory"), "{refused}");
    let certify = |run: &Published, by: &Publisher| {
        let manifest = page(&server, &format!("/runs/{}/manifest", run.id)).text();
        let signature = by.key.sign(&manifest).expect("signed");
        let address = format!("{}/api/v1/runs/{}/certificates", server.url, run.id);
        post(&address, &[("signature", &signature), ("key", &key(by))])
    };
    assert_eq!(certify(&first, &laboratory).status, 201);
    let follow = |old: &str, new: &str| stored.command(&["follow", old, new]);
    // A key that only asked for a challenge has nothing that could be another one's.
    assert_eq!(challenge(&server, &new.key, &now()).status, 201);
    let refused = follow(&key(&new), &key(&old)).expect_err("unknown");
    assert!(refused.contains("does not know the key") && refused.contains("block"), "{refused}");
    assert!(follow(&key(&old), &key(&old)).expect_err("the same").contains("or it is the same"));
    for (from, to) in [(&old, &new), (&laboratory, &next)] {
        follow(&key(from), &key(to)).expect("followed");
        follow(&key(from), &key(to)).expect_err("already");
    }
    let blocked = stored.command(&["block", &key(&old)]).expect_err("it is followed");
    assert!(blocked.contains(&key(&new)), "{blocked}");
    // The old keys say nothing more, and what they said stays.
    let late = Sent::of(&Made::of(100.0), &old, &server.url).send(&old, &server.url).refused();
    assert!(late.contains(&format!("the key {} follows this one", key(&new))), "{late}");
    let by_token = [("token", first.token.as_str()), ("text", "measured wrongly")];
    assert_eq!(form(&server, &first.id, "/withdrawal", &by_token).status, 403);
    let second = publish(&Made::of(101.0), &new, &server);
    assert!(certify(&second, &laboratory).refused().contains("not the key of a laboratory"));
    assert_eq!(certify(&second, &next).status, 201);
    for run in [&first, &second] {
        let shown = self::run(&server, run);
        assert!(shown.contains("certified by Example Laboratory"), "{shown}");
    }
    // Both runs are of one publisher, and of one machine.
    let shown =
        page(&server, &format!("/publishers/{}", &sha256(key(&new).as_bytes())[..16])).text();
    assert!(shown.contains(&first.id) && shown.contains(&second.id), "{shown}");
    let before =
        page(&server, &format!("/publishers/{}", &sha256(key(&old).as_bytes())[..16])).text();
    assert!(before.contains(&key(&new)) && !before.contains(&first.id), "{before}");
    let signed = page(&server, &format!("/api/v1/runs/{}", first.id)).json();
    assert_eq!(signed["key"], key(&old), "the signature is of that key");
    stored.command(&["check", "--compute"]).expect("all is so");
}

pub(crate) fn withdrawn_runs_stay_to_be_seen(stored: &Stored) {
    let server = stored.server();
    let ada = Publisher::new("Ada");
    let published = publish(&Made::of(100.0), &ada, &server);
    let withdraw = |token: &str| {
        let fields = [("token", token), ("text", "the disk was a RAM disk")];
        form(&server, &published.id, "/withdrawal", &fields)
    };
    assert_eq!(withdraw("guessed").status, 403);
    assert_eq!(withdraw(&published.token).status, 303);
    assert_eq!(withdraw(&published.token).status, 422);
    let shown = run(&server, &published);
    assert!(shown.contains("h1 class=\"withdrawn\"") && shown.contains("RAM disk"), "{shown}");
    let front = page(&server, "/").text();
    assert!(
        front.contains("tr class=\"withdrawn\"") && !front.contains("The fastest first"),
        "{front}"
    );
    let other = publish(&Made::of(100.0), &ada, &server);
    stored.command(&["withdraw", &other.id, "--why", "measured by a changed btu"]).expect("done");
    assert!(run(&server, &other).contains("Withdrawn by the board"));
}

pub(crate) fn deleted_runs_are_forgotten(stored: &Stored) {
    let server = stored.server();
    let ada = Publisher::new("Ada Lovelace");
    let published = publish(&Made { processor: "Rare 77", ..Made::of(100.0) }, &ada, &server);
    let delete = |token: &str| form(&server, &published.id, "/deletion", &[("token", token)]);
    assert_eq!(delete("guessed").status, 403);
    assert_eq!(delete(&published.token).status, 303);
    assert_eq!(delete(&published.token).status, 410);
    let gone = page(&server, &format!("/runs/{}", published.id));
    assert_eq!(gone.status, 410);
    assert!(gone.text().contains("deleted"), "{}", gone.text());
    for address in ["archive", "manifest", "report"] {
        assert_eq!(page(&server, &format!("/runs/{}/{address}", published.id)).status, 410);
    }
    for address in ["/", "/runs.csv", "/feed.atom", "/search?words=Rare", "/api/v1/runs"] {
        let said = page(&server, address).text();
        assert!(!said.contains(&published.id) && !said.contains("Lovelace"), "{address}: {said}");
    }
    let left = "SELECT count(*) FROM runs WHERE title || plan_hash || profile || btu_version || machine || system <> ''";
    assert_eq!(count(stored, left), 0);
    assert!(stored.command(&["check"]).expect("the chain holds").contains("1 accepted"));
}

/// An objection is deleted with the run by whose token it was made.
pub(crate) fn objections_go_with_the_run_that_they_are_by(stored: &Stored) {
    let server = stored.server();
    let (ada, bob) = (Publisher::new("Ada"), Publisher::new("Bob"));
    let (his, hers) =
        (publish(&Made::of(100.0), &bob, &server), publish(&Made::of(9000.0), &ada, &server));
    let fields = [("by_run", his.id.as_str()), ("token", &his.token), ("text", "too fast")];
    assert_eq!(form(&server, &hers.id, "/objections", &fields).status, 303);
    assert!(run(&server, &hers).contains("class=\"word objected\""));
    assert_eq!(form(&server, &his.id, "/deletion", &[("token", &his.token)]).status, 303);
    let shown = run(&server, &hers);
    assert!(shown.contains("class=\"word unverified\"") && !shown.contains("too fast"), "{shown}");
    assert_eq!(count(stored, "SELECT count(*) FROM objections"), 0);
}

pub(crate) fn each_level_of_visibility_hides_what_it_says(stored: &Stored) {
    let server = stored.server();
    let ada = Publisher::new("Ada");
    let [public, unlisted, private] = Visibility::ALL.map(|level| {
        publish_as(&Made { processor: "Hidden 5", ..Made::of(100.0) }, &ada, &server, level)
    });
    let key = ada.key.public().expect("a key").to_string();
    let key: String = btu_publication::sha256(key.as_bytes()).chars().take(16).collect();
    let lists = [
        "/",
        "/runs.csv",
        "/feed.atom",
        "/search?words=Hidden",
        "/api/v1/runs",
        &format!("/publishers/{key}"),
    ];
    for address in lists {
        let said = page(&server, address).text();
        let seen = [&public, &unlisted, &private].map(|run| said.contains(&run.id));
        assert_eq!(seen, [true, false, false], "{address}: {said}");
    }
    assert_eq!(page(&server, &format!("/runs/{}", unlisted.id)).status, 200);
    for name in ["", "/report", "/archive", "/manifest", "/manifest.minisig"] {
        let address = format!("/runs/{}{name}", private.id);
        let closed = page(&server, &address);
        assert_eq!(closed.status, 403, "{address}");
        assert!(!closed.text().contains("Hidden 5"), "{address}");
        let token = format!("Authorization: Bearer {}", private.token);
        let url = format!("{}{address}", server.url);
        assert_eq!(curl(&["-H", &token, &url]).status, 200, "{address}");
        assert_eq!(form(&server, &private.id, name, &[("token", &private.token)]).status, 200);
        let other = format!("Authorization: Bearer {}", public.token);
        assert_eq!(curl(&["-H", &other, &url]).status, 403, "{address}");
    }
    assert_eq!(page(&server, &format!("/badge/{}.svg", private.id)).status, 403);
    assert_eq!(page(&server, &format!("/api/v1/runs/{}", private.id)).status, 403);
    let pair = format!("/compare?base={}&other={}", public.id, private.id);
    assert_eq!(page(&server, &pair).status, 403);
}

/// The name of the first objection on a run's page.
fn objection_of(shown: &str) -> String {
    let objection = shown.split_once("article class=\"objection\"").expect("an objection").1;
    let name = objection.split_once("(<code>").expect("its name").1;
    name.split_once('<').expect("an end").0.to_owned()
}

/// Who was blocked, or withdrew the run, has no voice: neither objections nor signatures nor challenges.
pub(crate) fn blocked_and_withdrawn_keys_have_no_voice(stored: &Stored) {
    let server = stored.server();
    let [ada, bob, carol] = ["Ada", "Bob", "Carol"].map(Publisher::new);
    let hers = publish(&Made::of(9000.0), &ada, &server);
    let [his, other] = [100.0, 101.0].map(|megabits| publish(&Made::of(megabits), &bob, &server));
    let object = |by: &Published| {
        let fields = [("by_run", by.id.as_str()), ("token", &by.token), ("text", "too fast")];
        form(&server, &hers.id, "/objections", &fields)
    };
    assert_eq!([object(&his).status, object(&other).status], [303, 303]);
    assert!(run(&server, &hers).contains("class=\"word objected\""));
    let withdrawal = [("token", his.token.as_str()), ("text", "mine was wrong")];
    assert_eq!(form(&server, &his.id, "/withdrawal", &withdrawal).status, 303);
    assert!(object(&his).text().contains("is withdrawn"));
    let shown = run(&server, &hers);
    assert!(shown.contains(&other.id) && !shown.contains(&his.id), "{shown}");
    let key = bob.key.public().expect("a key").to_string();
    stored.command(&["block", &key]).expect("blocked");
    let shown = run(&server, &hers);
    assert!(!shown.contains(&other.id) && shown.contains("class=\"word unverified\""), "{shown}");
    let withdrawal = [("token", other.token.as_str()), ("text", "words of a blocked key")];
    for refused in [
        object(&other),
        form(&server, &other.id, "/withdrawal", &withdrawal),
        challenge(&server, &bob.key, &now()),
    ] {
        assert!(refused.status == 422 && refused.text().contains("no words"), "{}", refused.text());
    }
    let next = carol.key.public().expect("a key").to_string();
    let refused = stored.command(&["follow", &key, &next]).expect_err("it is blocked");
    assert!(refused.contains("the key is blocked"), "{refused}");
    stored.command(&["unblock", &key]).expect("heard again");
    assert!(run(&server, &hers).contains(&other.id));
    assert!(stored.command(&["unblock", &key]).expect_err("it is not").contains("not blocked"));
    // A key may be blocked before it comes.
    stored.command(&["block", &carol.key.public().expect("a key").to_string()]).expect("blocked");
    let sent = crate::support::Sent::of(&Made::of(50.0), &carol, &server.url);
    assert!(sent.send(&carol, &server.url).refused().contains("the key is blocked"));
}

/// One publisher leaves room for the objections of others.
pub(crate) fn one_publisher_does_not_fill_all_objections(stored: &Stored) {
    let server = stored.server();
    let (ada, bob) = (Publisher::new("Ada"), Publisher::new("Bob"));
    let (his, hers) =
        (publish(&Made::of(100.0), &bob, &server), publish(&Made::of(90.0), &ada, &server));
    for number in 0..4 {
        let fields = [("by_run", his.id.as_str()), ("token", &his.token), ("text", "too fast")];
        let objected = form(&server, &hers.id, "/objections", &fields);
        assert_eq!(objected.status, if number < 3 { 303 } else { 429 }, "{}", objected.text());
        let shown = run(&server, &hers);
        if let Some((_, rest)) = shown.split_once("name=\"objection\" value=\"") {
            let objection = rest.split_once('"').expect("an end").0;
            let fields = [("objection", objection), ("token", &hers.token), ("text", "No.")];
            assert_eq!(form(&server, &hers.id, "/answers", &fields).status, 303);
        }
    }
}

/// What an operator has to fix: a text, a run, a lost token; and a backup that lacks something is found.
pub(crate) fn operators_remove_texts_and_runs_and_give_tokens(stored: &Stored) {
    let server = stored.server();
    let (ada, bob) = (Publisher::new("Ada"), Publisher::new("Badword Bob"));
    let (his, hers) =
        (publish(&Made::of(100.0), &bob, &server), publish(&Made::of(90.0), &ada, &server));
    let fields = [("by_run", his.id.as_str()), ("token", &his.token), ("text", "an advertisement")];
    assert_eq!(form(&server, &hers.id, "/objections", &fields).status, 303);
    let objection = objection_of(&run(&server, &hers));
    let fields =
        [("objection", objection.as_str()), ("token", &hers.token), ("text", "another one")];
    assert_eq!(form(&server, &hers.id, "/answers", &fields).status, 303);
    stored.command(&["remove", "--answer", &objection]).expect("removed");
    let shown = run(&server, &hers);
    assert!(shown.contains("an advertisement") && !shown.contains("another one"), "{shown}");
    stored.command(&["remove", "--objection", &objection]).expect("removed");
    assert!(!run(&server, &hers).contains("an advertisement"));
    assert!(stored.command(&["remove", "--objection", &objection]).is_err());
    let key = bob.key.public().expect("a key").to_string();
    stored.command(&["remove", "--name", &key]).expect("removed");
    assert!(!page(&server, "/").text().contains("Badword"));
    // A lost token.
    let said = stored.command(&["token", &hers.id]).expect("a token");
    let token = said.trim().rsplit_once(' ').expect("words").1.trim_end_matches('.');
    let withdraw = |token: &str| {
        form(&server, &hers.id, "/withdrawal", &[("token", token), ("text", "mine")]).status
    };
    assert_eq!([withdraw(&hers.token), withdraw(token)], [403, 303]);
    // A run, for good.
    stored.command(&["delete", &his.id]).expect("deleted");
    assert_eq!(page(&server, &format!("/runs/{}", his.id)).status, 410);
    assert!(stored.command(&["check"]).expect("the chain holds").contains("2 accepted"));
    for (change, word) in [
        ("UPDATE runs SET signature = 'none' WHERE deleted IS NULL", "signature"),
        ("DELETE FROM archive_pieces", "archive"),
    ] {
        let undone = stored.command(&["check"]).is_ok();
        stored.execute(change);
        let found = stored.command(&["check"]).expect_err("changed");
        assert!(undone == (word == "signature") && found.contains("at link 2"), "{found}");
    }
}

/// A laboratory that is blocked certifies nothing.
pub(crate) fn a_blocked_laboratory_certifies_nothing(stored: &Stored) {
    let server = stored.server();
    let (ada, laboratory) = (Publisher::new("Ada"), Publisher::new("irrelevant"));
    let published = publish(&Made::of(100.0), &ada, &server);
    let manifest = page(&server, &format!("/runs/{}/manifest", published.id)).text();
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str| directory.path().join(name).display().to_string();
    let key = laboratory.key.public().expect("a key");
    std::fs::write(file("lab.pub"), key.file()).expect("written");
    stored
        .command(&["laboratory", "--name", "Example Laboratory", &file("lab.pub")])
        .expect("done");
    let signature = laboratory.key.sign(&manifest).expect("signed");
    let address = format!("{}/api/v1/runs/{}/certificates", server.url, published.id);
    let key = key.to_string();
    let certify = || post(&address, &[("signature", &signature), ("key", &key)]).status;
    assert_eq!(certify(), 201);
    assert!(run(&server, &published).contains("certified by Example Laboratory"));
    stored.command(&["block", &key]).expect("blocked");
    let shown = run(&server, &published);
    assert!(!shown.contains("Example Laboratory") && shown.contains("unverified"), "{shown}");
    assert_eq!(certify(), 422);
}
