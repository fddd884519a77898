//! The page that explains the words.

use maud::{Markup, html};

use super::{below, page};

/// What the words next to numbers mean, and how a run gets them.
pub(crate) fn rules() -> Markup {
    let words = [
        (
            "unverified",
            "Its publisher signed it, and the board computed the number from the raw measurements. Whether these were measured as they say is the publisher's word.",
        ),
        (
            "certified",
            "A laboratory that the board's operator knows has repeated the run and signed the same manifest.",
        ),
        (
            "objected",
            "Another publisher says that something is wrong. The objection and its answer are on the run's page.",
        ),
        (
            "withdrawn",
            "Its publisher or the board took it back. It stays to be seen, struck through, with the reason, and is not ranked.",
        ),
        (
            "deleted",
            "Its publisher or the board deleted it. That there was one stays in the chain, and on the publisher's page.",
        ),
    ];
    let names = [
        (
            "BTU rating",
            "The whole rating was measured: every row, in one run, on one machine, by a plan that is known.",
        ),
        (
            "Part of a BTU rating",
            "Components, sizes or loads were left out: such plans have lists of their own. Or rows are missing: the run is shown with the reason, and never ranked.",
        ),
        ("No BTU rating", "No network activity was measured while the machine also worked."),
        ("?", "Low confidence: the interval is wider than the run's profile wants."),
    ];
    let content = html! {
        h1 { "What the words mean" }
        h2 { "Next to the number" }
        dl { @for (word, meaning) in words { dt { span class=(format!("word {word}")) { (word) } } dd { (meaning) } } }
        h2 { "What the number is called" }
        dl { @for (name, meaning) in names { dt { (name) } dd { (meaning) } } }
        h2 id="plans" { "Plans" }
        p { "A plan says what is measured, for how long, and over which network. Profiles are quick, a first look only, standard, and full:
             they differ in how long and how often each cell is measured. A cell is one measurement: a kind of traffic, a size of messages,
             and what the machine does besides. The network veth is one inside of the machine, as fast as the machine allows; others are
             emulated lines of the rate and delay that are named." }
        h2 { "Ranking" }
        p { "Only runs of one plan are ranked together. All runs of a machine count, not the best. A rank is one more than the number of
             machines whose whole interval is above. Machines of one make that belong to two publishers are two machines." }
        h2 id="challenges" { "Challenges" }
        p { "The best of ten runs shows the best luck, not the best machine. "
            code { "btu rate --challenge ADDRESS" } " asks the board for a number before it measures; the number becomes the seed of the
             plan. A challenge is met by a run that began within ten minutes, and came back within half an hour and twice the time that its
             plan allows. The publisher's page says how many of them came back. A number can be measured again: a challenge shows that a
             run was not chosen from those of other days, and not that it is the only one with its number." }
        h2 { "The chain" }
        p { "Each accepted manifest adds a line to the " a href=(below("/chain")) { "chain" } ": its place, the SHA-256 of the manifest, the time, and the
             SHA-256 of " code { "PREVIOUS MANIFEST TIME" } ". A reader who keeps a line sees when something before it is changed or left out later." }
        h2 { "Privacy" }
        p { "A published run has no names of hosts or users, no addresses, no serial numbers, no paths. Unlisted runs are in no list;
             private ones need their token." }
    };
    page("What the words mean", &content)
}

/// How to publish, and what a publisher and other publishers can do later.
pub(crate) fn publish(url: &str) -> Markup {
    let content = html! {
        h1 { "How to publish a run" }
        p { "Measure with btu, then send the run. Before anything is sent, btu shows what, and asks." }
        pre { code { "btu rate --challenge " (url) "\nbtu publish latest --to " (url) " --name 'Your name'" } }
        p { code { "--dry-run" } " shows what would be sent, and sends nothing. " code { "--visibility unlisted" }
            " keeps a run out of all lists, and " code { "private" } " shows it only to who has its token." }
        h2 { "Its token" }
        p { "btu prints a token when the run is published, and keeps it in the file " code { "publications" } " next to your runs. With the token
             you open a private run, withdraw or delete a run, and answer objections: the forms are at the end of the run's page." }
        h2 { "Objections" }
        p { "Publishers review each other. If a number looks wrong, open its run, and write what is wrong under \u{201c}Object to this run\u{201d}.
             It needs a public run of your own and the token of that run. The objection and its answer stay on the page." }
        h2 { "What a board knows" }
        p { "The raw measurements of the run, the kind of machine, and the name that you choose. " a href=(below("/rules")) { "What the words mean" }
            " says more." }
    };
    page("How to publish", &content)
}
