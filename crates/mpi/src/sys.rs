//! The C part behind a safe interface; the only module of this crate with unsafe code.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a text from the library: more than its own limits (MPICH 8192, Open MPI 256).
const TEXT: c_int = 8192;

/// The channels of a link, as the C part numbers them.
const SENDS: c_int = 0;
const RECEIVES: c_int = 1;

/// Set once a transfer was given up: the library may still know its memory, so it is never called
/// again.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// The code that MPI returned; not 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Code(c_int);

/// Why a transfer ended early.
#[derive(Debug)]
pub(crate) enum Failure<E> {
    /// The library refused the call with this code.
    Mpi(Code),
    /// Fewer bytes arrived than expected.
    Short,
    /// A message is larger than MPI counts.
    Long,
    /// A transfer of this process was given up before.
    Over,
    /// The function that is called between two polls returned this.
    Asked(E),
}

#[repr(C)]
struct RawLink {
    _private: [u8; 0],
}

unsafe extern "C" {
    fn btu_mpi_version(text: *mut c_char, room: c_int);
    fn btu_mpi_explain(code: c_int, text: *mut c_char, room: c_int);
    fn btu_mpi_begin(several: c_int, size: *mut c_int, granted: *mut c_int) -> c_int;
    fn btu_mpi_link(tag: c_int) -> *mut RawLink;
    fn btu_mpi_send(link: *mut RawLink, message: *const c_void, length: c_int) -> c_int;
    fn btu_mpi_receive(link: *mut RawLink, room: *mut c_void, length: c_int) -> c_int;
    fn btu_mpi_test(link: *mut RawLink, way: c_int, done: *mut c_int, came: *mut c_int) -> c_int;
    fn btu_mpi_progress(link: *mut RawLink) -> c_int;
    fn btu_mpi_abandon(link: *mut RawLink);
}

fn checked(code: c_int) -> Result<(), Code> {
    if code == 0 { Ok(()) } else { Err(Code(code)) }
}

/// A text that `write` puts into memory of the given size, ended by a zero.
fn text(write: impl FnOnce(*mut c_char, c_int)) -> String {
    let mut bytes = [0u8; TEXT as usize];
    write(bytes.as_mut_ptr().cast(), TEXT);
    CStr::from_bytes_until_nul(&bytes)
        .map(|text| text.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// The library's name and version in its own words.
pub(crate) fn version() -> String {
    // SAFETY: the function writes at most `room` bytes and may be called at any time.
    text(|bytes, room| unsafe { btu_mpi_version(bytes, room) })
}

impl Code {
    /// The text that the library has for this code.
    pub(crate) fn explain(self) -> String {
        // SAFETY: the function writes at most `room` bytes; a code exists only once MPI was begun.
        text(|bytes, room| unsafe { btu_mpi_explain(self.0, bytes, room) })
    }
}

/// The result of the initialisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begun {
    /// Processes that found each other.
    pub(crate) size: i32,
    /// Whether several threads may call at a time.
    pub(crate) takes_several: bool,
}

/// Initialises MPI with these settings in its environment; a process may do that only once.
pub(crate) fn begin(settings: &[(String, String)], several: bool) -> Result<Begun, Code> {
    for (name, value) in settings {
        // SAFETY: readers in Rust take turns with this; a worker, which alone begins MPI, has no
        // thread of another language.
        unsafe { std::env::set_var(name, value) };
    }
    let (mut size, mut granted) = (0, 0);
    // SAFETY: the caller, `world`, does this once; both numbers are ours.
    checked(unsafe { btu_mpi_begin(c_int::from(several), &raw mut size, &raw mut granted) })?;
    Ok(Begun { size, takes_several: granted != 0 })
}

/// The C part's state of a link.
pub(crate) struct Channel(NonNull<RawLink>);

// SAFETY: the library was begun for calls from any thread, and `world` allows a second channel only
// where it takes several calls at a time.
unsafe impl Send for Channel {}

impl Channel {
    /// A separate channel to the other process; `None` if there is no memory. MPI must be
    /// initialised.
    pub(crate) fn open(tag: i32) -> Option<Self> {
        // SAFETY: the function only takes memory.
        NonNull::new(unsafe { btu_mpi_link(tag) }).map(Self)
    }

    /// Sends `message` and fills `room`, both at the same time; an empty one is not transferred.
    /// The C part calls `look` between two polls.
    #[inline]
    pub(crate) fn transfer<E>(
        &mut self,
        message: &[u8],
        room: &mut [u8],
        look: impl FnMut() -> Result<(), E>,
    ) -> Result<(), Failure<E>> {
        if IS_OVER.load(Ordering::Relaxed) {
            return Err(Failure::Over);
        }
        let moved = self.begin_and_wait(message, room, look);
        if moved.is_err() {
            IS_OVER.store(true, Ordering::Relaxed);
            // SAFETY: the link is alive. Requests that MPI cannot cancel keep the address of memory
            // of our caller: without any further call no code writes there, since the libraries
            // move bytes only when they are called.
            unsafe { btu_mpi_abandon(self.0.as_ptr()) };
        }
        moved
    }

    #[inline]
    fn begin_and_wait<E>(
        &mut self,
        message: &[u8],
        room: &mut [u8],
        mut look: impl FnMut() -> Result<(), E>,
    ) -> Result<(), Failure<E>> {
        let length = |length: usize| c_int::try_from(length).map_err(|_| Failure::Long);
        let (outgoing, incoming) = (length(message.len())?, length(room.len())?);
        if incoming > 0 {
            // SAFETY: `room` is ours until the request is done, or given up (see above).
            let begun =
                unsafe { btu_mpi_receive(self.0.as_ptr(), room.as_mut_ptr().cast(), incoming) };
            checked(begun).map_err(Failure::Mpi)?;
        }
        if outgoing > 0 {
            // SAFETY: as above; the message is only read.
            let begun = unsafe { btu_mpi_send(self.0.as_ptr(), message.as_ptr().cast(), outgoing) };
            checked(begun).map_err(Failure::Mpi)?;
            while self.test(SENDS).map_err(Failure::Mpi)?.is_none() {
                look().map_err(Failure::Asked)?;
            }
        }
        if incoming > 0 {
            let came = loop {
                match self.test(RECEIVES).map_err(Failure::Mpi)? {
                    Some(came) => break came,
                    None => look().map_err(Failure::Asked)?,
                }
            };
            if came != incoming {
                return Err(Failure::Short);
            }
        }
        Ok(())
    }

    /// The bytes that arrived, once the request of this channel is done.
    #[inline]
    fn test(&mut self, way: c_int) -> Result<Option<c_int>, Code> {
        let (mut done, mut came) = (0, 0);
        // SAFETY: the link is alive and both numbers are written on success.
        checked(unsafe { btu_mpi_test(self.0.as_ptr(), way, &raw mut done, &raw mut came) })?;
        Ok((done != 0).then_some(came))
    }

    /// Lets the library continue unfinished transfers.
    pub(crate) fn progress(&mut self) -> Result<(), Code> {
        if IS_OVER.load(Ordering::Relaxed) {
            return Ok(());
        }
        // SAFETY: the link is alive.
        checked(unsafe { btu_mpi_progress(self.0.as_ptr()) })
    }
}
