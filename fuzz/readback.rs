//! Reads stored data back: the code of `btu show`, `btu runs` and `btu --resume` on an imported
//! file.

use std::cell::RefCell;
use std::io::Cursor;
use std::marker::PhantomData;

use btu_contract::activity::{
    Activity, Order, Receiving, Rendezvous, TcpReceive, TcpSend, Word, Work,
};
use btu_contract::experiment::{AnyExperiment, Named, Raised, RunFacts, any};
use btu_contract::job::Job;
use btu_contract::network::{Impairments, Network};
use btu_contract::roll::{self, Roll};
use btu_contract::sample::Intervals;
use btu_contract::script::{Role, Script, Step};
use btu_network::{Drawing, HostName};
use btu_store::{RunRow, Store};
use btu_studies::Judged;
use btu_studies::app::AppPlan;
use btu_studies::copy::CopyPlan;
use btu_studies::fleet::FleetPlan;
use btu_studies::lan::LanPlan;
use btu_studies::rate::{Calibration, Context, Plan, Reading, rating_of};
use btu_studies::run::{ExperimentNetwork, Found, Ground, RunPlan};
use btu_studies::speed::SpeedPlan;
use btu_units::{Bytes, Span};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A study, and its verdicts.
pub trait Shown: Sync {
    /// The study.
    fn study(&self) -> &'static dyn AnyExperiment;

    /// Judges a stored run of it.
    fn judge_run(&self, store: &Store, row: &RunRow);

    /// A plan of it, if it is one: its name, and the verdict over nothing.
    fn judge_plan(&self, octets: &[u8]);
}

struct Of<E>(PhantomData<fn() -> E>);

impl<E: Judged> Shown for Of<E> {
    fn study(&self) -> &'static dyn AnyExperiment {
        any::<E>()
    }

    fn judge_run(&self, store: &Store, row: &RunRow) {
        let plan = read::<E>(&row.plan).expect("its plan was read when it was imported");
        let records = store.records(row.summary.id).expect("its cells can be read");
        let verdict = plan.judge(&records, &RunFacts::complete(2));
        drop(serde_json::to_string(&verdict).expect("a verdict can be printed"));
    }

    fn judge_plan(&self, octets: &[u8]) {
        if let Some(plan) = again::<E>(octets) {
            drop((plan.hash(), plan.head()));
            let verdict = plan.judge(&[], &RunFacts::default());
            drop(serde_json::to_string(&verdict).expect("a verdict can be printed"));
        }
    }
}

/// All studies.
pub static STUDIES: [&dyn Shown; 8] = [
    &Of::<AppPlan>(PhantomData),
    &Of::<CopyPlan>(PhantomData),
    &Of::<FleetPlan>(PhantomData),
    &Of::<Job>(PhantomData),
    &Of::<LanPlan>(PhantomData),
    &Of::<Plan>(PhantomData),
    &Of::<RunPlan>(PhantomData),
    &Of::<SpeedPlan>(PhantomData),
];

/// The one of this name in the store.
pub fn study(study: &str) -> Option<&'static dyn AnyExperiment> {
    shown(study).map(Shown::study)
}

fn shown(study: &str) -> Option<&'static dyn Shown> {
    STUDIES.into_iter().find(|one| one.study().study() == study)
}

thread_local! {
    /// Made once; imported runs are deleted again.
    static STORE: RefCell<(tempfile::TempDir, Store)> = RefCell::new({
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::open(directory.path().join("runs.sqlite")).expect("a store");
        (directory, store)
    });
}

/// Lines of an archive between its first and its last, plans under their names: accepted runs are
/// shown.
pub(super) fn import_and_show(octets: &[u8]) {
    imported(octets);
}

/// Imports the archive and shows its runs. Returns the number of accepted runs; `None` if the file
/// was refused.
pub fn imported(octets: &[u8]) -> Option<usize> {
    let text = String::from_utf8_lossy(octets);
    let runs = text.lines().filter(|line| line.starts_with("{\"run\":")).count();
    let archive = btu_store::fuzz_sealed(&text, runs, study).expect("memory takes it");
    STORE.with_borrow_mut(|(_, store)| {
        let imported = store.import(Cursor::new(archive), study).ok()?;
        for run in imported.iter().filter(|run| run.new) {
            let name = run.run.to_string();
            let row = store.run(&name).expect("what was imported can be read");
            show(store, &row);
            store
                .delete(store.lock(run.run).expect("nobody writes it"))
                .expect("it can be deleted");
        }
        Some(imported.len())
    })
}

fn show(store: &Store, row: &RunRow) {
    let run = row.summary.id;
    if row.summary.study == roll::STUDY {
        let roll = store.records::<Roll>(run).expect("roll calls");
        drop(serde_json::to_string(&roll).expect("a roll call can be printed"));
    }
    if row.summary.study == Plan::STUDY {
        let plan = read::<Plan>(&row.plan).expect("its plan was read when it was imported");
        let readings = store.speeds(run, Reading::of_columns).expect("its readings can be read");
        drop(rating_of(&readings, &Context::complete(plan, 2)));
    }
    if let Some(study) = shown(&row.summary.study) {
        study.judge_run(store, row);
    }
}

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    serde_json::from_value(value.clone()).ok()
}

/// A database that another user made: all that commands read of it.
pub(super) fn database(octets: &[u8]) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("runs.sqlite");
    std::fs::write(&path, octets).expect("a file");
    let Ok(store) = Store::open(&path) else { return };
    let Ok(runs) = store.runs() else { return };
    for run in runs.iter().map(|run| run.id).take(8) {
        let whole = store.run(&run.to_string());
        let cells = store.records::<Value>(run).is_ok();
        let read = (
            store.speeds(run, Reading::of_columns).is_ok(),
            store.export(&[run], std::io::sink()).is_ok(),
        );
        std::hint::black_box((whole.is_ok(), cells, read));
    }
}

/// A plan of any study: its name, its rows, its sizes, its network.
pub(super) fn plan(octets: &[u8]) {
    if let Some(plan) = again::<Plan>(octets) {
        assert!(plan.rows().len() < 100_000, "{} rows", plan.rows().len());
        drop((plan.shuffled(1, plan.rows()), plan.network.to_string(), plan.stream_time()));
        drop(plan.network.topology().map_err(|error| error.to_string()));
    }
    if let Some(job) = again::<Job>(octets) {
        job.plans().iter().for_each(|plan| drop((plan.sizes.list(), plan.sizes.to_string())));
    }
    for study in STUDIES {
        study.judge_plan(octets);
    }
}

/// What was found before the first cell of a rating.
pub(super) fn calibration(octets: &[u8]) {
    drop(again::<Calibration>(octets));
}

/// The samples of workers that move streams, a line each, alternately of two ends: they give at
/// most as many intervals as lines.
pub(super) fn samples(octets: &[u8]) {
    let mut intervals = Intervals::of(&stream(), Span::from_seconds(1));
    let (mut told, mut shown) = (0, 0);
    for (number, line) in octets.split(|octet| *octet == b'\n').enumerate() {
        match serde_json::from_slice::<Word>(line) {
            Ok(Word::Sample(sample)) => intervals.add(number % 2, *sample),
            Ok(_) => intervals.end(number % 2),
            Err(_) => continue,
        }
        told += 1;
        while let Some(interval) = intervals.ready() {
            shown += 1;
            assert!(shown <= told, "{shown} intervals of {told} lines");
            drop(serde_json::to_string(&interval).expect("an interval can be printed"));
        }
    }
}

/// A receiver and a sender of TCP.
fn stream() -> Script {
    let (token, message, window) = ([7; 16], Bytes::new(100), None);
    let listen = Rendezvous::Listen([192, 0, 2, 1].into());
    let call = Rendezvous::Connect(([192, 0, 2, 1], 9).into());
    let receiving = Receiving::Plain;
    let receive = TcpReceive { meeting: listen, token, message, window, volume: None, receiving };
    let receive = Activity::TcpReceive(receive);
    let work = Work::For(Span::from_seconds(1));
    let send =
        Activity::TcpSend(TcpSend { meeting: call, token, message, work, window, unsent: None });
    let step = |host: &str, peer, activity| Step {
        host: HostName::try_from(host).expect("a name"),
        role: Role::Network,
        peer,
        order: Order::new(1, Span::from_seconds(9), activity),
    };
    Script {
        impairments: Impairments::new(),
        steps: vec![step("alpha", None, receive), step("beta", Some(0), send)],
    }
}

/// An experiment file, on networks of the library and on hosts.
pub(super) fn experiment_file(octets: &[u8]) {
    let text = String::from_utf8_lossy(octets);
    let find = |asked: &ExperimentNetwork| {
        let name = asked.name.as_deref().unwrap_or("path");
        let text = btu_network::library_text(name).ok_or("there is no such network")?;
        let settings: Vec<(&str, &str)> =
            asked.settings.iter().map(|(key, value)| (&**key, &**value)).collect();
        let drawing =
            Drawing::read_with(text, name, &settings).map_err(|error| error.to_string())?;
        let raised = Raised {
            name: name.into(),
            text: text.into(),
            stations: Vec::new(),
            congestion_control: None,
            ipv6: false,
        };
        Ok(Found { raised, drawing })
    };
    let hosts = ["alpha", "beta"].map(|name| HostName::try_from(name).expect("a name"));
    for ground in [Ground::Networks { find: &find, instead: None }, Ground::Hosts(&hosts)] {
        drop(
            btu_studies::run::read(&text, "fuzz.toml", &[], ground)
                .map_err(|error| error.to_string()),
        );
    }
}

/// A network as a plan has it.
pub(super) fn stored_network(octets: &[u8]) {
    if let Some(network) = again::<Network>(octets) {
        drop((network.to_string(), network.roles()));
        drop(network.topology().map_err(|error| error.to_string()));
    }
}

/// Every accepted value can be written again, and is equal.
fn again<T: Serialize + DeserializeOwned>(octets: &[u8]) -> Option<T> {
    let value: T = serde_json::from_slice(octets).ok()?;
    let text = serde_json::to_string(&value).expect("what was read can be written");
    assert!(serde_json::from_str::<T>(&text).is_ok(), "{text}");
    Some(value)
}
