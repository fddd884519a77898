//! Pins an end of a pipe to one processor (`sched_setaffinity`(2)).

use std::io;

use btu_contract::activity::{Activity, Order};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::error::TrafficError;

/// The id that stands for the calling thread.
const SELF: Pid = Pid::from_raw(0);

/// The processors that the calling thread may use, rising.
///
/// # Errors
/// The kernel does not report them: it has more processors than `CpuSet` can hold (1024).
pub fn allowed_processors() -> io::Result<Vec<u32>> {
    let allowed = sched_getaffinity(SELF)?;
    let is_allowed = |processor: &usize| allowed.is_set(*processor).unwrap_or(false);
    Ok((0..CpuSet::count()).filter(is_allowed).map(|processor| processor as u32).collect())
}

/// Pins the calling thread, and the threads that it starts from now on, as the order's plan says
/// for its end.
pub(crate) fn hold(order: &Order) -> Result<(), TrafficError> {
    let (plan, end) = match &order.activity {
        Activity::Pipe(part) => (&part.plan, part.end),
        Activity::Hint(part) => (&part.pipe, part.end),
        Activity::Draw(part) => (&part.pipe, part.end),
        _ => return Ok(()),
    };
    let Some(processor) = plan.processors.map(|processors| processors.of(end)) else {
        return Ok(());
    };
    let mut only = CpuSet::new();
    only.set(processor as usize).and_then(|()| sched_setaffinity(SELF, &only)).map_err(|error| {
        TrafficError::Pipe {
            operation: "hold this end where --pin wants it",
            object: format!("processor {processor}"),
            source: error.into(),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::thread;

    use btu_contract::activity::{PipeEnd, PipeMeeting, Rendezvous};
    use btu_contract::peers::Callers;
    use btu_contract::pipe::{End, Kind, PipePlan, Place, Processors};
    use btu_units::Span;

    use super::*;

    fn order(end: End, near: u32, far: u32) -> Order {
        let processors = Some(Processors { near, far });
        let plan = PipePlan { processors, ..PipePlan::new(3, Kind::Tcp, Place::Here) };
        let meeting = PipeMeeting::Network(Rendezvous::Listen(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        let part = PipeEnd { end, meeting, token: *b"sixteen byte key", plan, turns: false };
        Order::new(9, Span::from_seconds(20), Activity::Pipe(Box::new(part)))
    }

    #[test]
    fn an_end_is_held_on_its_own_processor_and_so_is_what_it_starts() {
        let allowed = allowed_processors().unwrap();
        let (first, last) = (allowed[0], allowed[allowed.len() - 1]);
        for (end, wanted) in [(End::Near, first), (End::Far, last)] {
            let held = thread::spawn(move || {
                let far = crate::prepare(&order(end, first, last), &Callers::any()).unwrap();
                assert!(far.is_some());
                let started = thread::spawn(|| allowed_processors().unwrap()).join().unwrap();
                (allowed_processors().unwrap(), started)
            });
            assert_eq!(held.join().unwrap(), (vec![wanted], vec![wanted]));
        }
        assert_eq!(allowed_processors().unwrap(), allowed, "nobody else is held");
    }

    #[test]
    fn a_processor_that_is_not_there_is_an_error() {
        for absent in [1023, 70_000] {
            let error = hold(&order(End::Near, absent, 0)).unwrap_err().to_string();
            assert!(error.contains(&format!("--pin wants it (processor {absent})")), "{error}");
        }
    }
}
