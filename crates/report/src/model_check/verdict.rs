//! The range in which a prediction holds.
//!
//! The rule: points are taken by rising utilisation. A point agrees within x when the prediction is
//! off by at most x of the mean next to it, or when both call the network overloaded. The
//! prediction is valid up to the utilisation of the last point before the first that does not
//! agree; agreement beyond is chance and does not count. A point with an interval wider than x to
//! either side cannot be judged and ends the range as well. A measured point ends it, too, if it is
//! void, or if this machine's own lateness is more than x of its delay.

use super::{AnswerKind, CheckFlow, CheckPoint};

/// The end of the range in which a prediction holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RangeVerdict {
    /// At all points; the last one's utilisation.
    Everywhere(f64),
    /// Up to this utilisation; the first point that does not agree follows.
    UpTo(f64, Break),
    /// Not even at the first point.
    Nowhere(Break),
    /// There was no other answer to compare with.
    Unknown,
}

/// Why a prediction's range ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Break {
    /// It is off by this share.
    Off(f64),
    /// Only one of the two is overloaded.
    Overload,
    /// The interval of the answer next to it is too wide.
    Undecided,
    /// This share of what was measured is lateness of this machine.
    Late(f64),
    /// The measured point is void.
    Void,
}

impl CheckFlow {
    /// The end of the range in which the prediction agrees within this share with the answer next
    /// to it; see the module's rule.
    pub fn verdict(&self, kind: AnswerKind, within: f64) -> RangeVerdict {
        let utilisation = |point: &CheckPoint| point.utilisation.unwrap_or(0.0);
        let mut points: Vec<&CheckPoint> = self.points.iter().collect();
        points.sort_by(|one, other| utilisation(one).total_cmp(&utilisation(other)));
        let mut last = None;
        for point in points {
            if let Some(reason) = judge(point, kind, within) {
                return last.map_or(RangeVerdict::Nowhere(reason), |last| {
                    RangeVerdict::UpTo(last, reason)
                });
            }
            last = Some(utilisation(point));
        }
        last.map_or(RangeVerdict::Unknown, RangeVerdict::Everywhere)
    }
}

/// Why a point does not agree; none if it does.
fn judge(point: &CheckPoint, kind: AnswerKind, within: f64) -> Option<Break> {
    if point.is_void(kind) {
        return Some(Break::Void);
    }
    if point.both_overloaded(kind) {
        return None;
    }
    let Some(error) = point.error(kind) else {
        let nothing = point.answer(kind).is_none() && !point.is_overloaded(kind);
        return Some(if nothing { Break::Undecided } else { Break::Overload });
    };
    let half = point.settled(kind).and_then(|settled| settled.relative_half_width());
    if let Some(late) = point.late_share(kind).filter(|late| *late > within) {
        Some(Break::Late(late))
    } else if error.value.abs() > within {
        Some(Break::Off(error.value))
    } else if half.is_some_and(|half| half > within) {
        Some(Break::Undecided)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use btu_stats::{Estimate, Interval};

    use super::super::MeasuredFlow;
    use super::super::measured::tests::measured;
    use super::*;

    const SIMULATED: AnswerKind = AnswerKind::Simulated;

    fn point(utilisation: f64, predicted: Option<f64>, simulated: f64, half: f64) -> CheckPoint {
        let simulated =
            Some(Estimate { value: simulated, interval: Some(Interval::around(simulated, half)) });
        let utilisation = Some(utilisation);
        CheckPoint {
            value: 0.0,
            utilisation,
            predicted,
            simulated,
            overloaded: false,
            measured: None,
        }
    }

    fn flow(points: &[CheckPoint]) -> CheckFlow {
        CheckFlow { name: "load".to_owned(), points: points.to_vec() }
    }

    /// Points come in any order, and agreement by chance above the first disagreement does not
    /// count.
    #[test]
    fn valid_up_to_the_last_point_before_the_first_that_is_off() {
        let flow = flow(&[
            point(0.9, Some(5.0), 5.0, 0.1),
            point(0.5, Some(1.2), 1.5, 0.01),
            point(0.1, Some(1.0), 1.01, 0.001),
            point(0.3, Some(1.1), 1.14, 0.01),
        ]);
        assert_eq!(
            flow.verdict(SIMULATED, 0.05),
            RangeVerdict::UpTo(0.3, Break::Off(1.2 / 1.5 - 1.0))
        );
        assert_eq!(
            flow.verdict(SIMULATED, 0.005),
            RangeVerdict::Nowhere(Break::Off(1.0 / 1.01 - 1.0))
        );
        assert_eq!(flow.verdict(SIMULATED, 0.25), RangeVerdict::Everywhere(0.9));
    }

    #[test]
    fn what_cannot_be_judged_ends_the_range() {
        let flow = flow(&[point(0.1, Some(1.0), 1.0, 0.01), point(0.2, Some(1.0), 1.0, 0.09)]);
        assert_eq!(flow.verdict(SIMULATED, 0.05), RangeVerdict::UpTo(0.1, Break::Undecided));
        assert_eq!(flow.verdict(SIMULATED, 0.1), RangeVerdict::Everywhere(0.2));
    }

    #[test]
    fn both_overloaded_agree_and_one_alone_does_not() {
        let calm = point(0.5, Some(1.0), 1.0, 0.01);
        let both = CheckPoint { overloaded: true, ..point(1.2, None, 9.0, 1.0) };
        let closed_form_alone = point(1.0, None, 9.0, 0.01);
        let simulation_alone = CheckPoint { overloaded: true, ..point(0.95, Some(3.0), 9.0, 0.01) };
        assert_eq!(
            flow(&[calm.clone(), both]).verdict(SIMULATED, 0.02),
            RangeVerdict::Everywhere(1.2)
        );
        assert_eq!(
            flow(&[calm, closed_form_alone]).verdict(SIMULATED, 0.02),
            RangeVerdict::UpTo(0.5, Break::Overload)
        );
        assert_eq!(
            flow(&[simulation_alone]).verdict(SIMULATED, 0.02),
            RangeVerdict::Nowhere(Break::Overload)
        );
        assert_eq!(flow(&[]).verdict(SIMULATED, 0.02), RangeVerdict::Unknown);
    }

    #[test]
    fn the_error_is_a_share_of_the_simulated_mean() {
        let error = point(0.1, Some(1.1), 1.0, 0.1).error(SIMULATED).unwrap();
        assert!((error.value - 0.1).abs() < 1e-12);
        let ends = error.interval.unwrap();
        assert!(ends.low.abs() < 1e-12 && (ends.high - (1.1 / 0.9 - 1.0)).abs() < 1e-12);
    }

    #[test]
    fn lateness_and_void_points_end_the_range_of_what_is_measured() {
        let with = |utilisation: f64, other: MeasuredFlow| CheckPoint {
            measured: Some(other),
            ..point(utilisation, Some(1.0e-3), 1.0e-3, 1.0e-6)
        };
        // 30 of 1000 us are lateness.
        let late = with(0.1, measured(1.0e-3, 1.0e-6, [10.0e-6, 20.0e-6]));
        let RangeVerdict::Nowhere(Break::Late(share)) =
            flow(std::slice::from_ref(&late)).verdict(AnswerKind::Measured, 0.02)
        else {
            panic!("3 % of lateness cannot be told from 2 %");
        };
        assert!((share - 0.03).abs() < 1e-12);
        assert_eq!(
            flow(std::slice::from_ref(&late)).verdict(AnswerKind::Measured, 0.05),
            RangeVerdict::Everywhere(0.1)
        );
        assert_eq!(
            flow(std::slice::from_ref(&late)).verdict(SIMULATED, 0.02),
            RangeVerdict::Everywhere(0.1)
        );
        let void = MeasuredFlow {
            void: vec!["the sender gave up".to_owned()],
            ..measured(1.0e-3, 1.0e-6, [0.0; 2])
        };
        let flow = flow(&[late, with(0.5, void)]);
        assert_eq!(flow.verdict(AnswerKind::Measured, 0.2), RangeVerdict::UpTo(0.1, Break::Void));
    }
}
