//! The study of docs/adding-a-study.md: the page shows this file's neighbours, and this measures
//! with the plan. `scripts/new-study` adds all of it to a copy of the program.

#[path = "ask/plan.rs"]
mod plan;
#[path = "ask/report.rs"]
mod report;

use std::collections::BTreeMap;
use std::path::PathBuf;

use btu_contract::experiment::{Experiment, Field, Frame, Measured, Named, Raised, RunFacts};
use btu_contract::network::HostName;
use btu_contract::study::Scripted;
use btu_control::controller::{
    Ground, Observer, Phase, Processors, Progress, RunSettings, Testbed, run,
};
use btu_network::library_text;
use btu_report::{Origin, Reported, RunHead, StoredRun, TextOptions, page_text};
use btu_store::{NewRun, State, Store};
use btu_studies::Judged;
use btu_units::{Bytes, Span};

use crate::common::Laboratory;
use plan::{AskCell, AskPlan};

#[test]
fn the_page_shows_what_is_compiled() {
    let page = include_str!("../../../../../docs/adding-a-study.md");
    for (name, code) in [
        ("ask.rs", include_str!("ask.rs")),
        ("ask/plan.rs", include_str!("ask/plan.rs")),
        ("ask/report.rs", include_str!("ask/report.rs")),
    ] {
        assert!(
            page.contains(&format!("```rust\n{code}```\n")),
            "docs/adding-a-study.md does not show tests/lab/seventh/{name} as it is"
        );
    }
}

struct Silent;

impl Observer for Silent {
    fn phase(&mut self, _: Phase) {}
    fn progress(&mut self, _: &Progress) {}
    fn notice(&mut self, text: &str) {
        println!("{text}");
    }
}

/// The library's line of 10 Mb/s, 2 ms long.
fn plan() -> AskPlan {
    let text = format!(
        "# --set links.path.delay=2 ms\n{}",
        library_text("path").expect("the library has it")
    );
    let stations =
        ["test", "active"].map(|name| HostName::try_from(name).expect("a name")).to_vec();
    AskPlan {
        frame: Frame {
            version: AskPlan::VERSION,
            seed: 1,
            profile: "quick".to_owned(),
            blocks: 2,
            budget: Span::from_seconds(30),
            deadline: Span::from_seconds(10),
            left_out: Vec::new(),
            network: Field::Drawing(Raised {
                name: "path".to_owned(),
                text,
                stations,
                congestion_control: None,
                ipv6: false,
            }),
        },
        messages: vec![Bytes::new(100), Bytes::new(1000)],
        duration: Span::from_milliseconds(200),
    }
}

fn settings(laboratory: &Laboratory) -> RunSettings {
    RunSettings {
        runtime: laboratory.directory.path().join("runtime"),
        executable: PathBuf::from(env!("CARGO_BIN_EXE_btu")),
        wall_clock: || "2026-01-01T00:00:00Z".to_owned(),
    }
}

/// A study that no part of the program knows is raised, measured, stored, judged and reported.
#[test]
fn a_study_that_the_program_does_not_know_is_measured() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let plan = plan();
    let Field::Drawing(raised) = &plan.frame.network else { panic!("it is on real hosts") };
    let drawing = plan.frame.network.drawing().expect("it can be read");
    let hosts = raised.hosts(&drawing).expect("it has the stations");
    let mut store = Store::open(laboratory.directory.path().join("runs.sqlite")).expect("a store");
    let document = btu_contract::json::to_value(&plan).expect("JSON");
    let lock = store
        .create_run(&NewRun {
            study: AskPlan::STUDY,
            profile: "quick",
            network: "path",
            label: None,
            tags: &[],
            created: "2026-01-01T00:00:00Z",
            seed: 1,
            btu_version: "0",
            plan: &document,
            plan_hash: &plan.hash(),
            planned_cells: 4,
        })
        .expect("a run");
    let source = plan.frame.network.to_string();
    let testbed = Testbed {
        others: Vec::new(),
        name: "ask",
        drawing,
        hosts,
        inputs: Vec::new(),
        source,
        processors: Processors::default(),
        congestion_control: None,
        ipv6: false,
    };
    let mut study =
        Scripted { plan: plan.clone(), scratch: laboratory.directory.path().to_owned() };
    run(
        &store,
        &lock,
        &mut study,
        &settings(&laboratory),
        Ground::Testbed(Box::new(testbed)),
        &mut Silent,
    )
    .expect("it is measured");
    assert_eq!(store.summary(lock.run()).expect("a summary").state, State::Complete);

    let cells: Vec<Measured<AskCell>> = store.records(lock.run()).expect("cells");
    assert!(cells.len() == 4 && cells.iter().all(Measured::is_valid), "{:?}", cells[0].faults);
    let verdict = plan.judge(&cells, &RunFacts::default());
    for ((message, found), least) in verdict.round_trips.iter().zip([4.2e-3, 5.7e-3]) {
        let found = found.expect("measured").value;
        assert!((least..least + 2e-3).contains(&found), "{message}: {found} s");
    }
    let text = told(&plan, &verdict, &cells);
    assert!(text.starts_with("Requests of 2 sizes\n") && text.contains("round trip, ms"), "{text}");
}

fn told(plan: &AskPlan, verdict: &plan::AskVerdict, cells: &[Measured<AskCell>]) -> String {
    let origin = Origin {
        uuid: String::new(),
        label: None,
        version: "0".to_owned(),
        plan_hash: plan.hash(),
    };
    let (head, settings) = (RunHead::default(), BTreeMap::new());
    let stored = StoredRun {
        run: &head,
        origin: &origin,
        settings: &settings,
        changes: &[],
        earlier: None,
        studies: &[],
    };
    page_text(&plan.page(verdict, cells, &stored), &TextOptions { colour: false, width: 100 })
}
