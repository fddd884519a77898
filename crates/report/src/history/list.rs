//! The list of studies.

use btu_studies::papers::Study;

use super::parts::words;
use crate::head::TextOptions;
use crate::paint::Paint;
use crate::sheet::{Sheet, page, wrap};

/// A line for each study, then where each was published.
pub fn studies_text(options: &TextOptions) -> String {
    let mut sheet = Sheet::new(words(&["study", "about"]), 2);
    for study in Study::ALL {
        sheet.row(vec![study.name().to_owned(), study.about().to_owned()]);
    }
    let paint = Paint(options.colour);
    let citations = Study::ALL.into_iter().flat_map(|study| {
        let text = format!("{:<INDENT$}{}", study.name(), study.citation());
        wrap(&text, options.columns().min(100), INDENT)
            .into_iter()
            .map(move |line| paint.quiet(&line))
    });
    let hint = paint.quiet("`btu history STUDY` prints its tables next to what can be recomputed.");
    page(vec![sheet.lines(), citations.collect(), vec![hint]])
}

/// Columns of a study's name; the longest is `netpipe96`.
const INDENT: usize = 11;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list() {
        insta::assert_snapshot!(studies_text(&TextOptions { colour: false, width: 100 }));
    }
}
