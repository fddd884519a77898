//! Figures in the form of the charting library (plotly.js).
//!
//! The page decides the colours: each trace has in `meta` its index in the palette, and how often the
//! palette was used up before; the page's script inserts the colour of the current theme.

use serde_json::{Value, json};

use super::figure::{Axis, Figure, Layout, Mark, Panel, Point, Scale, Series};

/// Traces and layout of a figure.
pub(super) fn chart(figure: &Figure) -> Value {
    let mut seen: Vec<&str> = Vec::new();
    let mut traces = Vec::new();
    for (place, panel) in figure.panels.iter().enumerate() {
        for series in &panel.series {
            let first = !seen.contains(&series.name.as_str());
            seen.push(&series.name);
            traces.push(trace(figure, panel, place, series, first));
        }
    }
    json!({ "name": figure.name, "title": figure.title, "data": traces, "layout": layout(figure) })
}

fn trace(figure: &Figure, panel: &Panel, place: usize, series: &Series, first: bool) -> Value {
    let across = matches!(panel.y.scale, Scale::Words(_));
    let xs: Vec<Value> = series.points.iter().map(|point| place_on(&panel.x, point.x)).collect();
    let ys: Vec<Value> = series.points.iter().map(|point| place_on(&panel.y, point.y)).collect();
    let mut trace = json!({
        "x": xs,
        "y": ys,
        "name": escaped(&series.name),
        "legendgroup": series.name,
        "showlegend": first,
        "xaxis": axis_name("x", if figure.layout == Layout::Below { 0 } else { place }),
        "yaxis": axis_name("y", place),
        "meta": { "colour": series.role.colour(), "turn": series.role.turn() },
        "hovertemplate": hover(panel, across),
    });
    let mode = match series.mark {
        Mark::Line => "lines",
        Mark::LinePoints => "lines+markers",
        Mark::Points => "markers",
        Mark::Stack => "",
    };
    if series.mark == Mark::Stack {
        trace["type"] = json!("bar");
    } else {
        trace["type"] = json!("scatter");
        trace["mode"] = json!(mode);
    }
    if is_by_word(figure) {
        trace["offsetgroup"] = json!(series.name);
        trace["orientation"] = json!(if across { "h" } else { "v" });
    }
    if series.points.iter().any(|point| point.interval.is_some()) {
        trace[if across { "error_x" } else { "error_y" }] =
            intervals(panel, &series.points, across);
    }
    trace
}

/// Whether all panels show points by words, of which several series have the same: their marks are
/// drawn next to each other, since they would cover each other on one line.
fn is_by_word(figure: &Figure) -> bool {
    let has_words = |panel: &Panel| {
        [&panel.x, &panel.y].iter().any(|axis| matches!(axis.scale, Scale::Words(_)))
    };
    let is_of_points =
        |panel: &Panel| panel.series.iter().all(|series| series.mark == Mark::Points);
    figure.panels.iter().all(|panel| has_words(panel) && is_of_points(panel))
        && figure.panels.iter().any(|panel| panel.series.len() > 1)
}

/// The value, or the word at that place.
fn place_on(axis: &Axis, value: f64) -> Value {
    match &axis.scale {
        Scale::Words(words) => json!(words.get(value as usize).map(|word| escaped(word))),
        _ if value.is_finite() => json!(value),
        _ => Value::Null,
    }
}

fn hover(panel: &Panel, across: bool) -> String {
    let unit = |axis: &Axis| {
        axis.label.rsplit_once(", ").map_or_else(String::new, |(_, unit)| format!(" {unit}"))
    };
    if across {
        format!("%{{y}}<br>%{{x:.6~g}}{}<extra>%{{fullData.name}}</extra>", unit(&panel.x))
    } else {
        let x = if matches!(panel.x.scale, Scale::Words(_)) { "%{x}" } else { "%{x:.6~g}" };
        format!(
            "{x}{}<br>%{{y:.4~r}}{}<extra>%{{fullData.name}}</extra>",
            unit(&panel.x),
            unit(&panel.y)
        )
    }
}

/// Whiskers end at the edges of what the panel's values need, so that one wide interval does not squeeze all values
/// together; the table has the whole interval.
fn intervals(panel: &Panel, points: &[Point], across: bool) -> Value {
    let middle = |point: &Point| if across { point.x } else { point.y };
    let values = panel.series.iter().flat_map(|series| &series.points).map(middle);
    let [least, most] = edges(if across { &panel.x } else { &panel.y }, values);
    let above = points
        .iter()
        .map(|point| point.interval.map_or(0.0, |(_, high)| high.min(most) - middle(point)));
    let below = points
        .iter()
        .map(|point| point.interval.map_or(0.0, |(low, _)| middle(point) - low.max(least)));
    json!({
        "type": "data",
        "symmetric": false,
        "array": above.collect::<Vec<f64>>(),
        "arrayminus": below.collect::<Vec<f64>>(),
        "thickness": 1.5,
        "width": 4,
    })
}

/// Half and twice of the values, or half of their range beyond them.
fn edges(axis: &Axis, values: impl Iterator<Item = f64>) -> [f64; 2] {
    let (least, most) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
            (least.min(value), most.max(value))
        });
    match axis.scale {
        Scale::Logarithmic | Scale::At(_) => [least / 2.0, most * 2.0],
        Scale::Linear | Scale::Words(_) => {
            let room = (most.max(0.0) - least.min(0.0)) / 2.0;
            [least - room, most + room]
        }
    }
}

/// The name of an axis: `x`, `x2`, `x3`.
fn axis_name(letter: &str, place: usize) -> String {
    if place == 0 { letter.to_owned() } else { format!("{letter}{}", place + 1) }
}

fn layout(figure: &Figure) -> Value {
    let mut layout = json!({ "barmode": "relative", "annotations": [] });
    if is_by_word(figure) {
        layout["scattermode"] = json!("group");
        layout["scattergap"] = json!(0.4);
    }
    let panels = figure.panels.len();
    for (place, panel) in figure.panels.iter().enumerate() {
        let (across, up) = domains(figure.layout, panels, place);
        let key =
            |letter: &str| axis_name(letter, place).replacen(letter, &format!("{letter}axis"), 1);
        layout[key("y")] = axis(
            &panel.y,
            up,
            &axis_name("x", if figure.layout == Layout::Below { 0 } else { place }),
        );
        if figure.layout == Layout::SideBySide || place == 0 {
            let lowest = if figure.layout == Layout::Below { panels - 1 } else { place };
            let label = figure.panels.get(lowest).map_or(&panel.x, |panel| &panel.x);
            layout[key("x")] = axis(label, across, &axis_name("y", lowest));
        }
        if let (false, Some(annotations)) =
            (panel.title.is_empty(), layout["annotations"].as_array_mut())
        {
            annotations.push(json!({
                "text": escaped(&panel.title), "x": f64::midpoint(across[0], across[1]), "y": up[1], "xref": "paper",
                "yref": "paper", "xanchor": "center", "yanchor": "bottom", "showarrow": false,
            }));
        }
    }
    layout
}

/// The place of a panel in the figure, as shares of its width and height.
fn domains(layout: Layout, panels: usize, place: usize) -> ([f64; 2], [f64; 2]) {
    match layout {
        Layout::Below if panels > 2 => {
            // For the title of the next one.
            let gap = 0.06;
            let height = (1.0 - gap * (panels as f64 - 1.0)) / panels as f64;
            let low = (panels - 1).saturating_sub(place) as f64 * (height + gap);
            ([0.0, 1.0], [low, low + height])
        }
        Layout::Below if place == 0 && panels > 1 => ([0.0, 1.0], [0.42, 1.0]),
        Layout::Below if panels > 1 => ([0.0, 1.0], [0.0, 0.32]),
        Layout::Below => ([0.0, 1.0], [0.0, 1.0]),
        Layout::SideBySide => {
            let gap = 0.09;
            let width = (1.0 - gap * (panels as f64 - 1.0)) / panels as f64;
            let left = place as f64 * (width + gap);
            ([left, left + width], [0.0, 1.0])
        }
    }
}

fn axis(axis: &Axis, domain: [f64; 2], anchor: &str) -> Value {
    let mut shape = json!({
        "title": { "text": escaped(&axis.label) }, "domain": domain, "anchor": anchor, "automargin": true,
        "exponentformat": "none",
    });
    match &axis.scale {
        Scale::Linear => shape["rangemode"] = json!("tozero"),
        Scale::Logarithmic => shape["type"] = json!("log"),
        Scale::At(values) => {
            shape["type"] = json!("log");
            shape["tickmode"] = json!("array");
            shape["tickvals"] = json!(values);
            shape["ticktext"] = json!(mark_texts(values));
        }
        Scale::Words(words) => {
            shape["type"] = json!("category");
            shape["categoryorder"] = json!("array");
            shape["categoryarray"] =
                json!(words.iter().map(|word| escaped(word)).collect::<Vec<_>>());
        }
    }
    shape
}

/// The numbers at the marks; none at a mark so near to the one before that they would lie on top of
/// each other.
fn mark_texts(values: &[f64]) -> Vec<String> {
    const NEAR: f64 = 1.5;
    let near = |place: usize| place > 0 && values[place] < values[place - 1] * NEAR;
    (0..values.len())
        .map(|place| if near(place) { String::new() } else { values[place].to_string() })
        .collect()
}

/// The library interprets a few tags in its texts; text from outside must not contain any.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::figure::Role;
    use super::super::page::Table;
    use super::*;

    fn figure(words: bool, mark: Mark) -> Figure {
        let series = |name: &str, role| Series {
            name: name.to_owned(),
            role,
            mark,
            points: vec![Point::new(0.0, 1.0), Point::new(1.0, 2.0)],
        };
        let x = if words {
            Axis::words("", ["SEND", "RECV"].map(str::to_owned).to_vec())
        } else {
            Axis::linear("seconds")
        };
        let series = vec![series("cpu", Role::Cpu), series("disk", Role::Disk)];
        let panels =
            vec![Panel { title: String::new(), x, y: Axis::logarithmic("slowdown"), series }];
        let (name, title) = ("slowdowns".to_owned(), String::new());
        let table = Table::new("", &["component"], 1);
        Figure { name, title, panels, layout: Layout::SideBySide, table }
    }

    /// Series with the same words are drawn next to each other; lines over numbers stay where they
    /// are.
    #[test]
    fn marks_of_one_word_do_not_cover_each_other() {
        let drawn = chart(&figure(true, Mark::Points));
        assert_eq!(drawn["layout"]["scattermode"], "group");
        let [one, other] = [0, 1].map(|place| &drawn["data"][place]["offsetgroup"]);
        assert!(one.is_string() && one != other, "{drawn}");
        for lines in [figure(false, Mark::Points), figure(true, Mark::LinePoints)] {
            let drawn = chart(&lines);
            assert!(drawn["layout"]["scattermode"].is_null(), "{drawn}");
            assert!(drawn["data"][0]["offsetgroup"].is_null());
        }
    }

    #[test]
    fn b10_a_wide_interval_does_not_stretch_the_axis() {
        let point = |x, y, interval| Point { x, y, interval };
        let points =
            vec![point(1.0, 100.0, Some((90.0, 110.0))), point(2.0, 400.0, Some((1e-3, 1e9)))];
        let series = |points| Series {
            name: "all".to_owned(),
            role: Role::Idle,
            mark: Mark::Points,
            points,
        };
        let [x, y] = ["size", "goodput"].map(Axis::logarithmic);
        let panel = Panel { title: String::new(), x, y, series: vec![series(points.clone())] };
        let drawn = intervals(&panel, &points, false);
        assert_eq!(drawn["array"], json!([10.0, 400.0]));
        assert_eq!(drawn["arrayminus"], json!([10.0, 350.0]));
    }
}
