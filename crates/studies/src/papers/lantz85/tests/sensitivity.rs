//! The effect of a faster part: (gain in rate) / (gain in the part), by the paper's definition
//! (section 3.3), and the elasticity next to it: ln(rate after / before) / ln(part after / before).
//!
//! The two agree for small steps only. Over a large step the paper's quotient is small for any
//! rate: a rate that grows with the square root of the bandwidth has an elasticity of 0.5
//! everywhere, but over a factor of 100 a sensitivity of 0.09.

use super::super::{over_lines, printed};

/// One comparison within one table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Comparison {
    /// The number of the table in the paper.
    pub(super) table: &'static str,
    /// The part that was made faster.
    pub(super) part: &'static str,
    /// The measured rate.
    pub(super) rate: &'static str,
    /// The configuration that is compared.
    pub(super) configuration: &'static str,
    /// The rate before, per second.
    pub(super) before: f64,
    /// The rate after, per second.
    pub(super) after: f64,
    /// 1 is a gain equal to the part's own, 0 is no gain.
    pub(super) sensitivity: f64,
    /// The exponent in rate ~ part^elasticity: 1 is in proportion, 0 is no effect, over steps of
    /// any size.
    pub(super) elasticity: f64,
}

/// One part, in one table.
struct ComparedPart {
    table: &'static str,
    name: &'static str,
    ratio: f64,
    rate: &'static str,
    configurations: &'static [&'static str],
    slow: &'static str,
    fast: &'static str,
}

pub(super) const WORKSTATION: &str = "workstation, 8 to 10 MHz";
pub(super) const HOST: &str = "host, VAX 750 to 780";
const EVERYWHERE: &[&str] = &["Local", "IKP", "PUP", "E-IP", "A-IP"];
const REMOTE: &[&str] = &["IKP", "PUP", "E-IP"];

/// The parts of processors; the host's gain is the paper's own "100% increase" (section 4).
const PROCESSORS: [ComparedPart; 4] = [
    ComparedPart {
        table: "4-1",
        name: WORKSTATION,
        ratio: 1.25,
        rate: "batch",
        configurations: EVERYWHERE,
        slow: "8,780,batch",
        fast: "10,780,batch",
    },
    ComparedPart {
        table: "4-1",
        name: WORKSTATION,
        ratio: 1.25,
        rate: "text",
        configurations: EVERYWHERE,
        slow: "8,780,text",
        fast: "10,780,text",
    },
    ComparedPart {
        table: "4-2",
        name: HOST,
        ratio: 2.0,
        rate: "construction",
        configurations: REMOTE,
        slow: "10,750,construction",
        fast: "10,780,construction",
    },
    ComparedPart {
        table: "4-2",
        name: HOST,
        ratio: 2.0,
        rate: "text",
        configurations: REMOTE,
        slow: "10,750,text",
        fast: "10,780,text",
    },
];

/// The networks of Table 8-1: bits per second before and after, and the columns.
const NETWORKS: [(&str, f64, f64, &str, &str); 2] = [
    ("network, 56 kb/s to 3 Mb/s", 56e3, 3e6, "A-IP", "E3-IP"),
    ("network, 3 to 10 Mb/s", 3e6, 10e6, "E3-IP", "E10-IP"),
];

/// The pieces of Table 8-2's range of line rates, in its order.
const LINES: [&str; 4] =
    ["line, 1.2 to 2.4 kb/s", "line, 2.4 to 4.8 kb/s", "line, 4.8 to 9.6 kb/s", LINE_TO_ETHERNET];

/// From the slowest to the fastest serial line, in one step.
pub(super) const ALL_LINES: &str = "lines, 1.2 to 9.6 kb/s";

/// From the fastest serial line to the Ethernet.
pub(super) const LINE_TO_ETHERNET: &str = "line, 9.6 kb/s to 10 Mb/s";

/// Every comparison that the tables allow.
pub(super) fn all() -> Vec<Comparison> {
    let processors = PROCESSORS.iter().flat_map(|part| {
        part.configurations.iter().map(move |configuration| {
            let [before, after] =
                [part.slow, part.fast].map(|line| printed(part.table, line, configuration));
            compare(part.table, part.name, part.rate, configuration, (part.ratio, before, after))
        })
    });
    let networks = NETWORKS.iter().flat_map(|&(part, slow, fast, from, to)| {
        [("construction", "10,750,construction"), ("batch", "10,750,batch")].map(|(rate, line)| {
            let [before, after] = [from, to].map(|column| printed("8-1", line, column));
            compare("8-1", part, rate, to, (fast / slow, before, after))
        })
    });
    processors.chain(networks).chain(lines()).collect()
}

/// Table 8-2 piece by piece, and all its serial lines in one step.
fn lines() -> Vec<Comparison> {
    let mut found = Vec::new();
    for rate in ["construction", "batch", "structure"] {
        let points = over_lines(&format!("10,750,{rate}"));
        for (part, pair) in LINES.into_iter().zip(points.windows(2)) {
            let ratio = pair[1].0 / pair[0].0;
            found.push(compare("8-2", part, rate, "point to point", (ratio, pair[0].1, pair[1].1)));
        }
        if let [slowest, .., fastest, _] = points[..] {
            let (ratio, before, after) = (fastest.0 / slowest.0, slowest.1, fastest.1);
            found.push(compare("8-2", ALL_LINES, rate, "point to point", (ratio, before, after)));
        }
    }
    found
}

fn compare(
    table: &'static str,
    part: &'static str,
    rate: &'static str,
    configuration: &'static str,
    (part_ratio, before, after): (f64, f64, f64),
) -> Comparison {
    let sensitivity = (after / before - 1.0) / (part_ratio - 1.0);
    let elasticity = (after / before).ln() / part_ratio.ln();
    Comparison { table, part, rate, configuration, before, after, sensitivity, elasticity }
}
