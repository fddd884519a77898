//! Reports progress while a script is played.

use std::future::Future;
use std::pin::pin;

use btu_contract::activity::{Activity, Word};
use btu_contract::app::View;
use btu_contract::network::HostName;
use btu_contract::pipe::End;
use btu_contract::sample::{Interval, Intervals, Sample};
use btu_contract::script::{Script, Step};
use futures_util::stream::{self, SelectAll};
use futures_util::{Stream, StreamExt};

use super::super::client::AgentLink;
use super::super::{Observer, Phase, Progress};

/// For scripts without an observer.
pub(super) struct Unwatched;

impl Observer for Unwatched {
    fn phase(&mut self, _: Phase) {}
    fn progress(&mut self, _: &Progress) {}
    fn notice(&mut self, _: &str) {}
}

/// Waits for `work`, and meanwhile reports the samples of a cell's workers; returns its result, and
/// all that was reported. Missing samples are no failure of the work.
pub(super) async fn watched<T>(
    work: impl Future<Output = T>,
    (cell, script): (u64, &Script),
    links: &[(HostName, AgentLink)],
    observer: &mut dyn Observer,
) -> (T, Vec<Interval>) {
    let mut course = Vec::new();
    let Some(every) = observer.every() else { return (work.await, course) };
    let mut intervals = Intervals::of(script, every);
    let mut work = pin!(work);
    let mut samples = listen(cell, script, &intervals, links);
    loop {
        tokio::select! {
            biased;
            Some(told) = samples.next() => {
                match told {
                    (step, Some(Told::Sample(sample))) => intervals.add(step, sample),
                    (_, Some(Told::View(view))) => observer.view(&view),
                    (step, None) => intervals.end(step),
                }
                while let Some(interval) = intervals.ready() {
                    observer.interval(&interval);
                    course.push(interval);
                }
            }
            done = &mut work => return (done, course),
        }
    }
}

/// What a worker reports under way.
enum Told {
    Sample(Sample),
    View(Box<View>),
}

type Samples = SelectAll<std::pin::Pin<Box<dyn Stream<Item = (usize, Option<Told>)>>>>;

/// Whether a step is a display, which has views.
fn has_views(step: &Step) -> bool {
    match &step.order.activity {
        Activity::Draw(end) | Activity::DrawOverSsh(end) => end.end == End::Far,
        Activity::DrawInside(_) => true,
        _ => false,
    }
}

/// The reports of every worker that moves a stream or is a display: its step, and `None` for its
/// end.
fn listen(
    cell: u64,
    script: &Script,
    intervals: &Intervals,
    links: &[(HostName, AgentLink)],
) -> Samples {
    let mut all = SelectAll::new();
    let displays = script.steps.iter().enumerate().filter(|(_, step)| has_views(step));
    for index in intervals.steps().chain(displays.map(|(index, _)| index)) {
        let host = script.steps.get(index).map(|step| &step.host);
        let Some((_, link)) = links.iter().find(|(name, _)| Some(name) == host) else { continue };
        let Ok(words) = link.clone().follow(cell, index as u32) else { continue };
        let samples = stream::unfold(words, async |mut words| {
            let word = words.next().await.ok()??;
            Some((word, words))
        });
        let told = samples.filter_map(async |word| match word {
            Word::Sample(sample) => Some(Some(Told::Sample(*sample))),
            Word::View(view) => Some(Some(Told::View(view))),
            _ => None,
        });
        all.push(
            told.chain(stream::once(async { None }))
                .map(move |sample| (index, sample))
                .boxed_local(),
        );
    }
    all
}
