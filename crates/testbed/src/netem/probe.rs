//! Finds out the features of this kernel by trying them.

use std::io;
use std::thread;

use btu_network::{Codel, Direction, Discipline, FairCodel, Loss, QueueLimit, Red};
use btu_units::{BitRate, Bytes, Probability, Span};
use nix::sched::{CloneFlags, unshare};

use super::attributes::find;
use super::error::NetemError;
use super::{Guard, apply};

/// The features of this kernel in addition to rate, delay, loss and a tail-drop queue counted in
/// frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // each a fact of its own
pub struct Support {
    /// Random numbers can be seeded: equal seeds lose equal frames (Linux 6.6 on).
    pub seeded: bool,
    /// Queues counted in octets, and duplicates (`sch_tbf`).
    pub token_bucket: bool,
    /// Random early detection (`sch_red`).
    pub red: bool,
    /// Controlled delay, RFC 8289 (`sch_codel`).
    pub codel: bool,
    /// Flow queueing with controlled delay (`sch_fq_codel`).
    pub fq_codel: bool,
}

/// Tries the parts that [`apply`] needs, in a network namespace made for it; the kernel loads
/// modules by itself if it may.
///
/// # Errors
/// A required part is missing: the error names its module. Or the caller may not make a network
/// namespace.
pub fn probe() -> Result<Support, NetemError> {
    let tried = thread::spawn(|| {
        let apart = unshare(CloneFlags::CLONE_NEWNET).map_err(io::Error::from);
        apart.map_err(|error| NetemError::of("make a network namespace to try netem in", error))?;
        try_all()
    });
    tried.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn try_all() -> Result<Support, NetemError> {
    let line = Direction::new(BitRate::from_megabits_per_second(10), Span::from_milliseconds(1));
    let lossy = Direction { loss: Loss::Random(Probability::ALWAYS), ..line.clone() };
    let mut guard = apply("lo", &lossy, 1)?;
    let seeded = is_seeded(&mut guard);
    let mut can = |queue| guard.change(&Direction { queue, ..line.clone() }).is_ok();
    let limit = QueueLimit::Frames(100);
    let codel =
        Codel { limit, target: Span::from_milliseconds(5), interval: Span::from_milliseconds(100) };
    let (minimum, maximum) = (Bytes::new(5000), Bytes::new(15_000));
    let red = Red { limit, minimum, maximum, probability: Probability::ALWAYS, weight: 0.002 };
    Ok(Support {
        seeded,
        token_bucket: can(Discipline::TailDrop { limit: QueueLimit::Bytes(Bytes::new(10_000)) }),
        red: can(Discipline::Red(red)),
        codel: can(Discipline::Codel(codel)),
        fq_codel: can(Discipline::FqCodel(FairCodel {
            codel,
            queues: 16,
            quantum: Bytes::new(1514),
        })),
    })
}

/// A kernel that supports seeds shows them.
fn is_seeded(guard: &mut Guard) -> bool {
    const QOPT: usize = 24;
    const PRNG_SEED: u16 = 14;
    let options = guard.options().unwrap_or_default();
    options
        .iter()
        .any(|options| options.get(QOPT..).is_some_and(|list| find(list, PRNG_SEED).is_some()))
}
