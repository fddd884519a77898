//! A report's tables as a workbook: a sheet with the result, then a sheet for each table.

use std::borrow::Cow;

use btu_units::controls;
use rust_xlsxwriter::{
    DocProperties, ExcelDateTime, Format, FormatAlign, FormatBorder, Workbook, Worksheet, XlsxError,
};

use crate::html::{Cell, Page, Table, tables};
use crate::xlsx::WorkbookError;

/// The page as a file's content. Equal pages give equal bytes.
///
/// # Errors
/// When a table is larger than a sheet can be. A text that is longer than a cell's is cut.
pub fn page_workbook(page: &Page) -> Result<Vec<u8>, WorkbookError> {
    let mut workbook = Workbook::new();
    // A fixed date: nothing here reads a clock, and the same report gives the same bytes.
    let date = ExcelDateTime::from_ymd(2000, 1, 1)?;
    workbook
        .set_properties(&DocProperties::new().set_title(&page.title).set_creation_datetime(&date));
    workbook.push_worksheet(summary(page)?);
    let captions: Vec<&str> = tables(page).map(|table| table.caption.as_str()).collect();
    for (place, table) in tables(page).enumerate() {
        let name = sheet_name(place + 1, &distinct(place, &captions));
        workbook.push_worksheet(sheet(table, &name)?);
    }
    Ok(workbook.save_to_buffer()?)
}

/// The sheet that belongs to every number: the result, its marks, the warnings, the rules for
/// quoting.
fn summary(page: &Page) -> Result<Worksheet, XlsxError> {
    let mut sheet = Worksheet::new();
    sheet.set_name("Result")?.set_column_width(0, 24)?.set_column_width(1, 110)?;
    sheet.set_landscape().set_print_fit_to_pages(1, 0);
    let wrapped = Format::new().set_text_wrap().set_align(FormatAlign::Top);
    let strong = Format::new().set_bold().set_align(FormatAlign::Top);
    sheet.write_with_format(
        0,
        0,
        fitting(&page.headline),
        &Format::new().set_bold().set_font_size(16),
    )?;
    let about =
        std::iter::once(&page.title).chain(&page.remarks).map(|line| (String::new(), line.clone()));
    let marks =
        page.marks.iter().map(|mark| (format!("mark: {}", mark.word), mark.meaning.clone()));
    let warnings = page.warnings.iter().map(|warning| {
        let advice = if warning.advice.is_empty() {
            String::new()
        } else {
            format!("\ntry: {}", warning.advice)
        };
        (format!("warning: {}", warning.title), format!("{}{advice}", warning.observed))
    });
    let footer = page.footer.iter().map(|line| (String::new(), line.clone()));
    for (row, (name, text)) in (2..).zip(about.chain(marks).chain(warnings).chain(footer)) {
        sheet.write_with_format(row, 0, fitting(&name), &strong)?;
        sheet.write_with_format(row, 1, fitting(&text), &wrapped)?;
    }
    Ok(sheet)
}

fn sheet(table: &Table, name: &str) -> Result<Worksheet, XlsxError> {
    let mut sheet = Worksheet::new();
    sheet.set_name(name)?.set_freeze_panes(2, 0)?;
    // As wide as a sheet of paper, with its head on each.
    sheet.set_landscape().set_print_fit_to_pages(1, 0).set_repeat_rows(0, 1)?;
    sheet.write_with_format(0, 0, fitting(&table.caption), &Format::new().set_bold())?;
    let head = Format::new().set_bold().set_border_bottom(FormatBorder::Thin);
    let mut column = 0;
    for (at, word) in table.head.iter().enumerate() {
        sheet.write_with_format(1, column, fitting(word), &head)?;
        sheet.set_column_width(column, if at < table.labels { 24 } else { 14 })?;
        let with_interval = has_interval(table, at);
        for (row, cells) in (2..).zip(&table.rows) {
            if let Some(cell) = cells.get(at) {
                write(&mut sheet, row, column, cell)?;
            }
        }
        if with_interval {
            sheet.write_with_format(1, column + 1, "95 % from", &head)?;
            sheet.write_with_format(1, column + 2, "to", &head)?;
        }
        column += if with_interval { 3 } else { 1 };
    }
    Ok(sheet)
}

fn has_interval(table: &Table, column: usize) -> bool {
    table
        .rows
        .iter()
        .any(|row| matches!(row.get(column), Some(Cell::Number { interval: Some(_), .. })))
}

/// A number in full with its interval in the next columns, or words as words: nothing becomes a
/// formula.
fn write(sheet: &mut Worksheet, row: u32, column: u16, cell: &Cell) -> Result<(), XlsxError> {
    match cell {
        Cell::Text(text) => drop(sheet.write_string(row, column, fitting(text))?),
        Cell::Number { value, interval, .. } if value.is_finite() => {
            sheet.write_number(row, column, *value)?;
            if let Some((low, high)) =
                interval.filter(|(low, high)| low.is_finite() && high.is_finite())
            {
                sheet.write_number(row, column + 1, low)?;
                sheet.write_number(row, column + 2, high)?;
            }
        }
        Cell::Number { .. } | Cell::Nothing => {}
    }
    Ok(())
}

/// The most characters of a cell, counted as UTF-16 does.
const LONGEST_TEXT: usize = 32_767;

/// The text, or as much of it as a cell can hold.
fn fitting(text: &str) -> Cow<'_, str> {
    // No character has more units than octets.
    if text.len() <= LONGEST_TEXT {
        return Cow::Borrowed(text);
    }
    let mut units = 0;
    let ends = |letter: &char| {
        units += letter.len_utf16();
        units < LONGEST_TEXT
    };
    let cut: String = text.chars().take_while(ends).collect();
    Cow::Owned(if cut.len() == text.len() { cut } else { cut + "…" })
}

/// The most characters of a sheet's name.
const LONGEST: usize = 31;

/// A caption, without the words with which another one begins, too, if it is too long for a sheet's
/// name: those that tell them apart are at the end. Its first word stays.
fn distinct(place: usize, captions: &[&str]) -> String {
    let words = |caption: &str| caption.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let own = words(captions[place]);
    if captions[place].chars().count() + 3 <= LONGEST {
        return own.join(" ");
    }
    let others = captions.iter().enumerate().filter(|(other, _)| *other != place);
    let shared = others.map(|(_, other)| {
        own.iter().zip(words(other)).take_while(|(one, other)| *one == other).count()
    });
    match shared.max().unwrap_or(0) {
        shared if shared > 1 && shared < own.len() => {
            format!("{} … {}", own[0], own[shared..].join(" "))
        }
        _ => own.join(" "),
    }
}

/// At most 31 characters in whole words, none of those that sheets may not have, and none twice. A
/// quotient keeps its meaning.
fn sheet_name(place: usize, caption: &str) -> String {
    let caption = caption.replace('/', " per ");
    let plain =
        caption.chars().filter(|letter| !"[]:*?/\\'".contains(*letter) && !controls(*letter));
    let whole = format!("{place} {}", plain.collect::<String>().trim());
    let Some((cut, _)) = whole.char_indices().nth(LONGEST) else { return whole };
    // The end of the last whole word, unless the first word alone is longer.
    let number = place.to_string().len();
    let is_whole = whole[cut..].starts_with(' ');
    let end = whole[..cut].rfind(' ').filter(|end| *end > number && !is_whole);
    whole[..end.unwrap_or(cut)].trim_end_matches([' ', ',', '(']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sheets_have_names_that_are_allowed() {
        assert_eq!(sheet_name(3, "Goodput, Mb/s"), "3 Goodput, Mb per s");
        let long = "Slowdown by load, over all components";
        assert_eq!(sheet_name(4, long), "4 Slowdown by load, over all");
        assert_eq!(sheet_name(5, &"é".repeat(40)), format!("5 {}", "é".repeat(29)));
        let alike =
            ["Network activities under cpu load", "Network activities under disk load", "Cells"];
        let names: Vec<String> =
            (0..3).map(|place| sheet_name(place + 1, &distinct(place, &alike))).collect();
        assert_eq!(names, ["1 Network … cpu load", "2 Network … disk load", "3 Cells"]);
        assert!(sheet_name(12, &"[x]:*?/\\'long ".repeat(9)).chars().count() <= 31);
    }
}
