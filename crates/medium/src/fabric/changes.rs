//! The changes of links during a run.

use btu_network::{Change, Drawing, Way};
use btu_units::Time;

use super::Fabric;
use super::node::Node;

/// All changes of a drawing's links, each at one line.
#[derive(Debug)]
pub(super) struct Changes {
    /// The changes in ascending order of time.
    list: Vec<(Time, u32, Change)>,
    /// The index of the next change.
    next: usize,
}

impl Changes {
    /// The changes of `drawing`; its links are these lines.
    pub(super) fn of(drawing: &Drawing, links: &[[u32; 2]]) -> Self {
        let mut list: Vec<_> = drawing
            .links
            .iter()
            .zip(links)
            .flat_map(|(link, &lines)| {
                link.changes.iter().flat_map(move |change| {
                    lines_of(change.way, lines)
                        .iter()
                        .map(move |&line| (Time::ZERO + change.at, line, change.clone()))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        list.sort_by_key(|&(time, line, _)| (time, line));
        Self { list, next: 0 }
    }
}

/// Which of a link's two lines, forth and back, a way means.
fn lines_of(way: Way, lines: [u32; 2]) -> Vec<u32> {
    match way {
        Way::Forth => vec![lines[0]],
        Way::Back => vec![lines[1]],
        Way::Both => lines.to_vec(),
    }
}

impl Fabric {
    /// Makes the next change, if it is due before the next event, and returns the node that must be
    /// polled then. If nothing happens afterwards, no change is made, since it would have no
    /// effect.
    pub(super) fn change(&mut self, next: Option<Time>) -> Option<u32> {
        let (time, line, change) = self.changes.list.get(self.changes.next)?;
        if *time > next? {
            return None;
        }
        self.changes.next += 1;
        self.clock = self.clock.max(*time);
        if let Node::Line { chain, gauge, .. } = &mut self.nodes[*line as usize] {
            // A line of a link that changes has all parts that can; a trace keeps its rate, which
            // the reader refuses.
            let _made = chain.change(change, self.clock);
            if let Some(rate) = change.rate {
                gauge.change(rate);
            }
        }
        Some(*line)
    }
}
