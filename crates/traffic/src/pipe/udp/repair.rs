//! The reaction of an end to silence, and to repeated datagrams.

use std::io::{self, ErrorKind};
use std::time::Duration;

use btu_units::Time;

use super::super::timeout::{LONGEST_WAIT, PROBE_WAIT, Silence, TIMEOUT};
use super::{UdpPipe, post};
use crate::clock::now;
use crate::udp::header::DatagramKind;

/// So many messages in a row that come only after a repetition mean that it comes too early.
const LATE_IN_A_ROW: u32 = 3;

impl UdpPipe {
    pub(super) fn repeat(&mut self) -> io::Result<()> {
        let [last, before] = &self.last;
        if self.both_ways && !before.is_empty() {
            self.accounts.repeated += 1;
            post(self.exchange.send(before))?;
        }
        self.accounts.repeated += 1;
        post(self.exchange.send(last))
    }

    /// A message that came only after a repetition may have been lost, or late; several one after
    /// the other were late.
    pub(super) fn look_back(&mut self, silence: &Silence) -> io::Result<()> {
        self.repaired = if silence.repeated.is_some() { self.repaired + 1 } else { 0 };
        if self.repaired < LATE_IN_A_ROW {
            return Ok(());
        }
        self.repaired = 0;
        self.be_more_patient()
    }

    /// The answer had been on its way: there was no need to repeat.
    pub(super) fn be_more_patient(&mut self) -> io::Result<()> {
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
        self.exchange.wait_at_most(self.wait.min(PROBE_WAIT)).map_err(io::Error::other)
    }

    /// No datagram has arrived for the time of one call; a message of this length is due.
    pub(super) fn bear_silence(&mut self, silence: &mut Silence, length: usize) -> io::Result<()> {
        if !self.repeat_if_due(silence, self.wait.min(PROBE_WAIT))? {
            self.exchange.say(DatagramKind::Welcome, 0).map_err(io::Error::other)?;
        }
        // The near end may send a request at any time; only the end that has sent one knows when an
        // answer is due.
        let timeout = if self.repeats { self.answers.timeout(length, self.wait) } else { TIMEOUT };
        let is_long =
            silence.since.is_some_and(|since| Duration::from(now().since(since)) > timeout);
        if is_long && !self.turns {
            let why = format!("nothing has come for {:.1} s", timeout.as_secs_f64());
            return Err(io::Error::new(ErrorKind::TimedOut, why));
        }
        Ok(())
    }

    /// The near end repeats once it has waited long enough, `already` at the first look; returns
    /// whether it did.
    pub(super) fn repeat_if_due(
        &mut self,
        silence: &mut Silence,
        already: Duration,
    ) -> io::Result<bool> {
        let now = now();
        let begin =
            || Time::from_nanoseconds(now.nanoseconds().saturating_sub(already.as_nanos() as u64));
        let since = *silence.since.get_or_insert_with(begin);
        let is_due = self.repeats
            && Duration::from(now.since(silence.repeated.unwrap_or(since))) >= self.wait;
        if is_due {
            silence.repeated = Some(now);
            self.repeat()?;
        }
        Ok(is_due)
    }
}
