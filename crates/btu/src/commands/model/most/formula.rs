//! The answer of the closed forms, and the range in which they are valid.

use btu_model::predict::{Found, Prediction, PredictionWarning, last_that_holds};
use btu_model::{Answer, Warning};
use btu_report::{Answered, Beyond, MostFound};

use super::Search;
use crate::commands::model::answer;

/// The range is searched to this share: a closed form has no noise.
const SHARE: f64 = 1e-6;

/// The greatest value at which the formula holds and the bound is kept. If the formula stops to be
/// valid first, the answer ends there, and its result beyond is reported separately.
pub(super) fn found(search: &Search<'_>) -> anyhow::Result<MostFound> {
    let bound = search.bound();
    let is_within =
        |figure: &BoundedFigure| figure.answer.value.is_some_and(|seconds| seconds <= bound);
    let within = |value| anyhow::Ok(is_within(&figure(search, value)?));
    let tried = search.ends(within)?;
    let found = last_that_holds(tried, search.turned.resolution(SHARE), within)?;
    let end = figure(search, Search::at(tried, found))?;
    // Beyond the bound, a lower bound is as good as the figure itself.
    let Some(warning) = end.answer.warning.filter(|warning| is_unreliable(*warning, found)) else {
        let answered = Answered::Formula { beyond: None, warnings: end.warnings };
        return Ok(search.answer(tried, Some(found), end.answer.value, answered));
    };
    let holds = |value| {
        figure(search, value).map(|figure| is_within(&figure) && figure.answer.warning.is_none())
    };
    let inside = [tried[0], Search::at(tried, found)];
    let holding = match last_that_holds(inside, search.turned.resolution(SHARE), holds)? {
        Found::Never => None,
        holding => Some(holding),
    };
    let seconds = holding.map(|holding| figure(search, Search::at(inside, holding))).transpose()?;
    let answered =
        Answered::Formula { beyond: Some(Beyond { warning, found }), warnings: end.warnings };
    Ok(search.answer(tried, holding, seconds.and_then(|figure| figure.answer.value), answered))
}

/// Whether a warning makes a result unreliable: saturation, and a lower bound above the limit, are
/// reliable.
fn is_unreliable(warning: Warning, found: Found) -> bool {
    match warning {
        Warning::Saturated => false,
        Warning::Optimistic => found != Found::Never,
        Warning::OutOfRange => true,
    }
}

/// The bounded figure at one value.
struct BoundedFigure {
    /// In seconds; with a warning if any of the requested flows has one, because that might be the
    /// slowest.
    answer: Answer,
    warnings: Vec<PredictionWarning>,
}

fn figure(search: &Search<'_>, value: f64) -> anyhow::Result<BoundedFigure> {
    let prediction = answer(search.model, &search.drawing(value)?)?;
    let answer = match &prediction.transfer {
        Some(transfer) if search.model.transfer_time.is_some() => transfer.bulk.seconds,
        _ => longest_delay(&prediction, search.model.flow.as_deref()),
    };
    Ok(BoundedFigure { answer, warnings: prediction.warnings })
}

/// The longest mean delay of all flows, or that of one; the response time of those that wait for
/// replies.
fn longest_delay(prediction: &Prediction, flow: Option<&str>) -> Answer {
    let asked = prediction.flows.iter().filter(|known| flow.is_none_or(|name| known.name == name));
    let delays = asked.map(|flow| flow.response_seconds.unwrap_or(flow.delay_seconds));
    delays.fold(Answer::of(0.0), |longest, delay| Answer {
        value: longest.value.zip(delay.value).map(|(one, other)| one.max(other)),
        warning: if longest.is_saturated() {
            longest.warning
        } else {
            delay.warning.or(longest.warning)
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_formula_cannot_know_is_unreliable() {
        assert!(!is_unreliable(Warning::Saturated, Found::UpTo(1.0)));
        assert!(!is_unreliable(Warning::Optimistic, Found::Never));
        assert!(
            is_unreliable(Warning::Optimistic, Found::Always)
                && is_unreliable(Warning::OutOfRange, Found::Never)
        );
    }
}
