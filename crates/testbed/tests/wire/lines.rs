//! Lines as a network file draws them, in real time: the medium's conformance tests beyond those of
//! a path.

use btu_medium::conformance::{self, Arrival, Bench};
use btu_network::{Direction, Drawing, Shape};
use btu_testbed::wire::WirePlan;
use btu_units::{Bytes, Span};

use crate::Scenario;
use crate::bench::{ACTIVE, SEED, TEST, check_accounts, in_fresh_namespace, run_script};
use crate::lab::{Room, Wire, cable, introduce};
use crate::scenarios::Machine;

pub(crate) const SCENARIOS: &[Scenario] = &[
    ("line_jitter_normal", || {
        conformance::jitter_is_distributed_as_asked(&mut LineBench, Shape::Normal);
    }),
    ("line_jitter_pareto", || {
        conformance::jitter_is_distributed_as_asked(&mut LineBench, Shape::Pareto);
    }),
    ("line_jitter_order", || conformance::jitter_keeps_order_where_asked(&mut LineBench)),
    ("line_bursts_of_loss", || conformance::losses_come_in_bursts(&mut LineBench)),
    ("line_queue_of_frames", || conformance::a_queue_of_frames_drops_at_its_tail(&mut LineBench)),
    ("line_queue_of_bytes", || conformance::a_queue_of_bytes_counts_bytes(&mut LineBench)),
    ("line_controlled_delay", || {
        conformance::controlled_delay_keeps_no_standing_queue(&mut LineBench);
    }),
    ("line_recorded", || conformance::a_recorded_line_keeps_its_opportunities(&mut LineBench)),
];

/// A link between two namespaces: one direction is under test, the other only has a delay.
struct LineBench;

impl Bench for LineBench {
    fn run(&mut self, direction: &Direction, script: &[(Span, Bytes)]) -> Vec<Arrival> {
        in_fresh_namespace(|| {
            let (from, to) = (Room::new(), Room::new());
            cable("p0", &from, TEST);
            cable("p1", &to, ACTIVE);
            introduce(&from, ACTIVE);
            introduce(&to, TEST);
            let interfaces = ["p0", "p1"].map(str::to_owned).to_vec();
            let drawing = drawing(direction);
            let mut wire = Wire::start(&WirePlan::new(SEED, drawing, interfaces));
            let arrivals = run_script(&from, &to, ACTIVE, script);
            check_accounts(&wire.client.account().unwrap());
            arrivals
        })
    }

    /// As for paths: the tolerance of the median.
    fn tolerance(&self) -> Span {
        Span::from_microseconds(200)
    }

    #[track_caller]
    fn out_of_bounds(&self, message: &str) {
        Machine.out_of_bounds(message);
    }
}

fn drawing(direction: &Direction) -> Drawing {
    const PAIR: &str = "name = \"pair\"\n[stations.a]\n[stations.b]\n[links.ab]\nbetween = [\"a\", \"b\"]\nrate = \"100 Mb/s\"\n";
    let mut drawing = Drawing::read(PAIR, "test").unwrap_or_else(|error| panic!("{error}"));
    drawing.links[0].forth = direction.clone();
    drawing
}
