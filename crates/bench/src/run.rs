//! A comparison from beginning to end.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::process::ExitCode;

use anyhow::{Context, Result};
use btu_contract::pipe::{Pin, Processors};
use btu_contract::processors::ProcessorList;
use rand::SeedableRng;
use rand_pcg::Pcg64;

use crate::args::Args;
use crate::case::{self, Case, Tool, ToolTurn};
use crate::compare::BoundVerdict;
use crate::lab::{self, Lab};
use crate::outcome::ToolOutcome;
use crate::report::{Circumstances, Comparison};
use crate::signature::Repetitions;
use crate::tools::{self, Bench};
use crate::{quiet, report, signature, wire};

/// One run of one tool.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Sample {
    pub(crate) block: u32,
    /// Its place in the block's order, from 0; that of its first part, if there are several.
    pub(crate) position: usize,
    pub(crate) case: Case,
    pub(crate) tool: Tool,
    /// Share of the machine's time that others took just before; the largest, if there are several
    /// parts.
    pub(crate) busy_before: f64,
    pub(crate) outcome: ToolOutcome,
}

/// Goes into a network namespace and starts there.
pub(crate) fn outside() -> Result<ExitCode> {
    lab::enter()
}

/// Measures everything, prints, writes, judges.
pub(crate) fn inside(args: &Args) -> Result<ExitCode> {
    let cases = if args.case.is_empty() { all_cases() } else { Case::expanded(&args.case) };
    let versions = tools::ensure_present(&cases)?;
    let btu = tools::find_btu(args.btu.as_deref())?;
    let seed = args.seed.unwrap_or_else(|| RandomState::new().hash_one(0));
    let processors = processors(args.pin)?;
    let pins_wire =
        processors.is_some() && cases.iter().any(|case| case.tools().contains(&Tool::Wire));
    anyhow::ensure!(
        !pins_wire,
        "--pin is not for the cases about the link emulator, which has more than two ends"
    );
    let lab = Lab::raise(args.awake, args.congestion_control.as_deref())?;
    let is_about_wire = cases
        .iter()
        .any(|case| case.tools().contains(&Tool::Wire) || signature::drawing(*case).is_some());
    let middle = is_about_wire.then(wire::Middle::raise).transpose()?;
    let circumstances =
        Circumstances::read(args, &cases, seed, versions, processors, lab.is_held_awake())?;
    if !args.json {
        print!("{circumstances}");
    }
    let mut bench = Bench {
        lab: &lab,
        btu: &btu,
        seconds: args.seconds,
        seed,
        processors,
        repetitions: BTreeMap::new(),
        middle: middle.as_ref(),
        impatient: args.impatient,
    };
    bench.repetitions = repetitions(&bench, &cases)?;
    let samples = measure(&bench, &cases, args.blocks)?;
    let repetitions = bench.repetitions;
    drop((lab, middle));
    let comparisons: Vec<_> =
        cases.iter().flat_map(|&case| Comparison::all_of(case, &samples)).collect();
    if !args.json {
        println!(
            "{}\n{}",
            report::company(&samples),
            report::table(&cases, &samples, &comparisons)
        );
    }
    let path =
        report::write(&args.directory, &circumstances, &repetitions, &samples, &comparisons)?;
    if args.json {
        print!("{}", std::fs::read_to_string(&path).context("read the result back")?);
    } else {
        println!("written: {}", path.display());
    }
    let missed =
        comparisons.iter().any(|comparison| comparison.verdict == Some(BoundVerdict::Missed));
    Ok(ExitCode::from(u8::from(args.check && missed)))
}

/// The processors of the near and the far end, if they are pinned.
fn processors(pin: Option<Pin>) -> Result<Option<Processors>> {
    let allowed = btu_traffic::allowed_processors().context("ask which processors may be used")?;
    let each: Vec<_> =
        allowed.into_iter().filter_map(|processor| ProcessorList::of([processor])).collect();
    Ok(pin.map(|pin| pin.processors(&each)).transpose()?.flatten())
}

/// Before anything counts: how often each size is repeated, by every tool alike.
fn repetitions(bench: &Bench<'_>, cases: &[Case]) -> Result<BTreeMap<Case, Repetitions>> {
    let by_size = cases.iter().filter(|case| signature::is_by_size(**case));
    let pilot = |case: &Case| {
        Ok((
            *case,
            bench.pilot(*case).with_context(|| format!("a first look at {}", case.title()))?,
        ))
    };
    by_size.map(pilot).collect()
}

fn all_cases() -> Vec<Case> {
    vec![Case::Bulk, Case::Small, Case::TcpRequest, Case::UdpRequest]
}

fn measure(bench: &Bench<'_>, cases: &[Case], blocks: u32) -> Result<Vec<Sample>> {
    let mut random = Pcg64::seed_from_u64(bench.seed);
    let mut samples = Vec::new();
    for block in 0..blocks {
        eprintln!("block {} of {blocks}", block + 1);
        for (position, turn) in case::block(cases, &mut random).into_iter().enumerate() {
            let ToolTurn { case, tool, .. } = turn;
            let failed = || format!("{} with {} in block {}", case.title(), tool.name(), block + 1);
            let busy_before = quiet::wait(bench.impatient)?;
            let outcome = bench.run(turn).with_context(failed)?;
            keep(&mut samples, Sample { block, position, case, tool, busy_before, outcome });
        }
    }
    Ok(samples)
}

/// A later part of what a tool measures in a block is joined to the first.
fn keep(samples: &mut Vec<Sample>, sample: Sample) {
    let same = |earlier: &&mut Sample| {
        (earlier.block, earlier.case, earlier.tool) == (sample.block, sample.case, sample.tool)
    };
    match samples.iter_mut().find(same) {
        Some(first) => {
            first.busy_before = first.busy_before.max(sample.busy_before);
            first.outcome.join(sample.outcome);
        }
        None => samples.push(sample),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::SizeTime;

    #[test]
    fn parts_of_a_signature_become_one_sample_of_their_block_and_tool() {
        let mut samples = Vec::new();
        for (block, tool, bytes, busy_before) in [
            (0, Tool::Btu, 1, 0.0),
            (0, Tool::Nptcp, 1, 0.0),
            (0, Tool::Btu, 2, 0.25),
            (1, Tool::Btu, 1, 0.0),
        ] {
            let outcome =
                ToolOutcome::Signature { times: vec![SizeTime { bytes, one_way_seconds: 1e-6 }] };
            keep(
                &mut samples,
                Sample { block, position: 0, case: Case::PipeVeth, tool, busy_before, outcome },
            );
        }
        let sizes = |sample: &Sample| match &sample.outcome {
            ToolOutcome::Signature { times } => times.iter().map(|time| time.bytes).collect(),
            _ => Vec::new(),
        };
        assert_eq!(samples.iter().map(sizes).collect::<Vec<_>>(), [vec![1, 2], vec![1], vec![1]]);
        assert!((samples[0].busy_before - 0.25).abs() < 1e-9);
    }
}
