//! Two processes as one MPI world.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;

use crate::library::{MpiError, version};
use crate::manager::Manager;
use crate::sys::{self, Begun};

/// The number of threads that call the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// One at a time.
    One,
    /// Several at once, each with a link of its own; a library takes more locks then.
    Several,
}

/// The places of the two processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessPlacement {
    /// On one machine: a library may use its memory.
    OneMachine,
    /// On stations of a network that is emulated on one machine: a library must not detect the
    /// common machine.
    Stations,
    /// The processes run on any machines.
    Apart,
}

/// One of the two processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Party {
    /// Its rank, 0 or 1.
    pub rank: u32,
    /// The places of the two processes, relative to each other.
    pub place: ProcessPlacement,
    /// The number of its threads that call the library.
    pub threads: Threads,
}

/// The result of the initialisation.
static WORLD: OnceLock<Result<Begun, MpiError>> = OnceLock::new();

/// Initialisations are serialised.
static BEGINNING: Mutex<()> = Mutex::new(());

/// The number of links that were opened.
static LINKS: AtomicI32 = AtomicI32::new(0);

/// Refuses a library that is known to join only processes that its own mpirun has started.
///
/// # Errors
/// The library is such a one.
pub fn check() -> Result<(), MpiError> {
    let library = version();
    if library.starts_with("Open MPI") { Err(MpiError::Library { library }) } else { Ok(()) }
}

/// Makes this process and the one at the other end of `line`, which makes the matching call, one
/// MPI world. The line must carry no other data meanwhile. A process can do this once; MPI ends
/// only with the process.
///
/// A library that fails to initialise ends the process, after it has printed the reason.
///
/// # Errors
/// The library does not find the other process, or does not accept this number of threads.
pub fn begin(party: Party, line: &mut (impl Read + Write + Send)) -> Result<(), MpiError> {
    let _turn = BEGINNING.lock().map_err(|_| MpiError::Early)?;
    let begun = WORLD.get_or_init(|| join(party, line)).clone()?;
    if party.threads == Threads::Several && !begun.takes_several {
        return Err(MpiError::Threads { library: version() });
    }
    Ok(())
}

/// Whether MPI was initialised.
pub fn has_begun() -> bool {
    WORLD.get().is_some()
}

fn join(party: Party, line: &mut (impl Read + Write + Send)) -> Result<Begun, MpiError> {
    check()?;
    let failed =
        |error: std::io::Error| MpiError::Manager { why: error.to_string(), library: version() };
    let (library, mut served) = UnixStream::pair().map_err(failed)?;
    let leave = served.try_clone().map_err(failed)?;
    let settings = settings(party, library.as_raw_fd());
    let (begun, managed) = thread::scope(|scope| {
        let manager = scope.spawn(|| {
            let managed = Manager::new(party.rank, party.place == ProcessPlacement::OneMachine)
                .serve(&mut served, line);
            // A library that still waits for an answer must not wait for ever.
            let _ = served.shutdown(Shutdown::Both);
            managed
        });
        let begun = sys::begin(&settings, party.threads == Threads::Several);
        // The library has asked all its questions.
        let _ = leave.shutdown(Shutdown::Both);
        (begun, manager.join())
    });
    // The library may use the descriptor when the process ends.
    std::mem::forget(library);
    if let Ok(Err(error)) = managed {
        return Err(MpiError::Manager { why: error.to_string(), library: version() });
    }
    match begun.map_err(|code| MpiError::refused("begin MPI", code))? {
        begun @ Begun { size: 2, .. } => Ok(begun),
        _ => Err(MpiError::Library { library: version() }),
    }
}

/// The settings that the library reads from its environment; those that the user has set do not
/// change.
fn settings(party: Party, descriptor: i32) -> Vec<(String, String)> {
    let rank = party.rank.to_string();
    let manager =
        [("PMI_FD", descriptor.to_string()), ("PMI_RANK", rank), ("PMI_SIZE", "2".to_owned())];
    let mut settings: Vec<_> = manager.map(|(name, value)| (name.to_owned(), value)).into();
    // Libraries below MPICH find shared memory by themselves, although stations are separate
    // namespaces.
    let apart = [("UCX_TLS", "tcp,self"), ("FI_PROVIDER", "tcp")];
    if party.place == ProcessPlacement::Stations {
        let free = apart.iter().filter(|(name, _)| std::env::var_os(name).is_none());
        settings.extend(free.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    }
    settings
}

/// The tag of another link. Both processes open their links in an equal order.
pub(crate) fn admit() -> Result<i32, MpiError> {
    let begun = WORLD.get().cloned().unwrap_or(Err(MpiError::Early))?;
    let tag = LINKS.fetch_add(1, Ordering::Relaxed);
    if tag > 0 && !begun.takes_several {
        Err(MpiError::Threads { library: version() })
    } else {
        Ok(tag)
    }
}
