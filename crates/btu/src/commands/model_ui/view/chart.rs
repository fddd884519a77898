//! The curve: delay along the load or along the chosen value.

use btu_network::Quantity;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line as Text, Span};
use ratatui::widgets::{Axis as ChartAxis, Chart, Dataset, GraphType, Paragraph, Wrap};

use super::{Palette, TITLE, clipped, width_of};
use crate::commands::model_ui::curve::{Axis, Curve, CurvePoint};
use crate::commands::model_ui::state::{ShownDelay, State};

/// The points of a line, as far as they have a value.
type LineCoordinates = Vec<(f64, f64)>;

/// Draws the curve in the space that the tables leave.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    if area.height < 5 {
        return;
    }
    let head = Rect { height: 1, ..area };
    let rest = Rect { y: area.y + 1, height: area.height - 1, ..area };
    frame.render_widget(title(state, head.width.into(), palette), head);
    let Some(curve) = &state.curve else {
        return frame.render_widget(Text::styled("working it out", palette.quiet()), rest);
    };
    let drawn = drawn(curve, state.figure);
    match emptiness(curve, &drawn) {
        Some(reason) => {
            frame.render_widget(
                Paragraph::new(reason).style(palette.quiet()).wrap(Wrap { trim: true }),
                rest,
            );
        }
        None => plot(frame, rest, curve, &drawn, palette),
    }
}

/// The styles of the lines, in their order.
fn styles(palette: Palette) -> [Style; 2] {
    [palette.of(Color::Cyan, Modifier::BOLD), palette.of(Color::Magenta, Modifier::DIM)]
}

/// The figures and the variable; the names of two lines have the lines' styles.
fn title(state: &State, width: usize, palette: Palette) -> Text<'static> {
    let [first, second] = styles(palette);
    let names = match state.figure {
        ShownDelay::All => vec![Span::styled("Mean delay of all frames", TITLE)],
        ShownDelay::Flow(place) => {
            let flow = state.answer.prediction.flows.get(place);
            let what = flow.map_or("", |flow| {
                if flow.response_seconds.is_some() { "Response time" } else { "Mean delay" }
            });
            let name = flow.map(|flow| flow.name.as_str()).unwrap_or_default();
            vec![Span::styled(format!("{what} of {name}"), TITLE)]
        }
        ShownDelay::Transfer if !is_paced(state) => vec![Span::styled("Transfer by TCP", TITLE)],
        ShownDelay::Transfer => vec![
            Span::styled("Simple", first),
            Span::styled(" and ", TITLE),
            Span::styled("aggregate", second),
            Span::styled(" delay", TITLE),
        ],
    };
    let taken: usize = names.iter().map(|span| width_of(&span.content)).sum();
    let along = match state.curve.as_ref().map(|curve| &curve.axis) {
        Some(Axis::Key { key, .. }) => format!(" by {key}"),
        Some(Axis::None) => String::new(),
        Some(Axis::Load) | None => " by load".to_owned(),
    };
    let along = Span::styled(clipped(&along, width.saturating_sub(taken)), TITLE);
    names.into_iter().chain([along]).collect()
}

/// Whether the transfer has a declared rate.
fn is_paced(state: &State) -> bool {
    let transfer = state.answer.prediction.transfer.as_ref();
    transfer.is_some_and(|transfer| transfer.paced.is_some())
}

/// Why there is no curve.
fn emptiness(curve: &Curve, drawn: &[LineCoordinates]) -> Option<&'static str> {
    match curve.axis {
        Axis::None => Some("The chosen value cannot be turned along a curve. Tab: along the load."),
        Axis::Load if curve.here.is_none() => {
            Some("No traffic here has a rate that could be turned. Tab: along the chosen value.")
        }
        _ if curve.points.is_empty() => Some("working it out"),
        _ if drawn.iter().all(Vec::is_empty) => Some("Saturated, or without an answer, all along."),
        _ => None,
    }
}

fn drawn(curve: &Curve, figure: ShownDelay) -> Vec<LineCoordinates> {
    let line = |value: &dyn Fn(&CurvePoint) -> Option<f64>| {
        curve.points.iter().filter_map(|point| Some((point.at, value(point)?))).collect()
    };
    match figure {
        ShownDelay::All => vec![line(&|point| point.all.value)],
        ShownDelay::Flow(place) => vec![line(&|point| point.flows.get(place)?.value)],
        ShownDelay::Transfer => {
            let lines = curve.points.first().map_or(0, |point| point.transfer.len());
            (0..lines).map(|place| line(&|point| point.transfer.get(place)?.value)).collect()
        }
    }
}

fn plot(
    frame: &mut Frame<'_>,
    area: Rect,
    curve: &Curve,
    drawn: &[LineCoordinates],
    palette: Palette,
) {
    let [from, to] = curve.range;
    let top = top(drawn);
    let here: Vec<(f64, f64)> = curve
        .here
        .filter(|at| (from..=to).contains(at))
        .into_iter()
        .flat_map(|at| (0..=40).map(move |step| (at, top * f64::from(step) / 40.0)))
        .collect();
    let mut sets = vec![Dataset::default().data(&here).marker(Marker::Dot).style(palette.quiet())];
    for (points, style) in drawn.iter().zip(styles(palette)) {
        sets.push(
            Dataset::default()
                .data(points)
                .marker(Marker::Braille)
                .graph_type(GraphType::Line)
                .style(style),
        );
    }
    let middle = f64::midpoint(from, to);
    let along = [from, middle, to].map(|value| shortened(&curve.axis, value, 3));
    let x = ChartAxis::default().bounds([from, to]).labels(along.to_vec()).style(Style::new());
    let y = ChartAxis::default().bounds([0.0, top]).labels(vec![
        "0".to_owned(),
        seconds(top / 2.0),
        seconds(top),
    ]);
    frame.render_widget(Chart::new(sets).x_axis(x).y_axis(y), area);
    saturation(frame, area, curve, drawn, palette);
}

/// Shows where the curve ends because means do not exist beyond.
fn saturation(
    frame: &mut Frame<'_>,
    area: Rect,
    curve: &Curve,
    drawn: &[LineCoordinates],
    palette: Palette,
) {
    let Some(line) = drawn.last() else { return };
    let (Some(first), Some(last)) = (curve.points.first(), curve.points.last()) else { return };
    // These are copies of the same numbers, not computed again, so an exact comparison is right.
    let is_drawn = |point: &CurvePoint| line.iter().any(|(at, _)| at.total_cmp(&point.at).is_eq());
    let side = |place: Option<&(f64, f64)>| {
        place.map(|(at, _)| shortened(&curve.axis, *at, 4)).unwrap_or_default()
    };
    let text = match (is_drawn(first), is_drawn(last)) {
        (_, false) => format!("saturated above {}", side(line.last())),
        (false, true) => format!("saturated below {}", side(line.first())),
        (true, true) => return,
    };
    let width = (text.len() as u16).min(area.width);
    let place = Rect { x: area.right() - width, y: area.y, width, height: 1 };
    frame.render_widget(Text::styled(text, palette.problem()), place);
}

fn seconds(value: f64) -> String {
    Quantity::Time.written(value)
}

/// A value with this number of digits.
fn shortened(axis: &Axis, value: f64, digits: i32) -> String {
    if value <= 1e-9 {
        return "0".to_owned();
    }
    let scale = 10f64.powi(digits - 1 - value.log10().floor() as i32);
    axis.written((value * scale).round() / scale)
}

/// The top of the picture: the greatest value, but not so great that all others lie flat at the
/// bottom, as the last points before saturation would require.
fn top(drawn: &[LineCoordinates]) -> f64 {
    let mut values: Vec<f64> =
        drawn.iter().flat_map(|line| line.iter().map(|(_, value)| *value)).collect();
    values.sort_by(f64::total_cmp);
    let (Some(middle), Some(most)) = (values.get(values.len() / 2), values.last()) else {
        return 1.0;
    };
    let high = most.min(middle * 8.0).max(1e-9);
    let power = 10f64.powi(high.log10().floor() as i32);
    let step = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0]
        .into_iter()
        .find(|step| step * power >= high * (1.0 - 1e-9));
    step.unwrap_or(10.0) * power
}
