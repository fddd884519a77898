//! The curve: its variable, the places of its points, and the values at each.

use btu_model::Answer;
use btu_model::predict::{Prediction, TransferPrediction};
use btu_network::Quantity;

/// Points of a curve.
pub(super) const POINTS: usize = 41;

/// The variable of a curve.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Axis {
    /// The data load of the busiest medium, from 5 % to 95 %, all rates turned together.
    Load,
    /// A value of the file.
    Key {
        key: String,
        quantity: Quantity,
        /// Its current value.
        value: f64,
    },
    /// The chosen value cannot be changed.
    None,
}

impl Axis {
    /// The least and the greatest value, or `None` if they must be searched.
    pub(super) fn range(&self) -> Option<[f64; 2]> {
        let Self::Key { quantity, value, .. } = self else { return Some([0.05, 0.95]) };
        let value = *value;
        Some(match quantity {
            Quantity::Frames if value < 1e-6 => return None,
            Quantity::Load => [0.02, (2.0 * value).max(1.0)],
            Quantity::Share if value == 0.0 => [0.0, 0.1],
            Quantity::Share => [0.0, (2.0 * value).min(1.0)],
            Quantity::Velocity => [0.1, 1.0],
            Quantity::Count => [1.0, (2.0 * value).max(10.0)],
            Quantity::Rate | Quantity::Size => [value / 10.0, 2.0 * value],
            Quantity::Time if value == 0.0 => [0.0, 0.01],
            Quantity::Length if value == 0.0 => [0.0, 1000.0],
            Quantity::Bits if value == 0.0 => [0.0, 10.0],
            Quantity::Time
            | Quantity::Length
            | Quantity::Bits
            | Quantity::Frames
            | Quantity::Words => [0.0, 2.0 * value],
        })
    }

    /// The text of a value on it.
    pub(super) fn written(&self, value: f64) -> String {
        match self {
            Self::Key { quantity: Quantity::Frames, .. } if value < 1e-9 => "1e-9".to_owned(),
            Self::Key { quantity, .. } => quantity.written(value),
            Self::Load | Self::None => Quantity::Load.written(value),
        }
    }
}

/// The values at which a curve has its points: ends and middle first, then between them, so that a
/// curve that is still being computed shows its shape.
pub(super) fn values([from, to]: [f64; 2], is_whole: bool) -> Vec<f64> {
    let steps = POINTS - 1;
    let mut order: Vec<usize> = Vec::with_capacity(POINTS);
    let mut stride = steps;
    while stride > 0 {
        order.extend(
            (0..=steps).step_by(stride).filter(|place| !order.contains(place)).collect::<Vec<_>>(),
        );
        stride /= 2;
    }
    let at = |place: usize| from + (to - from) * place as f64 / steps as f64;
    let mut values: Vec<f64> = Vec::with_capacity(POINTS);
    for value in order.into_iter().map(at).map(|value| if is_whole { value.round() } else { value })
    {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// The values of a prediction for every curve, times in seconds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CurvePoint {
    /// Its place on the axis.
    pub(super) at: f64,
    pub(super) all: Answer,
    /// Of each flow; the response time of those that wait for replies.
    pub(super) flows: Vec<Answer>,
    /// The transfer's time at a declared rate by simple and aggregate delay, else by TCP.
    pub(super) transfer: Vec<Answer>,
}

impl CurvePoint {
    pub(super) fn of(at: f64, prediction: &Prediction) -> Self {
        let transfer = prediction.transfer.as_ref();
        Self {
            at,
            all: mean_delay(prediction),
            flows: prediction
                .flows
                .iter()
                .map(|flow| flow.response_seconds.unwrap_or(flow.delay_seconds))
                .collect(),
            transfer: transfer.map(times).unwrap_or_default(),
        }
    }
}

fn times(transfer: &TransferPrediction) -> Vec<Answer> {
    match &transfer.paced {
        Some(paced) => vec![Answer::of(paced.simple_seconds), paced.aggregate_seconds],
        None => vec![transfer.bulk.seconds],
    }
}

/// Points so far, in the order of the axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    pub(super) axis: Axis,
    pub(super) range: [f64; 2],
    pub(super) points: Vec<CurvePoint>,
    /// The current point of the network.
    pub(super) here: Option<f64>,
}

/// The mean delay of all flows, weighted by their frames; `None` if a sending flow has none.
pub(super) fn mean_delay(prediction: &Prediction) -> Answer {
    /// Frames per second below which a flow counts as silent.
    const SILENT: f64 = 1e-6;
    let (mut sum, mut frames, mut warning) = (0.0, 0.0, None);
    for flow in &prediction.flows {
        let weight = f64::from(flow.senders) * flow.packets_per_second_each.value.unwrap_or(0.0);
        match flow.delay_seconds.value {
            _ if weight < SILENT => {}
            Some(delay) => (sum, frames) = (sum + weight * delay, frames + weight),
            None => return flow.delay_seconds,
        }
        if weight >= SILENT {
            warning = warning.or(flow.delay_seconds.warning);
        }
    }
    if frames == 0.0 {
        return Answer::OUT_OF_RANGE;
    }
    let mean = Answer::of(sum / frames);
    warning.map_or(mean, |warning| mean.but(warning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_begins_with_its_ends() {
        let values = values([0.0, 40.0], false);
        assert_eq!(values[..4], [0.0, 40.0, 20.0, 10.0]);
        assert_eq!(values.len(), POINTS);
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| (pair[1] - pair[0] - 1.0).abs() < 1e-9), "{sorted:?}");
    }

    #[test]
    fn whole_numbers_are_taken_once() {
        let mut values = values([1.0, 4.0], true);
        values.sort_by(f64::total_cmp);
        assert_eq!(values, [1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn a_range_lies_round_its_value() {
        let axis = |quantity, value| Axis::Key { key: String::new(), quantity, value };
        assert_eq!(axis(Quantity::Rate, 1e7).range(), Some([1e6, 2e7]));
        assert_eq!(axis(Quantity::Frames, 1e-9).range(), None);
        assert_eq!(axis(Quantity::Share, 0.8).range(), Some([0.0, 1.0]));
        assert_eq!(axis(Quantity::Frames, 60.0).written(0.0), "1e-9");
    }
}
