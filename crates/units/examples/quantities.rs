//! How users write quantities, and what arithmetic on them gives: `cargo run -p btu-units --example
//! quantities`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints, and has no measurement to lose"
)]

use btu_units::{BitRate, Bytes, ParseError, Span};

fn main() -> Result<(), ParseError> {
    let (file, rate): (Bytes, BitRate) = ("100 MB".parse()?, "10 Mb/s".parse()?);
    // Bits over bits per second: exact integers up to here, a floating-point number from here on.
    println!("{file} at {rate} take {:.1} s", file.bits() / rate.bits_per_second() as f64);
    println!("a millisecond and a half is {}", "1.5 ms".parse::<Span>()?);
    if let Err(error) = "10 Mbit".parse::<BitRate>() {
        println!("refused: {error}");
    }
    Ok(())
}
