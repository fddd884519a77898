//! Rankings: one list for each plan.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use btu_chart::{Axis, Mark, Panel, Picture, Point, Series, svg};
use btu_studies::papers::btu95::{self, Corrected};
use btu_studies::rank::Place;
use btu_units::three_digits;
use maud::{Markup, PreEscaped, html};

use super::{below, first_upper, interval_words, machine, megabits, page, rate_words, table, word};
use crate::database::Connection;
use crate::error::BoardError;
use crate::ranking::Rankings;
use crate::runs::{self, Plan, PublishedRun, PublisherMachine, RunList};

/// A part of the ranking of a plan, with what its rows show.
#[derive(Debug)]
pub(crate) struct RankingPage {
    hash: String,
    /// Where the part begins, from 0.
    from: usize,
    /// The length of the whole ranking.
    machines: usize,
    places: Vec<Place<PublisherMachine>>,
    /// The newest run of each place.
    newest: BTreeMap<PublisherMachine, PublishedRun>,
}

impl RankingPage {
    /// Ranks the machines of a plan, and keeps `most` places behind the first `from`.
    pub(crate) fn of(
        rankings: &Rankings,
        connection: &mut dyn Connection,
        hash: &str,
        from: usize,
        most: usize,
    ) -> Result<Self, BoardError> {
        let ranked = rankings.of(connection, hash)?;
        let machines = ranked.len();
        let places: Vec<Place<PublisherMachine>> =
            ranked.iter().skip(from).take(most).cloned().collect();
        let last: Vec<&String> = places.iter().filter_map(|place| place.runs.last()).collect();
        let newest = runs::named(connection, &last)?.into_iter();
        let newest = newest.map(|run| (run.machine_key(), run)).collect();
        Ok(Self { hash: hash.to_owned(), from, machines, places, newest })
    }

    fn first_run(&self) -> Option<&PublishedRun> {
        self.places.first().and_then(|place| self.newest.get(&place.machine))
    }

    fn is_rating(&self) -> bool {
        self.first_run().is_some_and(|run| run.computed.title == "btu-rating")
    }

    /// The ranking as rows; lists of whole ratings end with the machines of 1995.
    fn table(&self) -> Markup {
        let old = if self.is_rating() { old_machines() } else { &[] };
        html! {
            div.scroll tabindex="0" role="region" aria-label="Ranking" {
                table {
                    caption { "The fastest first; a rank counts the machines whose whole interval is above" }
                    thead { tr {
                        th.number scope="col" { "Rank" } th scope="col" { "Machine" }
                        th.number scope="col" { "Mb/s" br; small { "95 % interval" } }
                        th scope="col" { "Standing" br; small { "newest run" } } th scope="col" { "Publisher" }
                        th.number scope="col" { "Runs" } th.number scope="col" { "Price" br; small { "per Mb/s" } }
                        th.number scope="col" { "CPU alone" br; small { "rounds/s" } } th scope="col" { "Kernel" }
                    } }
                    tbody {
                        @for place in &self.places { (self.row(place)) }
                        @for machine in old { (old_row(machine)) }
                    }
                }
            }
        }
    }

    fn row(&self, place: &Place<PublisherMachine>) -> Markup {
        let Some(run) = self.newest.get(&place.machine) else { return html! {} };
        let rate = place.btu_bits_per_second;
        let tied = if place.tied { "=" } else { "" };
        let mark = if place.low_confidence { "?" } else { "" };
        html! {
            tr {
                td.number { (place.rank) (tied) }
                th scope="row" { a href=(below(&format!("/runs/{}", run.id))) { (machine(run)) } }
                td.number { (megabits(rate.value)) (mark) @if rate.interval.is_some() { br; small { (interval_words(rate.interval)) } } }
                td { (word(run)) }
                td { a href=(below(&format!("/publishers/{}", run.publisher_id))) { (run.publisher_name) } }
                td.number { (place.runs.len()) }
                td.number { @if let Some(price) = &run.price { (price) br; small { (three_digits(price.per_megabit(rate.value))) } } }
                td.number { @if let Some(rounds) = place.cpu_rounds_per_second { (three_digits(rounds)) } }
                td { (run.computed.kernel) }
            }
        }
    }

    /// The places as a picture: each machine's rate with its interval.
    fn picture(&self) -> Option<Markup> {
        if self.places.len() < 2 {
            return None;
        }
        let first = self.from as f64;
        let points = self.places.iter().enumerate().map(|(index, place)| {
            let rate = place.btu_bits_per_second;
            let interval = rate.interval.map(|interval| (interval.low / 1e6, interval.high / 1e6));
            Point { x: (self.from + index + 1) as f64, y: rate.value / 1e6, interval }
        });
        let series = Series {
            name: "95 % interval".to_owned(),
            mark: Mark::Points,
            points: points.collect(),
        };
        let panel = Panel {
            x: Axis::linear("place in the list above")
                .within(first, self.from as f64 + self.places.len() as f64 + 1.0),
            y: Axis::linear("Mb/s"),
            height: 220,
            across: Vec::new(),
            series: vec![series],
        };
        let picture = Picture {
            title: "Rates with their intervals".to_owned(),
            notes: Vec::new(),
            panels: vec![panel],
        };
        Some(html! { figure tabindex="0" { (PreEscaped(svg(&picture))) } })
    }

    fn pages(&self) -> Markup {
        let shown = self.from + self.places.len();
        html! {
            @if self.machines > self.places.len() {
                p.pages {
                    "Places " (self.from + 1) " to " (shown) " of " (self.machines) ". "
                    @if self.from > 0 { a href=(below(&format!("/plans/{}", self.hash))) { "The first" } " " }
                    @if shown < self.machines { a href=(below(&format!("/plans/{}?from={shown}", self.hash))) { "The next" } }
                }
            }
        }
    }
}

/// The machines of 1995, which are computed from the paper's tables once.
fn old_machines() -> &'static [Corrected] {
    static MACHINES: OnceLock<Vec<Corrected>> = OnceLock::new();
    MACHINES.get_or_init(btu95::corrected)
}

fn old_row(machine: &Corrected) -> Markup {
    let megabit = machine.bits_per_second / 1e6;
    let price = machine.configuration.price_usd;
    html! {
        tr.old {
            td.number { "1995" }
            th scope="row" { (machine.machine.name()) br; small { (machine.configuration.processor) } }
            td.number { (three_digits(megabit)) }
            td { "never repeated" }
            td { "the paper" }
            td.number { "1" }
            td.number { (price) " USD" br; small { (three_digits(price / megabit)) } }
            td.number {}
            td { (machine.configuration.system) }
        }
    }
}

fn plan_words(profile: &str, network: &str, particulars: &str) -> String {
    let first_look = if profile == "quick" { ", a first look only" } else { "" };
    let rest = if particulars.is_empty() { String::new() } else { format!("; {particulars}") };
    first_upper(&format!("{profile} profile{first_look}, network {network}{rest}"))
}

/// The first page.
pub(crate) fn front(plans: &[Plan], best: Option<&RankingPage>, newest: &[PublishedRun]) -> Markup {
    let content = html! {
        h1 { "How fast machines move data while they also work" }
        p { "btu is a benchmark of Linux machines. A BTU rating is the rate, in Mb/s, that programs get from a machine and its network
             while the machine also computes, reads its disk and transfers files: more is better." }
        p { "Anybody can " a href=(below("/publish")) { "publish a run" } ". This board computes each number again from the raw measurements, and
             writes next to it what it is worth: " a href=(below("/rules")) { "what the words mean" } "." }
        @match (best, plans.first()) {
            (Some(list), Some(plan)) => {
                h2 { "Ranking: " (plan_words(&plan.profile, &plan.network, &plan.particulars)) }
                @if plan.title != "btu-rating" { p.warning { "These are parts of BTU ratings: comparable only within this list." } }
                (list.table())
                p { a href=(below(&format!("/plans/{}", plan.hash))) { "The whole list, its picture, and two runs side by side" } }
            }
            _ => p { "Nothing is ranked here yet: " a href=(below("/publish")) { "how to publish a run" } "." },
        }
        @if plans.len() > 1 {
            h2 { "All rankings" }
            p.note { "A " a href=(below("/rules#plans")) { "plan" } " says what is measured and how. Only runs of one plan are ranked together." }
            ul { @for plan in plans { li {
                a href=(below(&format!("/plans/{}", plan.hash))) { (plan_words(&plan.profile, &plan.network, &plan.particulars)) }
                ": " (plan.runs) @if plan.runs == 1 { " run" } @else { " runs" }
                @if plan.title != "btu-rating" { ", parts of ratings" }
            } } }
        }
        @if !newest.is_empty() { h2 { "Newest runs" } (table("All public runs, whether they are ranked or not", newest)) }
    };
    page("Rankings", &content)
}

/// The page of a plan.
pub(crate) fn plan(list: &RankingPage, newest: &[PublishedRun]) -> Markup {
    let title = newest.first().map_or_else(String::new, |run| {
        let computed = &run.computed;
        plan_words(&computed.profile, &computed.network, &computed.particulars)
    });
    let content = html! {
        h1 { "Ranking: " (title) }
        @if list.places.is_empty() { p { "No run of this plan is ranked." } }
        @else {
            @if !list.is_rating() { p.warning { "These are parts of BTU ratings: comparable only within this list." } }
            (list.table())
            (list.pages())
            @if let Some(picture) = list.picture() { (picture) }
        }
        p.note { a href=(below("/rules#plans")) { "Plan" } " " code { (list.hash) } ". A machine's rate is the geometric mean over all its ranked runs.
                 ? is low confidence." }
        h2 { "Newest runs" }
        (table("Ranked or not", newest))
        p { a href=(below(&format!("/runs.csv?plan={}", list.hash))) { "All as CSV" } }
        h2 { "Two runs side by side" }
        (compare(newest))
    };
    page(&title, &content)
}

/// A form for the names of two runs, which the browser offers.
fn compare(newest: &[PublishedRun]) -> Markup {
    let field = |name: &str, words: &str| {
        html! {
            label for=(name) { (words) }
            input id=(name) name=(name) list="runs" required maxlength="40" placeholder="16 letters and digits" autocomplete="off";
        }
    };
    html! {
        form action=(below("/compare")) {
            (field("base", "First run"))
            (field("other", "Second run, whose differences are shown"))
            datalist id="runs" {
                @for run in newest { option value=(run.id) { (rate_words(run)) ", " (run.publisher_name) ", " (run.machine_words()) } }
            }
            button { "Compare" }
        }
    }
}

/// What was found by words.
pub(crate) fn found(words: &str, found: &RunList) -> Markup {
    let content = html! {
        @if words.trim().is_empty() { h1 { "All public runs" } } @else { h1 { "Runs with " q { (words) } } }
        @if found.runs.is_empty() && found.older.is_some() { p { "None of these runs: there are older ones." } }
        @else if found.runs.is_empty() { p { "None. Words are looked for in machines, processors, kernels and names of publishers." } }
        @else { (table("The newest first", &found.runs)) }
        @if let Some(older) = found.older {
            form action=(below("/search")) {
                input type="hidden" name="words" value=(words);
                input type="hidden" name="before" value=(older);
                button { "Older runs" }
            }
        }
    };
    page("Search", &content)
}

/// The rank of a run's machine, and of how many.
pub(crate) fn place_of(
    rankings: &Rankings,
    connection: &mut dyn Connection,
    run: &PublishedRun,
) -> Result<Option<(Place<PublisherMachine>, usize)>, BoardError> {
    if run.computed.why_not_ranked.is_some() {
        return Ok(None);
    }
    let ranked = rankings.of(connection, &run.computed.plan_hash)?;
    let place = ranked.iter().find(|place| place.runs.contains(&run.id));
    Ok(place.map(|place| (place.clone(), ranked.len())))
}
