//! HINT between two processes, over anything that carries bytes in order.
//!
//! A lap is work and one exchange. Each process bounds its own chunks; the far one sends its two
//! sums and the lap's number (24 bytes), the near one adds its own and sends the total back with
//! the same number. So an exchange is two messages one after the other, every lap needs the result
//! of the one before, and no message can be sent ahead or combined. The two alternate strictly,
//! also between the laps: then it goes over every transport, those that repair losses by the
//! pattern and those of requests and answers, too. The code that opens the connection turns Nagle's
//! algorithm off and sets the timeouts.

use std::io::{self, Read, Write};

use btu_contract::hint::{Bounds, Grid, HintNext, HintPlan, HintPoint, Kernel};
use btu_units::Span;

use crate::clock::now;

/// Why HINT broke off.
#[derive(Debug, thiserror::Error)]
pub enum HintError {
    /// Bytes could not be moved.
    #[error("{operation} a lap of HINT: {source}; look at the other process for the cause")]
    Move {
        /// The operation that failed.
        operation: &'static str,
        /// The reason that the system gives.
        source: io::Error,
    },
    /// The peer sent the number of another lap.
    #[error(
        "the other process of HINT answered lap {found} where lap {expected} was due; do both run the same version?"
    )]
    OutOfStep {
        /// The lap that was due.
        expected: u64,
        /// The number that the peer sent.
        found: u64,
    },
}

/// A message: two numbers of the next measurement, or a lap's number and two sums.
type HintMessage = [u64; 3];

/// Intervals and laps of the next measurement, from near to far; zero laps end the run.
const ORDER: u64 = u64::MAX;

/// Runs the plan from the near end, which measures the time. `measured` gets every point, so that
/// points are not lost when a run breaks off.
pub fn near<S: Read + Write>(
    stream: &mut S,
    plan: &HintPlan,
    measured: &mut (impl FnMut(&HintPoint) + ?Sized),
) -> Result<Vec<HintPoint>, HintError> {
    let mut end = KernelEnd::new(stream, plan, 0);
    let mut points: Vec<HintPoint> = Vec::new();
    let mut pilot = Span::ZERO;
    loop {
        match plan.next(&points, pilot) {
            HintNext::Measure { intervals, .. } if pilot == Span::ZERO => {
                end.trial(intervals, 3)?;
                pilot =
                    Span::from_nanoseconds((end.trial(intervals, 10)?.0.nanoseconds() / 10).max(1));
            }
            HintNext::Measure { intervals, laps } => {
                let point = end.point(intervals, laps, plan.trials)?;
                measured(&point);
                points.push(point);
            }
            HintNext::Done(_) => break,
        }
    }
    end.part()?;
    Ok(points)
}

/// One process does the work alone: two processes are compared with this.
pub fn alone(plan: &HintPlan, measured: &mut (impl FnMut(&HintPoint) + ?Sized)) -> Vec<HintPoint> {
    let mut kernel = Kernel::new(Grid::DOUBLE, plan.share(0), plan.most_intervals);
    let mut points: Vec<HintPoint> = Vec::new();
    let mut pilot = Span::ZERO;
    while let HintNext::Measure { intervals, laps } = plan.next(&points, pilot) {
        if pilot == Span::ZERO {
            pilot = Span::from_nanoseconds(
                (work(&mut kernel, intervals, 10).nanoseconds() / 10).max(1),
            );
            continue;
        }
        let trials = (0..plan.trials).map(|_| work(&mut kernel, intervals, laps)).collect();
        let Bounds { lower, upper } = kernel.run(intervals);
        let point = HintPoint { intervals, laps, trials, alone: Vec::new(), lower, upper };
        measured(&point);
        points.push(point);
    }
    points
}

/// The time of this number of laps by one process.
fn work(kernel: &mut Kernel, intervals: u64, laps: u64) -> Span {
    let started = now();
    for _ in 0..laps {
        std::hint::black_box(kernel.run(std::hint::black_box(intervals)));
    }
    now().since(started)
}

/// Answers the near end until it ends the run.
pub fn far<S: Read + Write>(stream: &mut S, plan: &HintPlan) -> Result<(), HintError> {
    let mut end = KernelEnd::new(stream, plan, 1);
    loop {
        let [word, intervals, laps] = end.receive()?;
        match (word, laps) {
            (ORDER, 0) => return end.send([ORDER, 0, 0]),
            (ORDER, laps) => {
                for lap in 0..laps {
                    let own = end.kernel.run(intervals);
                    end.send([lap, own.lower.to_bits(), own.upper.to_bits()])?;
                    end.answer(lap)?;
                }
                end.send([ORDER, intervals, laps])?;
            }
            (found, _) => return Err(HintError::OutOfStep { expected: ORDER, found }),
        }
    }
}

/// One end with its kernel.
struct KernelEnd<'a, S> {
    stream: &'a mut S,
    kernel: Kernel,
}

impl<'a, S: Read + Write> KernelEnd<'a, S> {
    fn new(stream: &'a mut S, plan: &HintPlan, rank: u64) -> Self {
        Self { stream, kernel: Kernel::new(Grid::DOUBLE, plan.share(rank), plan.most_intervals) }
    }

    /// All trials of a number of intervals, each followed by the same work without the exchange.
    fn point(&mut self, intervals: u64, laps: u64, trials: u32) -> Result<HintPoint, HintError> {
        let mut point = HintPoint {
            intervals,
            laps,
            trials: Vec::new(),
            alone: Vec::new(),
            lower: 0.0,
            upper: 0.0,
        };
        for _ in 0..trials {
            let (elapsed, bounds) = self.trial(intervals, laps)?;
            point.trials.push(elapsed);
            (point.lower, point.upper) = (bounds.lower, bounds.upper);
            point.alone.push(work(&mut self.kernel, intervals, laps));
        }
        Ok(point)
    }

    /// Laps that both ends have finished, and the bounds of the last.
    fn trial(&mut self, intervals: u64, laps: u64) -> Result<(Span, Bounds), HintError> {
        self.send([ORDER, intervals, laps])?;
        let started = now();
        let mut total = Bounds { lower: 0.0, upper: 0.0 };
        for lap in 0..laps {
            let own = self.kernel.run(intervals);
            total = own.and(self.answer(lap)?);
            self.send([lap, total.lower.to_bits(), total.upper.to_bits()])?;
        }
        let elapsed = now().since(started);
        match self.receive()? {
            [ORDER, ..] => Ok((elapsed, total)),
            [found, ..] => Err(HintError::OutOfStep { expected: ORDER, found }),
        }
    }

    /// Ends the run. A far end that has ended on receiving it may have been too fast for its own
    /// answer to arrive.
    fn part(&mut self) -> Result<(), HintError> {
        self.send([ORDER, 0, 0])?;
        self.receive().map_or(Ok(()), |_| Ok(()))
    }

    /// The other end's sums for a lap.
    fn answer(&mut self, expected: u64) -> Result<Bounds, HintError> {
        let [found, lower, upper] = self.receive()?;
        if found != expected {
            return Err(HintError::OutOfStep { expected, found });
        }
        Ok(Bounds { lower: f64::from_bits(lower), upper: f64::from_bits(upper) })
    }

    fn send(&mut self, message: HintMessage) -> Result<(), HintError> {
        let mut bytes = [0; 24];
        for (place, number) in bytes.chunks_exact_mut(8).zip(message) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        self.stream
            .write_all(&bytes)
            .map_err(|source| HintError::Move { operation: "send", source })
    }

    fn receive(&mut self) -> Result<HintMessage, HintError> {
        let mut bytes = [0; 24];
        self.stream
            .read_exact(&mut bytes)
            .map_err(|source| HintError::Move { operation: "receive", source })?;
        let number =
            |place: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[place * 8 + byte]));
        Ok([number(0), number(1), number(2)])
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use btu_conditions::Conditions;
    use btu_contract::hint::judge;

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let far = listener.accept().unwrap().0;
        for stream in [&near, &far] {
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(Some(Duration::from_mins(3))).unwrap();
        }
        (near, far)
    }

    fn plan() -> HintPlan {
        HintPlan {
            trials: 3,
            target: Span::from_milliseconds(1),
            most_points: 20,
            ..HintPlan::standard(2)
        }
    }

    #[test]
    fn two_ends_find_the_area_together() {
        let conditions = Conditions::begin();
        let (mut here, mut there) = pair();
        let answering = std::thread::spawn(move || far(&mut there, &plan()));
        let mut heard = 0;
        let points = near(&mut here, &plan(), &mut |_| heard += 1).unwrap();
        answering.join().unwrap().unwrap();
        let verdict = judge(&plan(), &points, None).unwrap();
        assert!(verdict.is_valid(), "{verdict:?}");
        // It ends sooner where the processor does so many other things that the quality falls.
        assert_eq!(verdict.steps.len(), heard);
        btu_conditions::judge!(conditions, (8..=20).contains(&heard), "{heard} steps");
        let qualities: Vec<i64> =
            verdict.steps.iter().take(8).map(|step| step.quality.round() as i64).collect();
        let printed = [7, 9, 11, 13, 15, 19, 23, 29];
        assert_eq!(qualities, printed[..qualities.len()], "1996, figure 6");
        assert!(verdict.exchange_seconds.is_some_and(|exchange| exchange.value > 0.0));
    }

    #[test]
    fn one_process_alone_finds_the_area_too() {
        let conditions = Conditions::begin();
        let plan = HintPlan { processes: 1, ..plan() };
        let mut heard = 0;
        let points = alone(&plan, &mut |_| heard += 1);
        let verdict = judge(&plan, &points, None).unwrap();
        assert!(verdict.is_valid(), "{verdict:?}");
        assert_eq!((verdict.steps.len(), verdict.steps[0].intervals), (heard, 2));
        btu_conditions::judge!(conditions, (8..=20).contains(&heard), "{heard} steps");
        assert_eq!(verdict.exchange_seconds, None);
    }

    #[test]
    fn a_peer_that_goes_away_or_talks_nonsense_is_an_error() {
        let (mut here, there) = pair();
        drop(there);
        assert!(matches!(near(&mut here, &plan(), &mut |_| ()), Err(HintError::Move { .. })));
        let (mut here, mut there) = pair();
        there.write_all(&[7; 24]).unwrap();
        assert!(matches!(
            near(&mut here, &plan(), &mut |_| ()),
            Err(HintError::OutOfStep { expected: 0, .. })
        ));
        let (mut here, mut there) = pair();
        there.write_all(&[7; 24]).unwrap();
        assert!(matches!(
            far(&mut here, &plan()),
            Err(HintError::OutOfStep { expected: ORDER, .. })
        ));
    }
}
