//! Why a cell does not count because of one of its programs, in a sentence.

use std::fmt;

use super::{Ended, Ending, Part, ProgramReport, Ready};

impl ProgramReport {
    /// Why its cell does not count; `None` if it does.
    pub fn fault(&self) -> Option<String> {
        let (name, station, elapsed) = (&self.name, &self.station, self.ended.elapsed());
        let who = format!("{name} on {station}");
        let said = self.ended.last_words();
        match (&self.ended.ending, self.part) {
            (Ending::Exited(0), Part::Measured) | (Ending::Stopped, _) => None,
            (Ending::NotStarted(why), _) => Some(format!("{who} was not started: {why}")),
            (Ending::NotReady(seen), _) => Some(format!("{who} was not ready: {seen}{said}")),
            (Ending::Deadline, _) => Some(format!(
                "{who} had not ended after {elapsed} and was ended with all its processes{said}; give it more with `deadline`"
            )),
            (Ending::Exited(code), Part::Measured) => {
                Some(format!("{who} ended with exit code {code}{said}{}", self.ended.hint()))
            }
            (Ending::Killed(signal), _) => {
                Some(format!("{who} was killed by signal {signal}{said}{}", self.ended.hint()))
            }
            (Ending::Exited(code), Part::Service | Part::Load) => Some(format!(
                "{who} ended with exit code {code} while it was needed{said}{}",
                self.ended.hint()
            )),
        }
    }
}

impl Ended {
    /// Its last output: standard error first.
    fn last_words(&self) -> String {
        let line = self.errors.last_line().or_else(|| self.output.last_line());
        line.map_or_else(String::new, |line| format!("; it said last: {line}"))
    }

    /// The most probable fix.
    fn hint(&self) -> &'static str {
        if self.directory_full {
            return "; its directory was full: give it more with `room`";
        }
        let said = self.last_words().to_lowercase();
        let speaks_of_one =
            ["terminal", "tty", "ioctl for device"].iter().any(|word| said.contains(word));
        if speaks_of_one {
            "; programs have no terminal here: run it in its batch mode"
        } else {
            ""
        }
    }
}

impl fmt::Display for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listens => f.write_str(
                "it listens on no port of TCP, nor on one of UDP below 32768; a file says otherwise when it is ready (`ready = { after = \"1 s\" }`)",
            ),
            Self::Port(port) => write!(f, "it does not listen on port {port}"),
            Self::Output(text) => write!(f, "it has not printed `{text}`"),
            Self::After(span) => write!(f, "{span} have not passed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use btu_units::{Bytes, Span, Time};

    use super::*;
    use crate::program::Printed;
    use crate::record::CpuTime;

    fn report(part: Part, ending: Ending, said: &str) -> ProgramReport {
        let printed = |text: &str| Printed { text: text.to_owned(), all: text.len() as u64 };
        let ended = Ended {
            ending,
            started: Time::from_nanoseconds(1_000_000_000),
            finished: Time::from_nanoseconds(3_000_000_000),
            cpu: CpuTime::default(),
            peak_memory: Bytes::ZERO,
            least_memory: Bytes::ZERO,
            voluntary_switches: 0,
            involuntary_switches: 0,
            output: printed(""),
            errors: printed(said),
            left_running: 0,
            unacknowledged: Bytes::ZERO,
            connections_reset: 0,
            directory_full: false,
            moments: None,
        };
        ProgramReport { name: "get".to_owned(), station: "laptop".try_into().unwrap(), part, ended }
    }

    fn fault(part: Part, ending: Ending, said: &str) -> String {
        report(part, ending, said).fault().unwrap()
    }

    #[test]
    fn what_went_well_is_no_fault() {
        for (part, ending) in
            [(Part::Measured, Ending::Exited(0)), (Part::Service, Ending::Stopped)]
        {
            assert_eq!(report(part, ending, "").fault(), None);
        }
    }

    #[test]
    fn each_fault_is_one_sentence_with_the_last_words() {
        let failed = fault(Part::Measured, Ending::Exited(7), "a\ncurl: (7) Failed to connect\n\n");
        assert_eq!(
            failed,
            "get on laptop ended with exit code 7; it said last: curl: (7) Failed to connect"
        );
        let deadline = fault(Part::Measured, Ending::Deadline, "");
        assert_eq!(
            deadline,
            "get on laptop had not ended after 2 s and was ended with all its processes; give it more with `deadline`"
        );
        let early = fault(Part::Service, Ending::Exited(0), "");
        assert_eq!(early, "get on laptop ended with exit code 0 while it was needed");
        let terminal = fault(Part::Measured, Ending::Exited(1), "the input device is not a TTY");
        assert!(
            terminal.ends_with("programs have no terminal here: run it in its batch mode"),
            "{terminal}"
        );
        let ready = fault(Part::Service, Ending::NotReady(Ready::Port(80).to_string()), "");
        assert_eq!(ready, "get on laptop was not ready: it does not listen on port 80");
        assert_eq!(Ready::Output("up".to_owned()).to_string(), "it has not printed `up`");
        assert_eq!(Ready::After(Span::from_seconds(1)).to_string(), "1 s have not passed");
    }

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        let line = Printed { text: "\u{1b}[2Jboo\n".to_owned(), all: 8 }.last_line().unwrap();
        assert_eq!(line, "?[2Jboo");
    }
}
