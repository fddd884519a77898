//! `btu publish` as users call it, with a board that answers what a test wants.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use btu_contract::network::Network;
use btu_publication::{Manifest, PublicKey, SigningKey, sha256};
use btu_studies::rate::{Plan, Profile};
use serde_json::Value;

use crate::board::Board;
use crate::shelf::Shelf;

const ANSWER: &str = r#"{"id":"a1","url":"https://board.example.org/runs/a1","token":"tok-5up3r","word":"unverified","state":"shown"}"#;

/// A shelf with a rating, and its user's home.
struct User {
    shelf: Shelf,
}

impl User {
    fn new() -> Self {
        let mut shelf = Shelf::new();
        shelf.run(&Plan::whole(7, Profile::quick(), Network::Veth), &[9.0, 9.1, 9.2]);
        Self { shelf }
    }

    fn btu(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let output: Output = Command::new(env!("CARGO_BIN_EXE_btu"))
            .args(arguments)
            .env("BTU_DATA", self.shelf.directory.path())
            .env("XDG_CONFIG_HOME", self.shelf.path("home"))
            .env_remove("BTU_PUBLISHER")
            .current_dir(self.shelf.directory.path())
            .stdin(Stdio::null())
            .output()
            .expect("btu runs");
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    fn publish(&self, to: &str, more: &[&str]) -> (Option<i32>, String, String) {
        let all = ["publish", "r1", "--name", "Ada Example", "--to", to];
        self.btu(&[&all, more].concat())
    }

    fn files(&self) -> Vec<PathBuf> {
        ["r1.published.gz", "r1.manifest", "r1.manifest.minisig"]
            .map(|name| self.shelf.path(name))
            .into_iter()
            .filter(|path| path.exists())
            .collect()
    }
}

#[test]
fn a_run_goes_to_the_board_with_its_manifest_and_signature() {
    let (user, board) = (User::new(), Board::answering("201 Created", ANSWER));
    user.shelf.json(&["runs", "machine", "set", "--name", "attic", "--price", "1200 EUR"]);
    let to = format!("{}/", board.address);
    let address = board.address.clone();
    let (code, out, errors) = user.publish(&to, &["--yes", "--visibility", "unlisted"]);
    assert_eq!(code, Some(0), "{out}{errors}");
    for word in [
        "Not in it:",
        "command line",
        "r1.published.gz",
        "Published: https://board.example.org/runs/a1",
        "unverified",
        "tok-5up3r",
        "btu-manifest 1",
    ] {
        assert!(out.contains(word), "{word}: {out}");
    }
    assert!(errors.contains("publisher.key") && !errors.contains("tok-"), "{errors}");
    let sent = board.body();
    let end = sent.iter().position(|octet| *octet == b'\n').expect("a line");
    let (line, archive) = (&sent[..end], &sent[end + 1..]);
    let line: Value = serde_json::from_slice(line).expect("JSON");
    assert_eq!(line.as_object().expect("an object").len(), 3);
    let [text, signature, key] =
        ["manifest", "signature", "key"].map(|name| line[name].as_str().expect("a text"));
    let manifest = Manifest::read(text).expect("a manifest");
    assert_eq!(manifest.archive_sha256, sha256(archive));
    assert_eq!((manifest.board.as_str(), manifest.seed), (address.as_str(), 7));
    assert_eq!(manifest.system.as_deref(), Some("attic"));
    assert_eq!(manifest.price.expect("a price").to_string(), "1200 EUR");
    let key: PublicKey = key.parse().expect("a key");
    key.verify(text, signature).expect("its signature");
    assert_eq!(fs::read(user.shelf.path("r1.published.gz")).expect("a file"), archive);
    assert_eq!(fs::read_to_string(user.shelf.path("r1.manifest")).expect("a file"), text);
    assert_eq!(
        fs::read_to_string(user.shelf.path("r1.manifest.minisig")).expect("a file"),
        signature
    );
    let kept = fs::read_to_string(user.shelf.path("publications")).expect("the tokens");
    assert!(kept.lines().count() == 1 && kept.ends_with(" tok-5up3r\n"), "{kept}");
    // The board makes the same form of what it was sent.
    let other = Shelf::new();
    let sent = user.shelf.path("r1.published.gz").display().to_string();
    other.json(&["runs", "import", &sent]);
    other.json(&["runs", "export", "r1", "--published", &to, "-o", "again.gz"]);
    assert_eq!(fs::read(other.path("again.gz")).expect("a file"), archive);
    // Nothing is overwritten.
    let (code, _, errors) = user.publish(&to, &["--yes"]);
    assert!(code == Some(2) && errors.contains("r1.published.gz is there already"), "{errors}");
}

#[test]
fn what_a_board_refuses_is_shown_and_leaves_nothing() {
    let user = User::new();
    for (status, text, words) in [
        (
            "409 Conflict",
            r#"{"error":"this run is published already"}"#,
            "the board refused it: this run is published already",
        ),
        ("502 Bad Gateway", "<html>", "the board refused it: http"),
        ("201 Created", "<html>", "an answer that is not a publication"),
        ("201 Created", &ANSWER.replace("tok-", "tok "), "an answer that is not a publication"),
    ] {
        let board = Board::answering(status, text);
        let (code, out, errors) = user.publish(&board.address, &["--yes", "--json"]);
        let last = errors.lines().last().unwrap_or_default();
        assert!(code == Some(1) && out.is_empty() && last.contains(words), "{errors}");
        assert!(user.files().is_empty(), "{status}");
    }
    let unused =
        TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let (code, _, errors) = user.publish(&format!("http://{unused}"), &["--yes"]);
    assert!(
        code == Some(1) && errors.contains("refused") && errors.lines().count() == 1,
        "{errors}"
    );
    assert!(user.files().is_empty());
    assert_eq!(fs::read_to_string(user.shelf.path("publications")).expect("the tokens"), "");
}

#[test]
fn a_dry_run_sends_nothing() {
    let user = User::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a setting");
    let to = format!("http://{}", listener.local_addr().expect("an address"));
    let (code, out, _) = user.publish(&to, &["--dry-run"]);
    assert!(
        code == Some(0) && out.contains("Nothing was sent") && out.contains("Not in it"),
        "{out}"
    );
    assert_eq!(user.files().len(), 3);
    assert!(listener.accept().is_err() && !user.shelf.path("publications").exists());
}

#[test]
fn what_cannot_be_published_is_refused_before_anything_is_made() {
    let user = User::new();
    let to = "https://board.example.org";
    for (arguments, words) in [
        (vec!["publish", "r1", "--to", to, "--yes"], "--name"),
        (vec!["publish", "r1", "--to", "http://192.0.2.1", "--name", "A", "--yes"], "plain HTTP"),
        (vec!["publish", "r1", "--to", to, "--name", "A"], "--yes"),
        (vec!["publish", "r1", "--to", to, "--name", "A", "--json"], "--yes"),
        (vec!["publish", "r9", "--to", to, "--name", "A", "--yes"], "no run `r9`"),
        (
            vec!["publish", "r1", "--to", to, "--name", "A", "--yes", "-o", "none"],
            "no such directory",
        ),
        (vec!["publish", "r1", "--to", to, "--name", " A", "--yes"], "spaces"),
        (
            vec!["rate", "--challenge", to, "--resume", "r1"],
            "--challenge cannot be used with --resume",
        ),
        (vec!["rate", "--challenge", to, "--seed", "1"], "--seed"),
        (vec!["rate", "--challenge", "http://192.0.2.1"], "plain HTTP"),
        (vec!["rate", "--challenge", to, "--ssh", "127.0.0.1,127.0.0.2,127.0.0.3"], "real hosts"),
    ] {
        let (code, _, errors) = user.btu(&arguments);
        assert!(code == Some(2) && errors.contains(words), "{arguments:?}: {errors}");
    }
    assert!(user.files().is_empty() && !user.shelf.path("home").exists());
}

#[test]
fn a_key_of_the_user_signs() {
    let user = User::new();
    let key = SigningKey::new().expect("a key");
    let file = user.shelf.path("own.key");
    fs::write(&file, key.file()).expect("a file");
    let own = file.display().to_string();
    let (code, _, errors) = user.publish("https://a.example", &["--dry-run", "--key", &own]);
    assert!(code == Some(3) && errors.contains("chmod 600"), "{errors}");
    let for_owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(&file, for_owner).expect("permissions");
    let (code, _, errors) = user.publish("https://a.example", &["--dry-run", "--key", &own]);
    assert_eq!(code, Some(0), "{errors}");
    let text = |name| fs::read_to_string(user.shelf.path(name)).expect("a file");
    let public = key.public().expect("a key");
    public.verify(&text("r1.manifest"), &text("r1.manifest.minisig")).expect("its signature");
}
