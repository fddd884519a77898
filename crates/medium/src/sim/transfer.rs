//! One transfer over a drawing's fabric, from its beginning to its end.

use btu_network::Drawing;
use btu_units::{Span, Time};

use super::run::{Run, SimulationError, seed_of};
use super::tcp::{SimulatedConnection, TcpTransfer};

/// Times of a transfer since it began.
#[derive(Debug, Clone, Copy)]
pub struct TransferTimes {
    /// Until half of the segments had arrived.
    pub half: Span,
    /// Until all had.
    pub all: Span,
}

/// Replication `number` of a transfer; `None` if it did not end in time.
///
/// # Errors
/// A network that cannot be built.
pub fn transfer(
    drawing: &Drawing,
    asked: &TcpTransfer,
    seed: u64,
    number: u32,
) -> Result<Option<TransferTimes>, SimulationError> {
    const STEP: Span = Span::from_milliseconds(100);
    let mut run = Run::new(drawing, seed_of(seed, number))?;
    let mut at = Time::ZERO + asked.begin;
    run.go_on(at);
    run.connect(SimulatedConnection::new(asked), at);
    while run.connection().is_some_and(|one| one.times[1].is_none()) && at < Time::ZERO + asked.end
    {
        at += STEP;
        run.go_on(at);
    }
    let since = |time: Time| time.since(Time::ZERO + asked.begin);
    let times = run.connection().and_then(|one| Some([one.times[0]?, one.times[1]?]));
    Ok(times.map(|[half, all]| TransferTimes { half: since(half), all: since(all) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line with two silent flows, and more.
    fn seconds(line: &str, segments: u32, number: u32) -> f64 {
        let text = format!(
            "[stations.a]\n[stations.b]\n[links.l]\nbetween = [\"a\", \"b\"]\n{line}\n\
             [traffic.data]\nfrom = \"a\"\nto = \"b\"\npackets_per_s = 1\nstart = \"100000 s\"\n\
             [traffic.answers]\nfrom = \"b\"\nto = \"a\"\nsize = \"70 B\"\npackets_per_s = 1\nstart = \"100000 s\"\n"
        );
        let drawing = Drawing::read(&text, "line").unwrap_or_else(|error| panic!("{error}"));
        let (begin, end) = (Span::ZERO, Span::from_seconds(10_000));
        let asked = TcpTransfer { segments, window: f64::INFINITY, begin, end };
        let times = transfer(&drawing, &asked, 1, number).unwrap().expect("it ends");
        assert!(times.half < times.all);
        times.all.seconds()
    }

    fn near(seconds: f64, expected: f64, tolerance: f64) {
        assert!((seconds / expected - 1.0).abs() < tolerance, "{seconds}, not {expected}");
    }

    /// 812.7 full frames a second; a handshake and four windows of 40 ms come before. A short transfer
    /// may wait for a delayed acknowledgement.
    #[test]
    fn a_line_is_full_once_it_has_its_speed() {
        near(seconds("rate = \"10 Mb/s\"\ndelay = \"5 ms\"", 8127, 0), 10.0, 0.01);
        near(seconds("rate = \"10 Mb/s\"\ndelay = \"20 ms\"", 8127, 0), 10.1, 0.01);
        near(seconds("rate = \"1 Gb/s\"\ndelay = \"50 ms\"", 70, 0), 0.371, 0.06);
    }

    /// 13,812 segments: 4064 in five seconds, the others at 81.27 a second.
    #[test]
    fn a_line_that_changes() {
        let change = "rate = \"10 Mb/s\"\ndelay = \"5 ms\"\n[[links.l.changes]]\nat = \"5 s\"\nway = \"both\"\nrate = \"1 Mb/s\"";
        near(seconds(change, 13_812, 0), 124.9, 0.01);
    }

    /// The square-root law for losses one by one, less what slow start carries before the first of
    /// them, and within what some 28 losses leave to chance; and what bursts do: losses in bursts of
    /// ten are a tenth of the halvings.
    #[test]
    fn losses_halve_the_window_once_a_burst() {
        let mean = |loss: &str| {
            let line = format!(
                "rate = \"1 Gb/s\"\ndelay = \"25 ms\"\nqueue = \"2000 frames\"\nloss = {loss}"
            );
            (0..5).map(|number| seconds(&line, 14_000, number)).sum::<f64>() / 5.0
        };
        let single = mean("\"0.2 %\"");
        let law = 14_000.0 / ((1.5_f64 / 0.002).sqrt() / 0.05);
        near(single, law, 0.35);
        let bursts = mean("{ p = \"0.02 %\", r = \"10 %\", bad = \"100 %\" }");
        assert!(bursts < 0.6 * single, "{bursts} s in bursts, {single} s one by one");
    }

    /// A line that is silent for a second loses nothing: the timer is taken back, and the window is
    /// what it was.
    #[test]
    fn a_timer_that_was_too_early_is_taken_back() {
        let each = (1..=3000).filter(|ms| !(1000..2000).contains(ms)).map(|ms| ms.to_string());
        let line = format!("trace = [{}]\ndelay = \"10 ms\"", each.collect::<Vec<_>>().join(", "));
        near(seconds(&line, 1950, 0), 3.0, 0.03);
    }
}
