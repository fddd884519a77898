//! Figure 3 computed by closed queueing networks: the cost of a station on the server for its
//! users.
//!
//! A foreground visit finds the background customers' remaining work at the server (arrival
//! theorem), so a task's slowdown is 1 + f w(k). w(k) is the work found with k background stations,
//! in services of one of them; f is the task's visits times that service over the task's time
//! without load. The background's pause over its service, z, is a property of the server and its
//! stations, so all tasks share it; each task has its own f.

use btu_medium::sim::{Settings, simulate};
use btu_model::closed_network;
use btu_network::Drawing;
use btu_units::Span;

use super::fixed_service::fixed_service;
use super::{Task, tasks};

/// z is searched in tenths.
const STEPS: f64 = 10.0;

/// The largest z that is tried, in steps.
const MOST_STEPS: u32 = 200;

/// One closed form next to the whole figure.
#[derive(Debug)]
struct Prediction {
    /// z: a background station's own time for each transaction over its service at the server; the
    /// one that fits best.
    think_over_service: f64,
    /// Root mean square of the closed form's errors in the slowdowns, over all tasks with load.
    root_mean_square: f64,
    /// Each task in the order of the figure.
    tasks: Vec<PredictedTask>,
}

/// Distribution of the time of one service.
#[derive(Debug, Clone, Copy)]
enum Service {
    /// Exponential: the closed network's own assumption.
    Exponential,
    /// Service times are all equal.
    Fixed,
}

/// One task by the closed form.
#[derive(Debug)]
struct PredictedTask {
    /// The name of the task.
    name: &'static str,
    /// f: seconds that its visits take the server, if they were the background's, over its time
    /// without load. Above 1 means that a background transaction holds the server longer than a
    /// foreground visit does.
    share_at_server: f64,
    /// Background stations and the slowdown by load that follows.
    slowdowns: Vec<(u64, f64)>,
}

/// The closed form with the z that fits best.
fn fit(service: Service) -> Prediction {
    let tasks = &tasks();
    let all = (1..=MOST_STEPS).map(|step| predict(service, f64::from(step) / STEPS, tasks));
    let best = all.min_by(|a, b| a.root_mean_square.total_cmp(&b.root_mean_square));
    best.expect("at least one step")
}

fn predict(service: Service, think_over_service: f64, tasks: &[Task]) -> Prediction {
    let work = |stations: u64| service.work_found(stations, think_over_service);
    let tasks_found: Vec<PredictedTask> =
        tasks.iter().map(|task| predict_task(task, work)).collect();
    let misses = tasks.iter().zip(&tasks_found).flat_map(|(task, found)| {
        let printed = loaded(task).map(|(_, slowdown)| slowdown);
        printed.zip(&found.slowdowns).map(|(printed, (_, found))| (found - printed).powi(2))
    });
    let (count, squares) =
        misses.fold((0.0, 0.0), |(count, sum), square| (count + 1.0, sum + square));
    Prediction {
        think_over_service,
        root_mean_square: (squares / count).sqrt(),
        tasks: tasks_found,
    }
}

/// f by least squares through (0, 1).
fn predict_task(task: &Task, work: impl Fn(u64) -> f64) -> PredictedTask {
    let points: Vec<(f64, f64)> =
        loaded(task).map(|(stations, slowdown)| (work(stations), slowdown - 1.0)).collect();
    let products: f64 = points.iter().map(|(work, more)| work * more).sum();
    let squares: f64 = points.iter().map(|(work, _)| work * work).sum();
    let share_at_server = products / squares;
    let slowdowns = loaded(task)
        .map(|(stations, _)| (stations, 1.0 + share_at_server * work(stations)))
        .collect();
    PredictedTask { name: task.name, share_at_server, slowdowns }
}

/// Background stations and slowdown, where there is load.
fn loaded(task: &Task) -> impl Iterator<Item = (u64, f64)> {
    let loaded = task.times.iter().filter(|time| time.background_stations > 0);
    loaded.map(|time| (time.background_stations, time.slowdown_by_load))
}

impl Service {
    /// Work that a rare visit finds at the server, in services.
    fn work_found(self, stations: u64, think_over_service: f64) -> f64 {
        let stations = u32::try_from(stations).unwrap_or(u32::MAX);
        let found = match self {
            // The rest of an exponential service is as long as a whole one.
            Self::Exponential => {
                closed_network(stations, think_over_service, &[1.0]).map(|found| found.users[0])
            }
            Self::Fixed => {
                fixed_service(stations, think_over_service, 1.0).map(|found| found.work_found)
            }
        };
        found.unwrap_or_else(|| panic!("no closed form for {stations} stations of Figure 3"))
    }
}

/// The methods' own fit: z = 6.2 with exponential service, so the server is full with 7.2 stations
/// (1 + z; beyond, each one adds a whole service to every visit), root mean square 0.26, and two rows
/// in full.
#[test]
fn exponential_service_at_one_z() {
    let found = fit(Service::Exponential);
    assert!((found.think_over_service - 6.2).abs() < 1e-9, "{}", found.think_over_service);
    assert!((found.root_mean_square - 0.26).abs() < 0.005, "{}", found.root_mean_square);
    let rows = [
        ("word processing, load program", 1.20, [1.17, 1.63, 2.34, 5.93]),
        ("file management, sort", 0.63, [1.09, 1.33, 1.71, 3.60]),
    ];
    for (name, share, slowdowns) in rows {
        let task = found.tasks.iter().find(|task| task.name == name).unwrap();
        assert!((task.share_at_server - share).abs() < 0.005, "{task:?}");
        for ((_, found), expected) in task.slowdowns.iter().zip(slowdowns) {
            assert!((found - expected).abs() < 0.005, "{task:?}");
        }
    }
}

/// Regular service bends later and more sharply, as the figure does: its error is less than
/// half.
#[test]
fn fixed_service_is_nearer() {
    let [exponential, fixed] = [Service::Exponential, Service::Fixed].map(fit);
    assert!(
        fixed.root_mean_square < exponential.root_mean_square / 2.0,
        "{}",
        fixed.root_mean_square
    );
    assert!((fixed.think_over_service - 6.1).abs() < 1e-9, "{}", fixed.think_over_service);
    assert!((fixed.root_mean_square - 0.1227).abs() < 1e-4, "{}", fixed.root_mean_square);
}

/// The closed form for fixed service compared with the independent simulator: frames of the
/// stations meet in the line to the server, 1538 octets at 10 Mb/s each. The response is users
/// over throughput, less thinking (Little). A frame has arrived when its last bit has, but its
/// gap of 12 octets still takes the line: that counts as response here and not as thinking.
#[test]
fn the_simulator_agrees_with_fixed_service() {
    let (service, gap) = (1538.0 * 8.0 / 10e6, 12.0 * 8.0 / 10e6);
    let think = 7.6285e-3 - gap;
    for stations in [3, 10] {
        let text = format!(
            "name = \"closed\"\n[segments.s]\nmedium = \"switched-ethernet\"\nrate = \"100 Gb/s\"\n[segments.s.down]\n\
             rate = \"10 Mb/s\"\n[stations.server]\nsegment = \"s\"\n[stations.pc]\nsegment = \"s\"\ncount = {stations}\n\
             [traffic.work]\nfrom = \"pc\"\nto = \"server\"\nsize = \"1518 B\"\nthink = \"7.6285 ms\"\n"
        );
        let drawing = Drawing::read(&text, "closed.toml").unwrap();
        let settings =
            Settings { seed: 1, replications: 5, ..Settings::lasting(Span::from_seconds(100)) };
        let exchanges = simulate(&drawing, &settings).unwrap().flows[0].exchanges.clone().unwrap();
        let response = exchanges.took.unwrap().mean;
        let found = response.value + gap;
        let expected = f64::from(stations)
            / fixed_service(stations, think, service).unwrap().throughput
            - think;
        // Twice the half width at 95 % of five replications: exceeded in one of 200 runs.
        let tolerance = 2.0 * response.relative_half_width().unwrap();
        assert!(tolerance < 0.02, "{stations} stations: {response:?}");
        assert!(
            (found / expected - 1.0).abs() < tolerance,
            "{stations} stations: {found}, expected {expected}"
        );
    }
}
