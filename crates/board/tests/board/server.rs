//! Servers that are killed, restarted, slow callers, and two servers of one board.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::databases::{Postgres, Stored, directory};
use crate::support::{Made, Publisher, Sent, curl, publish};

pub(crate) fn two_servers_are_one_board(stored: &Stored) {
    let first = stored.server();
    let second = stored.another(&first.url);
    let publishers = [Publisher::new("Ada"), Publisher::new("Bob")];
    // Four at once, two by each server.
    let sent: Vec<Sent> = (0..4)
        .map(|n| Sent::of(&Made::of(100.0 + f64::from(n)), &publishers[0], &first.url))
        .collect();
    std::thread::scope(|scope| {
        for (n, one) in sent.iter().enumerate() {
            let (server, publisher) = ([&first, &second][n % 2], &publishers[0]);
            scope.spawn(move || {
                let answer = one.send(publisher, &server.url);
                assert_eq!(answer.status, 201, "{}", answer.text());
            });
        }
    });
    publish(&Made::of(50.0), &publishers[1], &first);
    for server in [&first, &second] {
        let listed = curl(&[&format!("{}/api/v1/runs", server.url)]).json();
        assert_eq!(listed["runs"].as_array().expect("a list").len(), 5);
    }
    assert!(stored.command(&["check"]).expect("one chain").contains("5 accepted"));
    // The same run by both at once: one of them has it.
    let twice = Sent::of(&Made::of(70.0), &publishers[0], &first.url);
    let again = twice.copy();
    let answers = std::thread::scope(|scope| {
        let one = scope.spawn(|| twice.send(&publishers[0], &first.url).status);
        let other = scope.spawn(|| again.send(&publishers[0], &second.url).status);
        [one, other].map(|thread| thread.join().expect("an answer"))
    });
    assert_eq!(answers.iter().filter(|status| **status == 201).count(), 1, "{answers:?}");
}

/// A server that is killed while it takes uploads has stored whole runs only.
#[test]
fn a_killed_server_stores_nothing_half() {
    let stored = directory();
    let publisher = Publisher::new("Ada");
    let mut server = stored.server();
    let url = server.url.clone();
    let made = (0..6).map(|n| Made::of(100.0 + f64::from(n)));
    let sent: Vec<Sent> = made.map(|made| Sent::of(&made, &publisher, &url)).collect();
    for (n, one) in (0..).zip(&sent) {
        std::thread::scope(|scope| {
            // The connection may end before an answer: that is the point.
            let address = server.url.clone();
            scope.spawn(|| one.send(&publisher, &{ address }));
            std::thread::sleep(Duration::from_millis(60 * n));
            server.kill();
        });
        server = stored.another(&url);
    }
    let listed = curl(&[&format!("{}/api/v1/runs", server.url)]).json();
    for run in listed["runs"].as_array().expect("a list") {
        let id = run["id"].as_str().expect("an id");
        assert_eq!(curl(&[&format!("{}/runs/{id}/report", server.url)]).status, 200);
    }
    stored.command(&["check"]).expect("the chain holds");
    // What was lost can be sent again.
    for one in &sent {
        let status = one.send(&publisher, &server.url).status;
        assert!(matches!(status, 201 | 422), "{status}");
    }
    assert!(stored.command(&["check"]).expect("the chain holds").contains("6 accepted"));
}

#[test]
fn a_restarted_postgres_is_found_again() {
    let Some(postgres) = Postgres::start() else { return };
    let stored = postgres.database();
    let server = stored.server();
    let publisher = Publisher::new("Ada");
    publish(&Made::of(100.0), &publisher, &server);
    postgres.down();
    let front = curl(&[&server.url]);
    assert_eq!(front.status, 503);
    assert!(front.text().contains("try again"), "{}", front.text());
    let sent = Sent::of(&Made::of(200.0), &publisher, &server.url);
    assert!(sent.send(&publisher, &server.url).refused().contains("nothing was changed"));
    postgres.up();
    assert_eq!(curl(&[&server.url]).status, 200);
    assert_eq!(sent.send(&publisher, &server.url).status, 201);
    assert!(stored.command(&["check"]).expect("the chain holds").contains("2 accepted"));
}

#[test]
fn slow_callers_keep_nobody_out() {
    let stored = directory();
    let mut server = stored.server();
    let address = server.url.strip_prefix("http://").expect("an address").to_owned();
    let slow: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).expect("a connection");
            stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n").expect("sent");
            stream
        })
        .collect();
    assert_eq!(curl(&[&server.url]).status, 200);
    let mut first = &slow[0];
    first.set_read_timeout(Some(Duration::from_secs(30))).expect("set");
    let mut said = Vec::new();
    let ended = first.read_to_end(&mut said);
    assert!(ended.is_ok(), "{ended:?}: a head has to come within seconds");
    drop(slow);
    assert!(server.end(), "SIGTERM ends it in good order");
}

#[test]
fn garbage_is_answered() {
    let stored = directory();
    let server = stored.server();
    let url = &server.url;
    for (arguments, status) in [
        (vec!["-X", "POST", "-d", "x=1", "/api/v1/runs"], 422),
        (vec!["-X", "POST", "-H", "Content-Type: multipart/form-data", "/api/v1/runs"], 422),
        (vec!["-F", "manifest=x", "/api/v1/runs"], 422),
        (vec!["-X", "DELETE", "/api/v1/runs"], 405),
        (vec!["/runs/%00"], 404),
        (vec!["/runs/' OR 1=1 --"], 404),
        (vec!["/plans/none"], 404),
        (vec!["/nowhere"], 404),
        (vec!["/plans/x?from=-1"], 400),
        (vec!["/search?words=%25_!%27"], 200),
        (vec!["/compare?base=1"], 400),
        (vec!["/chain?after=99999999999999999999"], 400),
    ] {
        let (address, rest) = arguments.split_last().expect("an address");
        let address = format!("{url}{}", address.replace(' ', "%20"));
        let mut all = rest.to_vec();
        all.push(&address);
        let answer = curl(&all);
        assert_eq!(answer.status, status, "{all:?}: {}", answer.text());
    }
}
