//! What a program and all its processes do, moment by moment: the states and calls that the kernel shows of each thread
//! (proc(5): `stat`, `schedstat`, `syscall`, `fd`).
//!
//! `/proc` has only this program's processes here. Calls of a process whose user is another one are not shown; it waits for
//! something else then.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use btu_contract::program::Moments;
use btu_units::{Span, Time};

/// The time between two moments. A program that ends before the first is not disturbed.
const EVERY: Span = Span::from_milliseconds(20);

/// Looking takes at most one part in so many of the time.
const SELDOM: u64 = 100;

/// Most descriptors of a process that are looked at for a socket.
const MOST_DESCRIPTORS: usize = 64;

/// Calls on sockets, whatever their arguments.
const ON_SOCKETS: [libc::c_long; 9] = [
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_recvfrom,
    libc::SYS_recvmmsg,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
];

/// Calls on the descriptor that is their first argument.
const ON_DESCRIPTOR: [libc::c_long; 6] = [
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_write,
    libc::SYS_writev,
];

/// Calls that wait for one of several descriptors.
#[cfg(target_arch = "x86_64")]
const ON_SEVERAL: [libc::c_long; 7] = [
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_epoll_wait,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_select,
];
#[cfg(not(target_arch = "x86_64"))]
const ON_SEVERAL: [libc::c_long; 4] =
    [libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2, libc::SYS_ppoll, libc::SYS_pselect6];

const PAUSES: [libc::c_long; 2] = [libc::SYS_clock_nanosleep, libc::SYS_nanosleep];

/// What a thread does, in the order in which one of several threads says what the program does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ThreadActivity {
    Ready,
    Disk,
    Sockets,
    Sleeping,
    Other,
}

/// The moments so far of a program that runs.
pub(super) struct Watch {
    next: Time,
    moments: Moments,
    /// Of each thread, how long it has waited for a processor.
    waited: BTreeMap<u32, Span>,
}

impl Watch {
    /// Of a program that started at this time; `None` if `/proc` is not of this process namespace.
    pub(super) fn of(started: Time) -> Option<Self> {
        let is_own = fs::read_link("/proc/self").is_ok_and(|link| link == Path::new("1"));
        is_own.then(|| Self {
            next: started + EVERY,
            moments: Moments::default(),
            waited: BTreeMap::new(),
        })
    }

    /// When the next moment is due.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// Looks at all processes; it is `now`, and `clock` reads the time again.
    pub(super) fn look(&mut self, now: Time, clock: impl Fn() -> Time) {
        let threads = numbered("/proc").filter(|process| *process != 1).flat_map(|process| {
            numbered(&format!("/proc/{process}/task")).map(move |thread| (process, thread))
        });
        let mut most = None;
        for (process, thread) in threads {
            let task = format!("/proc/{process}/task/{thread}");
            let Some(doing) = doing(process, &task) else { continue };
            most = Some(most.map_or(doing, |most: ThreadActivity| most.min(doing)));
            if let Some(waited) = waited(&task) {
                self.waited.insert(thread, waited);
            }
        }
        match most {
            Some(ThreadActivity::Ready) => self.moments.ready += 1,
            Some(ThreadActivity::Disk) => self.moments.disk += 1,
            Some(ThreadActivity::Sockets) => self.moments.sockets += 1,
            Some(ThreadActivity::Sleeping) => self.moments.sleeping += 1,
            Some(ThreadActivity::Other) => self.moments.other += 1,
            None => {}
        }
        let took = clock().since(now).nanoseconds();
        self.next = now + EVERY.max(Span::from_nanoseconds(took.saturating_mul(SELDOM)));
    }

    /// What was seen.
    pub(super) fn moments(&self) -> Moments {
        let waited = self.waited.values().fold(Span::ZERO, |sum, waited| sum + *waited);
        Moments { waited, ..self.moments }
    }
}

/// The directories in `path` whose names are numbers.
fn numbered(path: &str) -> impl Iterator<Item = u32> + use<> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// What a thread does; `None` if it has ended.
fn doing(process: u32, task: &str) -> Option<ThreadActivity> {
    let stat = fs::read_to_string(format!("{task}/stat")).ok()?;
    match state(&stat)? {
        'R' => Some(ThreadActivity::Ready),
        'D' => Some(ThreadActivity::Disk),
        'S' => {
            let call = fs::read_to_string(format!("{task}/syscall")).unwrap_or_default();
            // It was woken since its state was read.
            if call.trim_end() == "running" {
                return Some(ThreadActivity::Ready);
            }
            Some(waits(&call, |descriptor| is_socket(process, descriptor), || has_socket(process)))
        }
        // Stopped, traced, ended, idle.
        _ => None,
    }
}

/// The third field of `stat`, behind a name that may hold anything.
fn state(stat: &str) -> Option<char> {
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// What a sleeping thread waits for, by the call it is in: its number and its arguments.
fn waits(
    call: &str,
    is_socket: impl Fn(u64) -> bool,
    has_socket: impl Fn() -> bool,
) -> ThreadActivity {
    let mut words = call.split_whitespace();
    let number = words.next().and_then(|word| word.parse::<libc::c_long>().ok());
    let first =
        words.next().and_then(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok());
    let Some(number) = number else { return ThreadActivity::Other };
    if ON_SOCKETS.contains(&number)
        || (ON_DESCRIPTOR.contains(&number) && first.is_some_and(is_socket))
        || (ON_SEVERAL.contains(&number) && has_socket())
    {
        ThreadActivity::Sockets
    } else if PAUSES.contains(&number) {
        ThreadActivity::Sleeping
    } else {
        ThreadActivity::Other
    }
}

fn is_socket(process: u32, descriptor: u64) -> bool {
    fs::read_link(format!("/proc/{process}/fd/{descriptor}"))
        .is_ok_and(|target| target.to_string_lossy().starts_with("socket:"))
}

fn has_socket(process: u32) -> bool {
    numbered(&format!("/proc/{process}/fd"))
        .take(MOST_DESCRIPTORS)
        .any(|descriptor| is_socket(process, descriptor.into()))
}

/// How long a thread was ready without a processor so far: the second number of its `schedstat`.
fn waited(task: &str) -> Option<Span> {
    let text = fs::read_to_string(format!("{task}/schedstat")).ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Span::from_nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_stand_behind_names_of_any_kind() {
        assert_eq!(state("7 (a) S 1) D 0 1"), Some('D'));
        assert_eq!(state("7 (sh) R 1"), Some('R'));
        assert_eq!(state(""), None);
    }

    #[test]
    fn a_call_says_what_a_thread_waits_for() {
        let call = |number: libc::c_long| format!("{number} 0x5 0x0 0x7ffd 0x1");
        let of = |number, is, has| waits(&call(number), move |five| is && five == 5, move || has);
        assert_eq!(of(libc::SYS_recvfrom, false, false), ThreadActivity::Sockets);
        assert_eq!(of(libc::SYS_read, true, false), ThreadActivity::Sockets);
        assert_eq!(of(libc::SYS_read, false, true), ThreadActivity::Other);
        assert_eq!(of(libc::SYS_ppoll, false, true), ThreadActivity::Sockets);
        assert_eq!(of(libc::SYS_ppoll, true, false), ThreadActivity::Other);
        assert_eq!(of(libc::SYS_clock_nanosleep, true, true), ThreadActivity::Sleeping);
        for odd in ["", "-1 0x7ff 0x0", "0", "0 zz"] {
            assert_eq!(waits(odd, |_| true, || true), ThreadActivity::Other, "{odd}");
        }
    }
}
