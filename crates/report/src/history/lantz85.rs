//! Lantz, Nowicki and Theimer 1985.

use btu_suite::history::lantz85::{Ceiling, History, Line, Sensitivity, StructureTransfer, Table};

use super::parts::{claims, opening, paragraph, words};
use crate::head::TextOptions;
use crate::number::NOTHING;
use crate::paint::Paint;
use crate::sheet::{Sheet, page, section};

/// Every table, then what follows from them; with `all` also the sentences that hold.
pub fn lantz85_text(history: &History, all: bool, options: &TextOptions) -> String {
    let about = "A graphics application and the workstation that shows its pictures, on one machine or two. Row names are \
                 workstation (MHz), VAX, rate. The authors rounded to two digits and asked for these numbers to be taken as \
                 orders of magnitude; tables were measured with different versions of the software.";
    let first = opening("Lantz, Nowicki and Theimer 1985: performance of distributed applications", about, options);
    let tables = history.tables.iter().map(|table| printed(table, options));
    let recomputed = [
        sensitivities(&history.sensitivities, options),
        ceilings(&history.ceilings, options),
        structure(&history.structure, options),
        repeated(history, options),
        claims(&history.claims, all, options),
    ];
    page(std::iter::once(first).chain(tables).chain(recomputed).collect())
}

fn printed(table: &Table, options: &TextOptions) -> Vec<String> {
    let one_unit = table.lines.iter().all(|line| line.unit == table.lines[0].unit);
    let unit = (!one_unit).then_some("unit");
    let labels = ["row"].into_iter().chain(unit);
    let mut sheet =
        Sheet::new(labels.clone().chain(table.columns.iter().copied()).map(str::to_owned).collect(), labels.count());
    for line in &table.lines {
        let names = [spaced(line.name)].into_iter().chain(unit.map(|_| line.unit.to_owned()));
        sheet.row(names.chain(cells(table, line)).collect());
    }
    let note = if one_unit { table.lines[0].unit } else { "" };
    section(&format!("Table {}", table.number), note, sheet.lines(), options)
}

fn cells<'a>(table: &'a Table, line: &'a Line) -> impl Iterator<Item = String> + 'a {
    let value = |column: &str| table.value(line.name, column);
    table.columns.iter().map(move |column| value(column).map_or_else(|| NOTHING.to_owned(), |value| value.to_string()))
}

/// `10,750,batch` as the paper sets it: `10, 750, batch`.
fn spaced(name: &str) -> String {
    name.replace(',', ", ")
}

fn sensitivities(all: &[Sensitivity], options: &TextOptions) -> Vec<String> {
    let head = ["table", "made faster", "rate", "configuration", "before", "after", "gain, %", "sensitivity"];
    let mut sheet = Sheet::new(words(&head), 4);
    for one in all {
        let labels = [one.table, one.part, one.rate, one.configuration].map(str::to_owned);
        let gain = (one.after / one.before - 1.0) * 100.0;
        let numbers =
            [one.before.to_string(), one.after.to_string(), format!("{gain:.0}"), format!("{:.3}", one.sensitivity)];
        sheet.row(labels.into_iter().chain(numbers).collect());
    }
    let note = "gain in rate over gain in the part, by the definition of section 3.3; the 780 counts as twice the 750";
    section("Recomputed: sensitivity", note, sheet.lines(), options)
}

fn ceilings(ceilings: &[Ceiling], options: &TextOptions) -> Vec<String> {
    let mut sheet = Sheet::new(
        words(&["line, b/s", "ceiling", "construction", "of it, %", "batch", "of it, %", "10-bit ceiling"]),
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
    let seconds = structure.seconds.iter().map(|(rate, seconds)| format!("{seconds:.3} s at {rate} b/s"));
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

fn repeated(history: &History, options: &TextOptions) -> Vec<String> {
    let mut sheet = Sheet::new(words(&["row", "configuration", "unit", "table: rate", "spread"]), 4);
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
    use btu_suite::history::lantz85::history;

    use super::*;

    #[test]
    fn the_page() {
        insta::assert_snapshot!(lantz85_text(&history(), true, &TextOptions { colour: false, width: 110 }));
    }

    #[test]
    fn without_all_only_what_does_not_hold() {
        let text = lantz85_text(&history(), false, &TextOptions { colour: false, width: 100 });
        assert!(text.contains("no: Table 4-1: 34.4 %"), "{text}");
        assert!(!text.contains("yes: "), "{text}");
    }
}
