//! CITI report 89-4.

use btu_studies::papers::citi89::{Case, Citi89History, Transfer};

use super::parts::{claims, opening, paragraph, words};
use crate::head::TextOptions;
use crate::number::{NOTHING, three_digits};
use crate::sheet::{Sheet, page, section};

/// Both cases of the model, Figure 11, and the values that the scan hides; with `all` also the
/// sentences that hold.
pub fn citi89_text(history: &Citi89History, all: bool, options: &TextOptions) -> String {
    let about = "A workstation sends a file over one Ethernet: 60 packets of 11,680 bits a second and 10 answers of 1104 \
                 bits, with background packets of 8376 bits. The scan is damaged; what is called printed are the digits \
                 that fit all others. Recomputed: mean delay on a shared cable of 10 Mb/s and 5.12 us for packets of the \
                 weighted mean size.";
    page(vec![
        opening(
            "CITI report 89-4 (1989): copying large files across a contention-based network",
            about,
            options,
        ),
        cases(&history.cases, options),
        transfers(&history.transfers, options),
        paragraph(
            &format!(
                "From {} background packets a second on, the network and not the sender limits a transfer.",
                history.crossing_packets_per_second
            ),
            options,
        ),
        claims(&history.claims, all, options),
    ])
}

/// A line of the table for a case: the printed value, its place, and the recomputed value.
type CaseRow = (&'static str, fn(&Case) -> Option<String>, fn(&Case) -> String);

const QUANTITIES: [CaseRow; 9] = [
    ("traffic, Mb/s", |_| None, |case| format!("{:.5}", case.traffic_bits_per_second / 1e6)),
    ("mean packet, bits", |_| None, |case| format!("{:.2}", case.mean_packet_bits)),
    (
        "delay per packet, ms",
        |case| Some(milliseconds(case.printed_delay_seconds)),
        |case| milliseconds(case.delay_seconds),
    ),
    ("  a queue, fixed sizes", |_| None, |case| milliseconds(case.fixed_queue_seconds)),
    ("  a queue, exponential sizes", |_| None, |case| milliseconds(case.exponential_queue_seconds)),
    (
        "utilization, data, %",
        |case| Some(percent(case.printed_utilization)),
        |case| percent(case.utilization),
    ),
    (
        "utilization, data and collisions, %",
        |_| None,
        |case| percent(case.utilization_with_collisions),
    ),
    ("100 MB, aggregate, s", |_| None, |case| format!("{:.3}", case.aggregate_seconds)),
    ("100 MB, simple, s", |_| None, |case| format!("{:.3}", case.simple_seconds)),
];

fn milliseconds(seconds: f64) -> String {
    format!("{:.6}", seconds * 1e3)
}

fn percent(share: f64) -> String {
    format!("{:.2}", share * 100.0)
}

fn cases(cases: &[Case], options: &TextOptions) -> Vec<String> {
    let head = ["", "light: printed", "recomputed", "heavy: printed", "recomputed"];
    let mut sheet = Sheet::new(words(&head), 1);
    for (name, printed, recomputed) in QUANTITIES {
        let values = cases.iter().flat_map(|case| {
            [printed(case).unwrap_or_else(|| NOTHING.to_owned()), recomputed(case)]
        });
        sheet.row(std::iter::once(name.to_owned()).chain(values).collect());
    }
    section(
        "Figures 9 and 10",
        "without background packets, and with 1034 a second",
        sheet.lines(),
        options,
    )
}

fn transfers(transfers: &[Transfer], options: &TextOptions) -> Vec<String> {
    let mut sheet = Sheet::new(words(&["background, packets/s", "aggregate, s", "simple, s"]), 0);
    for one in transfers {
        let numbers = [one.aggregate_seconds, one.simple_seconds].map(three_digits);
        sheet.row(
            [one.background_packets_per_second.to_string()].into_iter().chain(numbers).collect(),
        );
    }
    let note =
        "a file of 20 MB: the longer of the two counts; the dip is real, packets get shorter";
    section("Figure 11, recomputed", note, sheet.lines(), options)
}

#[cfg(test)]
mod tests {
    use btu_studies::papers::citi89::history;

    use super::*;

    #[test]
    fn the_page() {
        insta::assert_snapshot!(citi89_text(
            &history(),
            true,
            &TextOptions { colour: false, width: 100 }
        ));
    }
}
