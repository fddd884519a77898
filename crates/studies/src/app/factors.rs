//! Factors of two levels each, tried together: which of them matters most to an application on
//! another host?
//!
//! Lantz, Nowicki and Theimer (1985) changed one thing at a time, and compared sensitivities, which
//! only factors with a scale have. A factorial design changes all of them together; the share of
//! the variance of the logarithm of the rate that a factor makes over a stated range ranks every
//! factor, and shows which of them need each other.

use std::fmt::Display;

use btu_stats::Factorial;
use btu_units::{BitRate, Span};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{AppCell, Broadcasts, Carrier, Protocol, Speed, Workload};
use btu_contract::network::HostName;

/// One factor with its two levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "factor", rename_all = "kebab-case")]
pub enum Factor {
    /// The speed of the display's processor.
    Display {
        /// The first level of the factor.
        #[serde(rename = "low_percent")]
        low: Speed,
        /// The second level of the factor.
        #[serde(rename = "high_percent")]
        high: Speed,
    },
    /// The speed of the application's processor.
    Application {
        /// The first level of the factor.
        #[serde(rename = "low_percent")]
        low: Speed,
        /// The second level of the factor.
        #[serde(rename = "high_percent")]
        high: Speed,
    },
    /// The protocol: which end waits for which.
    Protocol {
        /// The first level of the factor.
        low: Protocol,
        /// The second level of the factor.
        high: Protocol,
    },
    /// The carrier of the requests.
    Transport {
        /// The first level of the factor.
        low: Carrier,
        /// The second level of the factor.
        high: Carrier,
    },
    /// The rate of the line.
    Rate {
        /// The first level of the factor.
        #[serde(rename = "low_bits_per_second")]
        low: BitRate,
        /// The second level of the factor.
        #[serde(rename = "high_bits_per_second")]
        high: BitRate,
    },
    /// The one-way delay of the line.
    Delay {
        /// The first level of the factor.
        #[serde(rename = "low_ns")]
        low: Span,
        /// The second level of the factor.
        #[serde(rename = "high_ns")]
        high: Span,
    },
    /// Broadcasts of another station, which every host must receive and discard.
    Broadcasts {
        /// The first level of the factor.
        #[serde(rename = "low_per_second")]
        low: Broadcasts,
        /// The second level of the factor.
        #[serde(rename = "high_per_second")]
        high: Broadcasts,
    },
    /// The factor is the picture that is drawn.
    Picture {
        /// The first level of the factor.
        low: Workload,
        /// The second level of the factor.
        high: Workload,
    },
}

/// A text that names no factor, or no two levels of it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FactorError {
    /// There is no such factor.
    #[error(
        "there is no factor `{0}`; there are display, application, protocol, transport, rate, delay, broadcasts, picture"
    )]
    Unknown(String),
    /// The levels are not two, or one of them is not a level of this factor.
    #[error("factor {factor}: {problem}; write {factor}={example}")]
    Levels {
        /// The name of the factor.
        factor: &'static str,
        /// The description of the mistake.
        problem: String,
        /// Two levels that may be written.
        example: String,
    },
}

impl Factor {
    /// The six of the study, with levels that lie a factor of two to ten apart.
    pub const USUAL: [Self; 6] = [
        Self::DISPLAY,
        Self::APPLICATION,
        Self::PROTOCOL,
        Self::TRANSPORT,
        Self::RATE,
        Self::DELAY,
    ];

    const DISPLAY: Self = Self::Display { low: Speed::HALF, high: Speed::FULL };
    const APPLICATION: Self = Self::Application { low: Speed::HALF, high: Speed::FULL };
    const PROTOCOL: Self = Self::Protocol { low: Protocol::StopAndWait, high: Protocol::Batched };
    const TRANSPORT: Self = Self::Transport { low: Carrier::Tcp, high: Carrier::Quic };
    const RATE: Self = Self::Rate {
        low: BitRate::from_megabits_per_second(1),
        high: BitRate::from_megabits_per_second(10),
    };
    const DELAY: Self =
        Self::Delay { low: Span::from_milliseconds(5), high: Span::from_milliseconds(50) };
    const BROADCASTS: Self = Self::Broadcasts { low: Broadcasts::NONE, high: Broadcasts::THOUSAND };
    const PICTURE: Self =
        Self::Picture { low: Workload::Rectangles, high: Workload::StructuredRectangles };

    const ALL: [Self; 8] = [
        Self::DISPLAY,
        Self::APPLICATION,
        Self::PROTOCOL,
        Self::TRANSPORT,
        Self::RATE,
        Self::DELAY,
        Self::BROADCASTS,
        Self::PICTURE,
    ];

    /// The name on command lines and in results.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Display { .. } => "display",
            Self::Application { .. } => "application",
            Self::Protocol { .. } => "protocol",
            Self::Transport { .. } => "transport",
            Self::Rate { .. } => "rate",
            Self::Delay { .. } => "delay",
            Self::Broadcasts { .. } => "broadcasts",
            Self::Picture { .. } => "picture",
        }
    }

    /// Both levels as users write them.
    pub fn levels(&self) -> [String; 2] {
        match *self {
            Self::Display { low, high } | Self::Application { low, high } => texts(low, high),
            Self::Protocol { low, high } => texts(low, high),
            Self::Transport { low, high } => texts(low, high),
            Self::Rate { low, high } => texts(low, high),
            Self::Delay { low, high } => texts(low, high),
            Self::Broadcasts { low, high } => texts(low, high),
            Self::Picture { low, high } => texts(low, high),
        }
    }

    /// The second level over the first; `None` if levels have no scale, or the first is zero.
    pub fn ratio(&self) -> Option<f64> {
        let ratio = match *self {
            Self::Display { low, high } | Self::Application { low, high } => {
                high.share() / low.share()
            }
            Self::Rate { low, high } => {
                high.bits_per_second() as f64 / low.bits_per_second() as f64
            }
            Self::Delay { low, high } => high.seconds() / low.seconds(),
            Self::Broadcasts { low, high } => {
                f64::from(high.per_second()) / f64::from(low.per_second())
            }
            Self::Protocol { .. } | Self::Transport { .. } | Self::Picture { .. } => return None,
        };
        Some(ratio).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
    }

    /// The factor that a text names, with its usual levels or with those behind `=`: `delay`,
    /// `delay=5 ms..50 ms`.
    ///
    /// # Errors
    /// Says what may be written.
    pub fn parse(text: &str) -> Result<Self, FactorError> {
        let (name, levels) =
            text.split_once('=').map_or((text, None), |(name, levels)| (name, Some(levels)));
        let usual = Self::ALL.into_iter().find(|factor| factor.name() == name.trim());
        let usual = usual.ok_or_else(|| FactorError::Unknown(name.trim().to_owned()))?;
        levels.map_or(Ok(usual), |levels| usual.with_levels(levels))
    }

    fn with_levels(self, text: &str) -> Result<Self, FactorError> {
        let error = |problem: String| {
            let example = self.levels().join("..");
            FactorError::Levels { factor: self.name(), problem, example }
        };
        let (low, high) =
            text.split_once("..").ok_or_else(|| error(format!("`{text}` has not two levels")))?;
        let (low, high) = (low.trim(), high.trim());
        let found = match self {
            Self::Display { .. } => {
                both(low, high, str::parse).map(|(low, high)| Self::Display { low, high })
            }
            Self::Application { .. } => {
                both(low, high, str::parse).map(|(low, high)| Self::Application { low, high })
            }
            Self::Protocol { .. } => {
                both(low, high, str::parse).map(|(low, high)| Self::Protocol { low, high })
            }
            Self::Transport { .. } => {
                both(low, high, Carrier::named).map(|(low, high)| Self::Transport { low, high })
            }
            Self::Rate { .. } => {
                both(low, high, str::parse).map(|(low, high)| Self::Rate { low, high })
            }
            Self::Delay { .. } => {
                both(low, high, str::parse).map(|(low, high)| Self::Delay { low, high })
            }
            Self::Broadcasts { .. } => {
                both(low, high, str::parse).map(|(low, high)| Self::Broadcasts { low, high })
            }
            Self::Picture { .. } => {
                both(low, high, Workload::named).map(|(low, high)| Self::Picture { low, high })
            }
        };
        let found = found.map_err(error)?;
        let [low, high] = found.levels();
        if low == high { Err(error(format!("both levels are {low}"))) } else { Ok(found) }
    }
}

fn texts<T: Display>(low: T, high: T) -> [String; 2] {
    [low.to_string(), high.to_string()]
}

fn both<T, E: Display>(
    low: &str,
    high: &str,
    read: impl Fn(&str) -> Result<T, E>,
) -> Result<(T, T), String> {
    let read = |text| read(text).map_err(|error| error.to_string());
    Ok((read(low)?, read(high)?))
}

/// The factors of an experiment, each once, with two to eight of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Factor>", into = "Vec<Factor>")]
pub struct Factors(Vec<Factor>);

/// Why factors make no experiment.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FactorsError {
    /// There is one only, or none.
    #[error("an experiment has two factors at least, each once")]
    Few,
    /// One of them is there twice.
    #[error("factor {0} is there twice")]
    Twice(&'static str),
    /// A transport cannot carry a protocol that it is combined with.
    #[error("{carrier} does not carry {protocol}; choose levels that all go together")]
    NotCarried {
        /// The transport of the requests.
        carrier: Carrier,
        /// The protocol of the requests.
        protocol: Protocol,
    },
    /// A transport whose display is not btu's own.
    #[error(
        "{0} is not a level: its display is an X server, and its requests are others; name other transports"
    )]
    NoLevel(Carrier),
}

impl TryFrom<Vec<Factor>> for Factors {
    type Error = FactorsError;

    fn try_from(factors: Vec<Factor>) -> Result<Self, FactorsError> {
        if factors.len() < 2 {
            return Err(FactorsError::Few);
        }
        let again = |(place, factor): (usize, &Factor)| {
            factors[..place].iter().any(|one| one.name() == factor.name())
        };
        match factors.iter().enumerate().find(|one| again(*one)) {
            Some((_, factor)) => Err(FactorsError::Twice(factor.name())),
            None => Ok(Self(factors)),
        }
    }
}

impl From<Factors> for Vec<Factor> {
    fn from(factors: Factors) -> Self {
        factors.0
    }
}

/// From so many factors on half of all combinations is tried: only interactions of many factors are
/// mixed up by that.
const HALF_FROM: usize = 5;

impl Factors {
    /// The six of the study.
    pub fn usual() -> Self {
        Self(Factor::USUAL.to_vec())
    }

    /// All of them, in the order in which they were named.
    pub fn list(&self) -> &[Factor] {
        &self.0
    }

    /// The runs: all combinations of up to four factors, half of those of more.
    pub fn design(&self) -> Option<Factorial> {
        let count = self.0.len();
        if count < HALF_FROM { Factorial::full(&vec![2; count]) } else { Factorial::half(count) }
    }

    /// The cell of each run: settings without a factor are as in `base`.
    pub fn cells(&self, base: &AppCell) -> Vec<AppCell> {
        let design = self.design();
        let runs = design.iter().flat_map(Factorial::runs);
        runs.map(|run| self.cell(base, run)).collect()
    }

    fn cell(&self, base: &AppCell, run: &[usize]) -> AppCell {
        let mut cell = base.clone();
        for (factor, &level) in self.0.iter().zip(run) {
            factor.set(level, &mut cell);
        }
        cell.display = self.line(run).or(cell.display);
        cell
    }

    /// The display behind the line of a run.
    fn line(&self, run: &[usize]) -> Option<HostName> {
        let level =
            |wanted: fn(&Factor) -> bool| self.0.iter().zip(run).find(|(factor, _)| wanted(factor));
        let rate = level(|factor| matches!(factor, Factor::Rate { .. })).map(|(_, &level)| level);
        let delay = level(|factor| matches!(factor, Factor::Delay { .. })).map(|(_, &level)| level);
        line_name(rate, delay)
    }

    /// Displays behind lines with every combination of the factors' rates and delays, and the
    /// network file that has them; `None` if neither is a factor. A line has `rate` and `delay` if
    /// they are not factors.
    pub fn lines(&self, rate: BitRate, delay: Span) -> Option<DisplayLines> {
        let rates = self.0.iter().find_map(|factor| match *factor {
            Factor::Rate { low, high } => Some(vec![(Some(0), low), (Some(1), high)]),
            _ => None,
        });
        let delays = self.0.iter().find_map(|factor| match *factor {
            Factor::Delay { low, high } => Some(vec![(Some(0), low), (Some(1), high)]),
            _ => None,
        });
        if rates.is_none() && delays.is_none() {
            return None;
        }
        let (rates, delays) =
            (rates.unwrap_or(vec![(None, rate)]), delays.unwrap_or(vec![(None, delay)]));
        let pairs = rates.iter().flat_map(|rate| delays.iter().map(move |delay| (rate, delay)));
        let lines = pairs.filter_map(|(rate, delay)| {
            Some(DisplayLine { display: line_name(rate.0, delay.0)?, rate: rate.1, delay: delay.1 })
        });
        Some(DisplayLines { lines: lines.collect(), broadcasts: false })
    }

    /// Every transport with every protocol that it is combined with.
    ///
    /// # Errors
    /// Names the first pair that cannot be.
    pub fn check(&self, base: &AppCell) -> Result<(), FactorsError> {
        let cannot = |cell: &AppCell| cell.carrier.is_x11() || !cell.carrier.carries(cell.protocol);
        match self.cells(base).into_iter().find(cannot) {
            Some(AppCell { carrier, .. }) if carrier.is_x11() => {
                Err(FactorsError::NoLevel(carrier))
            }
            Some(AppCell { carrier, protocol, .. }) => {
                Err(FactorsError::NotCarried { carrier, protocol })
            }
            None => Ok(()),
        }
    }
}

impl Factor {
    fn set(&self, level: usize, cell: &mut AppCell) {
        match *self {
            Self::Display { low, high } => cell.speeds.display = chosen(level, low, high),
            Self::Application { low, high } => cell.speeds.application = chosen(level, low, high),
            Self::Protocol { low, high } => cell.protocol = chosen(level, low, high),
            Self::Transport { low, high } => cell.carrier = chosen(level, low, high),
            Self::Broadcasts { low, high } => cell.broadcasts = chosen(level, low, high),
            Self::Picture { low, high } => cell.workload = chosen(level, low, high),
            // Together they choose the display.
            Self::Rate { .. } | Self::Delay { .. } => {}
        }
    }
}

fn chosen<T>(level: usize, low: T, high: T) -> T {
    if level == 0 { low } else { high }
}

/// The name of the display behind a line.
fn line_name(rate: Option<usize>, delay: Option<usize>) -> Option<HostName> {
    let words = [
        rate.map(|level| ["rate-low", "rate-high"][level]),
        delay.map(|level| ["delay-low", "delay-high"][level]),
    ];
    let name = words.into_iter().flatten().collect::<Vec<_>>().join("-");
    HostName::try_from(name.as_str()).ok()
}

/// Lines from one application, each to a display of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisplayLines {
    lines: Vec<DisplayLine>,
    /// Whether a further station at the switch sends broadcasts.
    broadcasts: bool,
}

/// A line with the display at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisplayLine {
    /// The station on which the display runs.
    pub display: HostName,
    /// The rate of the line.
    pub rate: BitRate,
    /// From one end to the other.
    pub delay: Span,
}

impl DisplayLines {
    /// The station that draws.
    pub const APPLICATION: &'static str = "application";

    /// The station that sends broadcasts.
    pub const BROADCASTER: &'static str = "broadcaster";

    /// A single line to a display of that name.
    pub fn one(rate: BitRate, delay: Span) -> Option<Self> {
        let display = HostName::try_from("display").ok()?;
        Some(Self { lines: vec![DisplayLine { display, rate, delay }], broadcasts: false })
    }

    /// With a further station at the switch if that is to send broadcasts.
    #[must_use]
    pub fn with_broadcasts(self, broadcasts: bool) -> Self {
        Self { broadcasts, ..self }
    }

    /// The stations at the lines' ends.
    pub fn displays(&self) -> Vec<HostName> {
        self.lines.iter().map(|line| line.display.clone()).collect()
    }

    /// As a network file: the application at a switch, and from there a line to each display, as in
    /// the library's `path`.
    pub fn text(&self) -> String {
        let head = format!(
            "name = \"lines\"\nabout = \"An application, and lines to {} displays\"\n\n[stations.{application}]\n\
             [bridges.switch]\n[links.computer-room]\nbetween = [\"{application}\", \"switch\"]\nrate = \"100 Gb/s\"\n",
            self.lines.len(),
            application = Self::APPLICATION
        );
        let lines = self.lines.iter().map(|DisplayLine { display, rate, delay }| {
            let (bits, nanoseconds) = (rate.bits_per_second(), delay.nanoseconds());
            format!(
                "\n[stations.{display}]\n[links.to-{display}]\nbetween = [\"switch\", \"{display}\"]\n\
                 rate = \"{bits} b/s\"\ndelay = \"{nanoseconds} ns\"\n"
            )
        });
        let broadcaster = self.broadcasts.then(|| {
            format!(
                "\n[stations.{name}]\n[links.to-{name}]\nbetween = [\"{name}\", \"switch\"]\nrate = \"100 Gb/s\"\n",
                name = Self::BROADCASTER
            )
        });
        std::iter::once(head).chain(lines).chain(broadcaster).collect()
    }
}

#[cfg(test)]
mod tests {
    use btu_network::Reader;

    use super::*;

    fn base() -> AppCell {
        AppCell::new(Workload::StructuredRectangles, Protocol::StopAndWait, Carrier::Tcp)
    }

    #[test]
    fn six_factors_are_tried_in_half_of_their_combinations() {
        let factors = Factors::usual();
        let cells = factors.cells(&base());
        let names: std::collections::BTreeSet<String> =
            cells.iter().map(ToString::to_string).collect();
        assert_eq!((cells.len(), names.len()), (32, 32));
        assert!(
            names.contains("structured-rectangles stop-and-wait tcp at rate-low-delay-low application 50% display 50%")
        );
        assert_eq!(factors.check(&base()), Ok(()));
        let text = factors.lines(BitRate::from_megabits_per_second(1), Span::ZERO).unwrap().text();
        let drawing = Reader::new("lines").read(&text).unwrap();
        assert_eq!(drawing.stations.len(), 5, "{text}");
        let polluted = DisplayLines::one(BitRate::from_megabits_per_second(1), Span::ZERO).unwrap();
        let text = polluted.with_broadcasts(true).text();
        assert_eq!(Reader::new("lines").read(&text).unwrap().stations.len(), 3, "{text}");
        assert!(
            cells.iter().all(|cell| drawing
                .station_called(cell.display.as_ref().unwrap().as_str())
                .is_some())
        );
    }

    #[test]
    fn factors_are_read_with_their_levels() {
        let parse = |text: &str| Factor::parse(text).map(|factor| factor.levels().join(" "));
        assert_eq!(parse("delay").unwrap(), "5 ms 50 ms");
        assert_eq!(parse("delay=1 ms..0.3 s").unwrap(), "1 ms 300 ms");
        assert_eq!(parse("rate=9600 b/s .. 100 Mb/s").unwrap(), "9.6 kb/s 100 Mb/s");
        assert_eq!(parse("display=20%..80%").unwrap(), "20% 80%");
        assert_eq!(parse("protocol=window-4..pipelined").unwrap(), "window-4 pipelined");
        assert_eq!(parse("broadcasts").unwrap(), "0/s 1000/s");
        assert_eq!(parse("broadcasts=10/s..500/s").unwrap(), "10/s 500/s");
        assert_eq!(parse("picture=text..vectors").unwrap(), "text vectors");
        for (text, reason) in [
            ("colour", "there is no factor `colour`"),
            ("delay=1 ms", "has not two levels"),
            ("delay=1 ms..1 ms", "both levels are 1 ms"),
            ("rate=1 MB/s..2 Mb/s", "write rate=1 Mb/s..10 Mb/s"),
            ("broadcasts=1..2/s", "write broadcasts=0/s..1000/s"),
            ("transport=tcp..pigeons", "there is no transport `pigeons`"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(reason) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn factors_that_do_not_go_together_are_refused() {
        let factors = |list: &[&str]| {
            let list: Vec<Factor> = list.iter().map(|text| Factor::parse(text).unwrap()).collect();
            Factors::try_from(list).map(|factors| factors.check(&base()))
        };
        assert_eq!(factors(&["rate"]), Err(FactorsError::Few));
        assert_eq!(
            factors(&["rate", "delay", "rate=1 kb/s..2 kb/s"]),
            Err(FactorsError::Twice("rate"))
        );
        let udp = factors(&["protocol", "transport=tcp..udp"]).unwrap().unwrap_err().to_string();
        assert_eq!(udp, "udp does not carry batched; choose levels that all go together");
    }

    #[test]
    fn stored_factors_are_those_that_were_asked_for() {
        let text = serde_json::to_string(&Factors::usual()).unwrap();
        assert!(
            text.contains(r#"{"factor":"delay","low_ns":5000000,"high_ns":50000000}"#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Factors>(&text).unwrap(), Factors::usual());
        assert!(serde_json::from_str::<Factors>("[]").is_err());
    }
}
