//! The output of a comparison, word for word.

use btu_contract::experiment::Quantity;
use btu_contract::load::Load;
use btu_report::html::{Block, Figure, html};
use btu_report::{TextOptions, comparison_page, first_screen, markdown, page_text};
use btu_stats::Level;
use btu_studies::compare::{
    Aspect, ComparedRow, Comparison, Group, Matter, PlanDifference, Question, RunReadings,
    RunWarning, StudyRow, compare,
};
use btu_studies::rate::{Component, Reading, Row};
use btu_units::Bytes;

const WIDE: TextOptions = TextOptions { colour: false, width: 100 };

fn rows() -> Vec<Row> {
    let network = |component, load| Row::Network { component, message: Bytes::new(65536), load };
    let mut rows = vec![network(Component::Send, Load::Idle), network(Component::Send, Load::Cpu)];
    rows.push(network(Component::SendRecv, Load::Cpu));
    rows.push(Row::Network {
        component: Component::InteractiveTcp,
        message: Bytes::new(100),
        load: Load::Idle,
    });
    rows.push(Row::Host { load: Load::Cpu });
    rows
}

/// A run with speeds of `factor` times 100 Mb/s, 20,000 requests/s, 3000 rounds/s, with some tenths
/// of a per cent between blocks.
fn run(name: &str, factor: f64, rows: &[Row]) -> RunReadings {
    let base = |row: &Row| match row {
        Row::Host { .. } => 3000.0,
        Row::Network { component: Component::InteractiveTcp, .. } => 20_000.0,
        Row::Network { component: Component::Send, .. } => 1e8,
        Row::Network { .. } => 1.5e8 * factor * factor,
    };
    let reading = |block: u32, row: &Row| {
        let noise = 1.0 + 1e-3 * f64::from((block * 3) % 5);
        Reading { row: *row, block, per_second: base(row) * factor * noise }
    };
    let readings =
        (0..3).flat_map(|block| rows.iter().map(move |row| reading(block, row))).collect();
    RunReadings { name: name.to_owned(), place: 0, readings }
}

fn group(name: &str, runs: Vec<RunReadings>) -> Group {
    Group { name: name.to_owned(), network: "veth".to_owned(), runs }
}

/// Puts the runs of all sides in turns.
fn in_turns<R>(sides: &mut [&mut Group<R>]) {
    let count = sides.len();
    for (first, side) in sides.iter_mut().enumerate() {
        let places = (first..).step_by(count);
        side.runs.iter_mut().zip(places).for_each(|(run, place)| run.place = place);
    }
}

/// Three runs around a speed, some tenths of a per cent apart.
fn three(name: &str, factor: f64) -> Group {
    let runs = [1.0, 1.003, 1.001].map(|each| run(name, factor * each, &rows()));
    group(name, runs.to_vec())
}

fn single(name: &str, factor: f64) -> Group {
    group(name, vec![run(name, factor, &rows())])
}

fn comparison(base: &Group, others: &[Group]) -> Comparison {
    compare(&Question { base, others, level: Level::P95, matter: Matter::DEFAULT })
}

/// The whole comparison as text.
fn all<R: ComparedRow>(found: &Comparison<R>, options: &TextOptions) -> String {
    page_text(&comparison_page(found, "btu compare"), options)
}

#[test]
fn single_runs_and_three() {
    let mut found = comparison(&single("r1", 1.0), &[single("r2", 0.93), three("r3", 0.93)]);
    found.warnings.push(RunWarning {
        run: "r2".to_owned(),
        title: "busy machine".to_owned(),
        observed: "others used 100 % of 2 processors just before the run".to_owned(),
    });
    let difference = PlanDifference {
        aspect: Aspect::Network,
        setting: "network".to_owned(),
        base: "veth".to_owned(),
        other: "10 Mb/s".to_owned(),
    };
    found.others[0].plan_differences.push(difference);
    found.others[0].environment_differences =
        (1..=12).map(|n| format!("kernel.setting_{n}: `on` in r1, absent in r2")).collect();
    insta::assert_snapshot!(all(&found, &WIDE));
    insta::assert_snapshot!("markdown", markdown(&comparison_page(&found, "btu compare")));
}

#[test]
fn groups() {
    let several = |name: &str, factors: [f64; 3]| {
        let runs =
            factors.iter().zip(1..).map(|(factor, n)| run(&format!("{name}{n}"), *factor, &rows()));
        group(&format!("tag:{name}"), runs.collect())
    };
    let mut base = several("old", [1.0, 1.02, 0.98]);
    let mut new = several("new", [1.10, 1.12, 1.09]);
    in_turns(&mut [&mut base, &mut new]);
    let mut few = group("r9", vec![run("r9", 1.001, &rows()[1..])]);
    few.runs[0].place = 99;
    let found = comparison(&base, &[new, few]);
    insta::assert_snapshot!(all(&found, &TextOptions { colour: false, width: 80 }));
}

#[test]
fn nothing_in_common_and_nothing_repeated() {
    let lone = |name: &str, range: std::ops::Range<usize>| {
        let mut run = run(name, 1.0, &rows()[range]);
        run.readings.retain(|reading| reading.block == 0);
        group(name, vec![run])
    };
    let found = comparison(&lone("r1", 0..2), &[lone("r2", 2..5), lone("r3", 0..1)]);
    insta::assert_snapshot!(all(&found, &WIDE));
}

/// Runs of `btu speed` by seconds of requests idle and while uploading, and b/s up.
fn speed(name: &str, runs: &[[f64; 3]]) -> Group<StudyRow> {
    let row = |cell: &str, quantity, name: &str| StudyRow {
        cell: cell.to_owned(),
        quantity,
        name: name.to_owned(),
    };
    let rows = [
        row("idle", Quantity::Time, "request time idle"),
        row("up", Quantity::Time, "request time while uploading"),
        row("up", Quantity::Goodput, "goodput up"),
    ];
    let speeds = |[idle, loaded, up]: [f64; 3]| [1.0 / idle, 1.0 / loaded, up];
    let runs = runs.iter().map(|values| {
        let speeds = speeds(*values).into_iter().zip(rows.clone());
        let readings = speeds.map(|(per_second, row)| Reading { row, block: 0, per_second });
        RunReadings { name: name.to_owned(), place: 0, readings: readings.collect() }
    });
    Group { name: name.to_owned(), network: "a home".to_owned(), runs: runs.collect() }
}

fn studied(base: &Group<StudyRow>, others: &[Group<StudyRow>]) -> Comparison<StudyRow> {
    compare(&Question { base, others, level: Level::P95, matter: Matter::DEFAULT })
}

/// The queue of the first is 18 times as long, which three runs that differ by 48 do not make
/// certain; a goodput that is a little smaller is certain. The first comes first all the same, and
/// there is no mean over times and rates.
#[test]
fn the_largest_change_leads_certain_or_not() {
    let mut bloated =
        speed("r6", &[[0.037, 1.87, 9.40e5], [0.037, 0.06, 9.41e5], [0.037, 2.87, 9.39e5]]);
    let mut fair =
        speed("r7", &[[0.037, 0.0378, 8.0e5], [0.037, 0.0379, 8.01e5], [0.037, 0.0377, 7.99e5]]);
    in_turns(&mut [&mut bloated, &mut fair]);
    let found = studied(&bloated, &[fair]);
    assert_eq!(found.others[0].overall, None);
    let page = comparison_page(&found, "btu compare r6 r7");
    assert!(
        page.headline.starts_with("r7 compared with r6: request time while uploading 685 ms -> 37.8 ms, 18.1 times shorter ("),
        "{}",
        page.headline
    );
    assert!(
        page.headline.ends_with("cannot tell yet, measure more of both in turns"),
        "{}",
        page.headline
    );
    let figures: Vec<(&str, &str)> =
        page.summary.figures.iter().map(|one| (one.name.as_str(), one.note.as_str())).collect();
    assert_eq!(
        figures,
        [
            ("cells", "1 slower, 1 no difference seen, 1 cannot tell"),
            ("goodput up", "slower"),
            ("request time idle", "no difference")
        ]
    );
    insta::assert_snapshot!(
        "of_a_study",
        [80, 50]
            .map(|width| {
                let options = TextOptions { colour: false, width };
                first_screen(&page, &options) + &all(&found, &options)
            })
            .join("\n")
    );
}

#[test]
fn of_equal_runs_it_is_said_how_much_they_differ_at_most() {
    let same = |name: &str| {
        speed(name, &[[0.037, 0.0378, 8.0e5], [0.0371, 0.0379, 8.01e5], [0.037, 0.0378, 7.99e5]])
    };
    let (mut base, mut other) = (same("r1"), same("r2"));
    in_turns(&mut [&mut base, &mut other]);
    let page = comparison_page(&studied(&base, &[other]), "btu compare r1 r2");
    let (said, most) = page.headline.split_once(", at most ").expect("a bound");
    assert_eq!(said, "r2 compared with r1: no difference seen in any of 3 cells");
    let most: f64 = most.trim_end_matches(" %").parse().expect("a number");
    assert!((0.0..2.0).contains(&most), "{most}");
}

/// The answer is on the first screen however many runs a side has.
#[test]
fn many_runs_leave_room_for_the_answer() {
    let named = |letter: &str| (1..=40).map(|n| format!("{letter}{n}")).collect::<Vec<_>>();
    let side = |letter: &str, factor: f64| {
        let runs = named(letter).into_iter().map(|name| run(&name, factor, &rows()));
        group(&named(letter).join(","), runs.collect())
    };
    let (mut base, mut other) = (side("r", 1.0), side("s", 0.5));
    in_turns(&mut [&mut base, &mut other]);
    let page = comparison_page(&comparison(&base, &[other]), "btu compare");
    let screen = first_screen(&page, &TextOptions { colour: false, width: 80 });
    let first: String = screen.lines().take(2).collect();
    assert!(first.contains("slower, "), "{screen}");
}

/// Rates alone have a mean.
#[test]
fn cells_of_one_unit_have_a_mean() {
    let rates = |name: &str, factor: f64| {
        let mut group = speed(name, &[[1.0, 1.0, 8.0e5 * factor], [1.0, 1.0, 8.01e5 * factor]]);
        for run in &mut group.runs {
            run.readings.retain(|reading| reading.row.quantity == Quantity::Goodput);
        }
        group
    };
    let found = studied(&rates("r1", 1.0), &[rates("r2", 0.5)]);
    let ratio = found.others[0].overall.as_ref().expect("a mean").ratio.value;
    assert!((ratio - 0.5).abs() < 1e-9, "{ratio}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let names: Vec<RunReadings> =
        (1..=30).map(|n| run(&format!("r{n}"), 1.0 + f64::from(n) * 1e-3, &rows())).collect();
    let long =
        group(&names.iter().map(|run| run.name.clone()).collect::<Vec<_>>().join(","), names);
    let found = comparison(&long, &[single("r2", 0.5)]);
    for width in [80, 100, 200] {
        for line in all(&found, &TextOptions { colour: false, width }).lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn names_cannot_break_the_page() {
    let mut base = single("r1", 1.0);
    base.name = "a|b <script> *x*\n".to_owned();
    let text = markdown(&comparison_page(&comparison(&base, &[single("r2", 1.0)]), "btu compare"));
    assert!(text.contains(r"a\|b &lt;script&gt; \*x") && !text.contains('<'), "{text}");
}

/// Both sides are on one axis, changes have their intervals, and every cell is in a table; names
/// cannot break the page.
#[test]
fn a_page_with_both_on_one_axis() {
    let (mut base, mut other) = (three("r1", 1.0), three("r2", 0.93));
    in_turns(&mut [&mut base, &mut other]);
    other.name = "</script><b>r2".to_owned();
    let page = comparison_page(&comparison(&base, &[other]), "btu compare r1 r2");
    assert!(page.headline.contains("slower, -13.5 %"), "{}", page.headline);
    let figures: Vec<&Figure> =
        page.sections.iter().flat_map(|section| &section.blocks).filter_map(figure).collect();
    let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names, ["goodput-idle", "goodput-cpu", "further"]);
    let [speeds, change] = figures[1].panels.as_slice() else { panic!("two panels") };
    let drawn: Vec<(&str, usize)> =
        speeds.series.iter().map(|one| (one.name.as_str(), one.points.len())).collect();
    assert_eq!(drawn, [("r1", 2), ("</script><b>r2", 2)]);
    assert!(
        change.series[0]
            .points
            .iter()
            .all(|point| point.y < -5.0 && point.interval.is_some_and(|ends| ends.1 < 0.0))
    );
    assert_eq!(figures.iter().map(|figure| figure.table.rows.len()).sum::<usize>(), rows().len());
    let text = html(&page);
    assert!(text.len() < 3_000_000 && !text.contains("<b>r2"), "{} bytes", text.len());
}

fn figure(block: &Block) -> Option<&Figure> {
    if let Block::Figure(figure) = block { Some(figure) } else { None }
}
