//! `btu rate --challenge`: the seed of a run is the one that a board asks for.

use btu_publication::{Challenge, ChallengeRequest, PublicKey};

use crate::board::Board;
use crate::common::Laboratory;
use crate::support::text;

const SEED: u64 = 4_100_200_300;

/// One row, for a second.
const LITTLE: [&str; 9] =
    ["--component", "SEND", "--message", "65536", "--load", "idle", "--time", "1 s", "--quiet"];

/// `btu rate --challenge BOARD`, and what it said.
fn challenged(laboratory: &Laboratory, board: &Board) -> (Option<i32>, String) {
    let all = [&["rate", "--challenge", &board.address], &LITTLE[..]].concat();
    let mut command = laboratory.command(&all);
    command.env("XDG_CONFIG_HOME", laboratory.directory.path());
    let output = command.output().expect("btu runs");
    (output.status.code(), text(&output.stderr))
}

/// A field of a form, without its escapes.
fn field(field: &str) -> (&str, String) {
    let (name, value) = field.split_once('=').expect("a value");
    let mut parts = value.split('%');
    let mut octets = parts.next().expect("a beginning").replace('+', " ").into_bytes();
    for part in parts {
        octets.push(u8::from_str_radix(&part[..2], 16).expect("two digits"));
        octets.extend(part[2..].replace('+', " ").as_bytes());
    }
    (name, String::from_utf8(octets).expect("text"))
}

#[test]
fn the_seed_of_a_challenge_is_that_of_the_plan() {
    let Some(laboratory) = Laboratory::open() else { return };
    let board = Board::answering("201 Created", &Challenge { seed: SEED }.text());
    let address = board.address.clone();
    let (code, said) = challenged(&laboratory, &board);
    assert!(code == Some(0) && said.contains("asks for seed 4100200300"), "{said}");
    let form = text(&board.body());
    let fields: Vec<(&str, String)> = form.split('&').map(field).collect();
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["request", "signature", "key"]);
    let texts: Vec<&str> = fields.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(ChallengeRequest::read(texts[0]).expect("a request").board, address);
    let key: PublicKey = texts[2].parse().expect("a key");
    key.verify(texts[0], texts[1]).expect("its signature");
    let run = laboratory.json(&["show"]);
    assert_eq!((&run["run"]["seed"], &run["run"]["plan"]["seed"]), (&SEED.into(), &SEED.into()));
    laboratory.assert_down();
}

#[test]
fn without_a_readable_challenge_no_run_begins() {
    let Some(laboratory) = Laboratory::open() else { return };
    for (status, answer, words) in [
        ("201 Created", "seed: seven\n", "not a challenge"),
        ("429 Too Many Requests", r#"{"error":"not so often"}"#, "refused it: not so often"),
    ] {
        let board = Board::answering(status, answer);
        let (code, said) = challenged(&laboratory, &board);
        assert!(code == Some(1) && said.contains(words), "{said}");
    }
    assert_eq!(laboratory.json(&["runs"]).as_array().map(Vec::len), Some(0));
    laboratory.assert_down();
}
