//! The sheet of a shared Ethernet: the delay of [`btu_model::SharedCable`] written out in cells.

use btu_model::predict::{Occupation, PacketSizes, SegmentPrediction};
use btu_network::SharedEthernet;
use rust_xlsxwriter::XlsxError;

use super::page::SheetBuilder;
use super::server::{Book, Formula, Load, Solved};
use super::sizes::cell_name;
use super::value::SheetValue;

const ABOUT: &str = "CSMA/CD mean delay, of the kind of Lam, Computer Networks 4 (1980). Yellow cells may be changed.";

/// The sheet and its results.
pub(super) fn sheet(
    book: &Book,
    sheet: &str,
    segment: &SegmentPrediction,
    cable: &SharedEthernet,
    sizes: PacketSizes,
) -> Result<(SheetBuilder, Solved), XlsxError> {
    let mut page = SheetBuilder::new(sheet, &format!("Shared Ethernet {}", segment.name), ABOUT)?;
    let name = |what: &str| cell_name(&["segment", &segment.name, what]);
    let rate = page.input("Rate, R", "bit/s", segment.rate_bits_per_second, &name("rate"))?;
    let note = format!(
        "s, end to end; drawn: {} at {} of the speed of light",
        cable.length, cable.velocity
    );
    let tau =
        page.input("Propagation delay, tau", &note, segment.propagation_seconds, &name("tau"))?;
    let alike = page.input(
        "All packets of the mean size",
        "1: yes, as in CITI's study of 1989; 0: no, each has its own",
        f64::from(u8::from(sizes == PacketSizes::Mean)),
        &name("mean_size_only"),
    )?;
    let occupation = Occupation::of_cable(cable);
    let load = book.load(&mut page, &segment.kinds, occupation, &rate)?;
    page.heading("The formula")?;
    let formula = delay(&mut page, &load, &rate, &tau, &alike)?;
    let gap = occupation.gap_bits() / &rate;
    let formula = Formula { name: segment.name.clone(), beyond: 0.0 - &gap, ..formula };
    let solved = load.results(&mut page, &rate, formula)?;
    page.note(
        "Utilisation with collisions is lambda S1, stable below 1; effective throughput is 1 / (1 + 6.44 tau / E[X]).",
    )?;
    page.note(
        "Very many stations and backoff that knows how many contend: real backoff is slower, the more so the shorter the frames.",
    )?;
    Ok((page, solved))
}

/// The lines of the formula; `beyond` is left to the caller.
fn delay(
    page: &mut SheetBuilder,
    load: &Load,
    rate: &SheetValue,
    tau: &SheetValue,
    alike: &SheetValue,
) -> Result<Formula, XlsxError> {
    let (lambda, mean, e) = (&load.frames, &load.mean, SheetValue::e());
    let square = alike.above(0.5, &(mean * mean), &load.mean_square);
    let square = page.computed("E[X^2] used", "s^2", &square)?;
    let s1 = page.computed("S1 = E[X] + tau (1 + 2 e)", "s", &(mean + tau * (1.0 + 2.0 * &e)))?;
    let s2 = &square
        + (4.0 * &e + 2.0) * tau * mean
        + (1.0 + 4.0 * &e) * tau * tau
        + 4.0 * &e * (2.0 * &e - 1.0) * tau * tau;
    let s2 =
        page.computed("S2", "s^2; E[X^2] + (4e+2) tau E[X] + (1+4e) tau^2 + 4e (2e-1) tau^2", &s2)?;
    let used = page.computed("lambda S1", "stable below 1", &(lambda * &s1))?;
    let saved = saved(page, load, rate, tau, alike)?;
    let queueing = lambda * &s2 / (2.0 * (1.0 - &used));
    let delay = mean + tau + (2.0 * &e + 1.0) * tau + queueing - saved;
    let delay = delay.unless_saturated(&used, &SheetValue::constant(1.0));
    let delay = page.computed(
        "D",
        "s; E[X] + tau + (2e+1) tau + lambda S2 / (2 (1 - lambda S1)) - saved",
        &delay,
    )?;
    let share = load.own_share(rate);
    let capacity = lambda.above(0.0, &(share * mean / &s1), &SheetValue::constant(1.0));
    let none = SheetValue::constant(0.0);
    Ok(Formula {
        name: String::new(),
        alike: 1.0,
        used,
        capacity,
        waiting: delay - mean,
        beyond: none.clone(),
        pipelined: none,
    })
}

/// The time that a frame saves when no other station contends.
fn saved(
    page: &mut SheetBuilder,
    load: &Load,
    rate: &SheetValue,
    tau: &SheetValue,
    alike: &SheetValue,
) -> Result<SheetValue, XlsxError> {
    let lambda = &load.frames;
    let slot = page.computed("2 lambda tau", "", &(2.0 * lambda * tau))?;
    // Subtracting from one loses the digits of a small argument; the series has them all below a
    // thousandth.
    let series = &slot
        * (1.0 - &slot / 2.0 * (1.0 - &slot / 3.0 * (1.0 - &slot / 4.0 * (1.0 - &slot / 5.0))));
    let arrives = slot.above(0.001, &(1.0 - (0.0 - &slot).exp()), &series);
    let arrives =
        page.computed("1 - EXP(-2 lambda tau)", "a packet arrives within a slot", &arrives)?;
    let laplace = laplace(page, load, rate, alike)?;
    let empty = 2.0 * tau;
    let span = lambda.above(0.0, &(&arrives / lambda), &empty);
    let saved =
        (span - 2.0 * tau * &arrives) / (laplace * (0.0 - lambda * tau - 1.0).exp() - &arrives);
    page.computed(
        "Saved without contention",
        "s; (1 - EXP(-2 lambda tau)) (1/lambda - 2 tau) / (F EXP(-lambda tau - 1) - 1 + EXP(-2 lambda tau))",
        &saved,
    )
}

/// F(lambda), the Laplace transform of X: a line for each kind, and the mean weighted by frames.
fn laplace(
    page: &mut SheetBuilder,
    load: &Load,
    rate: &SheetValue,
    alike: &SheetValue,
) -> Result<SheetValue, XlsxError> {
    let lambda = &load.frames;
    let mut sum = SheetValue::constant(0.0);
    for kind in &load.kinds {
        let own = if kind.occupied.exponential {
            1.0 / (1.0 + lambda * &kind.mean)
        } else {
            let factor = 0.0 - lambda / rate;
            kind.occupied.shares.times_exp(&factor, &kind.occupied.bits)
        };
        let own = page.computed("E[EXP(-lambda X)] of one kind, in the order above", "", &own)?;
        sum = sum + &kind.frames * own;
    }
    let mixed = lambda.above(0.0, &(sum / lambda), &SheetValue::constant(1.0));
    let fixed = (0.0 - lambda * &load.mean).exp();
    page.computed(
        "F(lambda) = E[EXP(-lambda X)]",
        "Laplace transform of X",
        &alike.above(0.5, &fixed, &mixed),
    )
}
