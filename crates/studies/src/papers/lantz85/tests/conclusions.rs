//! The paper's conclusions about the order of factors (section 10), judged by three measures.

use super::super::printed;
use super::factors::{self, Factor};
use super::sensitivity::{self, ALL_LINES, Comparison};

/// One conclusion, judged three times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conclusion {
    /// The conclusion, shortened, with its range if the range decides.
    pub(super) said: &'static str,
    /// By the paper's own sensitivity (section 3.3).
    pub(super) by_sensitivity: Judgement,
    /// By elasticity, which does not depend on the size of the step.
    pub(super) by_elasticity: Judgement,
    /// By the variance of ln(rate) over the ranges that the tables try.
    pub(super) by_variance: Judgement,
}

/// The verdict of one measure on a conclusion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judgement {
    /// Whether the conclusion holds; `None` if a factor has no scale, so the measure does not
    /// apply.
    pub(super) holds: Option<bool>,
    /// The numbers behind it; empty where there are none.
    pub(super) found: String,
}

/// The paper's order, pair by pair: the text, the factors that come first, the one that comes after
/// them.
const ORDER: [(&str, &[&str], &str); 7] = [
    ("the workstation's speed comes before the host's", &[factors::WORKSTATION], factors::HOST),
    ("the host's speed comes before the level of the protocol", &[factors::HOST], factors::LEVEL),
    ("the level of the protocol comes before the transport", &[factors::LEVEL], factors::TRANSPORT),
    (
        "the transport comes before bandwidth (56 kb/s to 10 Mb/s)",
        &[factors::TRANSPORT],
        factors::NETWORK,
    ),
    (
        "bandwidth comes after both processors (1.2 to 9.6 kb/s)",
        &[factors::WORKSTATION, factors::HOST],
        factors::SERIAL,
    ),
    (
        "bandwidth comes after both processors (9.6 kb/s to 10 Mb/s)",
        &[factors::WORKSTATION, factors::HOST],
        factors::ABOVE_SERIAL,
    ),
    (
        "bandwidth comes after both processors (56 kb/s to 10 Mb/s)",
        &[factors::WORKSTATION, factors::HOST],
        factors::NETWORK,
    ),
];

/// Every conclusion about the order of factors, then those about the conditions that reduce the
/// effect of bandwidth.
pub(super) fn all() -> Vec<Conclusion> {
    let factors = factors::all();
    let order = ORDER.iter().map(|(said, first, after)| in_order(said, first, after, &factors));
    order.chain([structure(&sensitivity::all()), levels()]).collect()
}

fn in_order(said: &'static str, first: &[&str], after: &str, factors: &[Factor]) -> Conclusion {
    let find = |name: &str| {
        factors
            .iter()
            .find(|factor| factor.name == name)
            .unwrap_or_else(|| panic!("no factor `{name}`"))
    };
    let judge = |of: fn(&Factor) -> Option<f64>| {
        let values: Option<Vec<f64>> = first.iter().map(|name| of(find(name))).collect();
        Judgement::order(values.as_deref(), of(find(after)))
    };
    Conclusion {
        said,
        by_sensitivity: judge(|factor| factor.sensitivity.map(|bounds| bounds.median)),
        by_elasticity: judge(|factor| factor.elasticity.map(|bounds| bounds.median)),
        by_variance: judge(|factor| Some(factor.variance)),
    }
}

impl Judgement {
    /// Every one of `first` is above `after`.
    fn order(first: Option<&[f64]>, after: Option<f64>) -> Self {
        let Some((first, after)) = first.zip(after) else {
            return Self { holds: None, found: String::new() };
        };
        let names: Vec<String> = first.iter().map(|value| digits(*value)).collect();
        let found = format!("{} against {}", names.join(" and "), digits(after));
        Self { holds: Some(first.iter().all(|value| *value > after)), found }
    }

    /// Each of `lower` is below the one of `upper` at its place.
    fn below(lower: &[f64], upper: &[f64]) -> Self {
        let list = |values: &[f64]| {
            values.iter().map(|value| digits(*value)).collect::<Vec<_>>().join(", ")
        };
        let holds = lower.iter().zip(upper).all(|(lower, upper)| lower < upper);
        Self { holds: Some(holds), found: format!("{} against {}", list(lower), list(upper)) }
    }
}

/// Three decimals, four below one tenth.
fn digits(value: f64) -> String {
    if value < 0.1 { format!("{value:.4}") } else { format!("{value:.3}") }
}

/// Table 8-2: structure against construction, piece by piece; by variance over the whole row.
fn structure(sensitivities: &[Comparison]) -> Conclusion {
    let pieces = |rate: &'static str| {
        let is_piece = |one: &&Comparison| one.table == "8-2" && one.part != ALL_LINES;
        sensitivities.iter().filter(is_piece).filter(move |one| one.rate == rate)
    };
    let compare = |of: fn(&Comparison) -> f64| {
        let [structure, construction] =
            ["structure", "construction"].map(|rate| pieces(rate).map(of).collect::<Vec<_>>());
        Judgement::below(&structure, &construction)
    };
    let variance = |rate| {
        let first = pieces(rate).take(1).map(|one| one.before);
        log_variance(&first.chain(pieces(rate).map(|one| one.after)).collect::<Vec<_>>())
    };
    Conclusion {
        said: "structure makes bandwidth matter less (Table 8-2)",
        by_sensitivity: compare(|one| one.sensitivity),
        by_elasticity: compare(|one| one.elasticity),
        by_variance: Judgement::below(&[variance("structure")], &[variance("construction")]),
    }
}

/// Bandwidth of ARPANET and Ethernet, in bits per second.
const WIDE_AND_LOCAL: (f64, f64) = (56e3, 10e6);

/// Table 5-1: the ratio between Ethernet and ARPANET, by the level of the protocol.
fn levels() -> Conclusion {
    let ratio = |row: &str| {
        let rate = |column| printed("5-1", &format!("10,750,{row}"), column);
        rate("E-IP") / rate("A-IP")
    };
    let single = ratio("incremental");
    let better = ["pipelined incremental", "batch unstructured", "batch structured"].map(ratio);
    let step = WIDE_AND_LOCAL.1 / WIDE_AND_LOCAL.0;
    let compare = |of: &dyn Fn(f64) -> f64| Judgement::below(&better.map(of), &[of(single); 3]);
    Conclusion {
        said: "pipelining, batching and structure make the network matter less than stop-and-wait (Table 5-1)",
        by_sensitivity: compare(&|ratio| (ratio - 1.0) / (step - 1.0)),
        by_elasticity: compare(&|ratio| ratio.ln() / step.ln()),
        by_variance: compare(&|ratio| log_variance(&[1.0, ratio])),
    }
}

/// Mean square distance of the logarithms from their mean.
fn log_variance(rates: &[f64]) -> f64 {
    let mean = rates.iter().map(|rate| rate.ln()).sum::<f64>() / rates.len() as f64;
    rates.iter().map(|rate| (rate.ln() - mean).powi(2)).sum::<f64>() / rates.len() as f64
}
