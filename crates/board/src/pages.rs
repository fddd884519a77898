//! The pages: HTML that needs no script.

mod list;
mod run;
mod text;

use std::sync::OnceLock;

use btu_units::three_digits;
use maud::{DOCTYPE, Markup, html};

pub(crate) use list::{RankingPage, found, front, place_of, plan};
pub(crate) use run::{closed, run};
pub(crate) use text::{publish, rules};

use crate::database::Connection;
use crate::error::BoardError;
use crate::runs::{PublishedRun, RunList};

/// The style of all pages.
pub(crate) const STYLE: &str = include_str!("pages/style.css");

/// The path of the board's address, which a proxy takes away before it asks; empty if the board has a site of its own.
static PATH: OnceLock<String> = OnceLock::new();

/// Sets the address below which all links are.
pub(crate) fn set_address(url: &str) {
    let path = url.split_once("://").and_then(|(_, rest)| Some(&rest[rest.find('/')?..]));
    let _ = PATH.set(path.unwrap_or_default().to_owned());
}

/// Where a reader finds one of the board's own addresses.
pub(crate) fn below(path: &str) -> String {
    PATH.get().cloned().unwrap_or_default() + path
}

/// A page with the board's head and foot.
fn page(title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " - btu board" }
                link rel="stylesheet" href=(below("/style.css"));
                link rel="icon" href="data:,";
                link rel="alternate" type="application/atom+xml" title="Published runs" href=(below("/feed.atom"));
            }
            body {
                a.skip href="#content" { "Skip to the content" }
                header {
                    a.name href=(below("/")) { "btu board" }
                    nav aria-label="Board" {
                        a href=(below("/")) { "Rankings" }
                        a href=(below("/rules")) { "What the words mean" }
                        a href=(below("/publish")) { "How to publish" }
                        a href=(below("/runs.csv")) { "CSV" }
                        a href=(below("/feed.atom")) { "Atom" }
                    }
                    form.search role="search" action=(below("/search")) {
                        label for="words" { "Find a machine or a publisher" }
                        input id="words" name="words" type="search" maxlength="200";
                        button { "Find" }
                    }
                }
                main id="content" { (content) }
                footer {
                    p { "Every number here was computed by the board from the raw measurements of a run, and not by its publisher." }
                }
            }
        }
    }
}

/// A page that says what went wrong, or what became of what was here.
pub(crate) fn error(error: &BoardError) -> Markup {
    let title = match error {
        BoardError::NotFound(_) => "Nothing is here",
        BoardError::Gone(_) => "This run was deleted",
        _ => "That did not work",
    };
    let content = html! {
        h1 { (title) }
        p { (first_upper(&error.sentence())) "." }
        p { a href=(below("/")) { "To the rankings" } }
    };
    page(title, &content)
}

fn first_upper(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect::<String>().trim_end_matches('.').to_owned()
    })
}

/// A rate in Mb/s, without its interval.
fn megabits(bits_per_second: f64) -> String {
    three_digits(bits_per_second / 1e6)
}

/// The number of a run with its unit.
pub(crate) fn rate_words(run: &PublishedRun) -> String {
    let rating = run.computed.rating;
    rating.map_or_else(
        || "no number".to_owned(),
        |rating| {
            let mark = if run.computed.low_confidence { "?" } else { "" };
            format!("{}{mark} Mb/s", megabits(rating.value))
        },
    )
}

/// `579 .. 704`, in Mb/s.
fn interval_words(interval: Option<btu_stats::Interval>) -> String {
    interval.map_or_else(
        || "none".to_owned(),
        |interval| format!("{} .. {}", megabits(interval.low), megabits(interval.high)),
    )
}

/// The word that stands with every number.
fn word(run: &PublishedRun) -> Markup {
    let word = run.word();
    let by = run.laboratories.join(", ");
    html! {
        span class=(format!("word {word}")) { (word) @if word == "certified" { " by " (by) } }
        // A certificate does not hide an objection, nor an objection a certificate.
        @if word == "objected" && !by.is_empty() { " " span.word.certified { "certified by " (by) } }
    }
}

/// Runs in a table, with a word for each number.
fn table(caption: &str, runs: &[PublishedRun]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead { tr {
                    th scope="col" { "Machine" } th.number scope="col" { "Mb/s" } th scope="col" { "Standing" }
                    th scope="col" { "What it is" } th scope="col" { "Profile, network" } th scope="col" { "Publisher" }
                    th scope="col" { "Received" } th scope="col" { "Run" }
                } }
                tbody {
                    @for run in runs {
                        tr class=[run.withdrawn.is_some().then_some("withdrawn")] {
                            th scope="row" { a href=(below(&format!("/runs/{}", run.id))) { (machine(run)) } }
                            td.number { (rate_words(run).trim_end_matches(" Mb/s")) }
                            td { (word(run)) }
                            td { (run.number_name()) }
                            td { (run.computed.profile) ", " (run.computed.network) }
                            td { a href=(below(&format!("/publishers/{}", run.publisher_id))) { (run.publisher_name) } }
                            td.time { (day(&run.received)) }
                            td { code { (&run.id) } }
                        }
                    }
                }
            }
        }
    }
}

/// The machine in its publisher's words, and as its kernel sees it.
fn machine(run: &PublishedRun) -> Markup {
    html! {
        @if run.system.is_empty() { (run.machine_words()) }
        @else { (run.system) br; small { (run.machine_words()) } }
    }
}

/// The day of a time.
fn day(time: &str) -> &str {
    time.get(..10).unwrap_or(time)
}

/// A publisher, with what became of the challenges.
#[derive(Debug)]
pub(crate) struct Publisher {
    pub(crate) key: String,
    name: String,
    is_laboratory: bool,
    is_blocked: bool,
    /// The key that follows this one, and its name in addresses.
    followed_by: Option<(String, String)>,
    added: String,
    /// How many challenges were given out, and how many came back.
    challenges: (i64, i64),
    deleted: i64,
    withdrawn: i64,
}

impl Publisher {
    pub(crate) fn find(
        connection: &mut dyn Connection,
        id: &str,
    ) -> Result<Option<Self>, BoardError> {
        let sql =
            "SELECT known.key, known.name, known.is_laboratory, known.is_blocked, known.added, next.key, next.id FROM publishers AS known
            LEFT JOIN publishers AS next ON next.key = known.followed_by WHERE known.id = $1";
        let Some(mut row) = connection.first(sql, &[id.into()])? else { return Ok(None) };
        let key = row.text();
        let (name, is_laboratory, is_blocked) =
            (row.text(), row.integer() != 0, row.integer() != 0);
        let added = row.text();
        let followed_by = row.maybe_text().map(|key| (key, row.text()));
        let challenges = crate::actions::challenges(connection, &key)?;
        let sql = "SELECT count(deleted), count(withdrawn) FROM runs WHERE publisher = $1";
        let counted = connection.first(sql, &[(&key).into()])?;
        let (deleted, withdrawn) = counted.map_or((0, 0), |mut row| (row.integer(), row.integer()));
        let found = Self {
            key,
            name,
            is_laboratory,
            is_blocked,
            followed_by,
            added,
            challenges,
            deleted,
            withdrawn,
        };
        Ok(Some(found))
    }
}

/// The page of a publisher.
pub(crate) fn publisher(id: &str, publisher: &Publisher, list: &RunList) -> Markup {
    let (asked, back) = publisher.challenges;
    let challenges = match asked {
        0 => "none asked for: whether other runs were left out is not known".to_owned(),
        _ => format!("{back} of {asked} challenges came back"),
    };
    let content = html! {
        h1 { (publisher.name) }
        p.marks {
            @if publisher.is_laboratory { span.word.certified { "laboratory" } }
            @if publisher.is_blocked { span.word.withdrawn { "takes no part any more" } }
        }
        dl {
            dt { a href=(below("/rules#challenges")) { "Challenges" } } dd { (challenges) }
            dt { "Withdrawn, deleted" } dd { (publisher.withdrawn) " withdrawn, " (publisher.deleted) " deleted" }
            dt { "Since" } dd { (day(&publisher.added)) }
            dt { "Public key" } dd { code { (publisher.key) } }
        }
        @if let Some((key, id)) = &publisher.followed_by {
            p { "The key " a href=(below(&format!("/publishers/{id}"))) { code { (key) } } " follows this one, and has its runs." }
        }
        p.note { "The name is the publisher's own word; the key is what signs." }
        @if list.runs.is_empty() { p { "No public run." } } @else { (table("Public runs, the newest first", &list.runs)) }
        @if let Some(older) = list.older { p { a href=(below(&format!("/publishers/{id}?before={older}"))) { "Older runs" } } }
    };
    page(&publisher.name, &content)
}
