//! 100 MB over loopback, counted at the receiver: `cargo run --release -p btu-traffic --example
//! stream`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints, and has no measurement to lose"
)]

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::AtomicBool;
use std::thread;

use btu_contract::activity::{Activity, Order, Receiving, Rendezvous, TcpReceive, TcpSend, Work};
use btu_contract::peers::Callers;
use btu_contract::record::Outcome;
use btu_traffic::prepare;
use btu_units::{Bytes, Span};

static NEVER: AtomicBool = AtomicBool::new(false);

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let order = |activity| Order::new(1, Span::from_seconds(60), activity);
    let (token, message, window) = (*b"sixteen byte key", Bytes::new(65_536), None);
    let meeting = Rendezvous::Listen(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let receive = Activity::TcpReceive(TcpReceive {
        meeting,
        token,
        message,
        window,
        volume: None,
        receiving: Receiving::Plain,
    });
    let receiver =
        prepare(&order(receive), &Callers::any())?.ok_or("not an activity of this crate")?;
    let meeting = Rendezvous::Connect(receiver.endpoint().ok_or("it does not listen")?);
    let send = TcpSend {
        meeting,
        token,
        message,
        work: Work::Bytes(Bytes::new(100_000_000)),
        window,
        unsent: None,
    };
    let sender = prepare(&order(Activity::TcpSend(send)), &Callers::any())?
        .ok_or("not an activity of this crate")?;
    let receiving = thread::spawn(move || receiver.perform(&NEVER));
    sender.perform(&NEVER)?;
    let report = receiving.join().map_err(|_| "the receiver panicked")??;
    if let Outcome::Received(received) = report.outcome {
        let rate = received.bytes.bits() / received.last_byte.seconds();
        println!("{} in {}: {:.2} Gb/s", received.bytes, received.last_byte, rate / 1e9);
    }
    Ok(())
}
