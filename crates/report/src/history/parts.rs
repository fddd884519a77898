//! Common parts of the pages of all studies.

use btu_studies::papers::Claim;

use crate::head::TextOptions;
use crate::number::count;
use crate::paint::Paint;
use crate::sheet::{section, wrap};

/// Running text wider than this is hard to read.
const WIDEST: usize = 100;

pub(super) fn paragraph(text: &str, options: &TextOptions) -> Vec<String> {
    wrap(text, options.columns().min(WIDEST), 0)
}

pub(super) fn words(head: &[&str]) -> Vec<String> {
    head.iter().map(|&word| word.to_owned()).collect()
}

/// The title of a page with its subject.
pub(super) fn opening(title: &str, about: &str, options: &TextOptions) -> Vec<String> {
    let title = Paint(options.colour).title(title);
    [title, String::new()].into_iter().chain(paragraph(about, options)).collect()
}

/// The sentences that do not hold, or all of them: the place and the text of each, then the
/// recomputed numbers.
pub(super) fn claims(claims: &[Claim], all: bool, options: &TextOptions) -> Vec<String> {
    let wrong = claims.iter().filter(|claim| !claim.holds).count();
    let title = format!(
        "The text compared with its own numbers: {} checked, {wrong} do not hold",
        count(claims.len(), "sentence")
    );
    let shown: Vec<&Claim> = claims.iter().filter(|claim| all || !claim.holds).collect();
    let note = if shown.len() == claims.len() { "" } else { "the others with --all" };
    section(
        &title,
        note,
        shown.into_iter().flat_map(|claim| lines(claim, options)).collect(),
        options,
    )
}

fn lines(claim: &Claim, options: &TextOptions) -> Vec<String> {
    let width = options.columns().min(WIDEST);
    let said = wrap(&format!("{:<INDENT$}{}", claim.place, claim.said), width, INDENT);
    let verdict = if claim.holds { "yes: " } else { "no: " };
    let found = wrap(&format!("{verdict}{}", claim.found), width - INDENT, 4);
    let found = found.into_iter().map(|line| format!("{}{line}", " ".repeat(INDENT)));
    said.into_iter().chain(found).collect()
}

/// Columns of a claim's place; the longest is `section 3.1.1`.
const INDENT: usize = 15;
