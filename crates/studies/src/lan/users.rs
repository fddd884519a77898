//! The number of users that are served in time: from the measured levels, and between and beyond
//! them from a curve through these.
//!
//! The curve is a closed network of one server and a delay: R(k) = d + D (1 + Q(k - 1)), where the
//! k stations have the measured pauses. D and d fit the measured mean times of a transaction best,
//! by least squares of logarithms; the ratio of the 95th percentile to the mean comes from the
//! measured levels, with straight lines between them.

use btu_model::closed_network;
use btu_stats::{Estimate, geometric_interval};
use btu_units::Span;
use serde::Serialize;

use super::stations::LevelStations;

/// The curve is followed up to this multiple of the highest measured level.
const BEYOND: u32 = 4;

/// Steps of a search, each of which keeps 0.618 of the range: together a millionth.
const STEPS: u32 = 30;

/// The lower end of the search for the demand, as a share of the longest mean time.
const LEAST_SHARE: f64 = 1e-5;

/// The number of stations that are served in time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Users {
    /// The limit for the 95th percentile of transaction times.
    #[serde(rename = "limit_ns")]
    pub limit: Span,
    /// The highest measured level that was served in time; `None` if no level was.
    pub most: Option<u32>,
    /// The lowest level that was not; `None` if all were.
    pub too_many: Option<u32>,
    /// The number of users by the curve, also between and beyond the levels; none in an open loop,
    /// and with fewer than two levels.
    pub fit: Option<UsersFit>,
}

/// The result of the curve through the measured levels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct UsersFit {
    /// The number of stations at which 5 of 100 transactions exceed the limit; geometric mean of
    /// the blocks (95 %). `None` if the curve does not cross the limit within
    /// [`Self::looked_up_to`].
    pub stations: Option<Estimate>,
    /// Whether it is above the highest measured level.
    pub is_beyond: bool,
    /// The end of the search along the curve.
    pub looked_up_to: u32,
    /// The server's part of a transaction, in seconds: beyond the knee each station adds this time.
    pub server_seconds: f64,
    /// The rest of a transaction, in seconds.
    pub delay_seconds: f64,
    /// The error of the curve in the measured mean times, as a share of these (root mean square).
    pub missed: f64,
}

/// The means of a level.
#[derive(Debug, Clone, Copy)]
struct LevelMeans {
    stations: u32,
    mean: f64,
    /// The 95th percentile over the mean.
    spread: f64,
    /// The time from the end of a transaction to the beginning of the next.
    pause: f64,
}

/// The curve through the levels.
#[derive(Debug, Clone, Copy)]
struct Curve {
    server: f64,
    delay: f64,
    pause: f64,
    missed: f64,
}

/// Judges the levels: all blocks together, and each block alone for the interval. In an open loop
/// there is no curve.
pub(super) fn users(
    limit: Span,
    all: &[LevelStations],
    blocks: &[Vec<LevelStations>],
    is_closed: bool,
) -> Option<Users> {
    let mut levels: Vec<(u32, f64)> =
        all.iter().filter_map(|level| Some((level.count, level.p95_seconds?))).collect();
    levels.sort_by_key(|(count, _)| *count);
    let too_many = levels.iter().find(|(_, p95)| *p95 > limit.seconds()).map(|(count, _)| *count);
    let most = levels
        .iter()
        .map(|(count, _)| *count)
        .take_while(|count| too_many.is_none_or(|few| *count < few))
        .last();
    let fit = if is_closed { fit(limit, all, blocks) } else { None };
    (!levels.is_empty()).then_some(Users { limit, most, too_many, fit })
}

fn fit(limit: Span, all: &[LevelStations], blocks: &[Vec<LevelStations>]) -> Option<UsersFit> {
    let points = points(all);
    let curve = Curve::through(&points)?;
    let highest = points.last()?.stations;
    let looked_up_to = highest.saturating_mul(BEYOND);
    let crossing = |levels: &Vec<LevelStations>| {
        let points = self::points(levels);
        Curve::through(&points)?.crossing(&points, limit.seconds(), looked_up_to)
    };
    let crossings: Option<Vec<f64>> = blocks.iter().map(crossing).collect();
    let stations =
        crossings.and_then(|crossings| geometric_interval(&crossings, btu_stats::Level::P95));
    Some(UsersFit {
        is_beyond: stations.is_none_or(|stations| stations.value > f64::from(highest)),
        stations,
        looked_up_to,
        server_seconds: curve.server,
        delay_seconds: curve.delay,
        missed: curve.missed,
    })
}

/// Levels with the data for the curve, in ascending order.
fn points(levels: &[LevelStations]) -> Vec<LevelMeans> {
    let point = |level: &LevelStations| {
        let (mean, p95) = (level.mean_seconds?, level.p95_seconds?);
        let cycle = f64::from(level.count) / level.per_second?;
        let is_usable = mean > 0.0 && mean.is_finite() && cycle.is_finite() && p95 > 0.0;
        let pause = (cycle - mean).max(0.0);
        is_usable.then(|| LevelMeans { stations: level.count, mean, spread: p95 / mean, pause })
    };
    let mut points: Vec<LevelMeans> = levels.iter().filter_map(point).collect();
    points.sort_by_key(|point| point.stations);
    points
}

impl Curve {
    /// `None` for fewer than two points.
    fn through(points: &[LevelMeans]) -> Option<Self> {
        let longest = points.iter().map(|point| point.mean).fold(0.0, f64::max);
        let shortest = points.iter().map(|point| point.mean).fold(f64::INFINITY, f64::min);
        if points.len() < 2 {
            return None;
        }
        let pause = points.iter().map(|point| point.pause).sum::<f64>() / points.len() as f64;
        let missed = |server: f64, delay: f64| {
            let squares = points.iter().map(|point| {
                let mean = mean_at(point.stations, server, delay, pause).unwrap_or(f64::INFINITY);
                (mean / point.mean).ln().powi(2)
            });
            (squares.sum::<f64>() / points.len() as f64).sqrt()
        };
        let delay_for = |server: f64| least(0.0, shortest, |delay| missed(server, delay));
        let server = least((longest * LEAST_SHARE).ln(), longest.ln(), |server| {
            let server = server.exp();
            missed(server, delay_for(server))
        })
        .exp();
        let delay = delay_for(server);
        let missed = missed(server, delay);
        missed.is_finite().then_some(Self { server, delay, pause, missed })
    }

    /// The point at which the 95th percentile crosses the limit, linear between two numbers of
    /// stations; `None` up to `most`.
    fn crossing(&self, points: &[LevelMeans], limit: f64, most: u32) -> Option<f64> {
        let p95 = |stations: u32| {
            Some(
                mean_at(stations, self.server, self.delay, self.pause)?
                    * spread_at(points, stations),
            )
        };
        let mut before = 0.0;
        for stations in 1..=most {
            let here = p95(stations)?;
            if here > limit {
                // Every station's time is positive.
                return Some(
                    f64::from(stations - 1)
                        + ((limit - before) / (here - before)).clamp(f64::EPSILON, 1.0),
                );
            }
            before = here;
        }
        None
    }
}

/// The mean time of a transaction with this number of stations.
fn mean_at(stations: u32, server: f64, delay: f64, pause: f64) -> Option<f64> {
    Some(delay + closed_network(stations, pause + delay, &[server])?.response)
}

/// The 95th percentile over the mean: linear between the points, and as at the nearest beyond them.
fn spread_at(points: &[LevelMeans], stations: u32) -> f64 {
    let after = points.iter().position(|point| point.stations >= stations);
    match after {
        None => points.last().map_or(1.0, |last| last.spread),
        Some(0) => points[0].spread,
        Some(place) => {
            let (low, high) = (points[place - 1], points[place]);
            let share =
                f64::from(stations - low.stations) / f64::from(high.stations - low.stations);
            low.spread + share * (high.spread - low.spread)
        }
    }
}

/// The minimum of a function with one minimum between two numbers: golden section.
fn least(mut low: f64, mut high: f64, value: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    for _ in 0..STEPS {
        let (left, right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        if value(left) <= value(right) { high = right } else { low = left }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(count: u32, server: f64, delay: f64, pause: f64) -> LevelStations {
        let closed = closed_network(count, pause + delay, &[server]).unwrap();
        let mean = closed.response + delay;
        LevelStations {
            count,
            stations: Vec::new(),
            spread: None,
            mean_seconds: Some(mean),
            p95_seconds: Some(2.0 * mean),
            per_second: Some(closed.throughput),
        }
    }

    fn levels(counts: &[u32]) -> Vec<LevelStations> {
        counts.iter().map(|&count| level(count, 0.004, 0.001, 0.020)).collect()
    }

    /// The fit finds the curve of the invented levels, and the limit between two levels: by that
    /// closed network the 95th percentile is 35.5 ms at 9 stations and 41.9 ms at 10.
    #[test]
    fn users_between_the_levels_come_from_the_curve() {
        let all = levels(&[1, 3, 5, 10]);
        let blocks = vec![all.clone(), all.clone(), all.clone()];
        let users = users(Span::from_milliseconds(38), &all, &blocks, true).unwrap();
        assert_eq!((users.most, users.too_many), (Some(5), Some(10)));
        let fit = users.fit.unwrap();
        assert!(
            (fit.server_seconds - 0.004).abs() < 1e-5 && (fit.delay_seconds - 0.001).abs() < 2e-5,
            "{fit:?}"
        );
        assert!(fit.missed < 1e-3 && !fit.is_beyond, "{fit:?}");
        let exact = (1..=10)
            .find(|&count| level(count, 0.004, 0.001, 0.020).p95_seconds.unwrap() > 0.038)
            .unwrap();
        let found = fit.stations.unwrap().value;
        assert!((f64::from(exact - 1)..=f64::from(exact)).contains(&found), "{found}, {exact}");
    }

    #[test]
    fn users_beyond_the_levels_are_said_to_be_so() {
        let all = levels(&[1, 3, 5]);
        let found =
            users(Span::from_milliseconds(60), &all, std::slice::from_ref(&all), true).unwrap();
        assert_eq!((found.most, found.too_many), (Some(5), None));
        let fit = found.fit.unwrap();
        assert!(fit.is_beyond && fit.stations.unwrap().value > 5.0, "{fit:?}");
        let never = users(Span::from_seconds(10), &all, std::slice::from_ref(&all), true)
            .unwrap()
            .fit
            .unwrap();
        assert_eq!((never.stations, never.looked_up_to), (None, 20));
    }

    #[test]
    fn without_levels_or_in_an_open_loop_there_is_no_curve() {
        let one = levels(&[3]);
        assert_eq!(
            users(Span::from_milliseconds(1), &one, std::slice::from_ref(&one), true).unwrap().fit,
            None
        );
        let all = levels(&[1, 3]);
        assert_eq!(
            users(Span::from_milliseconds(1), &all, std::slice::from_ref(&all), false).unwrap().fit,
            None
        );
        assert_eq!(users(Span::from_milliseconds(1), &[], &[], true), None);
    }
}
