//! The sheets of token ring and FDDI: symmetric polling, and Jain's efficiency.

use btu_model::predict::{Occupation, RingUse, SegmentPrediction};
use btu_network::{Fddi, Service, TokenRing};
use rust_xlsxwriter::XlsxError;

use super::page::SheetBuilder;
use super::server::{Book, Formula, Load, Solved};
use super::sizes::cell_name;
use super::value::SheetValue;

/// How frames are sent when the token comes, as cells.
struct TokenService {
    /// 1 with gated service or one frame a turn, -1 with exhaustive service.
    sign: SheetValue,
    /// 1 with one frame a turn, else 0.
    one: SheetValue,
    /// Frames that a station may send for each token.
    kept: SheetValue,
}

/// A ring's own cells.
struct Ring {
    /// Stations that send.
    senders: SheetValue,
    latency: SheetValue,
    /// The share of the ring from sender to receiver.
    way: SheetValue,
}

/// The stations that send, and the way of their frames.
fn used(
    page: &mut SheetBuilder,
    segment: &SegmentPrediction,
) -> Result<[SheetValue; 2], XlsxError> {
    let RingUse { senders, way } =
        segment.ring.unwrap_or(RingUse { senders: segment.stations, way: 0.5 });
    let name = |what: &str| cell_name(&["segment", &segment.name, what]);
    let senders = page.input("Stations that send, n", "", f64::from(senders), &name("senders"))?;
    let note = "share of the ring, in the mean over all frames";
    let way = page.input("From sender to receiver", note, way, &name("way"))?;
    Ok([senders, way])
}

/// The sheet of a token ring and its results.
pub(super) fn token_ring(
    book: &Book,
    sheet: &str,
    segment: &SegmentPrediction,
    ring: &TokenRing,
) -> Result<(SheetBuilder, Solved), XlsxError> {
    let about = "Symmetric polling: Takagi (1986); Bux, IEEE Transactions on Communications (1981). Yellow cells may be changed.";
    let mut page = SheetBuilder::new(sheet, &format!("Token ring {}", segment.name), about)?;
    let name = |what: &str| cell_name(&["segment", &segment.name, what]);
    let rate = page.input("Rate, R", "bit/s", segment.rate_bits_per_second, &name("rate"))?;
    let stations = page.input("Stations, N", "", f64::from(segment.stations), &name("stations"))?;
    let latency = if let Some(latency) = ring.ring_latency {
        page.input("Latency of the ring, as drawn", "s", latency.seconds(), &name("latency"))?
    } else {
        let cable = ring.length.propagation(ring.velocity).seconds();
        let cable = page.input("Propagation once round", "s", cable, &name("propagation"))?;
        let bits = f64::from(ring.station_latency_bits);
        let bits =
            page.input("Latency of each station", "bits", bits, &name("station_latency_bits"))?;
        cable + &stations * bits / &rate
    };
    let latency = latency.max(&(24.0 / &rate));
    let latency =
        page.computed("Latency of the ring, R_L", "s; at least the token's 24 bits", &latency)?;
    let early = page.input(
        "Early release of the token",
        "1: yes; 0: when the frame has come back, so a frame takes at least R_L",
        f64::from(u8::from(ring.early_release)),
        &name("early_release"),
    )?;
    let [senders, way] = used(&mut page, segment)?;
    let holding = match ring.service {
        Service::HoldingTime(longest) => longest.seconds(),
        Service::Exhaustive | Service::Gated | Service::One => ENDLESS,
    };
    let holding =
        page.input("Holding time", "s; of exhaustive service", holding, &name("holding"))?;
    let word =
        page_turn(&mut page, one_frame(ring), ring.service == Service::Gated, &name("turn"))?;
    let load = book.load(&mut page, &segment.kinds, Occupation::TOKEN_RING, &rate)?;
    page.heading("The formula")?;
    let kept = kept(&word, &holding, &load);
    let kept =
        page.computed("Frames for each token", "at most, with all stations sending", &kept)?;
    let turn = TokenService { kept, ..word.turn };
    let ring = Ring { senders, latency, way };
    let formula = polling(&mut page, &load, &rate, &ring, &turn, Some(&early))?;
    let formula = Formula { name: segment.name.clone(), ..formula };
    let solved = load.results(&mut page, &rate, formula)?;
    Ok((page, solved))
}

/// Whether the holding time has no room for two full frames, or the ring has one frame a turn
/// anyway.
fn one_frame(ring: &TokenRing) -> bool {
    let two_frames = 2.0 * 1529.0 * 8.0 / ring.rate.bits_per_second().max(1) as f64;
    match ring.service {
        Service::One => true,
        Service::HoldingTime(longest) => longest.seconds() < two_frames,
        Service::Exhaustive | Service::Gated => false,
    }
}

/// Seconds for which exhaustive service may keep the token.
const ENDLESS: f64 = 1e9;

/// A turn, and the cell with its name.
struct Word {
    cell: String,
    turn: TokenService,
}

/// Frames that a station may send for each token: one, two that wait with gated service, or those
/// that end within the holding time. Of sizes that differ the last that would not fit leaves half
/// of its mean excess unused.
fn kept(word: &Word, holding: &SheetValue, load: &Load) -> SheetValue {
    let (mean, square) = (load.mean.number, load.mean_square.number);
    let (m, q, h) = (&load.mean.text, &load.mean_square.text, &holding.text);
    let differs = square > mean * mean * (1.0 + 1e-9);
    let within = if mean <= 0.0 {
        1.0
    } else if differs {
        holding.number / mean - square / (2.0 * mean * mean)
    } else {
        (holding.number / mean + 1e-9).floor()
    };
    let exhaustive = word.turn.sign.number < 0.0;
    let gated = !exhaustive && word.turn.one.number < 0.5;
    let frames = if exhaustive {
        within.max(1.0)
    } else if gated {
        2.0
    } else {
        1.0
    };
    let many = format!(
        "IF({m}>0,MAX(1,IF({q}>{m}^2*(1+1E-9),{h}/{m}-{q}/(2*{m}^2),INT({h}/{m}+1E-9))),1)"
    );
    let cell = &word.cell;
    SheetValue::new(format!("IF({cell}=\"one\",1,IF({cell}=\"gated\",2,{many}))"), frames)
}

fn page_turn(
    page: &mut SheetBuilder,
    one: bool,
    gated: bool,
    name: &str,
) -> Result<Word, XlsxError> {
    let word = if one {
        "one"
    } else if gated {
        "gated"
    } else {
        "exhaustive"
    };
    let note = "one (frame a turn), gated or exhaustive; a holding time of two full frames and more counts as exhaustive";
    let word_cell =
        page.input_word("What a station sends when the token comes", note, word, name)?;
    let sign = SheetValue::new(
        format!("IF({word_cell}=\"exhaustive\",-1,1)"),
        if one || gated { 1.0 } else { -1.0 },
    );
    let one = SheetValue::new(format!("IF({word_cell}=\"one\",1,0)"), f64::from(u8::from(one)));
    Ok(Word { cell: word_cell, turn: TokenService { sign, one, kept: SheetValue::constant(1.0) } })
}

/// `W = (lambda E[X^2] + R_L (1 +- rho/N)) / (2 (1 - rho - lambda R_L/N))`, the last term with one
/// frame a turn only.
fn polling(
    page: &mut SheetBuilder,
    load: &Load,
    rate: &SheetValue,
    ring: &Ring,
    turn: &TokenService,
    early: Option<&SheetValue>,
) -> Result<Formula, XlsxError> {
    let (lambda, latency) = (&load.frames, &ring.latency);
    let (mean, square) = match early {
        Some(early) => served(page, load, rate, latency, early)?,
        None => (load.mean.clone(), load.mean_square.clone()),
    };
    let rho = page.computed("rho = lambda E[X]", "", &(lambda * &mean))?;
    let hop = page.computed(
        "Walk for each frame",
        "s; R_L/n with one frame a turn",
        &(&turn.one * latency / &ring.senders),
    )?;
    let full = &load.mean + (&mean - &load.mean + latency / &ring.senders) / &turn.kept;
    let full = page.computed(
        "Time for each frame with all sending",
        "s; and its share of the token's way",
        &full,
    )?;
    let used = page.computed("Share of a full ring", "stable below 1", &(lambda * &full))?;
    let walk = latency * (1.0 + &turn.sign * &rho / &ring.senders);
    let waiting = (lambda * &square + walk) / (2.0 * (1.0 - &rho - lambda * &hop));
    let waiting = waiting.unless_saturated(&used, &SheetValue::constant(1.0));
    let note = "s; (lambda E[X^2] + R_L (1 - rho/n, or + unless exhaustive)) / (2 (1 - rho - lambda walk))";
    let waiting = page.computed("W", note, &waiting)?;
    let capacity = load.own_share(rate) * &load.mean / &full;
    let capacity = lambda.above(0.0, &capacity, &SheetValue::constant(1.0));
    let pipelined = SheetValue::constant(0.0);
    Ok(Formula {
        name: String::new(),
        alike: 1.0,
        used,
        capacity,
        waiting,
        beyond: latency * &ring.way,
        pipelined,
    })
}

/// Mean and mean square of the time for which a frame occupies the ring: its time, or the ring's
/// latency where the token waits for it.
fn served(
    page: &mut SheetBuilder,
    load: &Load,
    rate: &SheetValue,
    latency: &SheetValue,
    early: &SheetValue,
) -> Result<(SheetValue, SheetValue), XlsxError> {
    let scale = 1.0 / rate;
    let mut sums = [SheetValue::constant(0.0), SheetValue::constant(0.0)];
    for kind in &load.kinds {
        for (sum, power) in sums.iter_mut().zip([1, 2]) {
            let own =
                kind.occupied.shares.times_at_least(&scale, &kind.occupied.bits, latency, power);
            let own = page.computed(
                &format!("E[max(X, R_L)^{power}] of one kind, in the order above"),
                "",
                &own,
            )?;
            *sum = &*sum + &kind.frames * own;
        }
    }
    let [mean, square] = sums;
    let none = SheetValue::constant(0.0);
    let weighed = |sum: SheetValue| load.frames.above(0.0, &(sum / &load.frames), &none);
    let mean = page.computed("E[X] used", "s", &early.above(0.5, &load.mean, &weighed(mean)))?;
    let square = page.computed(
        "E[X^2] used",
        "s^2",
        &early.above(0.5, &load.mean_square, &weighed(square)),
    )?;
    Ok((mean, square))
}

/// The sheet of an FDDI ring and its results.
pub(super) fn fddi(
    book: &Book,
    sheet: &str,
    segment: &SegmentPrediction,
    ring: &Fddi,
) -> Result<(SheetBuilder, Solved), XlsxError> {
    let about = "Exhaustive polling (Takagi 1986) below Jain's (1990) efficiency. Yellow cells may be changed.";
    let mut page = SheetBuilder::new(sheet, &format!("FDDI {}", segment.name), about)?;
    let name = |what: &str| cell_name(&["segment", &segment.name, what]);
    let rate = page.input("Rate, R", "bit/s", segment.rate_bits_per_second, &name("rate"))?;
    let stations = page.input("Stations, N", "", f64::from(segment.stations), &name("stations"))?;
    let fibre = ring.length.propagation(ring.velocity).seconds();
    let fibre = page.input("Propagation once round", "s", fibre, &name("propagation"))?;
    let each = page.input(
        "Latency of each station",
        "s",
        ring.station_latency.seconds(),
        &name("station_latency"),
    )?;
    let target = page.input(
        "Target rotation time, T",
        "s",
        ring.target_rotation.seconds(),
        &name("target_rotation"),
    )?;
    let latency = (fibre + each * &stations).max(&(88.0 / &rate));
    let latency =
        page.computed("Latency of the ring, D", "s; at least the token's 88 bits", &latency)?;
    let [senders, way] = used(&mut page, segment)?;
    let efficiency = &senders * (&target - &latency) / (&senders * &target + &latency);
    let efficiency = (&target - &latency).above(0.0, &efficiency, &SheetValue::constant(0.0));
    let efficiency =
        page.computed("Efficiency, n (T - D) / (n T + D)", "share of the rate", &efficiency)?;
    page.computed(
        "Longest access time, (n - 1) T + 2 D",
        "s",
        &((&senders - 1.0) * &target + 2.0 * &latency),
    )?;
    let ring = Ring { senders, latency, way };
    let load = book.load(&mut page, &segment.kinds, Occupation::FDDI, &rate)?;
    page.heading("The formula")?;
    let turn = TokenService {
        sign: SheetValue::constant(-1.0),
        one: SheetValue::constant(0.0),
        kept: SheetValue::constant(ENDLESS),
    };
    let formula = polling(&mut page, &load, &rate, &ring, &turn, None)?;
    let waiting = formula.waiting.unless_saturated(&load.busy, &efficiency);
    let used = &load.busy / efficiency.max(&SheetValue::constant(1e-9));
    let capacity = load.own_share(&rate) * &efficiency;
    let capacity = load.frames.above(0.0, &capacity, &SheetValue::constant(1.0));
    let formula = Formula { name: segment.name.clone(), waiting, capacity, used, ..formula };
    let solved = load.results(&mut page, &rate, formula)?;
    Ok((page, solved))
}
