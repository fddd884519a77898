//! The measured values: a time, a rate of a host or of the network, or a number that a program
//! printed.

use serde::{Deserialize, Serialize};

use super::pattern::Pattern;
use super::row::{RunRow, program};
use btu_contract::experiment::Observation;
use btu_contract::program::{Printed, ProgramReport};
use btu_contract::record::{Outcome, Report};

/// A value of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// The user's name for it.
    pub name: String,
    /// Of which measured program or activity.
    pub of: String,
    /// The quantity that is measured, and where it comes from.
    pub what: What,
    /// The unit of the value, as text.
    pub unit: String,
    /// The better direction.
    pub better: Better,
}

/// The better direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Less is better, as of times.
    Lower,
    /// More is better, as of rates.
    Higher,
}

/// One of a program's streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    /// The program's standard output.
    Output,
    /// The program's standard error.
    Errors,
}

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum What {
    /// From start to end, in seconds: of a stream from the start to the last byte at the receiver.
    Elapsed,
    /// Processor time of a program with its processes, in seconds.
    Cpu,
    /// Most memory that one of its processes had, in bytes.
    Memory,
    /// Context switches, voluntary and involuntary.
    Switches,
    /// Payload that arrived over time, in bits per second.
    Goodput,
    /// Median round trip of requests, in seconds.
    RoundTrip,
    /// 99 of 100 requests took no longer, in seconds.
    RoundTripP99,
    /// Share of requests or datagrams that were lost.
    Loss,
    /// The first group of a regular expression, or all of its match where it has no group: the last
    /// match of the last line that has one.
    Pattern {
        /// The regular expression.
        pattern: Pattern,
        /// The place of the search.
        stream: Stream,
    },
    /// A number in JSON.
    Pointer {
        /// Its JSON pointer (RFC 6901).
        pointer: String,
        /// The place of the JSON.
        stream: Stream,
    },
    /// A number in a table of comma-separated values.
    Column {
        /// The column's name in the first line, or its number from 1.
        column: String,
        /// The text in the first column of its line; `None` means the last line.
        row: Option<String>,
        /// The place of the table.
        stream: Stream,
    },
}

impl What {
    /// Its unit and the better direction, if they are implied.
    pub fn usual(&self) -> Option<(&'static str, Better)> {
        match self {
            Self::Elapsed | Self::Cpu | Self::RoundTrip | Self::RoundTripP99 => {
                Some(("s", Better::Lower))
            }
            Self::Memory => Some(("B", Better::Lower)),
            Self::Switches => Some(("switches", Better::Lower)),
            Self::Goodput => Some(("b/s", Better::Higher)),
            Self::Loss => Some(("share", Better::Lower)),
            Self::Pattern { .. } | Self::Pointer { .. } | Self::Column { .. } => None,
        }
    }

    /// Whether it is looked for in what a program printed.
    pub(super) const fn is_printed(&self) -> bool {
        matches!(self, Self::Pattern { .. } | Self::Pointer { .. } | Self::Column { .. })
    }

    /// Whether programs have it.
    pub(crate) const fn is_of_programs(&self) -> bool {
        !matches!(self, Self::Goodput | Self::RoundTrip | Self::RoundTripP99 | Self::Loss)
    }

    /// Whether btu's activities have it.
    pub(crate) const fn is_of_activities(&self) -> bool {
        matches!(
            self,
            Self::Elapsed
                | Self::Cpu
                | Self::Goodput
                | Self::RoundTrip
                | Self::RoundTripP99
                | Self::Loss
        )
    }
}

impl Value {
    /// The value in what was seen of a row's cell.
    ///
    /// # Errors
    /// Why there is none, in a sentence.
    pub(super) fn found(&self, row: &RunRow, seen: &Observation) -> Result<f64, String> {
        if let Some(number) = seen.values.get(&self.name).filter(|_| self.what.is_printed()) {
            return Ok(*number);
        }
        let number = match program(&self.of, seen) {
            Some(program) => self.of_program(program),
            None => self.of_activity(row, seen),
        };
        let number = number.map_err(|why| format!("{}: {why}", self.name))?;
        if number.is_finite() {
            Ok(number)
        } else {
            Err(format!("{}: {number} is not a number to work with", self.name))
        }
    }

    /// The number of round trips that the value is a quantile of, if it is one.
    pub(super) fn samples(&self, row: &RunRow, seen: &Observation) -> Option<u64> {
        if !matches!(self.what, What::RoundTrip | What::RoundTripP99) {
            return None;
        }
        match &row.reports(&self.of, seen).last()?.result.as_ref().ok()?.outcome {
            Outcome::Requested(requested) => Some(requested.samples()),
            _ => None,
        }
    }

    fn of_program(&self, program: &ProgramReport) -> Result<f64, String> {
        let ended = &program.ended;
        let printed = |stream: &Stream| match stream {
            Stream::Output => &ended.output,
            Stream::Errors => &ended.errors,
        };
        match &self.what {
            What::Elapsed => Ok(ended.elapsed().seconds()),
            What::Cpu => Ok(ended.cpu.used().seconds()),
            What::Memory => Ok(ended.peak_memory.count() as f64),
            What::Switches => Ok((ended.voluntary_switches + ended.involuntary_switches) as f64),
            What::Pattern { pattern, stream } => by_pattern(pattern, printed(stream)),
            What::Pointer { pointer, stream } => by_pointer(pointer, printed(stream)),
            What::Column { column, row, stream } => {
                by_column(column, row.as_deref(), printed(stream))
            }
            What::Goodput | What::RoundTrip | What::RoundTripP99 | What::Loss => {
                Err(format!("{} is a program, which has no such value", program.name))
            }
        }
    }

    fn of_activity(&self, row: &RunRow, seen: &Observation) -> Result<f64, String> {
        let reports = row.reports(&self.of, seen).iter();
        let reports: Vec<&Report> =
            reports.filter_map(|placed| placed.result.as_ref().ok()).collect();
        let here = reports.last().ok_or_else(|| format!("there is no account of {}", self.of))?;
        let there = reports.first().filter(|_| reports.len() > 1);
        let found = match (&self.what, &here.outcome, there.map(|report| &report.outcome)) {
            (What::Elapsed, Outcome::Sent(_), Some(Outcome::Received(received))) => {
                Some(received.last_byte.seconds())
            }
            (What::Elapsed, _, _) => Some(here.duration().seconds()),
            (What::Cpu, _, _) => Some(here.cpu.used().seconds()),
            (What::Goodput, _, Some(Outcome::Received(received))) => {
                Some(received.bytes.bits() / received.last_byte.seconds())
            }
            (What::Goodput, _, Some(Outcome::DatagramsReceived(received))) => {
                Some(received.bytes.bits() / received.span.seconds())
            }
            (What::Goodput, Outcome::Host(host), _) => {
                Some(host.work as f64 * 8.0 / here.duration().seconds())
            }
            (What::RoundTrip, Outcome::Requested(requested), _) => {
                quantile(&requested.round_trip, 0.5)
            }
            (What::RoundTripP99, Outcome::Requested(requested), _) => {
                quantile(&requested.round_trip, 0.99)
            }
            (What::Loss, Outcome::Requested(requested), _) => {
                Some(requested.lost as f64 / requested.requests as f64)
            }
            (
                What::Loss,
                Outcome::DatagramsSent(sent),
                Some(Outcome::DatagramsReceived(received)),
            ) => Some(1.0 - received.datagrams as f64 / sent.datagrams as f64),
            _ => None,
        };
        found.ok_or_else(|| format!("{} has no such value", self.of))
    }
}

fn quantile(histogram: &btu_stats::Histogram, share: f64) -> Option<f64> {
    histogram.quantile(share).map(|nanoseconds| nanoseconds as f64 * 1e-9)
}

fn by_pattern(pattern: &Pattern, printed: &Printed) -> Result<f64, String> {
    let missing =
        || format!("`{}` matches nothing that was printed{}", pattern.as_str(), said(printed));
    number(pattern.last_in(&printed.text)?.ok_or_else(missing)?)
}

fn by_pointer(pointer: &str, printed: &Printed) -> Result<f64, String> {
    if !printed.is_whole() {
        let (all, kept) = (printed.all, btu_contract::program::KEPT);
        return Err(format!(
            "it printed {all} B, of which {kept} B are kept: too much for a JSON pointer"
        ));
    }
    let document: serde_json::Value = serde_json::from_str(&printed.text)
        .map_err(|error| format!("it printed no JSON ({error}){}", said(printed)))?;
    match document.pointer(pointer) {
        None => Err(format!("its output has nothing at `{pointer}`")),
        Some(serde_json::Value::String(text)) => number(text),
        Some(value) => {
            value.as_f64().ok_or_else(|| format!("its output has no number at `{pointer}`"))
        }
    }
}

fn by_column(column: &str, row: Option<&str>, printed: &Printed) -> Result<f64, String> {
    let lines: Vec<Vec<String>> =
        printed.text.lines().filter(|line| !line.trim().is_empty()).map(fields).collect();
    let missing = || format!("its output has no column `{column}`{}", said(printed));
    let head = lines.first().ok_or_else(missing)?;
    let by_name = head.iter().position(|name| name == column);
    let place =
        by_name.or_else(|| column.parse::<usize>().ok()?.checked_sub(1)).ok_or_else(missing)?;
    let mut body = lines.iter().skip(usize::from(by_name.is_some()));
    let line = match row {
        None => body.next_back(),
        Some(row) => body.rfind(|line| line.first().is_some_and(|first| first == row)),
    };
    let line =
        line.ok_or_else(|| format!("its output has no line `{}`", row.unwrap_or("with numbers")))?;
    number(line.get(place).ok_or_else(missing)?)
}

/// The fields of a line (RFC 4180, section 2); none spans lines.
fn fields(line: &str) -> Vec<String> {
    let (mut all, mut field, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => all.push(std::mem::take(&mut field).trim().to_owned()),
            _ => field.push(letter),
        }
    }
    all.push(field.trim().to_owned());
    all
}

fn number(text: &str) -> Result<f64, String> {
    let plain = text.trim().trim_end_matches('%').replace([',', '_'], "");
    plain
        .parse()
        .map_err(|_| format!("`{}` is not a number", text.chars().take(60).collect::<String>()))
}

fn said(printed: &Printed) -> String {
    match printed.last_line() {
        Some(line) => format!("; its last line: {line}"),
        None => "; it printed nothing".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn printed(text: &str) -> Printed {
        Printed { text: text.to_owned(), all: text.len() as u64 }
    }

    #[test]
    fn a_pattern_finds_the_last_match() {
        let text = printed("12.5 MB/s\n99.25 MB/s\n");
        let by =
            |pattern: &str, text: &Printed| by_pattern(&Pattern::from(pattern.to_owned()), text);
        assert_eq!(by("^([0-9.]+) MB/s$", &text), Ok(99.25));
        assert_eq!(by("[0-9]+", &printed("a 7 b")), Ok(7.0));
        let missing = by("x([0-9]+)", &text).unwrap_err();
        assert_eq!(
            missing,
            "`x([0-9]+)` matches nothing that was printed; its last line: 99.25 MB/s"
        );
    }

    #[test]
    fn a_pointer_finds_a_number_in_json() {
        let text = printed(r#"{"end": {"sum": {"bps": 9.4e6}}, "text": "12", "list": [1, 2]}"#);
        assert_eq!(by_pointer("/end/sum/bps", &text), Ok(9.4e6));
        assert_eq!(by_pointer("/text", &text), Ok(12.0));
        assert_eq!(by_pointer("/list/1", &text), Ok(2.0));
        assert!(by_pointer("/end", &text).unwrap_err().contains("no number at `/end`"));
        assert!(by_pointer("/none", &text).unwrap_err().contains("nothing at `/none`"));
        assert!(by_pointer("/a", &printed("oops")).unwrap_err().contains("no JSON"));
        let cut = Printed { text: "{}".to_owned(), all: 1 << 30 };
        assert!(by_pointer("/a", &cut).unwrap_err().contains("too much"));
    }

    #[test]
    fn a_column_is_found_by_name_or_number() {
        let table = printed(
            "\"test\",\"rps\",\"avg, ms\"\n\"SET\",\"100.5\",\"1\"\n\"GET\",\"200.5\",\"2\"\n",
        );
        assert_eq!(by_column("rps", Some("SET"), &table), Ok(100.5));
        assert_eq!(by_column("rps", None, &table), Ok(200.5));
        assert_eq!(by_column("3", Some("GET"), &table), Ok(2.0));
        assert_eq!(by_column("avg, ms", None, &table), Ok(2.0));
        assert!(by_column("none", None, &table).unwrap_err().contains("no column `none`"));
        assert!(by_column("rps", Some("DEL"), &table).unwrap_err().contains("no line `DEL`"));
        assert_eq!(by_column("1", None, &printed("7,8")), Ok(7.0));
        assert!(by_column("9", None, &printed("7,8")).is_err());
    }

    proptest! {
        #[test]
        fn nothing_printed_makes_a_reader_panic(text in "\\PC{0,80}", what in "\\PC{0,12}") {
            let printed = printed(&text);
            let _ = by_pattern(&Pattern::from(what.clone()), &printed);
            let _ = by_pointer(&what, &printed);
            let _ = by_column(&what, Some(&what), &printed);
        }
    }
}
