//! A panel in a terminal: lines of braille dots, two across and four down in every character
//! (Unicode block 2800).

use crate::axis::{Axis, Scale, Tick, ticks};
use crate::picture::{Mark, Panel, Point, Series};

/// Dots of a character's two columns from above to below (Unicode 15, chapter 21.1).
const DOTS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// The marks of single points, by the index of the series.
const MARKS: [char; 4] = ['●', '■', '▲', '◆'];

/// The mark of the series at this place: single points look like it, and a line ends in it where
/// there are several.
pub fn mark(panel: &Panel, place: usize) -> char {
    match panel.series.get(place).map(|series| series.mark) {
        Some(Mark::Line | Mark::LinePoints) => char::from(b'a' + (place % 26) as u8),
        _ => MARKS[place % MARKS.len()],
    }
}

/// The panel in about `columns` columns and `rows` rows between the axes, with numbers and labels
/// around. `paint` colours the text of the series with this index.
pub fn terminal(
    panel: &Panel,
    columns: usize,
    rows: usize,
    paint: impl Fn(usize, &str) -> String,
) -> Vec<String> {
    let axis = by_data(panel);
    drawn(panel, (columns, rows), margin(&axis), axis, paint)
}

/// Panels below each other, which have the same range of x: only the last one has its numbers, and
/// all begin in the same column. The names of several series follow the label of their panel. There
/// are [`ROWS_AROUND`] rows more than those between the axes, for each panel, and two.
pub fn terminal_below(panels: &[Panel], columns: usize, rows: usize) -> Vec<String> {
    let axes: Vec<RowAxis> = panels.iter().map(|panel| in_rows(panel, rows)).collect();
    let widest = axes.iter().map(margin).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (place, (panel, axis)) in panels.iter().zip(axes).enumerate() {
        let mut own = drawn(panel, (columns, rows), widest, axis, |_, text| text.to_owned());
        if let Some(label) = own.first_mut() {
            *label = labelled(panel).chars().take(columns).collect();
        }
        if place + 1 < panels.len() {
            own.truncate(own.len() - NUMBERS);
        }
        lines.extend(own);
    }
    lines
}

/// Rows of a panel of [`terminal_below`] outside its axes: its label, and the line of its x axis.
pub const ROWS_AROUND: usize = 2;

/// The lowest panel.
const LEAST_ROWS: usize = 4;

/// Rows below an x axis: its numbers and its label.
const NUMBERS: usize = 2;

/// The label of the y axis, with the marks and names of several series.
fn labelled(panel: &Panel) -> String {
    let names = panel.series.iter().enumerate();
    let names = names.map(|(place, one)| format!("{} {}", mark(panel, place), one.name));
    let names = names.filter(|_| panel.series.len() > 1);
    std::iter::once(panel.y.label.clone()).chain(names).collect::<Vec<_>>().join("   ")
}

/// The y axis of a panel next to rows of text.
struct RowAxis {
    scale: Scale,
    ticks: Vec<Tick>,
    /// Dots above its last value, and below its first one.
    inset: f64,
}

/// As long as the data, from the first dot to the last.
fn by_data(panel: &Panel) -> RowAxis {
    let points = panel.series.iter().flat_map(|series| &series.points);
    let scale = panel.y.scale(points.map(|point| point.y));
    RowAxis { scale, ticks: ticks(&scale), inset: 0.0 }
}

/// With a step in each of few rows, from the middle of the first row to that of the last.
fn in_rows(panel: &Panel, rows: usize) -> RowAxis {
    let points = panel.series.iter().flat_map(|series| &series.points);
    let (scale, ticks) = panel.y.in_rows(points.map(|point| point.y), rows.max(LEAST_ROWS));
    RowAxis { scale, ticks, inset: 1.5 }
}

/// The width of the longest number of the y axis.
fn margin(axis: &RowAxis) -> usize {
    let numbers = axis.ticks.iter().filter_map(|tick| tick.number.as_ref());
    numbers.map(|number| number.chars().count()).max().unwrap_or(0)
}

fn drawn(
    panel: &Panel,
    (columns, rows): (usize, usize),
    margin: usize,
    axis: RowAxis,
    paint: impl Fn(usize, &str) -> String,
) -> Vec<String> {
    let points = panel.series.iter().flat_map(|series| &series.points);
    let x = panel.x.scale(points.map(|point| point.x));
    let columns = columns.saturating_sub(margin + 2).max(10);
    let mut canvas = Canvas::new(columns, rows.max(LEAST_ROWS), x, axis);
    for (place, series) in panel.series.iter().enumerate() {
        canvas.draw(series, place);
    }
    if panel.series.len() > 1 {
        for (place, series) in panel.series.iter().enumerate() {
            canvas.sign(series, place, mark(panel, place));
        }
    }
    let mut lines = vec![panel.y.label.clone()];
    lines.extend(canvas.rows(margin, paint));
    lines.extend(below(&panel.x, &canvas, margin));
    lines
}

/// The character with these of its dots: two across, four down.
pub(crate) fn braille(is_set: impl Fn(usize, usize) -> bool) -> char {
    let dots = (0..2).flat_map(|x| (0..4).map(move |y| (x, y))).filter(|&(x, y)| is_set(x, y));
    let code = dots.fold(0x2800, |code, (x, y)| code | DOTS[x][y]);
    char::from_u32(code).unwrap_or(' ')
}

/// The content of one character cell.
#[derive(Clone, Copy, Default)]
struct CharacterCell {
    dots: u32,
    sign: Option<char>,
    place: Option<usize>,
}

impl CharacterCell {
    fn letter(self) -> char {
        let braille = char::from_u32(0x2800 + self.dots).filter(|_| self.dots > 0);
        self.sign.or(braille).unwrap_or(' ')
    }
}

/// The field between the axes.
struct Canvas {
    columns: usize,
    rows: usize,
    x: Scale,
    y: RowAxis,
    cells: Vec<CharacterCell>,
}

impl Canvas {
    fn new(columns: usize, rows: usize, x: Scale, y: RowAxis) -> Self {
        Self { columns, rows, x, y, cells: vec![CharacterCell::default(); columns * rows] }
    }

    /// The place of a point in dots from the left and from above.
    fn spot(&self, point: &Point) -> Option<(f64, f64)> {
        let (across, up) = (self.x.place(point.x)?, self.y.scale.place(point.y)?);
        Some((across * (self.columns * 2 - 1) as f64, self.down(up)))
    }

    /// Dots from above of a share of the height.
    fn down(&self, up: f64) -> f64 {
        let inset = self.y.inset;
        inset + (1.0 - up) * ((self.rows * 4 - 1) as f64 - 2.0 * inset)
    }

    /// The cell of a place in dots, with the dot in it.
    fn cell(&mut self, (across, down): (f64, f64)) -> Option<(&mut CharacterCell, u32)> {
        let (across, down) = (across.round(), down.round());
        if across < 0.0 || down < 0.0 {
            return None;
        }
        let (across, down) = (across as usize, down as usize);
        let inside = across < self.columns * 2 && down < self.rows * 4;
        let index = (down / 4) * self.columns + across / 2;
        inside.then(|| (&mut self.cells[index], DOTS[across % 2][down % 4]))
    }

    fn draw(&mut self, series: &Series, place: usize) {
        let spots: Vec<Option<(f64, f64)>> =
            series.points.iter().map(|point| self.spot(point)).collect();
        if series.mark == Mark::Points {
            for spot in spots.into_iter().flatten() {
                self.put(spot, place, Some(MARKS[place % MARKS.len()]));
            }
            return;
        }
        for pair in spots.windows(2) {
            if let [Some(from), Some(to)] = *pair {
                self.line(from, to, place);
            }
        }
        if let [Some(only)] = spots[..] {
            self.put(only, place, None);
        }
    }

    /// Every dot between two places.
    fn line(&mut self, from: (f64, f64), to: (f64, f64), place: usize) {
        let steps = (to.0 - from.0).abs().max((to.1 - from.1).abs()).ceil().max(1.0);
        for step in 0..=steps as u32 {
            let share = f64::from(step) / steps;
            self.put(
                (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share),
                place,
                None,
            );
        }
    }

    fn put(&mut self, spot: (f64, f64), place: usize, sign: Option<char>) {
        if let Some((cell, dot)) = self.cell(spot) {
            cell.dots |= dot;
            cell.place = Some(place);
            cell.sign = sign.or(cell.sign);
        }
    }

    /// Puts the series' mark at its end.
    fn sign(&mut self, series: &Series, place: usize, sign: char) {
        let last = series.points.iter().rev().find_map(|point| self.spot(point));
        if let Some(last) = last {
            self.put(last, place, Some(sign));
        }
    }

    /// The rows from above to below, with the numbers of the axis before them.
    fn rows(&self, margin: usize, paint: impl Fn(usize, &str) -> String) -> Vec<String> {
        let mut numbers: Vec<Option<&str>> = vec![None; self.rows];
        for tick in &self.y.ticks {
            let row = self
                .y
                .scale
                .share(tick.value)
                .map(|up| ((1.0 - up) * (self.rows - 1) as f64).round() as usize);
            if let (Some(free @ None), Some(number)) =
                (row.and_then(|row| numbers.get_mut(row)), &tick.number)
            {
                *free = Some(number);
            }
        }
        let row = |(cells, number): (&[CharacterCell], Option<&str>)| {
            let edge = if number.is_some() { '┤' } else { '│' };
            let runs: String =
                cells.chunk_by(|a, b| a.place == b.place).map(|run| painted(run, &paint)).collect();
            format!("{:>margin$} {edge}{runs}", number.unwrap_or("")).trim_end().to_owned()
        };
        self.cells.chunks(self.columns).zip(numbers).map(row).collect()
    }
}

/// Cells of one series as text.
fn painted(run: &[CharacterCell], paint: impl Fn(usize, &str) -> String) -> String {
    let text: String = run.iter().map(|cell| cell.letter()).collect();
    run[0].place.map_or_else(|| text.clone(), |place| paint(place, &text))
}

/// The axis to the right, its numbers, and its label.
fn below(axis: &Axis, canvas: &Canvas, margin: usize) -> [String; 3] {
    let mut edge = vec!['─'; canvas.columns];
    let mut numbers = String::new();
    for tick in ticks(&canvas.x) {
        let Some((share, number)) = canvas.x.share(tick.value).zip(tick.number) else { continue };
        let column = (share * (canvas.columns - 1) as f64).round() as usize;
        let taken = numbers.chars().count();
        let length = number.chars().count();
        let first = (column + 1)
            .saturating_sub(length.div_ceil(2))
            .min(canvas.columns.saturating_sub(length));
        if first < taken + usize::from(taken > 0) {
            continue;
        }
        if let Some(mark) = edge.get_mut(column) {
            *mark = '┬';
        }
        numbers.push_str(&" ".repeat(first - taken));
        numbers.push_str(&number);
    }
    let indent = " ".repeat(margin + 2);
    let label = (canvas.columns.saturating_sub(axis.label.chars().count())) / 2;
    let edge: String = edge.into_iter().collect();
    [
        format!("{:margin$} └{edge}", ""),
        format!("{indent}{numbers}"),
        format!("{indent}{}{}", " ".repeat(label), axis.label),
    ]
}

/// A bitmap, eight pixels to the octet, the left one in the highest bit, every row with a new octet, as lines of braille: four pixels high and two wide in each character, at most this many
/// lines: a bitmap that is higher is made smaller. A dot is there if any pixel at its place is set.
pub fn bitmap_braille(width: u16, height: u16, bits: &[u8], most_lines: u16) -> Vec<String> {
    let (width, height) = (usize::from(width), usize::from(height));
    let scale = height.div_ceil(4 * usize::from(most_lines.max(1))).max(1);
    let is_set = |x: usize, y: usize| {
        let octet = (x < width && y < height).then(|| bits.get(y * width.div_ceil(8) + x / 8));
        octet.flatten().is_some_and(|octet| octet >> (7 - x % 8) & 1 == 1)
    };
    let dot = |x: usize, y: usize| {
        (0..scale * scale).any(|place| is_set(x * scale + place % scale, y * scale + place / scale))
    };
    let (columns, lines) = (width.div_ceil(2 * scale), height.div_ceil(4 * scale));
    let line = |line: usize| {
        (0..columns).map(|column| braille(|x, y| dot(2 * column + x, 4 * line + y))).collect()
    };
    (0..lines).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, mark: Mark, points: &[(f64, f64)]) -> Series {
        Series {
            name: name.to_owned(),
            mark,
            points: points.iter().map(|&(x, y)| Point::new(x, y)).collect(),
        }
    }

    fn panel(series: Vec<Series>) -> Panel {
        Panel {
            x: Axis::logarithmic("time (us)"),
            y: Axis::linear("Mb/s"),
            height: 0,
            across: vec![],
            series,
        }
    }

    #[test]
    fn a_line_from_corner_to_corner() {
        let panel = Panel {
            x: Axis::linear("x"),
            ..panel(vec![series("", Mark::Line, &[(0.0, 0.0), (10.0, 10.0)])])
        };
        let lines = terminal(&panel, 14, 4, |_, text| text.to_owned());
        assert_eq!(lines[0], "Mb/s");
        assert_eq!(lines.len(), 8, "{lines:#?}");
        assert!(lines[1].starts_with("10 ┤") && lines[4].starts_with(" 0 ┤"), "{lines:#?}");
        assert!(lines[5].starts_with("   └┬") && lines[7].trim() == "x", "{lines:#?}");
    }

    /// A row of text is one step of a linear axis, and a value stands in the row of the nearest one:
    /// 2150 ms once stood in the row of 2500, and 1500 and 1000 shared one.
    #[test]
    fn a_value_stands_in_the_row_of_the_nearest_number() {
        for (rows, value) in
            (4..=10).flat_map(|rows| [0.93, 44.0, 173.0, 2150.0, 9999.0].map(|one| (rows, one)))
        {
            let panel = Panel {
                x: Axis::linear("x"),
                ..panel(vec![series("", Mark::Line, &[(0.0, 0.0), (1.0, value), (9.0, value)])])
            };
            let lines = terminal_below(&[panel], 40, rows);
            let number = |line: &String| line.split('┤').next()?.trim().parse::<f64>().ok();
            let (top, zero) = (number(&lines[1]), number(&lines[rows]));
            let numbered: Vec<usize> =
                (1..=rows).filter(|row| number(&lines[*row]).is_some()).collect();
            let apart: Vec<usize> = numbered.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(apart.iter().all(|rows| *rows == apart[0]), "{lines:#?}");
            let step = number(&lines[numbered[0]]).unwrap() / (rows - numbered[0]) as f64;
            // The plateau is the longest of the rows.
            let length = |row: &usize| lines[*row].trim_end().chars().count();
            let seen = (1..=rows).max_by_key(length).unwrap_or_default();
            let read = (rows - seen) as f64 * step;
            assert!(
                (read - value).abs() <= step * 0.63,
                "{value} in {rows} rows reads {read}: {lines:#?}"
            );
            assert!(zero == Some(0.0) && top.is_none_or(|top| top <= 2.0 * value), "{lines:#?}");
        }
    }

    #[test]
    fn several_lines_end_in_their_letters_and_points_have_marks() {
        let a = series("a", Mark::Line, &[(1.0, 1.0), (100.0, 50.0)]);
        let b = series("b", Mark::Line, &[(1.0, 2.0), (1000.0, 100.0)]);
        let c = series("c", Mark::Points, &[(10.0, 90.0), (0.0, 5.0), (f64::NAN, 1.0)]);
        let panel = panel(vec![a, b, c]);
        let lines = terminal(&panel, 60, 10, |place, text| format!("<{place}{text}>")).join("\n");
        for wanted in ["a>", "b>", "<2▲>", "time (us)", "500"] {
            assert!(lines.contains(wanted), "{wanted} in\n{lines}");
        }
        assert_eq!((mark(&panel, 1), mark(&panel, 2)), ('b', '▲'));
    }

    #[test]
    fn nothing_to_draw_is_drawn_too() {
        let lines =
            terminal(&panel(vec![series("", Mark::Line, &[])]), 0, 0, |_, text| text.to_owned());
        assert_eq!(lines.len(), 8);
    }

    #[test]
    fn no_line_is_longer_than_asked() {
        let points: Vec<(f64, f64)> =
            (0..60).map(|i| (1.3f64.powi(i), f64::from(i * i * 997 % 1000))).collect();
        let panel = panel(vec![series("", Mark::LinePoints, &points)]);
        for columns in [20, 79, 80, 120] {
            let lines = terminal(&panel, columns, 12, |_, text| text.to_owned());
            assert!(
                lines.iter().all(|line| line.chars().count() <= columns),
                "{columns}: {lines:#?}"
            );
        }
    }

    #[test]
    fn panels_below_each_other_share_the_column_of_their_axis() {
        let on = |label: &str, y: f64| Panel {
            x: Axis::linear("seconds").within(0.0, 10.0),
            y: Axis::linear(label),
            ..panel(vec![series("", Mark::Line, &[(0.0, 0.0), (10.0, y)])])
        };
        let mut two = on("frames", 1000.0);
        two.series.push(series("other", Mark::Line, &[(0.0, 5.0)]));
        let lines = terminal_below(&[two, on("ms", 8.0)], 40, 5);
        assert_eq!(lines.len(), 2 * (5 + ROWS_AROUND) + NUMBERS);
        assert!(lines[0].starts_with("frames") && lines[0].ends_with("b other"), "{lines:#?}");
        let corners: Vec<usize> =
            lines.iter().filter_map(|line| line.chars().position(|one| one == '└')).collect();
        assert!(corners.len() == 2 && corners[0] == corners[1], "{lines:#?}");
        assert_eq!(lines.iter().filter(|line| line.contains("seconds")).count(), 1);
    }

    /// The upper left and the lower right dot; twice as large a bitmap in half as many lines.
    #[test]
    fn dots_are_where_their_pixels_are() {
        let bits = [0b1000_0000, 0, 0, 0, 0, 0, 0, 0b0001_0000];
        assert_eq!(bitmap_braille(4, 8, &bits, 2), ["\u{2801}\u{2800}", "\u{2800}\u{2880}"]);
        assert_eq!(bitmap_braille(4, 8, &bits, 1), ["\u{2881}"]);
        assert_eq!(bitmap_braille(4, 8, &[], 0), ["\u{2800}"]);
    }
}
