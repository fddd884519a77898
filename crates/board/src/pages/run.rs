//! The page of a run.

use btu_publication::Visibility;
use btu_studies::rank::Place;
use btu_units::{Bytes, Span, three_digits};
use maud::{Markup, html};

use super::{below, day, first_upper, interval_words, page, rate_words, word};
use crate::actions::{Certificate, Objection};
use crate::runs::{PublishedRun, PublisherMachine};

/// The page of a run; `token` is the one that opened it, if it is private.
pub(crate) fn run(
    run: &PublishedRun,
    certificates: &[Certificate],
    objections: &[Objection],
    place: Option<&(Place<PublisherMachine>, usize)>,
    token: &str,
) -> Markup {
    let title = format!("{} {}", run.number_name(), rate_words(run));
    let content = html! {
        p.quiet { "Run " code { (run.id) } ", " (run.visibility) ", received " (day(&run.received)) }
        h1 class=[run.withdrawn.is_some().then_some("withdrawn")] { (title) }
        p.marks { (word(run)) }
        @if let Some(withdrawn) = &run.withdrawn {
            p.warning { "Withdrawn by " (withdrawn.by) " on " (day(&withdrawn.at)) ": " (withdrawn.why) }
        }
        @if let Some(why) = &run.computed.why_not_ranked { p.warning { "Not ranked: " (why) "." } }
        (facts(run, place))
        (marks(run))
        (files(run, token))
        (signatures(run, certificates))
        (objected(run, objections))
        (owner(run))
    };
    page(&title, &content)
}

fn facts(run: &PublishedRun, place: Option<&(Place<PublisherMachine>, usize)>) -> Markup {
    let computed = &run.computed;
    html! {
        dl {
            @if let Some(interval) = computed.rating.and_then(|rating| rating.interval) {
                dt { "95 % interval" } dd { (interval_words(Some(interval))) " Mb/s" }
            }
            @if let Some((place, machines)) = place {
                dt { "Rank" }
                dd { (place.rank) @if place.tied { " (shared)" } " of " (machines) " in "
                     a href=(below(&format!("/plans/{}", computed.plan_hash))) { "its list" }
                     @if place.runs.len() > 1 { ", by " (place.runs.len()) " runs of this machine" } }
            }
            dt { "Machine" } dd { @if !run.system.is_empty() { (run.system) ": " } (run.machine_words())
                @if let Some(bytes) = computed.memory_bytes.and_then(|bytes| u64::try_from(bytes).ok()) { ", " (Bytes::new(bytes)) } }
            dt { "Kernel" } dd { "Linux " (computed.kernel) }
            @if let (Some(price), Some(rating)) = (&run.price, computed.rating) {
                dt { "Price" } dd { (price) ", " (three_digits(price.per_megabit(rating.value))) " " (price.currency) " per Mb/s" }
            }
            dt { "Plan" } dd { (computed.profile) " profile, network " (computed.network)
                @if !computed.particulars.is_empty() { "; " (computed.particulars) } " (" code { (computed.plan_hash) } ")" }
            dt { "Measured" } dd { (computed.created) ", " (computed.cells) " cells"
                @if let Some(seconds) = computed.spent_seconds { " in " (Span::from_seconds_f64(seconds)) }
                ", btu " (computed.btu_version) ", seed " (run.seed) }
            dt { "Challenge" }
            dd {
                @match &run.challenged {
                    Some(at) => { "Its seed was given out by this board on " (at) ", the run began within ten minutes, and came back on " (run.received)
                        ". It was not chosen from runs of other days; a seed can be measured again, so it does not show that this was the only one" }
                    None => "None that came back in time: it is not known how many runs were measured to choose from",
                }
            }
            dt { "Publisher" } dd { a href=(below(&format!("/publishers/{}", run.publisher_id))) { (run.publisher_name) } }
        }
    }
}

/// What has to be said with the number.
fn marks(run: &PublishedRun) -> Markup {
    html! {
        @if !run.computed.marks.is_empty() {
            h2 { "What to know about the number" }
            ul { @for mark in &run.computed.marks { li { (first_upper(mark)) } } }
        }
    }
}

/// A button that asks for a file; of a private run with its token, which is in no address.
fn file(run: &PublishedRun, name: &str, words: &str, token: &str) -> Markup {
    let address = below(&format!("/runs/{}/{name}", run.id));
    html! {
        @if token.is_empty() { a href=(address) { (words) } }
        @else { form.inline method="post" action=(address) { input type="hidden" name="token" value=(token); button { (words) } } }
    }
}

fn files(run: &PublishedRun, token: &str) -> Markup {
    html! {
        h2 { "Look for yourself" }
        div.files {
            (file(run, "report", "The whole report", token))
            (file(run, "archive", "The raw measurements", token))
            (file(run, "manifest", "The manifest", token))
            (file(run, "manifest.minisig", "Its signature", token))
        }
        p.note { code { "btu runs import " (run.id) ".btu" } " brings the measurements into your own database; "
            code { "btu show" } " computes the number again." }
        @if run.visibility != Visibility::Private { (compare(run)) }
    }
}

fn compare(run: &PublishedRun) -> Markup {
    html! {
        form action=(below("/compare")) {
            input type="hidden" name="base" value=(run.id);
            label for="other" { "Compare it with another run, whose name stands in the lists" }
            input id="other" name="other" required maxlength="40" placeholder="16 letters and digits";
            button { "Compare" }
        }
    }
}

fn signatures(run: &PublishedRun, certificates: &[Certificate]) -> Markup {
    html! {
        h2 { "Signatures" }
        pre { code { (run.manifest) } }
        p { "Signed by key " code { (run.signed_by) } "; link " (run.place) " of the "
            a href=(below(&format!("/chain?after={}", run.place - 1))) { "chain" } "." }
        p.note { code { "minisign -V -m manifest -P " (run.signed_by) } " checks the signature without this board; "
            code { "sha256sum " (run.id) ".btu" } " has to print the digest of the manifest's line " code { "archive" } "." }
        @if certificates.is_empty() {
            p { "No laboratory has repeated and signed this run: the number is its publisher's word, computed from the publisher's cells." }
        } @else {
            ul { @for one in certificates { li {
                (one.laboratory) " signed the same manifest on " (day(&one.received)) ": key " code { (one.key) }
                details { summary { "Its signature" } pre { code { (one.signature) } } }
            } } }
        }
    }
}

/// Where a token is written.
fn token_field(name: &str, words: &str) -> Markup {
    html! {
        label for=(name) { (words) }
        input id=(name) name="token" type="password" required maxlength="64" autocomplete="off";
    }
}

fn objected(run: &PublishedRun, objections: &[Objection]) -> Markup {
    html! {
        h2 { "Objections" }
        @if objections.is_empty() { p { "None." } }
        @for one in objections {
            article.objection {
                p.quiet { (one.by) ", of run " a href=(below(&format!("/runs/{}", one.by_run))) { (one.by_run) } ", on " (day(&one.received)) " (" code { (one.id) } ")" }
                p.written { (one.objection) }
                @match &one.answer {
                    Some((answer, at)) => { p.quiet { "Answer of the publisher, on " (day(at)) } p.written { (answer) } }
                    None => details {
                        summary { "Answer as the publisher" }
                        form method="post" action=(below(&format!("/runs/{}/answers", run.id))) {
                            input type="hidden" name="objection" value=(one.id);
                            (token_field(&format!("answer-{}", one.id), "Token of this run"))
                            label for=(format!("text-{}", one.id)) { "Answer" }
                            textarea id=(format!("text-{}", one.id)) name="text" required maxlength="2000" {}
                            button { "Answer" }
                        }
                    },
                }
            }
        }
        details {
            summary { "Object to this run" }
            p.note { "Publishers review each other: an objection is signed by the token of a public run of your own." }
            form method="post" action=(below(&format!("/runs/{}/objections", run.id))) {
                label for="by-run" { "Your own run" }
                input id="by-run" name="by_run" required maxlength="40";
                (token_field("object-token", "Its token"))
                label for="object-text" { "What is wrong with this run" }
                textarea id="object-text" name="text" required maxlength="2000" {}
                button { "Object" }
            }
        }
    }
}

/// What only its publisher can do.
fn owner(run: &PublishedRun) -> Markup {
    html! {
        h2 { "For its publisher" }
        @if run.withdrawn.is_none() {
            details {
                summary { "Withdraw it" }
                p.note { "It stays to be seen, struck through, with the reason, and is not ranked." }
                form method="post" action=(below(&format!("/runs/{}/withdrawal", run.id))) {
                    (token_field("withdraw-token", "Token of this run"))
                    label for="withdraw-text" { "Reason" }
                    textarea id="withdraw-text" name="text" required maxlength="2000" {}
                    button { "Withdraw" }
                }
            }
        }
        details {
            summary { "Delete it" }
            p.note { "Its cells, its manifest and its machine are forgotten. That a run was published and deleted stays to be seen." }
            form method="post" action=(below(&format!("/runs/{}/deletion", run.id))) {
                (token_field("delete-token", "Token of this run"))
                button { "Delete" }
            }
        }
    }
}

/// The page of a private run for a reader who shows no token, or a wrong one.
pub(crate) fn closed(id: &str, is_tried: bool) -> Markup {
    let content = html! {
        h1 { "This run is private" }
        @if is_tried { p.warning { "This is not its token." } }
        p { "Whoever has its token may see it." }
        form method="post" action=(below(&format!("/runs/{id}"))) {
            (token_field("token", "Token"))
            button { "Show it" }
        }
    };
    page("A private run", &content)
}
