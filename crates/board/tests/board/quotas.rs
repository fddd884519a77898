//! What one key, and all new keys together, may do in a day.

use crate::databases::Stored;
use crate::publish::{challenge, challenge_from};
use crate::scale::COPIED;
use crate::states::form;
use crate::support::{Made, Publisher, Sent, publish};

/// As docs/board.md has them.
const RUNS: u32 = 100;
const CHALLENGES: i64 = 100;
const CHALLENGES_OF_ADDRESS: i64 = 200;
const CHALLENGES_OF_ALL: i64 = 100_000;
const NEW_KEYS: u32 = 500;

/// The last of a day's runs, challenges and new keys are taken, and the next ones are refused; deleted runs
/// count.
pub(crate) fn a_day_has_its_bounds(stored: &Stored) {
    let server = stored.server();
    let (ada, bob) = (Publisher::new("Ada"), Publisher::new("Bob"));
    let first = publish(&Made::of(100.0), &ada, &server);
    stored.execute(&format!(
        "INSERT INTO runs (id, place, uuid, uuid_sha256, cells_sha256, publisher, machine, plan_hash, rate_bits_per_second, low_bits_per_second,
                 high_bits_per_second, cpu_rounds_per_second, {COPIED})
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {RUNS} - 2)
             SELECT 'copy' || i, 1000 + i, 'uuid-' || i, 'uuid-' || i, 'cells-' || i, publisher, machine, plan_hash, rate_bits_per_second,
                 low_bits_per_second, high_bits_per_second, cpu_rounds_per_second, {COPIED} FROM n, runs;"
    ));
    publish(&Made::of(101.0), &ada, &server);
    let one_more = |megabits| Sent::of(&Made::of(megabits), &ada, &server.url);
    assert_eq!(one_more(102.0).send(&ada, &server.url).status, 429);
    let deleted = form(&server, &first.id, "/deletion", &[("token", &first.token)]);
    assert_eq!(deleted.status, 303);
    assert_eq!(one_more(103.0).send(&ada, &server.url).status, 429);
    publish(&Made::of(104.0), &bob, &server);

    let now = jiff::Timestamp::now();
    let ask = |number: i64| {
        let signed = now + jiff::SignedDuration::from_millis(number);
        challenge(&server, &ada.key, &signed.to_string()).status
    };
    assert!((0..CHALLENGES).all(|number| ask(number) == 201));
    assert_eq!(ask(CHALLENGES), 429);
    // Keys that only ask are no publishers, and keep none out; of one address they ask so often.
    let others = || challenge(&server, &Publisher::new("Nobody").key, &crate::publish::now());
    assert!((CHALLENGES..CHALLENGES_OF_ADDRESS).all(|_| others().status == 201));
    assert!(others().refused().contains("to your address"));
    let elsewhere = || challenge_from("127.0.0.2", &server, &bob.key, &crate::publish::now());
    assert_eq!(elsewhere().status, 201);
    stored.execute(&format!(
        "INSERT INTO challenges (seed, publisher, request_sha256, issued)
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {CHALLENGES_OF_ALL})
             SELECT 'seed-' || i, 'key', 'request-' || i, (SELECT max(issued) FROM challenges) FROM n;"
    ));
    let refused = elsewhere().refused();
    assert!(refused.contains("too many challenges today"), "{refused}");

    stored.execute(&format!(
        "INSERT INTO publishers (key, id, name, is_laboratory, is_blocked, added)
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {NEW_KEYS} - 3)
             SELECT 'key-' || i, 'id-' || i, 'Publisher ' || i, 0, 0, (SELECT max(added) FROM publishers) FROM n;"
    ));
    publish(&Made::of(105.0), &Publisher::new("Carol"), &server);
    let dan = Publisher::new("Dan");
    let sent = Sent::of(&Made::of(106.0), &dan, &server.url);
    assert_eq!(sent.send(&dan, &server.url).status, 429);
    // The operator is not a stranger.
    let file = sent.directory.path().join("lab.pub");
    std::fs::write(&file, dan.key.public().expect("a key").file()).expect("written");
    let file = file.display().to_string();
    stored.command(&["laboratory", "--name", "Example Laboratory", &file]).expect("appointed");
    publish(&Made::of(107.0), &bob, &server);
}
