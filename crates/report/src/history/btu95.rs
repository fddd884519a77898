//! The 1995 BTU paper: ratings, order, misprints, penalties.

use btu_studies::papers::btu95::{
    Btu95History, Half, MESSAGE_BYTES, MachineHistory, MeanCheck, MeanKind, OverLoads,
    PenaltyCheck, Ranking, Rating95, RowSource, Side,
};

use super::parts::{paragraph, words};
use crate::head::TextOptions;
use crate::paint::Paint;
use crate::sheet::Sheet;

/// The whole recomputation; with `every_mean` also the means and penalties that do follow.
pub fn btu95_text(history: &Btu95History, every_mean: bool, options: &TextOptions) -> String {
    let paint = Paint(options.colour);
    let mut lines = vec![paint.title("BTU 1995: published and recomputed"), String::new()];
    lines.extend(paragraph(
        "Duration of a message size and load: geometric mean over six components. BTU of a size: 32 Mb over the mean \
         duration over three loads, rounded to two decimals. Rating: a mean over five sizes. All Mb/s.",
        options,
    ));
    lines.extend(ratings(history, paint));
    lines.extend(ranking(history, paint, options));
    lines.extend(slips(history, every_mean, paint, options));
    lines.extend(penalties(history, every_mean, paint, options));
    lines.join("\n") + "\n"
}

fn rule(rating: &Rating95) -> String {
    let rows = match rating.rows {
        RowSource::PrintedMeans => "printed means",
        RowSource::RawRows => "raw rows",
    };
    format!("{rows}, {} over loads", over_loads(rating.over_loads))
}

fn over_loads(mean: OverLoads) -> &'static str {
    match mean {
        OverLoads::Geometric => "GM",
        OverLoads::Arithmetic => "AM",
    }
}

fn ratings(history: &Btu95History, paint: Paint) -> Vec<String> {
    let mut sheet = Sheet::new(
        words(&["machine", "rule", "AM", "GM", "HM", "100", "1024", "1250", "4096", "65536"]),
        2,
    );
    for machine in &history.machines {
        let published = MeanKind::ALL
            .map(|kind| format!("{:.3}", kind.of(&machine.published_megabits_per_second)));
        let name = machine.machine.to_string();
        let dashes = std::iter::repeat_n("-".to_owned(), MESSAGE_BYTES.len());
        sheet.row(
            [name, "as published".to_owned()].into_iter().chain(published).chain(dashes).collect(),
        );
        for rating in &machine.ratings {
            let mark = if reproduces(machine, rating) { " *" } else { "" };
            let means =
                MeanKind::ALL.map(|kind| format!("{:.4}", kind.of(&rating.megabits_per_second)));
            let sizes = rating.per_size_megabits_per_second.map(|rate| format!("{rate:.2}"));
            let label = [String::new(), rule(rating) + mark];
            sheet.row(label.into_iter().chain(means).chain(sizes).collect());
        }
    }
    let mut lines = vec![String::new(), paint.title("Ratings (Tables 5 and A17)")];
    lines.extend(sheet.lines());
    lines.push(paint.quiet(
        "* all three means within 0.005 of the published ones, but for a mean that is impossible",
    ));
    lines
}

/// Whether a rule gives the published means. A harmonic mean above the geometric one is impossible.
fn reproduces(machine: &MachineHistory, rating: &Rating95) -> bool {
    let published = &machine.published_megabits_per_second;
    let compared = MeanKind::ALL
        .into_iter()
        .filter(|kind| *kind != MeanKind::Harmonic || published.harmonic <= published.geometric);
    compared
        .into_iter()
        .all(|kind| (kind.of(published) - kind.of(&rating.megabits_per_second)).abs() <= 0.005)
}

fn ranking(history: &Btu95History, paint: Paint, options: &TextOptions) -> Vec<String> {
    let mut sheet = Sheet::new(words(&["rule", "over sizes", "order"]), 3);
    for ranking in &history.rankings {
        sheet.row(vec![
            ranking_rule(ranking),
            ranking.over_sizes.short().to_owned(),
            order(ranking),
        ]);
    }
    let mut lines = vec![String::new(), paint.title("Who comes first depends on the mean")];
    lines.extend(sheet.lines());
    let intervals: Vec<String> = history.machines.iter().filter_map(component_interval).collect();
    lines.extend(paragraph(
        &format!(
            "With other components the geometric mean (raw rows, GM throughout) would lie, with 95 %: {}. Nothing was \
             repeated in 1995, so there is no measurement error to compare with.",
            intervals.join("; ")
        ),
        options,
    ));
    lines
}

fn ranking_rule(ranking: &Ranking) -> String {
    match (ranking.rows, ranking.over_loads) {
        (Some(RowSource::PrintedMeans), Some(mean)) => {
            format!("printed means, {} over loads", over_loads(mean))
        }
        (Some(RowSource::RawRows), Some(mean)) => {
            format!("raw rows, {} over loads", over_loads(mean))
        }
        _ => "as published".to_owned(),
    }
}

fn order(ranking: &Ranking) -> String {
    let places = ranking.order.iter().map(|(machine, rating)| format!("{machine} {rating:.3}"));
    places.collect::<Vec<_>>().join(" > ")
}

fn component_interval(machine: &MachineHistory) -> Option<String> {
    let interval = machine.ratings.iter().find_map(|rating| rating.over_components)?;
    Some(format!("{} {:.2} .. {:.2}", machine.machine, interval.low, interval.high))
}

/// The means that do not follow from their rows.
fn slips(
    history: &Btu95History,
    every_mean: bool,
    paint: Paint,
    options: &TextOptions,
) -> Vec<String> {
    let all = history
        .machines
        .iter()
        .flat_map(|machine| machine.means.iter().map(move |check| (machine, check)));
    let mut shown: Vec<_> = all.clone().filter(|(_, check)| every_mean || !check.follows).collect();
    shown.sort_by_key(|(_, check)| {
        (table_number(check), check.half == Half::Host, check.message_bytes)
    });
    let (count, wrong) = (all.clone().count(), all.filter(|(_, check)| !check.follows).count());
    let mut sheet = Sheet::new(
        words(&["table", "machine", "half", "mean", "bytes", "printed", "rows give"]),
        4,
    );
    for (machine, check) in shown {
        let half = if check.half == Half::Network { "COMM" } else { check.activity.name() };
        let label =
            [check.table, machine.machine.name(), half, check.kind.short()].map(str::to_owned);
        let mark = if every_mean && !check.follows { " *" } else { "" };
        let numbers = [
            check.message_bytes.to_string(),
            format!("{:.2}", check.printed_seconds),
            format!("{:.2}{mark}", check.recomputed_seconds),
        ];
        sheet.row(label.into_iter().chain(numbers).collect());
    }
    let title = format!(
        "Printed means that do not follow from their own rows: {wrong} of {count} (seconds)"
    );
    let mut lines = vec![String::new(), paint.title(&title)];
    lines.extend(sheet.lines());
    lines.extend(paragraph(
        "A5 COMM: rows shifted by one (AM copies row 6, GM is the AM, HM the GM). A14 COMM 1024: divided by 5 instead of \
         6, and the fifth root. A11-A13: most means are from another run. A harmonic mean above the geometric one is \
         impossible.",
        options,
    ));
    lines
}

fn table_number(check: &MeanCheck) -> u32 {
    check.table.trim_start_matches('A').parse().unwrap_or(0)
}

fn penalties(
    history: &Btu95History,
    every_cell: bool,
    paint: Paint,
    options: &TextOptions,
) -> Vec<String> {
    let mut sheet =
        Sheet::new(words(&["machine", "follow", "of", "100", "1024", "1250", "4096", "65536"]), 1);
    for machine in &history.machines {
        let follow = machine.penalties.iter().filter(|cell| cell.follows).count();
        let counts = [follow, machine.penalties.len()].map(|count| count.to_string());
        let totals = machine.total_penalty_seconds.map(|seconds| format!("{seconds:.1}"));
        sheet.row([machine.machine.to_string()].into_iter().chain(counts).chain(totals).collect());
    }
    let mut lines = vec![
        String::new(),
        paint
            .title("Penalties (Table 2), and their sum for each message size (Figure 3b), seconds"),
    ];
    lines.extend(sheet.lines());
    lines.extend(paragraph(
        "Rule: the mean over six components of how much longer each took than alone, only losses counted. No cell \
         at 65536 bytes follows on any machine.",
        options,
    ));
    if every_cell {
        lines.extend(every_penalty(history));
    }
    lines
}

fn every_penalty(history: &Btu95History) -> Vec<String> {
    let mut sheet =
        Sheet::new(words(&["machine", "who pays", "bytes", "printed", "rows give", "signed"]), 2);
    for machine in &history.machines {
        for cell in &machine.penalties {
            let mark = if cell.follows { "" } else { " *" };
            let recomputed = format!("{:.2}{mark}", cell.recomputed_seconds);
            let numbers = [
                cell.message_bytes.to_string(),
                format!("{:.2}", cell.printed_seconds),
                recomputed,
                format!("{:.2}", cell.signed_seconds),
            ];
            sheet.row(
                [machine.machine.to_string(), payer(cell)].into_iter().chain(numbers).collect(),
            );
        }
    }
    [String::new()].into_iter().chain(sheet.lines()).collect()
}

fn payer(cell: &PenaltyCheck) -> String {
    match cell.side {
        Side::Network => format!("COMM, for {}", cell.activity.name()),
        Side::Host => format!("{}, for COMM", cell.activity.name()),
    }
}

#[cfg(test)]
mod tests {
    use btu_studies::papers::btu95::history;

    use super::*;

    const PLAIN: TextOptions = TextOptions { colour: false, width: 100 };

    #[test]
    fn the_summary() {
        insta::assert_snapshot!(btu95_text(&history(), false, &PLAIN));
    }

    #[test]
    fn the_rules_that_gave_the_published_ratings_are_marked() {
        let text = btu95_text(&history(), false, &PLAIN);
        let marked: Vec<&str> =
            text.lines().filter(|line| line.contains("over loads *")).map(str::trim).collect();
        assert!(marked.iter().any(|line| line.contains("2.4960")), "SPARC 10: {marked:?}");
        assert!(marked.iter().any(|line| line.contains("2.4840")), "DEC: {marked:?}");
    }

    #[test]
    fn everything_has_every_mean_and_penalty() {
        let text = btu95_text(&history(), true, &PLAIN);
        assert!(text.lines().count() > 360 + 120);
        assert!(text.lines().all(|line| line.chars().count() <= 110), "lines fit");
    }
}
