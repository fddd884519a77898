//! What happens to runs after they were published, and who sees them.

use btu_publication::Visibility;

use crate::databases::Stored;
use crate::support::{Answer, Made, Published, Publisher, Server, curl, publish, publish_as};

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
        let file = directory.path().join("signature");
        std::fs::write(&file, signature).expect("written");
        let signature = format!("signature=<{}", file.display());
        let address = format!("{}/api/v1/runs/{}/certificates", server.url, published.id);
        curl(&["-F", &signature, "-F", &format!("key={key}"), &address])
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
    assert!(stored.command(&["check"]).expect("the chain holds").contains("1 accepted"));
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
