//! The answer of the emulated network: real packets through the emulator, at the same points.

use anyhow::{Error, bail};
use btu_contract::experiment::{self, Named};
use btu_contract::network::HostName;
use btu_contract::study::Scripted;
use btu_control::controller::{self, Ground, RunSettings, Testbed};
use btu_medium::sim;
use btu_network::{Drawing, StationId};
use btu_report::MeasuredFlow;
use btu_store::Store;
use btu_testbed::note;
use btu_testbed::testbed::{self, RuntimeDirectory};
use btu_units::Span;

use super::cells::{self, Replications};
use super::points::Turned;
use super::sending::{offerable, unsendable};
use super::sum::sum;
use super::words::{PointOrder, warm_up};
use crate::cli::{CheckOptions, Naming};
use crate::exit::Refusal;
use crate::files;
use crate::start::progress::{Bar, ProgressDisplay};
use crate::start::{company, preflight, study};
use crate::stored::wall_clock;

/// The shortest replication: starting takes a moment, and nine tenths of it count.
const SHORTEST: Span = Span::from_milliseconds(200);

/// A replication as the runner stores it.
type ReplicationCell = experiment::Measured<cells::Replication>;

/// The settings for measuring the points.
pub(super) struct Method<'a> {
    options: &'a CheckOptions,
    /// The origin of the network.
    source: &'a str,
    points: &'a [Turned],
}

impl<'a> Method<'a> {
    /// Makes all checks that are possible before a network is raised.
    pub(super) fn new(
        options: &'a CheckOptions,
        source: &'a str,
        points: &'a [Turned],
    ) -> anyhow::Result<Self> {
        let method = Self { options, source, points };
        if method.duration() < SHORTEST {
            let problem = format!(
                "--net-time {} leaves less than {SHORTEST} for each of {} replications: give more time, or fewer \
                 --replications",
                options.net_time, options.replications
            );
            return Err(Refusal::Usage(problem).into());
        }
        for drawing in points.iter().map(|turned| &turned.drawing) {
            testbed::check(drawing)?;
            drawing.traffic.iter().try_for_each(offerable)?;
        }
        if points.iter().any(|turned| unsendable(&turned.drawing, method.duration()).is_empty()) {
            preflight::namespaces(&std::env::current_exe()?, &[])?;
        }
        Ok(method)
    }

    /// The duration of one replication.
    fn duration(&self) -> Span {
        Span::from_nanoseconds(
            self.options.net_time.nanoseconds() / u64::from(self.options.replications),
        )
    }

    /// Settings for a simulation of the same packets, if they can be sent.
    pub(super) fn simulation(&self, drawing: &Drawing) -> Option<sim::Settings> {
        let duration = self.duration();
        let CheckOptions { replications, seed, .. } = *self.options;
        let settings = sim::Settings { duration, warm_up: warm_up(duration), replications, seed };
        unsendable(drawing, duration).is_empty().then_some(settings)
    }

    /// All flows at all points.
    pub(super) fn all(&self) -> anyhow::Result<Vec<Vec<MeasuredFlow>>> {
        let cells = self.measure()?;
        let at = |(point, Turned { drawing, .. }): (usize, &Turned)| {
            let mut reasons = unsendable(drawing, self.duration());
            let mut replications = Vec::new();
            for cell in cells.iter().filter(|cell| cell.cell.point == point) {
                let record = cells::record(&cell.seen).map_err(Error::msg)?;
                replications.push((record, cell.seen.wire.clone()));
                reasons.extend(cell.faults.iter().cloned());
            }
            Ok(sum(drawing, self.duration(), &replications, &reasons))
        };
        self.points.iter().enumerate().map(at).collect()
    }

    /// Every replication, by as many runs as there are networks: one after the other is up.
    fn measure(&self) -> anyhow::Result<Vec<ReplicationCell>> {
        let own = RuntimeDirectory::claim(&preflight::runtime_directory()?)?;
        // No command shows or resumes a check: its cells go with this directory.
        let mut store = Store::open(own.path().join("check.sqlite"))?;
        let settings = RunSettings {
            runtime: preflight::runtime_directory()?,
            executable: std::env::current_exe()?,
            wall_clock,
        };
        let orders = self.points.iter().map(|turned| self.order(turned)).collect();
        let (count, runtime) = (self.options.replications, settings.runtime.clone());
        let plan = Replications::new(orders, count, self.source, runtime);
        for (point, order) in plan.orders.iter().enumerate() {
            let file = own.path().join(Replications::order_file(point));
            files::save(&file, serde_json::to_string(order)?.as_bytes())?;
        }
        let lock = study::begin(&mut store, &Naming::default(), &plan)?;
        let mut bar = Bar::new(self.options.quiet, ProgressDisplay::Never);
        let mut scripted = Scripted { plan, scratch: own.path().to_owned() };
        let mut cells: Vec<ReplicationCell> = Vec::new();
        while let Some(network) = scripted.plan.network_after(&cells) {
            let ground = Ground::Testbed(Box::new(self.testbed(network)));
            store.reopen(&lock)?;
            let run = controller::run(&store, &lock, &mut scripted, &settings, ground, &mut bar);
            bar.clear();
            run?;
            cells = store.records(lock.run())?;
            if let Some(Err(fault)) = cells.last().map(|last| cells::record(&last.seen)) {
                bail!("{fault}");
            }
        }
        if let Some(company) = company(&own) {
            note!("{company}");
        }
        Ok(cells)
    }

    fn order(&self, Turned { drawing, .. }: &Turned) -> PointOrder {
        let (seed, duration) = (self.options.seed, self.duration());
        PointOrder { drawing: drawing.clone(), seed, duration, warm_up: warm_up(duration) }
    }

    /// The network with an agent in the first station, where the process is started.
    fn testbed(&self, drawing: Drawing) -> Testbed {
        let first = drawing.stations.first().map(HostName::from);
        Testbed {
            name: Replications::STUDY,
            hosts: first.map(|name| (name, StationId(0))).into_iter().collect(),
            drawing,
            source: self.source.to_owned(),
            ..Testbed::default()
        }
    }
}
