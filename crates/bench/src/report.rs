//! The output of a comparison: circumstances, a table, a file.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use btu_contract::pipe::Processors;
use serde::Serialize;

use crate::args::Args;
use crate::case::{Bound, Case, Measure, Tool};
use crate::compare::{BoundVerdict, Spread, differences, ratios};
use crate::run::Sample;
use crate::signature::Repetitions;

/// The conditions of the measurement, which are equal for every tool.
#[derive(Debug, Serialize)]
pub(crate) struct Circumstances {
    seed: u64,
    blocks: u32,
    seconds: u32,
    kernel: String,
    processors: usize,
    pinning: String,
    idle_states: &'static str,
    network: String,
    congestion_control: String,
    tools: Vec<String>,
}

impl Circumstances {
    pub(crate) fn read(
        args: &Args,
        cases: &[Case],
        seed: u64,
        tools: Vec<String>,
        processors: Option<Processors>,
        is_held_awake: bool,
    ) -> Result<Self> {
        let idle_states = if is_held_awake {
            "held off through /dev/cpu_dma_latency = 0"
        } else {
            "as the system has them"
        };
        Ok(Self {
            seed,
            blocks: args.blocks,
            seconds: args.seconds,
            kernel: setting("kernel/osrelease")?,
            processors: std::thread::available_parallelism().context("count the processors")?.get(),
            pinning: processors.map_or_else(|| "none".to_owned(), |held| held.to_string()),
            idle_states,
            network: networks(cases),
            congestion_control: setting("net/ipv4/tcp_congestion_control")?,
            tools,
        })
    }
}

/// The networks of the cases.
fn networks(cases: &[Case]) -> String {
    let (wire, plain): (Vec<&Case>, Vec<&Case>) =
        cases.iter().partition(|case| case.tools().contains(&Tool::Wire));
    let plain = (!plain.is_empty()).then_some("one veth pair, default offloads and MTU");
    let wire = (!wire.is_empty()).then_some(
        "for the link emulator's cases two veth pairs, offloads off unless said, MTU 1500",
    );
    plain.into_iter().chain(wire).collect::<Vec<_>>().join("; ")
}

/// One of the kernel's settings, in this namespace where it has namespaces.
fn setting(name: &str) -> Result<String> {
    let text = std::fs::read_to_string(format!("/proc/sys/{name}"))
        .with_context(|| format!("read /proc/sys/{name}"))?;
    Ok(text.trim().to_owned())
}

impl fmt::Display for Circumstances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, {} blocks of {} s per tool", self.seed, self.blocks, self.seconds)?;
        writeln!(
            f,
            "Linux {}, {} processors; pinning: {}",
            self.kernel, self.processors, self.pinning
        )?;
        writeln!(f, "idle states: {}; network: {}", self.idle_states, self.network)?;
        writeln!(f, "congestion control: {} for every tool", self.congestion_control)?;
        if self.tools.is_empty() {
            return Ok(());
        }
        writeln!(f, "btu against: {}", self.tools.join(", "))
    }
}

/// btu against another tool in one measure.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    case: Case,
    measure: Measure,
    against: Tool,
    /// Whether this tool is the best of the others in the case's first measure: bounds are compared
    /// with it.
    is_best: bool,
    /// btu over the other, block by block.
    ratio: Option<Spread>,
    /// btu less the other, block by block, if the difference is more useful.
    added: Option<Spread>,
    bound: Option<Bound>,
    pub(crate) verdict: Option<BoundVerdict>,
}

impl Comparison {
    /// Every comparison of a case.
    pub(crate) fn all_of(case: Case, samples: &[Sample]) -> Vec<Self> {
        let best = best_of_others(case, samples);
        let mut all = Vec::new();
        for (measure, bound) in case.measures() {
            for &against in &case.tools()[1..] {
                let ours = values(case, case.tools()[0], measure, samples);
                let theirs = values(case, against, measure, samples);
                let ratio = Spread::of(&ratios(&ours, &theirs));
                let added = Spread::of(&differences(&ours, &theirs)).filter(|_| measure.is_added());
                let is_best = best == Some(against);
                let bound = bound.filter(|_| is_best);
                let judged = match bound {
                    Some(Bound::Reaches(_)) => Spread::of(&ours),
                    Some(Bound::Adds(_)) => added,
                    _ => ratio,
                };
                let verdict = judged.zip(bound).map(|(judged, bound)| judged.verdict(bound));
                all.push(Self { case, measure, against, is_best, ratio, added, bound, verdict });
            }
        }
        all
    }
}

fn best_of_others(case: Case, samples: &[Sample]) -> Option<Tool> {
    let (measure, _) = *case.measures().first()?;
    let rank = |tool: &Tool| {
        let median = Spread::of(&values(case, *tool, measure, samples))
            .map_or(f64::NAN, |spread| spread.median);
        if measure.more_is_better() { median } else { -median }
    };
    case.tools()[1..].iter().copied().max_by(|a, b| rank(a).total_cmp(&rank(b)))
}

/// A tool's numbers, block by block.
fn values(case: Case, tool: Tool, measure: Measure, samples: &[Sample]) -> Vec<f64> {
    let own = samples.iter().filter(|sample| sample.case == case && sample.tool == tool);
    own.map(|sample| sample.outcome.measure(measure)).collect()
}

/// The load by other programs just before each sample.
pub(crate) fn company(samples: &[Sample]) -> String {
    let busy: Vec<f64> = samples.iter().map(|sample| 100.0 * sample.busy_before).collect();
    Spread::of(&busy).map_or_else(String::new, |busy| {
        format!(
            "others took {:.0} % of the processors' time before a sample (median; at most {:.0} %)",
            busy.median, busy.max
        )
    })
}

/// Medians of every tool, then ratios with their spread.
pub(crate) fn table(cases: &[Case], samples: &[Sample], comparisons: &[Comparison]) -> String {
    let mut text = String::new();
    for &case in cases {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{}\n", case.title());
        for (measure, _) in case.measures() {
            for &tool in case.tools() {
                if let Some(spread) = Spread::of(&values(case, tool, measure, samples)) {
                    let _ = writeln!(text, "  {:<9} {}", tool.name(), absolute(&spread, measure));
                }
            }
            let own = comparisons
                .iter()
                .filter(|comparison| comparison.case == case && comparison.measure == measure);
            own.for_each(|comparison| writeln!(text, "  {}", line(comparison)).unwrap_or_default());
        }
    }
    text
}

fn absolute(spread: &Spread, measure: Measure) -> String {
    let digits = if spread.median >= 1000.0 { 0 } else { 3 };
    let Spread { median, min, max, .. } = spread;
    format!("{median:>12.digits$} {:<11} (min {min:.digits$}, max {max:.digits$})", measure.unit())
}

fn line(comparison: &Comparison) -> String {
    let first = comparison.case.tools()[0].name();
    if let Some(Spread { median, interval: (low, high), min, max }) = comparison.added {
        let (name, words) =
            (format!("{first}-{}", comparison.against.name()), bound_words(comparison));
        return format!(
            "{name:<13} {median:+.1} us [{low:+.1}, {high:+.1}] (min {min:+.1}, max {max:+.1}){words}"
        );
    }
    let name = format!("{first}/{}", comparison.against.name());
    let Some(ratio) = comparison.ratio else {
        return format!("{name:<13} no ratio: a number is missing");
    };
    let bound = bound_words(comparison);
    let (low, high) = ratio.interval;
    format!(
        "{name:<13} {:.3} [{low:.3}, {high:.3}] (min {:.3}, max {:.3}){bound}",
        ratio.median, ratio.min, ratio.max
    )
}

fn bound_words(comparison: &Comparison) -> String {
    let (Some(bound), Some(verdict)) = (comparison.bound, comparison.verdict) else {
        return String::new();
    };
    let (own, unit) = (comparison.case.tools()[0].name(), comparison.measure.unit());
    let bound = match bound {
        Bound::AtLeast(limit) => format!("at least {limit:.2}"),
        Bound::AtMost(limit) => format!("at most {limit:.2}"),
        Bound::Reaches(limit) => format!("{own} at least {limit:.0} {unit}"),
        Bound::Adds(limit) => format!("at most {limit:+.0} us"),
        Bound::Alike => "alike".to_owned(),
    };
    format!("; {bound}: {}", words(verdict))
}

fn words(verdict: BoundVerdict) -> &'static str {
    match verdict {
        BoundVerdict::Shown => "shown",
        BoundVerdict::Kept => "kept by the median",
        BoundVerdict::Open => "open, the interval reaches it",
        BoundVerdict::Missed => "MISSED",
    }
}

/// Writes everything to a new file in `directory`.
pub(crate) fn write(
    directory: &Path,
    circumstances: &Circumstances,
    repetitions: &BTreeMap<Case, Repetitions>,
    samples: &[Sample],
    comparisons: &[Comparison],
) -> Result<PathBuf> {
    let failed = || format!("write the result to {}", directory.display());
    std::fs::create_dir_all(directory).with_context(failed)?;
    let second = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let path = directory.join(format!("side-by-side-{second}-{}.json", circumstances.seed));
    let whole = serde_json::json!({
        "written_unix_seconds": second, "circumstances": circumstances, "repetitions": repetitions,
        "comparisons": comparisons, "samples": samples,
    });
    std::fs::write(&path, btu_contract::json::indented(&whole)?).with_context(failed)?;
    Ok(path)
}
