//! A report's tables as one CSV file (RFC 4180): a line for each number, so that one file holds
//! tables of any shape.

use crate::html::{Cell, Page, Table, tables};

/// `table,row,column,value,low,high,shown`: `row` joins the words at the left of the table, `low`
/// and `high` are the ends of the 95 % interval. Texts have only `shown`.
pub fn csv(page: &Page) -> String {
    let head = "table,row,column,value,low,high,shown".to_owned();
    let lines = tables(page).flat_map(of_table);
    std::iter::once(head).chain(lines).map(|line| line + "\r\n").collect()
}

/// A repetition as a row of raw values: the column's name with its unit, and the value.
pub type RawRow = Vec<(String, String)>;

/// Raw values, a line for each repetition, under columns that have the same name in every run: for
/// R, pandas and the like. A column that a row does not have is empty there.
pub fn raw_csv(rows: &[RawRow]) -> String {
    let mut columns: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flatten() {
        if !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    let value = |row: &RawRow, column: &str| {
        row.iter()
            .find(|(name, _)| name == column)
            .map_or_else(String::new, |(_, value)| field(value))
    };
    let line = |row: &RawRow| {
        columns.iter().map(|column| value(row, column)).collect::<Vec<_>>().join(",")
    };
    let head = columns.iter().map(|column| field(column)).collect::<Vec<_>>().join(",");
    std::iter::once(head).chain(rows.iter().map(line)).map(|line| line + "\r\n").collect()
}

fn of_table(table: &Table) -> Vec<String> {
    // A table of words alone has its last column as the value.
    let labels = if table.labels < table.head.len() {
        table.labels
    } else {
        table.head.len().saturating_sub(1)
    };
    let of_row = |row: &Vec<Cell>| {
        let name = row.iter().take(labels).map(Cell::shown).collect::<Vec<_>>().join(" ");
        let fields = table.head.iter().zip(row).skip(labels);
        fields
            .map(|(column, cell)| line(&table.caption, name.trim(), column, cell))
            .collect::<Vec<_>>()
    };
    table.rows.iter().flat_map(of_row).collect()
}

fn line(table: &str, row: &str, column: &str, cell: &Cell) -> String {
    let number = |value: f64| if value.is_finite() { value.to_string() } else { String::new() };
    let (value, low, high) = match cell {
        Cell::Number { value, interval: Some((low, high)), .. } => {
            (number(*value), number(*low), number(*high))
        }
        Cell::Number { value, interval: None, .. } => {
            (number(*value), String::new(), String::new())
        }
        Cell::Text(_) | Cell::Nothing => Default::default(),
    };
    let shown = if *cell == Cell::Nothing { "" } else { cell.shown() };
    [table, row, column, &value, &low, &high, shown].map(field).join(",")
}

/// Quoted where necessary. A leading blank keeps a spreadsheet program from reading a word as a
/// formula.
fn field(text: &str) -> String {
    let formula = btu_units::begins_formula(text) && text.parse::<f64>().is_err() && text != "-";
    let text = if formula { format!(" {text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) || formula {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_rows_have_the_columns_of_all_of_them() {
        let row = |values: &[(&str, &str)]| {
            values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let rows: [RawRow; 2] =
            [row(&[("block", "1"), ("load", "cpu, disk")]), row(&[("block", "2"), ("bytes", "7")])];
        assert_eq!(raw_csv(&rows), "block,load,bytes\r\n1,\"cpu, disk\",\r\n2,,7\r\n");
        assert_eq!(raw_csv(&[]), "\r\n");
    }

    #[test]
    fn fields_are_quoted_as_the_rfc_says() {
        assert_eq!(field("plain"), "plain");
        assert_eq!(field("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
        assert_eq!(field("=1+1"), "\" =1+1\"");
        assert_eq!(field("-1.5"), "-1.5");
    }
}
