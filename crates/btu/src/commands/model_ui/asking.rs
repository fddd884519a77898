//! The thread that computes answers, so that no key waits for one. Only the newest request counts:
//! an older one is dropped between two points of its curve.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use btu_model::predict::{PacketSizes, Prediction, Question, Transfer, predict_with};
use btu_network::{Drawing, Parameter, Quantity, ReadError};
use btu_units::Bytes;

use super::curve::{Axis, Curve, CurvePoint, values};
use crate::cli::Model;
use crate::commands::model_check::points::{busiest, scaled};
use crate::files::Source;

/// The interval at which an unfinished curve is shown.
const SHOW_EVERY: Duration = Duration::from_millis(80);

/// The key of the transfer's size, which is no key of the file.
pub(super) const TRANSFER: &str = "transfer.size";

/// Changed values, by key.
pub(super) type Changes = BTreeMap<String, String>;

/// The settings that are constant while the view is open.
#[derive(Debug, Clone)]
pub(super) struct Basis {
    pub(super) source: Arc<Source>,
    /// The settings of the command line.
    pub(super) settings: Vec<(String, String)>,
    /// The transfer of the command line; its size may be changed.
    pub(super) transfer: Transfer,
    sizes: Option<PacketSizes>,
}

/// A question to the thread that computes answers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ask {
    /// The number of the question, which increases.
    pub(super) number: u64,
    /// Values of the file.
    pub(super) changes: Changes,
    pub(super) transfer: Option<Bytes>,
    pub(super) axis: Axis,
}

/// The answer to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModelAnswer {
    pub(super) prediction: Prediction,
    pub(super) parameters: Vec<Parameter>,
    /// The data load of the busiest medium; `None` without a rate.
    pub(super) load: Option<f64>,
}

/// A message of the thread.
#[derive(Debug)]
pub(super) enum WorkerMessage {
    /// The answer to the question with this number, or why there is none.
    Answer(u64, Result<Box<ModelAnswer>, String>),
    /// Its curve, as far as it is known.
    Curve(u64, Curve),
}

impl Basis {
    pub(super) fn of(model: &Model, source: Source) -> Self {
        Self {
            source: Arc::new(source),
            settings: model.settings.clone(),
            transfer: model.transfer_of(Bytes::ZERO),
            sizes: model.sizes.map(Into::into),
        }
    }

    /// The command line's settings with these changes.
    pub(super) fn settings(&self, changes: &Changes) -> Vec<(String, String)> {
        let changes = changes.iter().map(|(key, value)| (key.clone(), value.clone()));
        self.settings.iter().cloned().chain(changes).collect()
    }

    /// The answer to a question.
    pub(super) fn answer(
        &self,
        changes: &Changes,
        transfer: Option<Bytes>,
    ) -> Result<(Drawing, ModelAnswer), String> {
        let (drawing, parameters) = self
            .source
            .read_parameters(&self.settings(changes))
            .map_err(|error| problem(&error))?;
        let prediction = self.predict(&drawing, transfer)?;
        let load = busiest(&prediction).filter(|load| *load > 0.0);
        Ok((drawing, ModelAnswer { prediction, parameters, load }))
    }

    fn predict(&self, drawing: &Drawing, size: Option<Bytes>) -> Result<Prediction, String> {
        let transfer = size.map(|size| Transfer { size, ..self.transfer.clone() });
        predict_with(drawing, &Question { transfer, sizes: self.sizes })
            .map_err(|error| error.to_string())
    }
}

/// The first problem in a line.
fn problem(error: &ReadError) -> String {
    let Some(first) = error.problems().first() else { return error.to_string() };
    let path = if first.path.is_empty() { String::new() } else { format!("{}: ", first.path) };
    let more = match error.problems().len() {
        1 => String::new(),
        number => format!(" (and {} more)", number - 1),
    };
    format!("{path}{}{more}", first.message)
}

/// Answers questions until no sender asks or no receiver listens any more.
pub(super) fn work(basis: &Basis, asks: &Receiver<Ask>, tell: &dyn Fn(WorkerMessage) -> bool) {
    let mut next = asks.recv().ok();
    while let Some(mut ask) = next.take() {
        while let Ok(newer) = asks.try_recv() {
            ask = newer;
        }
        let mut worker = PredictionWorker { basis, asks, tell, newer: None };
        if !worker.answer(&ask) {
            return;
        }
        next = worker.newer.take().or_else(|| asks.recv().ok());
    }
}

struct PredictionWorker<'a> {
    basis: &'a Basis,
    asks: &'a Receiver<Ask>,
    tell: &'a dyn Fn(WorkerMessage) -> bool,
    newer: Option<Ask>,
}

impl PredictionWorker<'_> {
    /// The answer, then its curve; false when no receiver listens.
    fn answer(&mut self, ask: &Ask) -> bool {
        match self.basis.answer(&ask.changes, ask.transfer) {
            Err(problem) => (self.tell)(WorkerMessage::Answer(ask.number, Err(problem))),
            Ok((drawing, answered)) => {
                let load = answered.load;
                (self.tell)(WorkerMessage::Answer(ask.number, Ok(Box::new(answered))))
                    && self.curve(ask, &drawing, load)
            }
        }
    }

    fn curve(&mut self, ask: &Ask, drawing: &Drawing, load: Option<f64>) -> bool {
        let (here, is_whole) = match &ask.axis {
            Axis::Load => (load, false),
            Axis::Key { value, quantity, .. } => (
                Some(*value),
                matches!(quantity, Quantity::Count | Quantity::Size | Quantity::Bits),
            ),
            Axis::None => (None, false),
        };
        let range = match ask.axis.range() {
            Some(range) => self.nearer(ask, range),
            None => [0.0, self.end(ask)],
        };
        let mut curve = Curve { axis: ask.axis.clone(), range, points: Vec::new(), here };
        if here.is_none() {
            return (self.tell)(WorkerMessage::Curve(ask.number, curve));
        }
        let mut shown = Instant::now();
        for value in values(range, is_whole) {
            if self.is_outdated() {
                return true;
            }
            if let Some(prediction) = self.at(ask, drawing, load, value) {
                let place = curve.points.partition_point(|point| point.at < value);
                curve.points.insert(place, CurvePoint::of(value, &prediction));
            }
            if shown.elapsed() >= SHOW_EVERY {
                shown = Instant::now();
                if !(self.tell)(WorkerMessage::Curve(ask.number, curve.clone())) {
                    return false;
                }
            }
        }
        (self.tell)(WorkerMessage::Curve(ask.number, curve))
    }

    /// The prediction at a point; `None` if the file does not accept the value.
    fn at(
        &self,
        ask: &Ask,
        drawing: &Drawing,
        load: Option<f64>,
        value: f64,
    ) -> Option<Prediction> {
        let Axis::Key { key, .. } = &ask.axis else {
            return self.basis.predict(&scaled(drawing, value / load?, false), ask.transfer).ok();
        };
        if key == TRANSFER {
            return self.basis.predict(drawing, Some(Bytes::new(value as u64))).ok();
        }
        let mut changes = ask.changes.clone();
        changes.insert(key.clone(), ask.axis.written(value));
        let drawing = self.basis.source.read(&self.basis.settings(&changes)).ok()?;
        self.basis.predict(&drawing, ask.transfer).ok()
    }

    /// The point at which a nearly zero frame rate saturates the network.
    fn end(&mut self, ask: &Ask) -> f64 {
        const MOST: f64 = 1e9;
        let mut value = 10.0;
        while value < MOST && !self.is_outdated() && !self.is_saturated(ask, value) {
            value *= 2.0;
        }
        value
    }

    /// The range, or a useful one if the traffic is far above saturation.
    fn nearer(&mut self, ask: &Ask, range: [f64; 2]) -> [f64; 2] {
        const HALVINGS: u32 = 40;
        let Axis::Key { quantity: Quantity::Frames | Quantity::Load, value, .. } = ask.axis else {
            return range;
        };
        let mut free = value;
        for _ in 0..HALVINGS {
            if self.is_outdated() || !self.is_saturated(ask, free) {
                break;
            }
            free /= 2.0;
        }
        // Saturation lies below twice this.
        if free < value { [range[0].min(free), 3.0 * free] } else { range }
    }

    /// Whether there is no mean with this value under the key; also true if the file does not
    /// accept it.
    fn is_saturated(&self, ask: &Ask, value: f64) -> bool {
        let prediction = self.at(ask, &Drawing::default(), None, value);
        prediction.is_none_or(|prediction| super::curve::mean_delay(&prediction).is_saturated())
    }

    fn is_outdated(&mut self) -> bool {
        match self.asks.try_recv() {
            Ok(newer) => self.newer = Some(newer),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
        }
        self.newer.is_some()
    }
}
