//! What several publishers, or one who means harm, do at once.

use std::process::Command;
use std::time::Duration;

use crate::databases::Stored;
use crate::publish::{challenge, now};
use crate::states::form;
use crate::support::{Answer, Made, Publisher, Sent, curl, publish};

/// What counts the rows of a query, whichever the database.
pub(crate) fn count(stored: &Stored, sql: &str) -> i64 {
    match stored {
        Stored::Directory(directory) => {
            let file = directory.path().join("board/board.sqlite");
            let database = rusqlite::Connection::open(file).expect("a database");
            database.query_row(sql, [], |row| row.get(0)).expect("a number")
        }
        Stored::In(path) => unreachable!("no test counts in {}", path.display()),
        Stored::Postgres(address) => {
            let psql = Command::new("psql").args(["-At", "-d", address, "-c", sql]).output();
            String::from_utf8_lossy(&psql.expect("psql").stdout).trim().parse().expect("a number")
        }
    }
}

/// Deletion, withdrawal and objections at once leave nothing of a deleted run.
pub(crate) fn a_race_with_deletion_leaves_nothing(stored: &Stored) {
    let first = stored.server();
    let second = stored.another(&first.url);
    let (ada, bob) = (Publisher::new("Ada"), Publisher::new("Bob"));
    let his = publish(&Made::of(50.0), &bob, &first);
    for n in 0..4 {
        let hers = publish(&Made::of(100.0), &ada, &first);
        let objection = [("by_run", his.id.as_str()), ("token", &his.token), ("text", "too fast")];
        let withdrawal = [("token", hers.token.as_str()), ("text", "my secret reason")];
        std::thread::scope(|scope| {
            for server in [&first, &second] {
                scope.spawn(|| form(server, &hers.id, "/objections", &objection));
                scope.spawn(|| form(server, &hers.id, "/withdrawal", &withdrawal));
            }
            std::thread::sleep(Duration::from_millis(5 * n));
            let token = [("token", hers.token.as_str())];
            assert_eq!(form(&second, &hers.id, "/deletion", &token).status, 303);
        });
        let of_run = format!("run = '{}'", hers.id);
        assert_eq!(count(stored, &format!("SELECT count(*) FROM objections WHERE {of_run}")), 0);
        let why =
            "SELECT count(*) FROM runs WHERE deleted IS NOT NULL AND withdrawn_why IS NOT NULL";
        assert_eq!(count(stored, why), 0);
    }
    // One objection waits for its answer, however many are sent at once.
    let hers = publish(&Made::of(100.0), &ada, &first);
    let objection = [("by_run", his.id.as_str()), ("token", &his.token), ("text", "too fast")];
    std::thread::scope(|scope| {
        for n in 0..8 {
            let server = [&first, &second][n % 2];
            scope.spawn(|| form(server, &hers.id, "/objections", &objection));
        }
    });
    let of_run = format!("SELECT count(*) FROM objections WHERE run = '{}'", hers.id);
    assert_eq!(count(stored, &of_run), 1);
}

/// A challenge, and a run, that come twice at once are taken once, and the other is told why.
pub(crate) fn races_have_one_winner(stored: &Stored) {
    let first = stored.server();
    let second = stored.another(&first.url);
    let ada = Publisher::new("Ada");
    let seed = challenge(&first, &ada.key, &now()).text();
    let seed = btu_publication::Challenge::read(&seed).expect("a challenge").seed;
    let made = |megabits| Made { seed, created: now(), ..Made::of(megabits) };
    let met = [100.0, 101.0].map(|megabits| Sent::of(&made(megabits), &ada, &first.url));
    let same = Sent::of(&Made::of(70.0), &ada, &first.url);
    let again = same.copy();
    for (one, other, why) in [(&met[0], &met[1], "met"), (&same, &again, "here already")] {
        let answers = std::thread::scope(|scope| {
            let one = scope.spawn(|| one.send(&ada, &first.url));
            let other = scope.spawn(|| other.send(&ada, &second.url));
            [one, other].map(|thread| thread.join().expect("an answer"))
        });
        let mut statuses = answers.each_ref().map(|answer| answer.status);
        statuses.sort_unstable();
        let said = answers.each_ref().map(Answer::text);
        assert_eq!(statuses, [201, 422], "{said:?}");
        assert!(said.iter().any(|said| said.contains(why)), "{said:?}");
    }
    assert!(stored.command(&["check"]).expect("one chain").contains("2 accepted"));
}

/// Challenges are in no list: no ranking is computed again for them.
pub(crate) fn challenges_change_no_list(stored: &Stored) {
    let server = stored.server();
    let ada = Publisher::new("Ada");
    publish(&Made::of(100.0), &ada, &server);
    let changes = || count(stored, "SELECT number FROM changes");
    let before = changes();
    assert_eq!(challenge(&server, &ada.key, &now()).status, 201);
    assert_eq!(changes(), before);
    publish(&Made::of(101.0), &ada, &server);
    assert!(changes() > before);
}

/// A ranking that one server keeps is not older than what another one changed.
pub(crate) fn rankings_are_those_of_all_servers(stored: &Stored) {
    let first = stored.server();
    let second = stored.another(&first.url);
    let (ada, bob) = (Publisher::new("Ada"), Publisher::new("Bob"));
    let hers = publish(&Made::of(100.0), &ada, &first);
    let ranked = |words: &str| {
        for server in [&first, &second] {
            let page = curl(&[&format!("{}/runs/{}", server.url, hers.id)]).text();
            assert!(page.contains(words), "{words}: {page}");
        }
    };
    ranked("1 of 1 in ");
    let his = publish(&Made::of(200.0), &bob, &first);
    ranked("2 of 2 in ");
    let fields = [("token", his.token.as_str()), ("text", "a wrong cable")];
    assert_eq!(form(&second, &his.id, "/withdrawal", &fields).status, 303);
    ranked("1 of 1 in ");
    let sent = Sent::of(&Made::of(300.0), &bob, &first.url);
    let other = sent.send(&bob, &second.url).json();
    ranked("2 of 2 in ");
    let text = |name: &str| other[name].as_str().expect("a text");
    assert_eq!(form(&first, text("id"), "/deletion", &[("token", text("token"))]).status, 303);
    ranked("1 of 1 in ");
}
