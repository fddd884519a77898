//! A network over time as a picture: queues above, then collisions, then the busy times of the
//! media.

use btu_chart::{Axis, Mark, Panel, Picture, Point, Series};
use btu_medium::sim::{Course, Track};

/// Most curves in a panel: those that reach highest. Together with those of another panel there are
/// enough colours.
const MOST_CURVES: usize = 4;

/// A curve below this share of the highest one cannot be told from the axis.
const VISIBLE: f64 = 0.02;

/// The picture of a course, with this title.
pub fn course_picture(course: &Course, title: &str) -> Picture {
    let panels = [
        panel(course, "frames that wait or are being sent", &course.queues),
        panel(course, "collisions per second", &course.collisions),
        panel(course, "share of the time in use", &course.busy),
    ];
    let mut notes = Vec::new();
    if course.queues.iter().filter(|track| highest(track) > 0.0).count() > MOST_CURVES {
        notes.push(format!("the {MOST_CURVES} that reach highest"));
    }
    Picture { title: title.to_owned(), notes, panels: panels.into_iter().flatten().collect() }
}

fn highest(track: &Track) -> f64 {
    track.values.iter().copied().fold(0.0, f64::max)
}

/// Curves that are always near zero are left out, and panels without other curves, too.
fn panel(course: &Course, label: &str, tracks: &[Track]) -> Option<Panel> {
    let mut shown: Vec<&Track> = tracks.iter().filter(|track| highest(track) > 0.0).collect();
    shown.sort_by(|one, other| highest(other).total_cmp(&highest(one)));
    let least = shown.first().map_or(0.0, |track| highest(track) * VISIBLE);
    shown.retain(|track| highest(track) >= least);
    shown.truncate(MOST_CURVES);
    let series: Vec<Series> = shown.into_iter().map(|track| curve(course, track)).collect();
    let (x, y) = (Axis::linear("seconds"), Axis::linear(label));
    (!series.is_empty()).then_some(Panel { x, y, height: 220, across: Vec::new(), series })
}

fn curve(course: &Course, track: &Track) -> Series {
    let points = course
        .seconds
        .iter()
        .zip(&track.values)
        .map(|(seconds, value)| Point::new(*seconds, *value));
    Series { name: track.name.clone(), mark: Mark::Line, points: points.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_come_first_and_what_is_empty_is_left_out() {
        let mut course = Course::default();
        for second in 0..4u64 {
            let held =
                [("line/forth/line", second), ("line/forth/delay", 9), ("line/back/line", 0)];
            course.note(second as f64, held.into_iter(), std::iter::empty());
        }
        let picture = course_picture(&course, "a line over time");
        let [queues] = &picture.panels[..] else { panic!("one panel: {picture:?}") };
        let [queue] = &queues.series[..] else { panic!("one queue: {queues:?}") };
        assert_eq!(
            (queue.name.as_str(), queue.points[3]),
            ("line/forth/line", Point::new(3.0, 3.0))
        );
        assert!(course_picture(&Course::default(), "nothing").panels.is_empty());
    }
}
