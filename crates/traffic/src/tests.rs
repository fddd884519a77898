//! Whole activities against each other, and against peers that misbehave, over loopback.

mod acceptors;
mod bad_peers;
mod datagrams;
mod requests;
mod streams;
mod waits;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use btu_contract::activity::{Activity, Order, Performance, Rendezvous, Token};
use btu_contract::peers::Callers;
use btu_contract::record::Report;
use btu_units::Span;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const TOKEN: Token = *b"sixteen byte key";
static NEVER: AtomicBool = AtomicBool::new(false);

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn order(activity: Activity) -> Order {
    Order::new(42, Span::from_seconds(20), activity)
}

fn hasty(activity: Activity) -> Order {
    Order { deadline: Span::from_milliseconds(400), ..order(activity) }
}

/// Whether the port of `address` is closed within 5 s: a process that another test starts has a copy
/// of a socket until it executes its program.
pub(crate) fn is_closed(address: SocketAddr) -> bool {
    let end = Instant::now() + Duration::from_secs(5);
    while TcpStream::connect(address).is_ok() {
        if Instant::now() >= end {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}

fn prepare(order: &Order) -> Box<dyn Performance> {
    crate::prepare(order, &Callers::any()).expect("can be prepared").expect("is traffic")
}

/// Performs both ends, the listener in a thread of its own.
fn perform(
    listener: impl FnOnce(Rendezvous) -> Activity,
    caller: impl FnOnce(SocketAddr) -> Activity,
) -> (Result<Report>, Result<Report>) {
    let listener = prepare(&order(listener(Rendezvous::Listen(HERE))));
    let endpoint = listener.endpoint().expect("a listener tells where");
    let caller = prepare(&order(caller(endpoint)));
    assert_eq!(caller.endpoint(), None);
    let thread = thread::spawn(move || listener.perform(&NEVER));
    let callers_report = caller.perform(&NEVER);
    (thread.join().expect("performances do not panic"), callers_report)
}

macro_rules! outcome {
    ($report:expr, $kind:ident) => {
        match $report.expect("performed").outcome {
            btu_contract::record::Outcome::$kind(outcome) => outcome,
            other => panic!("not {}: {other:?}", stringify!($kind)),
        }
    };
}
pub(crate) use outcome;
