//! A run of HINT over a pipe: the plan, its records, and its verdict.
//!
//! Four parts: messages of 16 bytes over the pipe, HINT by two processes, HINT by one, and the
//! messages again. Those at the end show whether the pipe was still what it was at the beginning.

use btu_stats::{Estimate, quantile};
use serde::{Deserialize, Serialize};

use super::verdict::{HintVerdict, LEVEL, judge};
use super::{HintPlan, HintPoint};
use crate::pipe::{PipePlan, Point};

/// All settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HintRun {
    /// The carrier of the exchange, and the messages that are measured in addition to it.
    pub pipe: PipePlan,
    /// The work of two processes.
    pub two: HintPlan,
    /// The work of one; absent if not requested.
    pub one: Option<HintPlan>,
}

/// The records, in the order of their measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HintRecord {
    /// Messages over the pipe.
    Message(Box<Point>),
    /// A number of intervals in each of two processes.
    Two(HintPoint),
    /// A number of intervals in one process.
    One(HintPoint),
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HintResult {
    /// Version of this form; a reader of an older one may miss fields, never misread them.
    pub version: u32,
    /// Two processes; absent before anything was measured of them.
    pub two: Option<HintVerdict>,
    /// The result of one process; absent before anything was measured of it.
    pub one: Option<HintVerdict>,
    /// One-way times of 16-byte messages in seconds: before HINT, and after.
    pub message_seconds: Vec<Estimate>,
    /// Intervals in all from which on two processes are faster than one. Absent where they never
    /// are, or one was not measured.
    pub pays_from_intervals: Option<u64>,
}

/// The verdict over the records of a run so far.
pub fn judge_run(run: &HintRun, records: &[HintRecord]) -> HintResult {
    let messages: Vec<Estimate> =
        records.iter().filter_map(|record| message(run, record)).collect();
    let typical = btu_stats::arithmetic_mean(
        &messages.iter().map(|message| message.value).collect::<Vec<_>>(),
    );
    let steps = |wanted: fn(&HintRecord) -> Option<&HintPoint>| -> Vec<HintPoint> {
        records.iter().filter_map(wanted).cloned().collect()
    };
    let two = steps(|record| if let HintRecord::Two(point) = record { Some(point) } else { None });
    let one = steps(|record| if let HintRecord::One(point) = record { Some(point) } else { None });
    let two = judge(&run.two, &two, typical);
    let one = run.one.as_ref().and_then(|plan| judge(plan, &one, None));
    let pays_from_intervals =
        two.as_ref().zip(one.as_ref()).and_then(|(two, one)| pays_from(two, one));
    HintResult { version: 1, two, one, message_seconds: messages, pays_from_intervals }
}

/// The median one-way time of a message.
fn message(run: &HintRun, record: &HintRecord) -> Option<Estimate> {
    let HintRecord::Message(point) = record else { return None };
    quantile(&point.one_way_seconds(run.pipe.pattern), 0.5, LEVEL)
}

/// The smallest number of intervals, of both together, beyond which two processes always take less
/// time than one.
fn pays_from(two: &HintVerdict, one: &HintVerdict) -> Option<u64> {
    let alone = |intervals: f64| {
        let beyond = one.steps.iter().position(|step| step.intervals as f64 >= intervals)?;
        let (upper, lower) = (&one.steps[beyond], &one.steps[beyond.checked_sub(1)?]);
        let share =
            (intervals - lower.intervals as f64) / (upper.intervals - lower.intervals) as f64;
        Some(lower.least_seconds + share * (upper.least_seconds - lower.least_seconds))
    };
    let together = two.steps.iter().rev().map(|step| (2 * step.intervals, step.least_seconds));
    // Without a measurement of one process with this number, the answer is unknown.
    let known = together
        .filter_map(|(intervals, seconds)| Some((intervals, seconds, alone(intervals as f64)?)));
    known.take_while(|(_, seconds, alone)| seconds < alone).last().map(|(intervals, ..)| intervals)
}

#[cfg(test)]
mod tests {
    use btu_units::{Bytes, Span};

    use super::*;
    use crate::hint::plan::tests::run as points;
    use crate::pipe::{Accounts, End, Kind, Place, Sizes, Trial};

    const MESSAGE: f64 = 746.1e-6;

    fn plan() -> HintRun {
        let pipe = PipePlan {
            sizes: Sizes::one(Bytes::new(16)),
            ..PipePlan::new(1, Kind::Tcp, Place::Here)
        };
        let hint = |processes| HintPlan { most_points: 50, ..HintPlan::standard(processes) };
        HintRun { pipe, two: hint(2), one: Some(hint(1)) }
    }

    fn message(seconds: f64) -> HintRecord {
        let elapsed = Span::from_seconds_f64(2.0 * seconds * 1000.0);
        let trial = Trial { repetitions: 1000, elapsed, clock: End::Near, lost: 0, repeated: 0 };
        let accounts = Accounts::default();
        HintRecord::Message(Box::new(Point {
            trials: vec![trial; 3],
            accounts,
            ..Point::empty(Bytes::new(16))
        }))
    }

    /// 1996: an exchange over the Ethernet is two messages of 746.1 us, and 25 us an interval is
    /// what its figure 6 leaves for the work. Two processes win where n intervals alone take longer
    /// than half of them and the exchange: from 120 on.
    #[test]
    fn two_processes_pay_from_where_the_work_outweighs_the_exchange() {
        let (plan, each) = (plan(), 25e-6);
        let two = points(&plan.two, 2.0 * MESSAGE, each).0.into_iter().map(HintRecord::Two);
        let one = points(plan.one.as_ref().unwrap(), 0.0, each).0.into_iter().map(HintRecord::One);
        let records: Vec<HintRecord> = [message(MESSAGE)]
            .into_iter()
            .chain(two)
            .chain(one)
            .chain([message(MESSAGE)])
            .collect();
        let result = judge_run(&plan, &records);
        assert_eq!(result.message_seconds.len(), 2);
        assert_eq!(result.two.as_ref().unwrap().exchange_is_the_network, Some(true));
        // 2 x 64 intervals are the first beyond 119.4.
        assert_eq!(result.pays_from_intervals, Some(128));
        // Other work in the last steps of two: there is no number from which on they are faster. The
        // largest numbers are beyond those of one process.
        let mut disturbed = records.clone();
        let steps = disturbed.iter_mut().rev().filter_map(|record| match record {
            HintRecord::Two(point) => Some(&mut point.trials),
            _ => None,
        });
        steps.take(5).flatten().for_each(|trial| *trial = *trial * 3);
        assert_eq!(judge_run(&plan, &disturbed).pays_from_intervals, None);
        let text = serde_json::to_string(&records).unwrap();
        assert_eq!(serde_json::from_str::<Vec<HintRecord>>(&text).unwrap(), records);
    }

    #[test]
    fn a_run_that_has_just_begun_has_a_result_too() {
        let result = judge_run(&plan(), &[message(MESSAGE)]);
        assert_eq!((result.two, result.pays_from_intervals), (None, None));
        assert!((result.message_seconds[0].value - MESSAGE).abs() < 1e-9);
    }
}
