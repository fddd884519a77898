//! The mean delay of a packet on a shared Ethernet as the load grows (Lam's model, figure 9 of the
//! CITI report): `cargo run -p btu-model --example shared_cable`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints, and has no measurement to lose"
)]

use btu_model::{FrameTimes, SharedCable};

fn main() {
    // A frame of 1000 octets at 10 Mb/s, and 5.12 us from end to end.
    let frame_seconds = 0.8e-3;
    for percent in [0, 20, 40, 60, 80, 90, 98] {
        let rate = f64::from(percent) / 100.0 / frame_seconds;
        let cable =
            SharedCable { rate, times: FrameTimes::fixed(frame_seconds), propagation: 5.12e-6 };
        match cable.delay().value {
            Some(seconds) => println!("{percent:2} % of the time: {:.3} ms", seconds * 1e3),
            None => println!("{percent:2} % of the time: no mean, more is offered than fits"),
        }
    }
}
