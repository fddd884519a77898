//! Lantz, Nowicki and Theimer 1985.

use btu_studies::papers::lantz85::{
    Bounds, Ceiling, Conclusion, Division, Factor, Judgement, Lantz85History, PrintedRow,
    PrintedTable, Sensitivity, StructureTransfer,
};

use super::parts::{claims, opening, paragraph, words};
use crate::head::TextOptions;
use crate::number::NOTHING;
use crate::paint::Paint;
use crate::sheet::{Sheet, page, section};

/// Every table, then what follows from them; with `all` also the sentences that hold.
pub fn lantz85_text(history: &Lantz85History, all: bool, options: &TextOptions) -> String {
    let about = "A graphics application and the workstation that shows its pictures, on one machine or two. Row names are \
                 workstation (MHz), VAX, rate. The authors rounded to two digits and asked for these numbers to be taken as \
                 orders of magnitude; tables were measured with different versions of the software.";
    let first = opening(
        "Lantz, Nowicki and Theimer 1985: performance of distributed applications",
        about,
        options,
    );
    let tables = history.tables.iter().map(|table| printed(table, options));
    let recomputed = [
        sensitivities(&history.sensitivities, options),
        variances(&history.variances, options),
        factors(&history.factors, options),
        conclusions(&history.conclusions, options),
        ceilings(&history.ceilings, options),
        structure(&history.structure, options),
        repeated(history, options),
        claims(&history.claims, all, options),
    ];
    page(std::iter::once(first).chain(tables).chain(recomputed).collect())
}

fn printed(table: &PrintedTable, options: &TextOptions) -> Vec<String> {
    let one_unit = table.lines.iter().all(|line| line.unit == table.lines[0].unit);
    let unit = (!one_unit).then_some("unit");
    let labels = ["row"].into_iter().chain(unit);
    let mut sheet = Sheet::new(
        labels.clone().chain(table.columns.iter().copied()).map(str::to_owned).collect(),
        labels.count(),
    );
    for line in &table.lines {
        let names = [spaced(line.name)].into_iter().chain(unit.map(|_| line.unit.to_owned()));
        sheet.row(names.chain(cells(table, line)).collect());
    }
    let note = if one_unit { table.lines[0].unit } else { "" };
    section(&format!("Table {}", table.number), note, sheet.lines(), options)
}

fn cells<'a>(table: &'a PrintedTable, line: &'a PrintedRow) -> impl Iterator<Item = String> + 'a {
    let value = |column: &str| table.value(line.name, column);
    table.columns.iter().map(move |column| {
        value(column).map_or_else(|| NOTHING.to_owned(), |value| value.to_string())
    })
}

/// `10,750,batch` as the paper sets it: `10, 750, batch`.
fn spaced(name: &str) -> String {
    name.replace(',', ", ")
}

fn sensitivities(all: &[Sensitivity], options: &TextOptions) -> Vec<String> {
    let head = [
        "table",
        "made faster",
        "rate",
        "configuration",
        "before",
        "after",
        "gain, %",
        "sensitivity",
        "elasticity",
    ];
    let mut sheet = Sheet::new(words(&head), 4);
    for one in all {
        let labels = [one.table, one.part, one.rate, one.configuration].map(str::to_owned);
        let gain = (one.after / one.before - 1.0) * 100.0;
        let [sensitivity, elasticity] =
            [one.sensitivity, one.elasticity].map(|value| format!("{value:.3}"));
        let numbers = [
            one.before.to_string(),
            one.after.to_string(),
            format!("{gain:.0}"),
            sensitivity,
            elasticity,
        ];
        sheet.row(labels.into_iter().chain(numbers).collect());
    }
    let note = "sensitivity: gain in rate over gain in the part, by the definition of section 3.3; elasticity: ln(rate after / \
                before) over the same of the part, which does not shrink with the size of the step; the 780 counts as twice \
                the 750";
    section("Recomputed: sensitivity and elasticity", note, sheet.lines(), options)
}

fn variances(all: &[Division], options: &TextOptions) -> Vec<String> {
    let head = [
        "table",
        "part",
        "factor",
        "crossed with",
        "variance",
        "factor, %",
        "crossed, %",
        "interaction, %",
    ];
    let mut sheet = Sheet::new(words(&head), 4);
    for one in all {
        let labels = [one.table, one.part, one.row_factor, one.column_factor].map(str::to_owned);
        let shares = [one.row_share, one.column_share, one.interaction_share].map(percent);
        sheet.row(
            labels.into_iter().chain([format!("{:.4}", one.variance)]).chain(shares).collect(),
        );
    }
    let note = "of ln(rate), over the levels that each table tries; nothing was measured twice, so error is part of interaction";
    section("Recomputed: shares of variance", note, sheet.lines(), options)
}

fn factors(all: &[Factor], options: &TextOptions) -> Vec<String> {
    let head = ["factor", "table", "sensitivity", "elasticity", "variance", "share, %"];
    let mut sheet = Sheet::new(words(&head), 2);
    for one in all {
        let labels = [one.name, one.table].map(str::to_owned);
        let numbers = [
            bounds(one.sensitivity),
            bounds(one.elasticity),
            format!("{:.4}", one.variance),
            percent(one.share),
        ];
        sheet.row(labels.into_iter().chain(numbers).collect());
    }
    let note = "median and ends; variance of ln(rate) that the factor makes over its range; share as if all tables were one \
                experiment; what has no scale has no sensitivity";
    section("Recomputed: the factors in the paper's order", note, sheet.lines(), options)
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

fn bounds(bounds: Option<Bounds>) -> String {
    let say =
        |bounds: Bounds| format!("{:.3} ({:.3} .. {:.3})", bounds.median, bounds.low, bounds.high);
    bounds.map_or_else(|| NOTHING.to_owned(), say)
}

fn conclusions(all: &[Conclusion], options: &TextOptions) -> Vec<String> {
    let lines = all.iter().flat_map(|one| {
        let judgements = [
            ("sensitivity", &one.by_sensitivity),
            ("elasticity", &one.by_elasticity),
            ("variance", &one.by_variance),
        ];
        let judged = judgements
            .map(|(measure, judgement)| format!("    {measure:<13}{}", judged(judgement)));
        paragraph(one.said, options).into_iter().chain(judged)
    });
    let note = "the first factor against the second; a variance is that of the range tried: 1.25 times for workstations, 2 times \
                for hosts, more for protocols and networks";
    section(
        "The paper's conclusions (section 10), by three measures",
        note,
        lines.collect(),
        options,
    )
}

fn judged(judgement: &Judgement) -> String {
    match judgement.holds {
        None => "cannot say: a factor without a scale".to_owned(),
        Some(true) => format!("yes: {}", judgement.found),
        Some(false) => format!("no: {}", judgement.found),
    }
}

fn ceilings(ceilings: &[Ceiling], options: &TextOptions) -> Vec<String> {
    let mut sheet = Sheet::new(
        words(&[
            "line, b/s",
            "ceiling",
            "construction",
            "of it, %",
            "batch",
            "of it, %",
            "10-bit ceiling",
        ]),
        0,
    );
    for one in ceilings {
        sheet.row(vec![
            one.bits_per_second.to_string(),
            one.items_per_second.to_string(),
            one.construction_items_per_second.to_string(),
            format!("{:.1}", one.construction_share * 100.0),
            one.batch_items_per_second.to_string(),
            format!("{:.1}", one.batch_share * 100.0),
            one.with_start_stop_items_per_second.to_string(),
        ]);
    }
    let note = "items/s of 20 bytes; with start and stop bits (10 bits to the byte) 7.4 could not have been measured";
    section("Recomputed: Table 8-2 against the line's ceiling", note, sheet.lines(), options)
}

fn structure(structure: &StructureTransfer, options: &TextOptions) -> Vec<String> {
    let seconds =
        structure.seconds.iter().map(|(rate, seconds)| format!("{seconds:.3} s at {rate} b/s"));
    let (low, high) = structure.bytes_between_neighbours;
    let text = format!(
        "780 rectangles take {}. The serial lines fit T = T0 + 8 B / rate with B = {:.0} bytes ({low:.0} to {high:.0} \
         between neighbours) and T0 = {:.2} s; Table 5-2 has 900 bytes.",
        seconds.collect::<Vec<_>>().join(", "),
        structure.bytes,
        structure.fixed_seconds
    );
    section("Recomputed: what the structured picture moves", "", paragraph(&text, options), options)
}

fn repeated(history: &Lantz85History, options: &TextOptions) -> Vec<String> {
    let mut sheet =
        Sheet::new(words(&["row", "configuration", "unit", "table: rate", "spread"]), 4);
    for one in &history.repeated {
        let rates = one.rates.iter().map(|(table, rate)| format!("{table}: {rate}"));
        let labels = [spaced(one.line), one.configuration.to_owned(), one.unit.to_owned()];
        let values = [rates.collect::<Vec<_>>().join(", "), format!("{:.2}", one.spread())];
        sheet.row(labels.into_iter().chain(values).collect());
    }
    let paint = Paint(options.colour);
    let mut lines = section("The same configuration in several tables", "", sheet.lines(), options);
    let note = "E10-IP counts as E-IP, VAX IKP as IKP, Table 6-1's normal priorities as PUP. Table 3-1's incremental rate of \
                IKP is what Table 6-2 calls pipelined.";
    lines.extend(paragraph(note, options).iter().map(|line| paint.quiet(line)));
    lines
}

#[cfg(test)]
mod tests {
    use btu_studies::papers::lantz85::history;

    use super::*;

    #[test]
    fn the_page() {
        insta::assert_snapshot!(lantz85_text(
            &history(),
            true,
            &TextOptions { colour: false, width: 110 }
        ));
    }

    #[test]
    fn without_all_only_what_does_not_hold() {
        let text = lantz85_text(&history(), false, &TextOptions { colour: false, width: 100 });
        assert!(text.contains("no: Table 4-1: 34.4 %"), "{text}");
        let (_, sentences) = text.split_once("The text compared with its own numbers").unwrap();
        assert!(!sentences.contains("yes: "), "{text}");
    }
}
