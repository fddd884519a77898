//! Samples queues and media of a network while it is in use, for a picture and for the terminal.

use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use btu_chart::{Axis, Mark, Panel, Picture, Point, Series};
use btu_contract::record::WireAccount;
use btu_contract::sample::Interval;
use btu_control::controller::{Observer, Phase, Progress};
use btu_medium::sim::{Course, Used};
use btu_report::course_picture;
use btu_testbed::testbed;
use btu_units::{Span, three_digits};

/// The interval of samples: a wire answers in well under a millisecond.
const EVERY: Duration = Duration::from_millis(100);

/// The interval of what workers report.
const REPORTED_EVERY: Span = Span::from_milliseconds(200);

/// Panels of a picture in the terminal: queues, rate and round trip.
const PANELS: usize = 3;

/// Rows of a panel in the terminal between its axes: at least, and at most.
const ROWS: std::ops::RangeInclusive<usize> = 4..=10;

/// Rows of the screen that are of no panel: the numbers and the label of the time axis, and the
/// cursor's.
const OTHER_ROWS: usize = 3;

/// Size of a terminal that does not report one: columns and rows.
const USUAL_SIZE: (u16, u16) = (80, 24);

/// The greatest number of columns of a picture in the terminal.
const COLUMNS: usize = 100;

/// Bits per second in a Mb/s, milliseconds in a second.
const MEGA: f64 = 1e6;
const MILLI: f64 = 1e3;

/// The samples so far.
#[derive(Debug, Default, Clone)]
pub(super) struct SamplesSoFar {
    course: Course,
    rates: Vec<Point>,
    round_trips: Vec<Point>,
}

/// A thread that takes samples until it gets the order to end.
pub(super) struct Looking {
    seen: Arc<Mutex<SamplesSoFar>>,
    is_done: Arc<AtomicBool>,
    began: Instant,
    thread: JoinHandle<()>,
}

/// The place where the progress of a script is recorded.
pub(super) struct Notebook {
    seen: Arc<Mutex<SamplesSoFar>>,
    /// The start of the recording, relative to the first sample.
    offset: f64,
}

impl Looking {
    /// Samples the network with this runtime directory; `draws` means that it also draws in the
    /// terminal.
    pub(super) fn start(directory: &Path, draws: bool) -> std::io::Result<Self> {
        let (seen, is_done, began) =
            (Arc::default(), Arc::new(AtomicBool::new(false)), Instant::now());
        let looks = Looks {
            directory: directory.to_owned(),
            seen: Arc::clone(&seen),
            is_done: Arc::clone(&is_done),
            began,
            drawn: draws.then_some(0),
        };
        let thread = thread::Builder::new().name("look".to_owned()).spawn(move || looks.run())?;
        Ok(Self { seen, is_done, began, thread })
    }

    /// A place for the progress of a script that begins now.
    pub(super) fn notebook(&self) -> Notebook {
        let offset = self.began.elapsed().as_secs_f64();
        // Nothing has arrived yet.
        lock(&self.seen).rates.push(Point::new(offset, 0.0));
        Notebook { seen: Arc::clone(&self.seen), offset }
    }

    /// Ends it; returns the samples as a picture.
    pub(super) fn end(self, title: &str) -> Picture {
        self.is_done.store(true, Ordering::Relaxed);
        // It cannot panic.
        let _ = self.thread.join();
        picture(&lock(&self.seen), title)
    }
}

impl Observer for Notebook {
    fn phase(&mut self, _: Phase) {}
    fn progress(&mut self, _: &Progress) {}
    fn notice(&mut self, _: &str) {}

    fn every(&self) -> Option<Span> {
        Some(REPORTED_EVERY)
    }

    fn interval(&mut self, interval: &Interval) {
        let at = self.offset + interval.to_seconds;
        let mut seen = lock(&self.seen);
        let rate: f64 = interval.flows.iter().map(|flow| flow.goodput_bits_per_second).sum();
        seen.rates.push(Point::new(at, rate / MEGA));
        seen.round_trips
            .extend(interval.request_seconds.map(|seconds| Point::new(at, seconds * MILLI)));
    }
}

fn lock(seen: &Mutex<SamplesSoFar>) -> std::sync::MutexGuard<'_, SamplesSoFar> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread's own part.
struct Looks {
    directory: PathBuf,
    seen: Arc<Mutex<SamplesSoFar>>,
    is_done: Arc<AtomicBool>,
    began: Instant,
    /// The number of lines on the terminal, if it draws.
    drawn: Option<usize>,
}

impl Looks {
    fn run(mut self) {
        let mut number = 0;
        while !self.is_done.load(Ordering::Relaxed) {
            // The thread that waits for the command reports a network that ends.
            if let Ok(account) = testbed::account(&self.directory) {
                note(&mut lock(&self.seen).course, self.began.elapsed().as_secs_f64(), &account);
            }
            self.draw();
            number += 1;
            thread::sleep((EVERY * number).saturating_sub(self.began.elapsed()));
        }
        self.draw();
    }

    /// Draws over the last picture.
    fn draw(&mut self) {
        let Some(standing) = self.drawn else { return };
        let size = terminal_size::terminal_size_of(stderr());
        let size = size.map_or(USUAL_SIZE, |(columns, rows)| (columns.0, rows.0));
        let lines = lines(&picture(&lock(&self.seen), ""), size);
        let up = if standing > 0 { format!("\x1b[{standing}A\r\x1b[J") } else { String::new() };
        // The terminal may be gone.
        let _ = stderr().lock().write_all(format!("{up}{}\n", lines.join("\n")).as_bytes());
        self.drawn = Some(lines.len());
    }
}

fn note(course: &mut Course, seconds: f64, account: &WireAccount) {
    let held = account.elements.iter().map(|element| (element.name.as_str(), element.held));
    let used = account.segments.iter().map(|segment| Used {
        name: &segment.name,
        collisions: segment.collision_count,
        carrying: segment.data + segment.overhead,
        lines: segment.lines,
    });
    course.note(seconds, held, used);
}

/// Shows the queues, the rates and round trips that were reported, and the load of the media.
fn picture(seen: &SamplesSoFar, title: &str) -> Picture {
    let mut picture = course_picture(&seen.course, title);
    let told = [
        ("Mb/s that arrived", "stream", &seen.rates),
        ("round trip of a request, ms", "requests", &seen.round_trips),
    ];
    let told = told.into_iter().filter(|(_, _, points)| !points.is_empty()).map(
        |(label, name, points)| Panel {
            x: Axis::linear("seconds"),
            y: Axis::linear(label),
            height: 220,
            across: Vec::new(),
            series: vec![Series {
                name: name.to_owned(),
                mark: Mark::Line,
                points: points.clone(),
            }],
        },
    );
    let behind_queues = picture.panels.len().min(1);
    picture.panels.splice(behind_queues..behind_queues, told);
    on_one_time_axis(&mut picture);
    picture
}

/// All panels get the time axis of the longest one, so that they can be read across.
fn on_one_time_axis(picture: &mut Picture) {
    let points = picture.panels.iter().flat_map(|panel| &panel.series).flat_map(|one| &one.points);
    let last = points.map(|point| point.x).fold(0.0, f64::max);
    for panel in &mut picture.panels {
        panel.x = Axis::linear("seconds").within(0.0, last);
    }
}

/// The first panels for a terminal of so many columns and rows, which they do not exceed unless it
/// is lower than any picture.
fn lines(picture: &Picture, (columns, rows): (u16, u16)) -> Vec<String> {
    let columns = usize::from(columns).clamp(2, COLUMNS) - 1;
    let panels: Vec<Panel> = picture.panels.iter().take(PANELS).map(with_newest).collect();
    let room = usize::from(rows).saturating_sub(OTHER_ROWS) / panels.len().max(1);
    let rows = room.saturating_sub(btu_chart::ROWS_AROUND).clamp(*ROWS.start(), *ROWS.end());
    btu_chart::terminal_below(&panels, columns, rows)
}

/// The panel with its newest value in its label, where it has one series: a row of text is too high to
/// read a value from.
fn with_newest(panel: &Panel) -> Panel {
    let mut panel = panel.clone();
    if let [Series { points, .. }] = panel.series.as_slice()
        && let Some(newest) = points.last()
    {
        panel.y.label = format!("{}: {} now", panel.y.label, three_digits(newest.y));
    }
    panel
}

#[cfg(test)]
mod tests {
    use btu_contract::network::HostName;
    use btu_contract::record::ElementAccount;
    use btu_contract::sample::FlowInterval;

    use super::*;

    #[test]
    fn queue_rate_and_round_trip_stand_below_each_other() {
        let mut seen = SamplesSoFar::default();
        for second in 0..5u64 {
            let name = "line/forth/line".to_owned();
            let element = ElementAccount {
                name,
                received: 9,
                duplicated: 0,
                delivered: 9 - second,
                dropped: Vec::new(),
                held: second,
            };
            note(
                &mut seen.course,
                second as f64,
                &WireAccount { elements: vec![element], ..WireAccount::default() },
            );
        }
        let seen = Arc::new(Mutex::new(seen));
        let [from, to] = ["a", "b"].map(|name| HostName::try_from(name).unwrap());
        let flow = FlowInterval {
            from,
            to,
            goodput_bits_per_second: 2e6,
            segments_sent_again: None,
            congestion_window_bytes: None,
            round_trip_seconds: None,
            missed: None,
        };
        let mut notebook = Notebook { seen: Arc::clone(&seen), offset: 1.0 };
        for second in 1..4 {
            let to_seconds = f64::from(second);
            let interval = Interval {
                from_seconds: to_seconds - 1.0,
                to_seconds,
                request_seconds: Some(0.25),
                requests: Some(5),
                flows: vec![flow.clone()],
            };
            notebook.interval(&interval);
        }
        let picture = picture(&lock(&seen), "a line");
        let labels: Vec<&str> = picture.panels.iter().map(|panel| panel.y.label.as_str()).collect();
        assert_eq!(
            labels,
            [
                "frames that wait or are being sent",
                "Mb/s that arrived",
                "round trip of a request, ms"
            ]
        );
        assert_eq!(picture.panels[2].series[0].points[0], Point::new(2.0, 250.0));
        let axes: Vec<_> = picture.panels.iter().map(|panel| panel.x.range).collect();
        assert_eq!(axes, [Some((0.0, 4.0)); 3], "one time axis");
        for (size, least) in [((80, 24), 20), ((80, 30), 20), ((200, 50), 35)] {
            let lines = lines(&picture, size);
            assert!(
                (least..usize::from(size.1)).contains(&lines.len()),
                "{size:?}: {}",
                lines.len()
            );
            let widest = lines.iter().map(|line| line.chars().count()).max();
            assert!(widest <= Some(usize::from(size.0)), "{size:?}: {widest:?}");
        }
    }
}
