//! The papers' own results, as printed.

use btu_studies::papers::{PrintedRow, PrintedTable, ReferencePoint, Study};

use crate::head::TextOptions;
use crate::number::NOTHING;
use crate::paint::Paint;
use crate::sheet::{Sheet, page, section, wrap};

/// Running text wider than this is hard to read.
const WIDEST: usize = 100;

/// Columns of a study's name; the longest is `netpipe96`.
const INDENT: usize = 11;

/// A line for each study, then where each was published.
pub fn studies_text(options: &TextOptions) -> String {
    let mut sheet = Sheet::new(vec!["study".to_owned(), "about".to_owned()], 2);
    for study in Study::ALL {
        sheet.row(vec![study.name().to_owned(), study.about().to_owned()]);
    }
    let citations = Study::ALL.into_iter().flat_map(|study| citation(study, options));
    let hint = Paint(options.colour).quiet("`btu history STUDY` prints its tables.");
    page(vec![sheet.fitting(options), citations.collect(), vec![hint]])
}

fn citation(study: Study, options: &TextOptions) -> Vec<String> {
    let text = format!("{:<INDENT$}{}", study.name(), study.citation());
    let lines = wrap(&text, options.width.min(WIDEST), INDENT);
    lines.iter().map(|line| Paint(options.colour).quiet(line)).collect()
}

/// A study's tables as printed, and its numbers as points.
pub fn study_text(study: Study, options: &TextOptions) -> String {
    let title = section(study.about(), "", Vec::new(), options);
    let note = wrap(study.note(), options.width.min(WIDEST), 0);
    let first = [title, citation(study, options), vec![String::new()], note].concat();
    let tables = study.tables();
    let tables = tables.iter().map(|table| printed(table, options));
    let points = points(&study.reference_points(), options);
    page(std::iter::once(first).chain(tables).chain([points]).collect())
}

fn printed(table: &PrintedTable, options: &TextOptions) -> Vec<String> {
    let one_unit = table.lines.iter().all(|line| line.unit == table.lines[0].unit);
    let unit = (!one_unit).then_some("unit");
    let labels = [""].into_iter().chain(unit);
    let head = labels.clone().chain(table.columns.iter().copied());
    let mut sheet = Sheet::new(head.map(str::to_owned).collect(), labels.count());
    for line in &table.lines {
        // `10,750,batch` as the paper sets it: `10, 750, batch`.
        let name = line.name.replace(", ", ",").replace(',', ", ");
        let labels = [name].into_iter().chain(unit.map(|_| line.unit.to_owned()));
        sheet.row(labels.chain(cells(table, line)).collect());
    }
    let unit = if one_unit { table.lines[0].unit } else { "" };
    let notes = [table.about.as_str(), unit].into_iter().filter(|note| !note.is_empty());
    let title = format!("{} {}", table.kind, table.number);
    section(&title, &notes.collect::<Vec<_>>().join("; "), sheet.fitting(options), options)
}

fn cells<'a>(table: &'a PrintedTable, line: &'a PrintedRow) -> impl Iterator<Item = String> + 'a {
    let values = table.columns.iter().map(|column| line.value(column));
    values.map(|value| value.map_or_else(|| NOTHING.to_owned(), |it| written(it, table.decimals)))
}

/// A value with at least so many decimals, and with all that it needs.
fn written(value: f64, decimals: usize) -> String {
    let least = format!("{value:.decimals$}");
    if least.parse() == Ok(value) { least } else { value.to_string() }
}

/// A paragraph for each curve, with `x:y` for each of its points.
fn points(points: &[ReferencePoint], options: &TextOptions) -> Vec<String> {
    let curves = points.chunk_by(|one, next| {
        (one.label, one.unit, one.source) == (next.label, next.unit, next.source)
    });
    let lines = curves.flat_map(|curve| {
        let ReferencePoint { label, unit, x_unit, source, .. } = &curve[0];
        let values = curve.iter().map(|point| match point.x {
            Some(x) => format!("{x}:{}", five_digits(point.y)),
            None => five_digits(point.y),
        });
        let values = values.collect::<Vec<_>>().join(", ");
        let by = if curve[0].x.is_some() { format!(" by {x_unit}") } else { String::new() };
        let text = format!("{label}, {unit}{by} ({source}): {values}");
        wrap(&text, options.width.min(WIDEST), 4)
    });
    section("Points for pictures with new runs", "", lines.collect(), options)
}

/// More digits than any paper prints.
fn five_digits(value: f64) -> String {
    format!("{value:.4e}").parse().unwrap_or(value).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::columns;

    const PLAIN: TextOptions = TextOptions { colour: false, width: 100 };

    #[test]
    fn the_list() {
        insta::assert_snapshot!(studies_text(&PLAIN));
    }

    #[test]
    fn the_tables_of_each_study_as_printed() {
        for study in Study::ALL {
            insta::assert_snapshot!(study.name(), study_text(study, &PLAIN));
        }
    }

    #[test]
    fn lines_fit() {
        for width in [50, 80] {
            let options = TextOptions { colour: false, width };
            let texts = Study::ALL.into_iter().map(|study| study_text(study, &options));
            for text in texts.chain([studies_text(&options)]) {
                for line in text.lines() {
                    assert!(columns(line) <= width, "{width}: {line}");
                }
            }
        }
    }

    #[test]
    fn a_value_has_the_decimals_that_were_printed() {
        assert_eq!(
            [(28.0, 2), (26.495, 2), (7.4, 0), (84.0, 0)]
                .map(|(value, least)| written(value, least)),
            ["28.00", "26.495", "7.4", "84"]
        );
    }
}
