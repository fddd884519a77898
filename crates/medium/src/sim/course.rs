//! Queues and media over time: the data for a picture of a network.

use btu_network::Drawing;
use btu_units::{Span, Time};
use serde::Serialize;

use super::run::{Run, SimulationError, seed_of};
use super::settings::Settings;
use crate::segment::Meter;

/// Elements that hold frames in flight, which do not wait.
const UNDER_WAY: [&str; 8] =
    ["/delay", "/loss", "/corrupt", "/duplicate", "/reorder", "/receive", "/send", "/input"];

/// Values at every moment of a [`Course`], or in the time before each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Track {
    /// The queue's or the medium's name.
    pub name: String,
    /// One for each moment.
    pub values: Vec<f64>,
}

/// A network over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Course {
    /// The moments, in seconds, ascending.
    pub seconds: Vec<f64>,
    /// Frames that wait or are being sent at each moment, by queue.
    pub queues: Vec<Track>,
    /// Collisions per second since the moment before, by medium that has any.
    pub collisions: Vec<Track>,
    /// Share of the time since the moment before in which frames were carried, by medium or
    /// direction of a link.
    pub busy: Vec<Track>,
    /// The counts of the media at the last moment: collisions, and seconds of carrying.
    before: Vec<(f64, f64)>,
}

/// The busy times of a medium since the start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Used<'a> {
    /// The name of the medium.
    pub name: &'a str,
    /// The number of collisions on the medium since the start.
    pub collisions: u64,
    /// Carrying frames and what they occupy beyond their octets.
    pub carrying: Span,
    /// The number of lines in the sum.
    pub lines: u32,
}

impl Course {
    /// Adds the state at a moment: frames inside each element, and the busy times of the media
    /// since the start. Each call has equal elements and media, in an equal order.
    pub fn note<'a>(
        &mut self,
        seconds: f64,
        held: impl Iterator<Item = (&'a str, u64)>,
        used: impl Iterator<Item = Used<'a>>,
    ) {
        let time = seconds - self.seconds.last().copied().unwrap_or(0.0);
        self.seconds.push(seconds);
        let waiting = held.filter(|(name, _)| !UNDER_WAY.iter().any(|end| name.ends_with(end)));
        for (place, (name, frames)) in waiting.enumerate() {
            put(&mut self.queues, place, name, frames as f64);
        }
        for (place, used) in used.enumerate() {
            let now = (used.collisions as f64, used.carrying.seconds());
            let before = self.before.get(place).copied().unwrap_or_default();
            let rate = |part: f64| if time > 0.0 { part.max(0.0) / time } else { 0.0 };
            put(&mut self.collisions, place, used.name, rate(now.0 - before.0));
            put(
                &mut self.busy,
                place,
                used.name,
                rate(now.1 - before.1) / f64::from(used.lines.max(1)),
            );
            spread_back(&mut self.busy[place].values, &self.seconds);
            self.before.resize(self.before.len().max(place + 1), (0.0, 0.0));
            self.before[place] = now;
        }
    }
}

fn put(tracks: &mut Vec<Track>, place: usize, name: &str, value: f64) {
    if place == tracks.len() {
        tracks.push(Track { name: name.to_owned(), values: Vec::new() });
    }
    tracks[place].values.push(value);
}

/// A frame counts as a whole where it ends; what does not fit into that time was carried before it.
fn spread_back(shares: &mut [f64], seconds: &[f64]) {
    let length = |place: usize| {
        let begin = place.checked_sub(1).map_or(0.0, |before| seconds[before]);
        seconds[place] - begin
    };
    for place in (0..shares.len()).rev() {
        let excess = (shares[place] - 1.0) * length(place);
        if shares[place] <= 1.0 {
            return;
        }
        shares[place] = 1.0;
        if place > 0 && length(place - 1) > 0.0 {
            shares[place - 1] += excess / length(place - 1);
        }
    }
}

/// The first replication of a drawing's traffic, looked at so many times at equal distances, its
/// warm-up included.
///
/// # Errors
/// A network that cannot be built.
pub fn course(
    drawing: &Drawing,
    settings: &Settings,
    moments: u32,
) -> Result<Course, SimulationError> {
    let mut run = Run::new(drawing, seed_of(settings.seed, 0))?;
    let mut course = Course::default();
    for moment in 0..=u64::from(moments) {
        let at = Span::from_nanoseconds(
            settings.duration.nanoseconds() / u64::from(moments.max(1)) * moment,
        );
        run.go_on(Time::ZERO + at);
        let held = run.fabric().accounts().map(|(name, account)| (name, account.held));
        course.note(
            at.seconds(),
            held,
            run.fabric().meters().map(|(name, meter)| used(name, &meter)),
        );
    }
    Ok(course)
}

fn used<'a>(name: &'a str, meter: &Meter) -> Used<'a> {
    let (collisions, carrying, lines) =
        (meter.collision_count, meter.data + meter.overhead, meter.lines);
    Used { name, collisions, carrying, lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked_at(text: &str, seconds: u64) -> Course {
        let drawing = Drawing::read(text, "x.toml").unwrap();
        course(&drawing, &Settings::lasting(Span::from_seconds(seconds)), 100).unwrap()
    }

    /// A line of 1 Mb/s is offered 1.2 Mb/s: 100-octet frames come 1500 times a second, and 984
    /// leave (127 with what is around them take 1.016 ms).
    #[test]
    fn a_queue_grows_by_what_is_offered_beyond_its_rate() {
        let course = looked_at(
            "name = \"x\"\n[stations.a]\n[stations.b]\n[links.line]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mb/s\"\nqueue = \"5000 frames\"\n\
             [traffic.load]\nfrom = \"a\"\nto = \"b\"\nsize = \"100 B\"\npackets_per_s = 1500\narrivals = \"periodic\"\n",
            4,
        );
        let queue = course.queues.iter().find(|track| track.name == "line/forth/line").unwrap();
        assert_eq!(
            (course.seconds.len(), queue.values.len(), queue.values[0] as u64),
            (101, 101, 0)
        );
        let grown = queue.values[100] - queue.values[50];
        let occupied = 8.0 * 120.0 / 1e6;
        let expected = 2.0 * (1500.0 - 1.0 / occupied);
        assert!((grown - expected).abs() <= 2.0, "{grown} instead of {expected}");
        let busy = course.busy.iter().find(|track| track.name == "line/forth").unwrap();
        // A frame counts as a whole where it ends: 0.96 ms of 40.
        assert!((busy.values[50] - 1.0).abs() < 0.03, "{busy:?}");
        assert!(busy.values.iter().all(|share| *share <= 1.0), "{busy:?}");
    }

    /// At 10 kb/s a frame takes 96 ms, as long as five moments, and comes every 200 ms.
    #[test]
    fn a_frame_longer_than_a_moment_is_spread_over_its_time() {
        let course = looked_at(
            "name = \"x\"\n[stations.a]\n[stations.b]\n[links.line]\nbetween = [\"a\", \"b\"]\nrate = \"10 kb/s\"\n\
             [traffic.load]\nfrom = \"a\"\nto = \"b\"\nsize = \"100 B\"\npackets_per_s = 5\narrivals = \"periodic\"\n",
            2,
        );
        let busy = course.busy.iter().find(|track| track.name == "line/forth").unwrap();
        assert!(busy.values.iter().all(|share| (0.0..=1.0).contains(share)), "{busy:?}");
        // What is left over by more than a rounding error was lost on the way back.
        let seconds: f64 = busy.values.iter().map(|share| share * 0.02).sum();
        let frames = (seconds / 0.096).round();
        assert!((8.0..=10.0).contains(&frames), "{seconds} s");
        assert!((seconds - frames * 0.096).abs() < 1e-6, "{seconds} s");
    }

    #[test]
    fn collisions_are_counted_where_stations_share_a_cable() {
        let course = looked_at(
            "name = \"x\"\n[segments.lab]\nmedium = \"shared-ethernet\"\n[stations.a]\nsegment = \"lab\"\ncount = 8\n\
             [traffic.load]\nfrom = \"a\"\nto = \"a\"\nsize = \"512 B\"\npackets_per_s = 300\n",
            2,
        );
        let [cable] = &course.collisions[..] else { panic!("one medium: {course:?}") };
        assert!(
            cable.values.iter().sum::<f64>() > 0.0 && cable.values.iter().all(|rate| *rate >= 0.0),
            "{cable:?}"
        );
        assert!(
            course.busy[0].values.iter().all(|share| (0.0..=1.0).contains(share)),
            "{:?}",
            course.busy
        );
    }
}
