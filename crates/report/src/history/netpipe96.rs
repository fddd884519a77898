//! The page of the study `NetPIPE` of 1996.

use btu_studies::papers::netpipe96::{Curve, LayerCost, Netpipe96History};

use super::parts::{claims, opening, paragraph, words};
use crate::head::TextOptions;
use crate::number::{NOTHING, three_digits};
use crate::sheet::{Sheet, page, section};

/// The curves, the cost of a second layer, and a check of the text by the figures; with `all` also
/// every point, and the sentences that hold.
pub fn netpipe96_text(history: &Netpipe96History, all: bool, options: &TextOptions) -> String {
    let about = "Two identical workstations and a link of their own; a message goes there and back, and half of that is its \
                 time. The paper has no tables: these points were read off its figures. Mb/s of 10^6 bits; the figures' own \
                 have 2^20.";
    page(vec![
        opening("NetPIPE 1996: message size against time", about, options),
        curves(&history.curves, options),
        layer(history.layer, options),
        if all { points(&history.curves, options) } else { Vec::new() },
        claims(&history.claims, all, options),
    ])
}

fn curves(curves: &[Curve], options: &TextOptions) -> Vec<String> {
    let mut sheet = Sheet::new(
        words(&["curve", "figure", "latency, us", "maximum, Mb/s", "half the rate at, kbit"]),
        2,
    );
    for curve in curves {
        sheet.row(vec![
            curve.name.to_owned(),
            curve.figure.to_owned(),
            curve.latency_seconds.map_or_else(nothing, |seconds| format!("{:.1}", seconds * 1e6)),
            three_digits(curve.maximum_bits_per_second / 1e6),
            curve.half_rate_bits.map_or_else(nothing, |bits| three_digits(bits / 1e3)),
        ]);
    }
    let note = "latency: time of the first point, of one send for streams; last column recomputed, latency times last rate";
    section("Curves", note, sheet.lines(), options)
}

fn nothing() -> String {
    NOTHING.to_owned()
}

fn layer(layer: LayerCost, options: &TextOptions) -> Vec<String> {
    let text = format!(
        "MPI over the same TCP and ATM takes {:.1} us more for the first byte ({:.2} times as long), and reaches {:.0} % of \
         the rate.",
        layer.latency_seconds * 1e6,
        layer.latency_ratio,
        layer.maximum_ratio * 100.0
    );
    section("Recomputed: what a layer costs (Figure 8)", "", paragraph(&text, options), options)
}

fn points(curves: &[Curve], options: &TextOptions) -> Vec<String> {
    let mut sheet = Sheet::new(
        words(&["curve", "figure", "point", "bytes", "time, us", "drawn, Mb/s", "size/time, Mb/s"]),
        3,
    );
    for curve in curves {
        for point in &curve.points {
            let labels = [curve.name, point.figure, point.kind].map(str::to_owned);
            let numbers = [
                point.bytes.map(|bytes| bytes.to_string()),
                point.seconds.map(|seconds| format!("{:.1}", seconds * 1e6)),
                point.printed_bits_per_second.map(|rate| format!("{:.2}", rate / 1e6)),
                point.bits_per_second.map(|rate| three_digits(rate / 1e6)),
            ];
            sheet.row(
                labels
                    .into_iter()
                    .chain(numbers.map(|number| number.unwrap_or_else(nothing)))
                    .collect(),
            );
        }
    }
    section("Points", "", sheet.lines(), options)
}

#[cfg(test)]
mod tests {
    use btu_studies::papers::netpipe96::history;

    use super::*;

    #[test]
    fn the_page() {
        insta::assert_snapshot!(netpipe96_text(
            &history(),
            true,
            &TextOptions { colour: false, width: 100 }
        ));
    }
}
