//! The pages in a real browser, with its keyboard: every form does what it says, the browser reports no
//! error and nothing against the policy of a page, and sends no request elsewhere.
//!
//! `BTU_BOARD_PICTURES=DIR` writes screenshots of a board with more runs there.

#[path = "../../../report/tests/report/browser/devtools.rs"]
mod devtools;
mod pictures;
mod reader;

use std::path::Path;
use std::time::{Duration, Instant};

use btu_publication::{Visibility, sha256};
use serde_json::json;

use crate::databases::directory;
use crate::support::{Made, Published, Publisher, Server, curl, publish, publish_as};
use devtools::Browser;
use reader::Reader;

#[test]
fn the_pages_work_in_a_browser() {
    let Some(browser) = Browser::of_the_lab() else { return };
    let stored = directory();
    let server = stored.server();
    let reader = Reader::new(browser, &server);
    an_empty_board_says_how_to_publish(&reader);
    let runs = Runs::publish(&server);
    each_page_can_be_used(&reader, &runs);
    keys_suffice(&reader);
    lists_show_what_is_public(&reader, &runs);
    a_token_opens_a_private_run(&reader, &runs.private);
    two_runs_are_compared(&reader, &runs);
    an_objection_is_answered(&reader, &runs);
    a_run_is_withdrawn(&reader, &runs.public);
    a_run_is_deleted(&reader, &runs.unlisted);
    pictures::of_a_full_board(&reader, &stored, &server);
}

/// The runs of this test, of two publishers.
struct Runs {
    public: Published,
    unlisted: Published,
    private: Published,
    other: Published,
}

impl Runs {
    fn publish(server: &Server) -> Self {
        let (ada, bob) = (Publisher::new("Ada Lovelace"), Publisher::new("Bob"));
        let [public, unlisted, private] =
            Visibility::ALL.map(|level| publish_as(&Made::of(900.0), &ada, server, level));
        let rare = Made { processor: "Rare 77", ..Made::of(400.0) };
        Self { public, unlisted, private, other: publish(&rare, &bob, server) }
    }
}

fn an_empty_board_says_how_to_publish(reader: &Reader<'_>) {
    assert_eq!(reader.go("/"), 200);
    reader.says("how to publish a run");
}

/// The address of a run's plan, and of its publisher.
fn around(reader: &Reader<'_>, run: &Published) -> [String; 2] {
    reader.go(&format!("/runs/{}", run.id));
    ["plans", "publishers"].map(|what| {
        let link = format!("document.querySelector('main a[href^=\"/{what}/\"]').pathname");
        reader.text_of(&link)
    })
}

/// On a wide screen, on a phone, in the dark: nothing is cut off, each field has a label, each word
/// has contrast.
fn each_page_can_be_used(reader: &Reader<'_>, runs: &Runs) {
    let [plan, publisher] = around(reader, &runs.public);
    let run = format!("/runs/{}", runs.public.id);
    let private = format!("/runs/{}", runs.private.id);
    for (address, status) in [
        ("/", 200),
        (&*plan, 200),
        (&*run, 200),
        (&*private, 403),
        (&*publisher, 200),
        ("/search?words=test", 200),
        ("/search?words=nothing-like-it", 200),
        ("/rules", 200),
        ("/publish", 200),
        ("/runs/none", 404),
        ("/nowhere", 404),
    ] {
        assert_eq!(reader.go(address), status, "{address}");
        reader.can_use_it(address);
    }
}

/// The first key leads past the head, and a form can be sent without a mouse: all forms of these tests are.
fn keys_suffice(reader: &Reader<'_>) {
    reader.go("/");
    reader.browser.press("Tab");
    assert_eq!(reader.text_of("document.activeElement.innerText"), "Skip to the content");
    let left = reader.browser.value("document.activeElement.getBoundingClientRect().left");
    assert!(left.as_f64().expect("a number") >= 0.0, "it is seen while it has the focus");
    reader.browser.press("Enter");
    assert_eq!(reader.text_of("location.hash"), "#content");
    reader.go("/");
    let words = reader.fill("form.search", &[("words", "rare 77")]);
    assert_eq!(words, 200);
    assert_eq!(reader.browser.value("document.querySelectorAll('tbody tr').length"), json!(1));
}

fn lists_show_what_is_public(reader: &Reader<'_>, runs: &Runs) {
    let [_, publisher] = around(reader, &runs.public);
    for address in ["/", &*publisher, "/search?words=lovelace"] {
        reader.go(address);
        let listed = [&runs.public, &runs.unlisted, &runs.private].map(|run| {
            let link = format!("!!document.querySelector('a[href=\"/runs/{}\"]')", run.id);
            reader.browser.value(&link) == json!(true)
        });
        assert_eq!(listed, [true, false, false], "{address}");
    }
    assert_eq!(reader.go(&format!("/runs/{}", runs.unlisted.id)), 200);
    reader.says("unlisted");
    // The rest of a long list: here what came before the second run.
    for (address, listed) in [("/search?before=2", 1), (&*format!("{publisher}?before=1"), 0)] {
        reader.go(address);
        let rows = reader.browser.value("document.querySelectorAll('tbody tr').length");
        assert_eq!(rows, json!(listed), "{address}");
    }
}

fn a_token_opens_a_private_run(reader: &Reader<'_>, private: &Published) {
    let address = format!("/runs/{}", private.id);
    let form = "main form";
    assert_eq!(reader.go(&address), 403);
    assert_eq!(reader.fill(form, &[("token", "guessed")]), 403);
    reader.says("not its token");
    assert_eq!(reader.fill(form, &[("token", &private.token)]), 200);
    reader.says("BTU rating");
    let token = format!("Authorization: Bearer {}", private.token);
    let archive = curl(&["-H", &token, &format!("{}{address}/archive", reader.url)]).body;
    let kept = reader.downloads.path().join(format!("{}.btu", private.id));
    reader.enter(&format!("form[action='{address}/archive'] button"));
    wait_for(&kept, archive.len());
    assert_eq!(sha256(&std::fs::read(&kept).expect("a file")), sha256(&archive));
    assert_eq!(reader.fill(&format!("form[action='{address}/report']"), &[]), 200);
    reader.has_charts();
    assert!(!reader.text_of("location.href").contains(&private.token), "no token in an address");
}

fn wait_for(file: &Path, length: usize) {
    let begun = Instant::now();
    while std::fs::metadata(file).map_or(0, |found| found.len()) != length as u64 {
        assert!(begun.elapsed() < Duration::from_secs(20), "{} does not come", file.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// From the form of the plan, and from the page of a run.
fn two_runs_are_compared(reader: &Reader<'_>, runs: &Runs) {
    let [plan, _] = around(reader, &runs.public);
    assert_eq!(reader.fill("form[action='/compare']", &[("other", &runs.other.id)]), 200);
    reader.has_charts();
    reader.go(&plan);
    let pair = [("base", &*runs.other.id), ("other", &*runs.public.id)];
    assert_eq!(reader.fill("form[action='/compare']", &pair), 200);
    reader.has_charts();
}

fn an_objection_is_answered(reader: &Reader<'_>, runs: &Runs) {
    let address = format!("/runs/{}", runs.public.id);
    let objection = [
        ("by_run", &*runs.other.id),
        ("token", &runs.other.token),
        ("text", "Too fast for\none core."),
    ];
    reader.go(&address);
    assert_eq!(reader.fill("form[action$='/objections']", &objection), 200);
    reader.says("Too fast for\none core.");
    reader.says("objected");
    let answer = [("token", &*runs.public.token), ("text", "It has four.")];
    assert_eq!(reader.fill("form[action$='/answers']", &answer), 200);
    reader.says("It has four.");
    reader.can_use_it("an objection");
}

fn a_run_is_withdrawn(reader: &Reader<'_>, run: &Published) {
    reader.go(&format!("/runs/{}", run.id));
    let form = "form[action$='/withdrawal']";
    let why = ("text", "measured on the wrong machine");
    assert_eq!(reader.fill(form, &[("token", "guessed"), why]), 403);
    reader.says("not the token");
    reader.go(&format!("/runs/{}", run.id));
    assert_eq!(reader.fill(form, &[("token", &run.token), why]), 200);
    reader.says("measured on the wrong machine");
    reader.can_use_it("a withdrawn run");
}

fn a_run_is_deleted(reader: &Reader<'_>, run: &Published) {
    reader.go(&format!("/runs/{}", run.id));
    assert_eq!(reader.fill("form[action$='/deletion']", &[("token", &run.token)]), 410);
    reader.says("This run was deleted");
    reader.can_use_it("a deleted run");
}
