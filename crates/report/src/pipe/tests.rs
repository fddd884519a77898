//! Reports on signatures that were made up.

use std::collections::BTreeMap;

use btu_contract::job::JobRecord;
use btu_contract::load::Load;
use btu_contract::pipe::{
    Accounts, End, Kind, Pattern, PipePlan, Place, Point, Purpose, SetPlan, Trial,
};
use btu_studies::pipe::{PipeVerdict, SetVerdict, judge, judge_set};
use btu_units::{Bytes, Span};

use super::page::{pipe_page, set_page};
use super::*;
use crate::head::{RunHead, TextOptions};
use crate::html::Page;
use crate::page_text::page_text;
use crate::stored_page::{Origin, StoredRun};

const NARROW: TextOptions = TextOptions { colour: false, width: 80 };

/// The record of `kind` on a path where a message of n bytes takes `fixed` + n/`rate`, with a step
/// where messages become too large for one buffer, as real ones have; seven trials that differ by
/// up to 3 %.
fn verdict(kind: Kind, sizes: &str, fixed: f64, rate_bits: f64) -> PipeVerdict {
    let plan = PipePlan { sizes: sizes.parse().unwrap(), ..PipePlan::new(1, kind, Place::Here) };
    let points: Vec<Point> =
        plan.sizes.list().into_iter().map(|size| point(size, fixed, rate_bits)).collect();
    judge(&plan, &points)
}

fn point(size: Bytes, fixed: f64, rate_bits: f64) -> Point {
    let step = if size.count() > 65_536 { 0.8 * fixed } else { 0.0 };
    timed(size, fixed + step + size.bits() / rate_bits)
}

fn timed(size: Bytes, one_way: f64) -> Point {
    let repetitions = (0.05 / (2.0 * one_way)).max(1.0) as u64;
    let trial = |number: u64| {
        let noise = 1.0 + (number * 7 + size.count()) as f64 % 11.0 * 0.003;
        let elapsed = Span::from_seconds_f64(2.0 * one_way * repetitions as f64 * noise);
        Trial { repetitions, elapsed, clock: End::Near, lost: 0, repeated: 0 }
    };
    let sent = 14 * repetitions;
    let accounts = Accounts { sent, received: sent, checked: sent, ..Accounts::default() };
    Point { trials: (0..7).map(trial).collect(), accounts, ..Point::empty(size) }
}

fn head() -> RunHead {
    RunHead {
        id: "20260102-030405-abcd".to_owned(),
        started: "2026-01-02 03:04:05 UTC".to_owned(),
        network: "veth".to_owned(),
        profile: "standard".to_owned(),
        seed: 7,
        machine: "8 processors, Linux 6.12".to_owned(),
        hosts: Vec::new(),
        conditions: Vec::new(),
        database: "runs.db".to_owned(),
        duration: Span::from_seconds(45),
        own_cost: None,
        notes: Vec::new(),
        busy: None,
    }
}

/// The page of `draw` for a made-up stored run.
fn drawn(run: &RunHead, draw: impl FnOnce(&StoredRun) -> Page) -> Page {
    let origin = Origin {
        uuid: "5f0a6a3e-9c1d-4e57-8b1e-2f7f0d0c9a11".to_owned(),
        label: Some("before | after".to_owned()),
        version: "0.1.0".to_owned(),
        plan_hash: "0123456789abcdef".to_owned(),
    };
    let settings = BTreeMap::from([("governor".to_owned(), "performance".to_owned())]);
    let changes = ["frequency governor: performance before, powersave after".to_owned()];
    draw(&StoredRun {
        run,
        origin: &origin,
        settings: &settings,
        changes: &changes,
        earlier: None,
        studies: &[],
    })
}

/// That page in Markdown.
fn reported(draw: impl FnOnce(&StoredRun) -> Page) -> String {
    crate::markdown(&drawn(&head(), draw))
}

/// That page as text, which fits.
fn text(run: &RunHead, width: usize, draw: impl FnOnce(&StoredRun) -> Page) -> String {
    let text = page_text(&drawn(run, draw), &TextOptions { colour: false, width });
    assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    text
}

#[test]
fn the_report_of_a_signature() {
    let verdict = verdict(Kind::Tcp, "1,1KB,64KB,256KB,1MB", 11.2e-6, 32e9);
    insta::assert_snapshot!(reported(|stored| pipe_page(stored, &verdict)));
}

#[test]
fn the_report_of_a_busy_machine() {
    let loads = [(Kind::Tcp, Load::Idle, 1e-5, 30e9), (Kind::Tcp, Load::Cpu, 4e-5, 24e9)];
    let verdict = set(Purpose::Load, &loads);
    let text = reported(|stored| set_page(stored, &verdict));
    let without_sizes: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("| idle | ") && !line.starts_with("| cpu | "))
        .collect();
    insta::assert_snapshot!(without_sizes.join("\n"));
    let figures =
        |name: &str| text.lines().filter(|line| line.starts_with(&format!("| {name} | "))).count();
    assert_eq!(
        (figures("idle"), figures("cpu")),
        (2 + 2 * 124, 3 + 2 * 124),
        "each size in both graphs, and the tables"
    );
}

/// The first screen of `draw` for that run, checked for its limits.
fn screens(draw: impl Fn(&StoredRun) -> Page) -> String {
    let origin = Origin::default();
    let page = draw(&StoredRun {
        run: &head(),
        origin: &origin,
        settings: &BTreeMap::new(),
        changes: &[],
        earlier: None,
        studies: &[],
    });
    let screens = [80, 120].map(|width| {
        let text = crate::first_screen(&page, &TextOptions { colour: false, width });
        assert!(text.lines().count() <= crate::FIRST_SCREEN_TEXTS + 4, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        format!("{width} columns\n{text}")
    });
    screens.join("\n")
}

#[test]
fn the_first_screens() {
    let loads = [(Kind::Tcp, Load::Idle, 1e-5, 30e9), (Kind::Tcp, Load::Cpu, 4e-5, 24e9)];
    let loaded = set(Purpose::Load, &loads);
    let (one, several) =
        (screens(|stored| pipe_page(stored, &tcp())), screens(|stored| set_page(stored, &loaded)));
    insta::assert_snapshot!(format!("{one}\n{several}"));
}

fn tcp() -> PipeVerdict {
    verdict(Kind::Tcp, "1..10MB", 11.2e-6, 32e9)
}

#[test]
fn the_whole_text_in_80_columns() {
    let verdict = verdict(Kind::Tcp, "1,1KB,64KB,256KB,1MB", 11.2e-6, 32e9);
    insta::assert_snapshot!(text(&head(), 80, |stored| pipe_page(stored, &verdict)));
}

#[test]
fn a_run_that_has_just_begun_has_a_text_too() {
    let plan = PipePlan { pattern: Pattern::Streaming, ..PipePlan::new(1, Kind::Udp, Place::Here) };
    let nothing = judge(&plan, &[]);
    insta::assert_snapshot!(text(&head(), 80, |stored| pipe_page(stored, &nothing)));
}

#[test]
fn several_runs_with_the_points_of_1996() {
    let (tcp, ethernet) = (tcp(), verdict(Kind::Tcp, "1996", 0.734e-3, 6.816e6));
    let runs = [
        NamedSignature { name: "TCP over veth", verdict: &tcp },
        NamedSignature { name: "TCP over 10 Mb/s", verdict: &ethernet },
    ];
    insta::assert_snapshot!(
        pipe_plot(Graph::Saturation, &runs, true, PLOT_ROWS, &NARROW).join("\n")
    );
    let picture = pipe_picture("Signatures", Vec::new(), &runs, true);
    assert_eq!(picture.panels.len(), 4);
    let svg = btu_chart::svg(&picture);
    for name in [
        "TCP over veth",
        "1996: TCP over Ethernet",
        "throughput (Mb/s)",
        "time of a message one way (us)",
    ] {
        assert!(svg.contains(name), "{name}");
    }
    assert!(
        !btu_chart::svg(&pipe_picture("Signatures", Vec::new(), &runs, false)).contains("1996:")
    );
}

/// `NetPIPE`'s "Mbps" have 2^20 bits (1996, figure 2: 1 MiB in 1.2273 s is drawn at 6.52).
#[test]
fn np_out_as_netpipe_writes_it() {
    let plan =
        PipePlan { sizes: "1MiB".parse().unwrap(), ..PipePlan::new(1, Kind::Tcp, Place::Here) };
    let trial = |seconds: f64| {
        let elapsed = Span::from_seconds_f64(2.0 * seconds);
        Trial { repetitions: 1, elapsed, clock: End::Near, lost: 0, repeated: 0 }
    };
    let trials = [1.3, 1.2273, 1.25].map(trial).to_vec();
    let point = Point { trials, ..Point::empty(Bytes::new(1 << 20)) };
    assert_eq!(np_out(&judge(&plan, &[point])), " 1048576    6.518374      1.227300000\n");
}

#[test]
fn rows_for_spreadsheets_have_as_many_fields_as_the_head() {
    let text = pipe_csv(&verdict(Kind::Tcp, "1,1000,1MB", 1e-5, 1e9));
    let fields: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(fields, [14; 4], "{text}");
    assert!(text.lines().nth(2).unwrap().starts_with("1000,7,"));
}

#[test]
fn stored_runs_side_by_side() {
    let stored = |name: &str, verdict| StoredSignature {
        name: name.to_owned(),
        about: "TCP, veth".to_owned(),
        verdict,
    };
    let runs = [stored("r4", tcp()), stored("r9", verdict(Kind::Tcp, "1..10MB", 22.4e-6, 24e9))];
    let page = signatures_page(&runs, &[], "btu compare r4 r9");
    let all = page_text(&page, &NARROW);
    assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
    for words in ["r9 compared with r4", "r4: TCP, veth", "Intervals come from the trials"] {
        assert!(all.contains(words), "{all}");
    }
}

/// A set on paths with these message times; the times of the tests above.
fn set(purpose: Purpose, series: &[(Kind, Load, f64, f64)]) -> SetVerdict {
    let plan = |kind, load| PipePlan {
        load,
        sizes: "1..10MB".parse().unwrap(),
        ..PipePlan::new(1, kind, Place::Here)
    };
    let plan = SetPlan {
        purpose,
        series: series.iter().map(|(kind, load, ..)| plan(*kind, *load)).collect(),
    };
    let points = |(series, (.., fixed, rate)): (usize, &(Kind, Load, f64, f64))| {
        let sizes = plan.series[series].sizes.list().into_iter();
        let most = btu_units::Bytes::new(if plan.series[series].kind == Kind::Udp {
            65_499
        } else {
            u64::MAX
        });
        let point =
            |size: Bytes| JobRecord::of_point(series, timed(size, fixed + size.bits() / rate));
        sizes.filter(|size| *size <= most).map(point).collect::<Vec<_>>()
    };
    judge_set(&plan, &series.iter().enumerate().flat_map(points).collect::<Vec<_>>())
}

/// 1996, figure 8: MPI on top of TCP over ATM adds 661 us (1.79 times) and takes 21 %.
#[test]
fn what_a_layer_costs() {
    let mebibit = 1_048_576.0;
    let stack = [
        (Kind::Tcp, Load::Idle, 840.6e-6, 50.28 * mebibit),
        (Kind::Mpi, Load::Idle, 1501.3e-6, 39.71 * mebibit),
        (Kind::Udp, Load::Idle, 11.2e-6, 32e9),
    ];
    let verdict = set(Purpose::Layers, &stack);
    let all = text(&head(), 80, |stored| set_page(stored, &verdict));
    let costs: Vec<&str> = all.lines().filter(|line| line.contains("over TCP")).collect();
    insta::assert_snapshot!(costs.join("\n"));
    let empty = SetVerdict { signatures: Vec::new(), ..verdict };
    text(&head(), 80, |stored| set_page(stored, &empty));
}

#[test]
fn what_a_busy_machine_keeps() {
    let loads = [(Kind::Tcp, Load::Idle, 1e-5, 30e9), (Kind::Tcp, Load::Cpu, 4e-5, 24e9)];
    let verdict = set(Purpose::Load, &loads);
    let mut run = head();
    run.notes.push("the governor changed".to_owned());
    let all = text(&run, 100, |stored| set_page(stored, &verdict));
    assert!(all.contains("the governor changed"), "{all}");
    let names = signature_names(&verdict);
    assert_eq!(names, ["idle", "cpu"]);
    let svg = btu_chart::svg(&pipe_picture(
        "Load",
        Vec::new(),
        &named_signatures(&verdict, &names),
        false,
    ));
    assert!(svg.contains(">cpu<") && svg.contains(">idle<"));
    let fields: Vec<usize> =
        set_csv(&verdict).lines().map(|line| line.split(',').count()).collect();
    assert_eq!(fields, vec![19; 2 * 124 + 1]);
}
