//! What is about to be published, in words.

use std::path::Path;

use btu_contract::json;
use btu_contract::network::Network;
use btu_publication::Visibility;
use btu_store::{RunRow, Store};
use btu_units::Bytes;

use super::Publication;
use crate::stored::head;

/// The first screen of `btu publish`.
pub(super) fn text(store: &Store, publication: &Publication, archive: &Path) -> String {
    let Publication { row, manifest, .. } = publication;
    let run = row.summary.id;
    let see = seen_by(manifest.visibility);
    let file = archive.display();
    let size = Bytes::new(publication.archive.len() as u64);
    let within = indented(&within(store, row).join("\n"));
    let without = indented(&WITHOUT.join("\n"));
    let signed = indented(&manifest.text());
    format!(
        "Run {run} is to be published on {}; {see}.\n\n\
         In the file {file} ({size}):\n{within}\n\
         Not in it:\n{without}\n\
         With it goes this text, signed with your key {}:\n{signed}",
        manifest.board, publication.key
    )
}

const fn seen_by(visibility: Visibility) -> &'static str {
    match visibility {
        Visibility::Public => "everybody can see it there",
        Visibility::Unlisted => "anyone with its address can see it there",
        Visibility::Private => "only someone with its token can see it there",
    }
}

fn within(store: &Store, row: &RunRow) -> Vec<String> {
    let run = &row.summary;
    let head = head(store, row);
    let network = match json::from_value(&row.plan["network"]) {
        Ok(Network::Drawing(drawn)) => {
            format!("the network file {}, whole, with its comments", drawn.name)
        }
        _ => format!("the network: {}", run.network),
    };
    vec![
        format!("the machine: {}", head.machine),
        "its settings that affect measurements, and how busy it was".to_owned(),
        format!(
            "the plan, and all numbers of {} cells, {} of them valid",
            run.cells, run.valid_cells
        ),
        network,
        format!("when: {}, by btu {}", run.created, run.btu_version),
    ]
}

/// What the published form leaves out.
const WITHOUT: [&str; 4] = [
    "names of hosts, users, files and interfaces, and addresses",
    "the kernel's command line, and what a scheduler's job said",
    "your label, your tags, and messages of the run",
    "the machine's identity: the board gets a number that means nothing elsewhere",
];

fn indented(text: &str) -> String {
    text.lines().map(|line| ["  ", line, "\n"].concat()).collect()
}
