//! `btu model --check`: the prediction beside the simulator's answer at the same points, and the files of both.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use btu_chart::Picture;
use btu_medium::sim::{Doubt, Outcome, Settings, idealise};
use btu_model::predict::{Prediction, Range, predict, sweep_with};
use btu_network::{Arrivals, Drawing};
use btu_report::{CheckCase, CheckFlow, CheckPoint, ModelCheck, TextOptions, check_csv, check_picture, check_text};

use crate::cli::{Answer, CheckOptions, Common, Model, Pictures};
use crate::exit::Refusal;
use crate::progress::SimulationBar;
use crate::{files, sim, terminal};

/// Least and greatest load of the busiest medium when nothing else is turned.
const LOADS: [f64; 2] = [0.05, 0.95];

/// A network at one point of what is turned.
struct Turned {
    value: f64,
    drawing: Drawing,
}

/// Checks the network of `source`: along `--sweep`, or else from small to large load.
pub(crate) fn run(model: &Model, common: &Common, source: &files::Source) -> anyhow::Result<()> {
    let read = |settings: &[(String, String)]| source.read(settings).map_err(|error| Refusal::Usage(error.to_string()));
    let drawing = read(&model.settings)?;
    let (turned, points) = match &model.sweep {
        Some(range) => (label(range), swept(range, &model.settings, read)?),
        None => ("data load of the busiest medium (%)".to_owned(), loaded(&drawing, model.check.points)?),
    };
    let check = check(&drawing, turned, &points, &model.check)?;
    write(&check, model)?;
    print(&check, common)
}

fn label(range: &Range) -> String {
    if range.unit.is_empty() { range.key.clone() } else { format!("{} ({})", range.key, range.unit) }
}

/// The network at each value of `range`.
fn swept(
    range: &Range,
    settings: &[(String, String)],
    read: impl Fn(&[(String, String)]) -> Result<Drawing, Refusal>,
) -> Result<Vec<Turned>, Refusal> {
    let drawings = sweep_with(range, |key, value| {
        let turned = [settings, &[(key.to_owned(), value.to_owned())]].concat();
        read(&turned)
    })?;
    Ok(drawings.into_iter().map(|(value, drawing)| Turned { value, drawing }).collect())
}

/// The network with its rates turned so that the busiest medium or line has loads from small to large.
fn loaded(drawing: &Drawing, points: u32) -> Result<Vec<Turned>, Refusal> {
    let open = scaled(drawing, 1.0, true);
    let base = busiest(&predict(&open)).filter(|load| *load > 0.0).ok_or_else(|| {
        let problem = "no traffic of this network has a rate that could be turned: check along a key of the file, for \
                       example --sweep stations.host.count=2..20";
        Refusal::Usage(problem.to_owned())
    })?;
    let [least, greatest] = LOADS;
    let step = (greatest - least) / f64::from(points.max(2) - 1);
    let load = |number: u32| least + f64::from(number) * step;
    let turned = |load: f64| Turned { value: load * 100.0, drawing: scaled(drawing, load / base, false) };
    Ok((0..points).map(|number| turned(load(number))).collect())
}

/// The drawing with all rates times `factor`; with `open_only` without traffic that has no rate.
fn scaled(drawing: &Drawing, factor: f64, open_only: bool) -> Drawing {
    let mut drawing = drawing.clone();
    for flow in &mut drawing.traffic {
        if let Arrivals::Poisson { per_second } | Arrivals::Periodic { per_second } = &mut flow.arrivals {
            *per_second *= factor;
        }
    }
    let has_rate = |arrivals| matches!(arrivals, Arrivals::Poisson { .. } | Arrivals::Periodic { .. });
    drawing.traffic.retain(|flow| !open_only || has_rate(flow.arrivals));
    drawing
}

/// The largest share of time in frames' own bits of any medium or line.
fn busiest(prediction: &Prediction) -> Option<f64> {
    let segments = prediction.segments.iter().map(|segment| segment.utilisation_data);
    let all = segments.chain(prediction.links.iter().map(|link| link.utilisation_data));
    all.filter_map(|answer| answer.value).max_by(f64::total_cmp)
}

/// Every answer at every point.
fn check(drawing: &Drawing, turned: String, points: &[Turned], options: &CheckOptions) -> anyhow::Result<ModelCheck> {
    let bar = SimulationBar::new(options.quiet);
    let mut cases = Vec::new();
    for (place, &answer) in options.check.iter().enumerate() {
        let progress = |share: f64| bar.show((place as f64 + share) / options.check.len() as f64);
        cases.push(case(answer, points, options, progress)?);
    }
    bar.clear();
    let how = format!("{} replications at each point, seed {}; intervals of 95 %", options.replications, options.seed);
    Ok(ModelCheck { network: drawing.name.clone(), how, turned, cases })
}

fn case(
    answer: Answer,
    points: &[Turned],
    options: &CheckOptions,
    progress: impl Fn(f64),
) -> anyhow::Result<CheckCase> {
    let mut flows: Vec<CheckFlow> = Vec::new();
    for (place, turned) in points.iter().enumerate() {
        let mut drawing = turned.drawing.clone();
        if answer == Answer::Ideal {
            idealise(&mut drawing);
        }
        let suited = Settings::suited(&drawing, options.seed);
        let settings = Settings { replications: options.replications, ..suited };
        let replications = sim::replicate_all(&drawing, &settings, |share| {
            progress((place as f64 + share) / points.len() as f64);
        })?;
        let outcome = Outcome::of(&drawing, &settings, &replications);
        add(&mut flows, turned.value, &predict(&drawing), &outcome);
    }
    let name = if answer == Answer::Ideal { "ideal contention" } else { "" };
    Ok(CheckCase { name: name.to_owned(), flows })
}

/// One more point for each flow.
fn add(flows: &mut Vec<CheckFlow>, value: f64, prediction: &Prediction, outcome: &Outcome) {
    let utilisation = busiest(prediction);
    for predicted in &prediction.flows {
        let name = &predicted.name;
        let simulated = outcome.flows.iter().find(|flow| flow.name == *name);
        let overloaded = |doubt: &Doubt| matches!(doubt, Doubt::Saturated { flow, .. } if flow == name);
        let point = CheckPoint {
            value,
            utilisation,
            predicted: predicted.delay_seconds.value,
            simulated: simulated.and_then(|flow| flow.delay.as_ref()).map(|delay| delay.mean),
            overloaded: outcome.doubts.iter().any(overloaded),
        };
        match flows.iter_mut().find(|flow| flow.name == *name) {
            Some(flow) => flow.points.push(point),
            None => flows.push(CheckFlow { name: name.clone(), points: vec![point] }),
        }
    }
}

fn write(check: &ModelCheck, model: &Model) -> anyhow::Result<()> {
    if let Some(path) = &model.csv {
        save(path, check_csv(check).as_bytes())?;
    }
    draw(&model.pictures, || check_picture(check))
}

/// Draws a picture to the files that were asked for, if any.
fn draw(pictures: &Pictures, picture: impl FnOnce() -> Picture) -> anyhow::Result<()> {
    if pictures.svg.is_none() && pictures.png.is_none() {
        return Ok(());
    }
    let text = btu_chart::svg(&picture());
    if let Some(path) = &pictures.svg {
        save(path, text.as_bytes())?;
    }
    match &pictures.png {
        Some(path) => save(path, &btu_chart::png(&text)?),
        None => Ok(()),
    }
}

fn save(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("writing {}", path.display()))
}

fn print(check: &ModelCheck, common: &Common) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if common.json {
        serde_json::to_writer_pretty(&mut out, check)?;
        return Ok(writeln!(out)?);
    }
    let options = TextOptions { colour: terminal::colour(), width: terminal::columns() };
    Ok(out.write_all(check_text(check, &options).as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CABLE: &str = "name = \"cable\"\n[segments.ether]\nmedium = \"shared-ethernet\"\nlength = \"1 km\"\n\
                         contention = \"ideal\"\n[stations.host]\nsegment = \"ether\"\ncount = 20\n\
                         [traffic.everyone]\nfrom = \"host\"\nto = \"host\"\nsize = \"1000 B\"\nload = \"30 %\"\n";

    fn options(points: u32) -> CheckOptions {
        CheckOptions { check: vec![Answer::Sim], points, replications: 3, seed: 1, quiet: true }
    }

    /// With ideal contention closed form and simulator describe the same network.
    #[test]
    fn ideal_contention_agrees_within_two_per_cent() {
        let drawing = Drawing::read(CABLE, "cable.toml").unwrap();
        let base = busiest(&predict(&drawing)).unwrap();
        let at = |load: f64| Turned { value: load, drawing: scaled(&drawing, load / base, false) };
        let points = [0.1, 0.3, 0.5, 0.7].map(at);
        let check = check(&drawing, "load".to_owned(), &points, &options(4)).unwrap();
        let flow = &check.cases[0].flows[0];
        assert_eq!(flow.points.len(), 4);
        for point in &flow.points {
            assert!((point.utilisation.unwrap() - point.value).abs() < 1e-9, "{point:?}");
            let error = point.error().unwrap().value;
            assert!(error.abs() < 0.02, "{point:?}: off by {error}");
        }
    }

    #[test]
    fn loads_reach_from_small_to_large() {
        let drawing = Drawing::read(CABLE, "cable.toml").unwrap();
        let points = loaded(&drawing, 19).unwrap();
        let values: Vec<f64> = points.iter().map(|turned| turned.value).collect();
        assert!((values[0] - 5.0).abs() < 1e-9 && (values[18] - 95.0).abs() < 1e-9 && values.len() == 19, "{values:?}");
        assert_eq!(loaded(&drawing, 1).unwrap().len(), 1);
        let silent = Drawing { traffic: Vec::new(), ..drawing };
        assert!(loaded(&silent, 3).is_err_and(|error| error.to_string().contains("--sweep")));
    }
}
