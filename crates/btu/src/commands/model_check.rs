//! `btu model --check`: compares the prediction with other answers at the same points, simulated or
//! measured, and writes files with all of them.

mod cells;
mod measured;
mod offering;
pub(crate) mod points;
mod sending;
mod sum;
mod words;

use std::io::Write;

use btu_medium::sim::{Outcome, Settings, SimulationWarning, idealise};
use btu_model::predict::predict;
use btu_network::{Drawing, Flow};
use btu_report::{
    AnswerKind, CheckCase, CheckFlow, CheckPoint, MeasuredFlow, ModelCheck, check_csv,
    check_picture, check_text,
};

use measured::Method;
use points::{Turned, busiest, label, loaded, swept};

pub(crate) use offering::offer;

use crate::cli::{CheckOptions, Common, ComparedAnswer, Model};
use crate::commands::sim;
use crate::exit::Refusal;
use crate::start::progress::SimulationBar;
use crate::{files, terminal};

/// Checks the network of `source`: along `--sweep`, or else from small to large load.
pub(crate) fn run(model: &Model, common: &Common, source: &files::Source) -> anyhow::Result<()> {
    let read = |settings: &[(String, String)]| {
        source.read(settings).map_err(|error| Refusal::Usage(error.to_string()))
    };
    let drawing = files::emulated(read(&model.settings)?)?;
    let (turned, points) = match &model.sweep {
        Some(range) => (label(range), swept(range, &model.settings, read)?),
        None => (
            "data load of the busiest medium (%)".to_owned(),
            loaded(&drawing, model.check.points())?,
        ),
    };
    let check = check(&drawing, turned, &points, &model.check, model.subject.network())?;
    write(&check, model)?;
    print(&check, common)
}

/// Every answer at every point.
fn check(
    drawing: &Drawing,
    turned: String,
    points: &[Turned],
    options: &CheckOptions,
    source: &str,
) -> anyhow::Result<ModelCheck> {
    let asked = |answer| options.check.contains(&answer);
    let method =
        asked(ComparedAnswer::Net).then(|| Method::new(options, source, points)).transpose()?;
    let bar = SimulationBar::new(options.quiet);
    let all = [ComparedAnswer::Sim, ComparedAnswer::Ideal, ComparedAnswer::Net]
        .into_iter()
        .filter(|answer| asked(*answer));
    let (all, mut done) = (all.count() as f64, 0.0);
    let mut drawn = Case::of("", points);
    let mut ideal = Case::of("ideal contention", points);
    ideal.drawings.iter_mut().for_each(idealise);
    if asked(ComparedAnswer::Sim) {
        drawn.simulate(options, |share| bar.show(share / all))?;
        done += 1.0;
    }
    if asked(ComparedAnswer::Ideal) {
        ideal.simulate(options, |share| bar.show((done + share) / all))?;
        done += 1.0;
    }
    let same = |method: &Method<'_>| {
        at_each(
            points,
            |share| bar.show((done + share) / all),
            |turned, show| {
                let settings = method.simulation(&turned.drawing);
                settings.map(|settings| outcome(&turned.drawing, &settings, show)).transpose()
            },
        )
    };
    // By point, the simulator's answer for the same packets as are measured; `None` where they cannot be sent.
    let same = method.as_ref().map(same).transpose()?;
    bar.clear();
    // Last, because the runner takes over signals for as long as this process lives.
    if let Some((method, same)) = method.zip(same) {
        let measured = method.all()?.into_iter().zip(points).zip(&same);
        let measured = measured.map(|((flows, at), same)| of_same(flows, at, same.as_ref()));
        drawn.measured = Some(measured.collect());
    }
    let cases = [drawn, ideal].into_iter().filter(Case::is_answered);
    let cases = cases.map(|case| case.at(points)).collect();
    Ok(ModelCheck { network: drawing.name.clone(), how: how(options), turned, cases })
}

fn how(options: &CheckOptions) -> String {
    let measured = if options.check.contains(&ComparedAnswer::Net) {
        format!(", measured for {} in all", options.net_time)
    } else {
        String::new()
    };
    let (replications, seed) = (options.replications, options.seed);
    format!("{replications} replications at each point{measured}, seed {seed}; intervals of 95 %")
}

/// One form of the network, and its answers by point.
struct Case {
    name: &'static str,
    drawings: Vec<Drawing>,
    simulated: Option<Vec<Outcome>>,
    /// By point and flow.
    measured: Option<Vec<Vec<MeasuredFlow>>>,
}

impl Case {
    fn of(name: &'static str, points: &[Turned]) -> Self {
        let drawings = points.iter().map(|turned| turned.drawing.clone()).collect();
        Self { name, drawings, simulated: None, measured: None }
    }

    fn simulate(&mut self, options: &CheckOptions, progress: impl Fn(f64)) -> anyhow::Result<()> {
        let at = |drawing: &Drawing, show: &dyn Fn(f64)| simulated(drawing, options, show);
        self.simulated = Some(at_each(&self.drawings, progress, at)?);
        Ok(())
    }

    fn is_answered(&self) -> bool {
        self.simulated.is_some() || self.measured.is_some()
    }

    fn at(&self, points: &[Turned]) -> CheckCase {
        let mut flows: Vec<CheckFlow> = Vec::new();
        for (place, (turned, drawing)) in points.iter().zip(&self.drawings).enumerate() {
            let outcome = self.simulated.as_ref().and_then(|points| points.get(place));
            let measured = self.measured.as_ref().and_then(|points| points.get(place));
            add(&mut flows, turned.value, drawing, outcome, measured.map(Vec::as_slice));
        }
        let asked = [
            (self.simulated.is_some(), AnswerKind::Simulated),
            (self.measured.is_some(), AnswerKind::Measured),
        ];
        let answers = asked.into_iter().filter_map(|(asked, kind)| asked.then_some(kind)).collect();
        CheckCase { name: self.name.to_owned(), answers, flows }
    }
}

/// The network simulated with the requested number of replications, each as long as with `btu sim`.
pub(crate) fn simulated(
    drawing: &Drawing,
    options: &CheckOptions,
    progress: impl Fn(f64),
) -> anyhow::Result<Outcome> {
    let suited = Settings::suited(drawing, options.seed);
    let settings = Settings { replications: options.replications, ..suited };
    outcome(drawing, &settings, progress)
}

fn outcome(
    drawing: &Drawing,
    settings: &Settings,
    progress: impl Fn(f64),
) -> anyhow::Result<Outcome> {
    let replications = sim::replicate_all(drawing, settings, progress)?;
    Ok(Outcome::of(drawing, settings, &replications))
}

/// The answer at each point; `progress` gets the share that is done.
fn at_each<P, A>(
    points: &[P],
    progress: impl Fn(f64),
    answer: impl Fn(&P, &dyn Fn(f64)) -> anyhow::Result<A>,
) -> anyhow::Result<Vec<A>> {
    let at = |(place, point): (usize, &P)| {
        answer(point, &|share| progress((place as f64 + share) / points.len() as f64))
    };
    points.iter().enumerate().map(at).collect()
}

/// Measured flows, in the drawing's order, with what the simulator says of the same packets.
fn of_same(flows: Vec<MeasuredFlow>, turned: &Turned, same: Option<&Outcome>) -> Vec<MeasuredFlow> {
    let of = |(measured, flow): (MeasuredFlow, &Flow)| {
        let mut flows = same.into_iter().flat_map(|same| &same.flows);
        let same = flows.find(|same| same.name == flow.name);
        let simulated = same.and_then(|same| same.delay.as_ref()).map(|delay| delay.mean);
        MeasuredFlow { simulated, ..measured }
    };
    flows.into_iter().zip(&turned.drawing.traffic).map(of).collect()
}

/// One more point for each flow; measured flows are in the drawing's order.
fn add(
    flows: &mut Vec<CheckFlow>,
    value: f64,
    drawing: &Drawing,
    outcome: Option<&Outcome>,
    measured: Option<&[MeasuredFlow]>,
) {
    let prediction = predict(drawing);
    let utilisation = busiest(&prediction);
    for predicted in &prediction.flows {
        let name = &predicted.name;
        let simulated =
            outcome.and_then(|outcome| outcome.flows.iter().find(|flow| flow.name == *name));
        let overloaded = |warning: &SimulationWarning| matches!(warning, SimulationWarning::Saturated { flow, .. } if flow == name);
        let place = drawing.traffic.iter().position(|flow| flow.name == *name);
        let point = CheckPoint {
            value,
            utilisation,
            predicted: predicted.delay_seconds.value,
            simulated: simulated.and_then(|flow| flow.delay.as_ref()).map(|delay| delay.mean),
            overloaded: outcome.is_some_and(|outcome| outcome.warnings.iter().any(overloaded)),
            measured: measured
                .zip(place)
                .and_then(|(measured, place)| measured.get(place))
                .cloned(),
        };
        match flows.iter_mut().find(|flow| flow.name == *name) {
            Some(flow) => flow.points.push(point),
            None => flows.push(CheckFlow { name: name.clone(), points: vec![point] }),
        }
    }
}

fn write(check: &ModelCheck, model: &Model) -> anyhow::Result<()> {
    if let Some(path) = &model.csv {
        files::save(path, check_csv(check).as_bytes())?;
    }
    files::save_picture(model.svg.as_deref(), || Ok(check_picture(check)))
}

fn print(check: &ModelCheck, common: &Common) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if common.json {
        return terminal::print_json(check);
    }
    let options = terminal::text_options();
    Ok(out.write_all(check_text(check, &options).as_bytes())?)
}

#[cfg(test)]
mod tests {
    use btu_units::Span;

    use super::points::scaled;
    use super::points::tests::CABLE;
    use super::*;

    fn options(points: u32) -> CheckOptions {
        let (check, net_time) = (vec![ComparedAnswer::Sim], Span::from_seconds(10));
        CheckOptions {
            check,
            points: Some(points),
            replications: 3,
            net_time,
            seed: 1,
            quiet: true,
        }
    }

    /// With ideal contention closed form and simulator describe the same network.
    #[test]
    fn ideal_contention_agrees_within_two_per_cent() {
        let drawing = Drawing::read(CABLE, "cable.toml").unwrap();
        let base = busiest(&predict(&drawing)).unwrap();
        let at = |load: f64| Turned { value: load, drawing: scaled(&drawing, load / base, false) };
        let points = [0.1, 0.3, 0.5, 0.7].map(at);
        let check = check(&drawing, "load".to_owned(), &points, &options(4), "cable.toml").unwrap();
        let flow = &check.cases[0].flows[0];
        assert_eq!(flow.points.len(), 4);
        for point in &flow.points {
            assert!((point.utilisation.unwrap() - point.value).abs() < 1e-9, "{point:?}");
            let error = point.error(AnswerKind::Simulated).unwrap().value;
            assert!(error.abs() < 0.02, "{point:?}: off by {error}");
        }
    }
}
