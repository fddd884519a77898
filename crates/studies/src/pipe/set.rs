//! The verdict over several signatures of one run: the layers of a stack, or an idle machine and a busy one.

use btu_contract::job::{Job, JobRecord};
use btu_contract::load::Load;
use btu_contract::pipe::{PipePlan, Purpose, SetPlan};
use serde::Serialize;

use super::cost::{LayerCost, SignatureCost, cost_over, layer_costs};
use super::{PipeVerdict, judge};

/// The part of a signature that remains under a load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadCost {
    /// The load on the machine.
    pub load: Load,
    /// The loaded machine compared with the idle one: a throughput ratio of 0.8 keeps 80 %.
    #[serde(flatten)]
    pub cost: SignatureCost,
}

/// The result of such a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetVerdict {
    /// Version of this form; a reader of an older one may miss fields, never misread them.
    pub version: u32,
    /// Its purpose.
    pub purpose: Purpose,
    /// The signatures in the plan's order.
    pub signatures: Vec<LoadedVerdict>,
    /// Each layer compared with the first; empty if layers are not the purpose.
    pub layers: Vec<LayerCost>,
    /// Each load compared with the first; empty if loads are not the purpose.
    pub loads: Vec<LoadCost>,
}

/// A signature and the load under which it was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadedVerdict {
    /// The load under which the signature was measured.
    pub load: Load,
    /// The verdict over the signature.
    #[serde(flatten)]
    pub verdict: PipeVerdict,
}

/// The verdict over the records so far.
pub fn judge_set(plan: &SetPlan, records: &[JobRecord]) -> SetVerdict {
    let verdicts: Vec<PipeVerdict> = plan
        .series
        .iter()
        .enumerate()
        .map(|(n, one)| judge(one, &Job::points(records, n)))
        .collect();
    let after_first = || plan.series.iter().zip(&verdicts).skip(1);
    let load = |(one, verdict): (&PipePlan, &PipeVerdict)| {
        Some(LoadCost { load: one.load, cost: cost_over(verdict, verdicts.first()?) })
    };
    let (layers, loads) = match plan.purpose {
        Purpose::Layers => (layer_costs(&verdicts), Vec::new()),
        Purpose::Load => (Vec::new(), after_first().filter_map(load).collect()),
    };
    let signatures = plan.series.iter().zip(verdicts);
    let signatures =
        signatures.map(|(one, verdict)| LoadedVerdict { load: one.load, verdict }).collect();
    SetVerdict { version: 1, purpose: plan.purpose, signatures, layers, loads }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::verdict::tests::{plan, points};
    use btu_contract::json;
    use btu_contract::pipe::Pattern;

    fn idle_and_busy() -> SetPlan {
        let idle = plan("1..10MB", Pattern::PingPong);
        let busy = PipePlan { load: Load::Cpu, ..idle.clone() };
        SetPlan { purpose: Purpose::Load, series: vec![idle, busy] }
    }

    fn measured(plan: &SetPlan, times: &[fn(f64) -> f64]) -> Vec<JobRecord> {
        let one = |(series, time): (usize, &fn(f64) -> f64)| {
            points(&plan.series[series], time)
                .into_iter()
                .map(move |point| JobRecord::of_point(series, point))
        };
        times.iter().enumerate().flat_map(one).collect()
    }

    #[test]
    fn a_busy_machine_keeps_its_share() {
        let plan = idle_and_busy();
        let points =
            measured(&plan, &[|bytes| 1e-5 + bytes * 1e-9, |bytes| 4e-5 + bytes * 1.25e-9]);
        let verdict = judge_set(&plan, &points);
        assert_eq!(
            (verdict.signatures.len(), verdict.layers.len(), verdict.loads.len()),
            (2, 0, 1)
        );
        let LoadCost { load, cost } = &verdict.loads[0];
        assert_eq!(*load, Load::Cpu);
        for (found, expected) in [(cost.latency_ratio, 4.0), (cost.maximum_ratio, 0.8)] {
            let found = found.unwrap();
            assert!((found.value / expected - 1.0).abs() < 0.005, "{found:?}, not {expected}");
            assert!(found.interval.unwrap().contains(expected), "{found:?} around {expected}");
        }
    }

    #[test]
    fn what_was_just_begun_has_a_verdict_too() {
        let plan = idle_and_busy();
        let verdict = judge_set(&plan, &[]);
        assert_eq!((verdict.signatures.len(), verdict.loads[0].cost.latency_ratio), (2, None));
        let empty = SetPlan { purpose: Purpose::Load, series: Vec::new() };
        assert_eq!(judge_set(&empty, &[]).loads, []);
    }

    #[test]
    fn plan_and_points_survive_storage() {
        let plan = idle_and_busy();
        let read: SetPlan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        assert_eq!(read, plan);
        let points = measured(&plan, &[|_| 1e-5, |_| 2e-5]);
        let verdict = judge_set(&plan, &points);
        assert_eq!(json::to_value(&verdict).unwrap()["signatures"][1]["load"], "cpu");
        assert_eq!(Job::points(&points, 1).len(), plan.series[1].sizes.list().len());
    }
}
