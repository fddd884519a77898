//! The experiment file: from a text to everything that a run of `btu run` measures, or to
//! everything that is wrong with the text.
//!
//! A factor is a setting: each of its levels puts a value in the place of another, in this file or
//! in the network's. So the file is read once unchanged, for its own mistakes; once for each level,
//! for mistakes of that level; and once for each combination that is measured, which gives its row.

mod activity;
mod factor;
mod order;
mod program;
mod setup;
mod text;
mod value;

use std::collections::BTreeMap;
use std::net::IpAddr;

use btu_network::{Document, Drawing, Fields, Item, ReadError};

use super::plan::{Factor, MOST_NETWORKS, MOST_ROWS};
use super::row::RunRow;
use super::value::Value;
use btu_contract::congestion::CongestionControl;
use btu_contract::experiment::Raised;
use btu_contract::network::HostName;
use factor::{Factors, combinations};
use setup::{Context, Setup};

pub use order::Order;
pub use text::inline_network;

/// The name of such a file in errors.
const KIND: &str = "an experiment file";

/// The keys that a file has of its own; every other key belongs to the network's file.
const OWN: [&str; 11] = [
    "name", "about", "network", CONGESTION, "hosts", "service", "measure", "load", "factors",
    "variant", "order",
];

/// The key of the congestion control of the network's stations.
const CONGESTION: &str = "congestion_control";

/// A network of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExperimentNetwork {
    /// A name of the library, or a file; `None` if the experiment draws its own.
    pub name: Option<String>,
    /// Values that are put in the place of its file's.
    pub settings: Vec<(String, String)>,
    /// The congestion control of its stations; the machine's own if absent.
    pub congestion_control: Option<CongestionControl>,
}

/// A network that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// As plans have it, without stations.
    pub raised: Raised,
    /// The drawing of that network.
    pub drawing: Drawing,
}

/// Finds networks; an error has the mistakes of one.
pub type Networks<'a> = &'a dyn Fn(&ExperimentNetwork) -> Result<Found, String>;

/// The place of an experiment.
#[derive(Clone, Copy)]
pub enum Ground<'a> {
    /// On networks that are raised; the name is used where the file has none.
    Networks {
        /// Finds the networks that the file names.
        find: Networks<'a>,
        /// The network of a file that names none, or the one that replaces it.
        instead: Option<&'a str>,
    },
    /// On real hosts of these names, where no programs are started.
    Hosts(&'a [HostName]),
}

/// An experiment that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentFile {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub about: String,
    /// The repetitions and the time.
    pub order: Order,
    /// The factors that are varied.
    pub factors: Vec<Factor>,
    /// The values that are measured.
    pub values: Vec<Value>,
    /// Every combination that is measured, the baseline first.
    pub rows: Vec<RunRow>,
    /// The networks of the rows, in the order of their places; none on real hosts.
    pub networks: Vec<Found>,
    /// The stations or hosts that take part, in the order in which the file names them.
    pub hosts: Vec<HostName>,
    /// The resolution of the fraction that the rows are.
    pub resolution: Option<u32>,
}

/// The inventory of real hosts that an experiment names (`hosts = "FILE"`): it decides what the
/// file is read for.
pub fn inventory_of(text: &str) -> Option<String> {
    let document = Document::parse(text, "the experiment", KIND, &[]);
    document.fields().and_then(|fields| fields.get("hosts")?.text().map(str::to_owned))
}

/// Reads an experiment file, which errors call `source_name`, with settings put in.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read(
    text: &str,
    source_name: &str,
    settings: &[(String, String)],
    ground: Ground<'_>,
) -> Result<ExperimentFile, ReadError> {
    let reader = Reader { text, source_name, ground };
    let document = reader.document(settings);
    let Some(fields) = document.fields() else {
        return Err(refused(document));
    };
    let (name, about) = (name_of(&fields, source_name), prose(&fields, "about"));
    // Lists and reports have one line for it.
    let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
    let factors = Factors::read(&fields, &document);
    let own: Vec<(String, String)> = of_network(settings);
    let base = reader.setup(&document, &fields, &factors, &factors.baseline(), own.clone());
    let order = Order::read(&fields);
    fields.finish();
    reader.check_levels(&document, settings, &factors);
    let (Some(base), Some(order), true) = (base, order, document.is_right()) else {
        return Err(refused(document));
    };
    let runs = combinations(&factors, order.resolution, &document);
    let mut networks = Gathered::default();
    let mut rows = Vec::new();
    for levels in &runs {
        rows.extend(reader.row(&document, settings, &factors, levels, &mut networks));
    }
    document.verdict()?;
    let hosts = hosts_of(&rows);
    let resolution = order.resolution.filter(|_| factors.is_fraction(runs.len()));
    Ok(ExperimentFile {
        name,
        about,
        order,
        factors: factors.listed(),
        values: base.values,
        rows,
        networks: networks.found,
        hosts,
        resolution,
    })
}

/// A document with which something is wrong.
fn refused(document: Document<'_>) -> ReadError {
    let error = document.verdict().err();
    error.unwrap_or_else(|| ReadError::at("the experiment", "", 0..0, "it cannot be read"))
}

fn name_of(fields: &Fields<'_>, source_name: &str) -> String {
    let stem =
        source_name.rsplit('/').next().unwrap_or_default().split('.').next().unwrap_or_default();
    let named = fields.get("name").and_then(|item| item.text().map(str::to_owned));
    named.unwrap_or_else(|| if stem.is_empty() { "experiment".to_owned() } else { stem.to_owned() })
}

fn prose(fields: &Fields<'_>, key: &'static str) -> String {
    fields.get(key).and_then(|item| item.prose()).unwrap_or_default()
}

/// The settings that belong to the network's file.
fn of_network(settings: &[(String, String)]) -> Vec<(String, String)> {
    let settings = settings.iter().filter(|(key, _)| !is_own(key));
    settings
        .map(|(key, value)| (key.strip_prefix("network.").unwrap_or(key).to_owned(), value.clone()))
        .collect()
}

/// Whether a key is one of the experiment's file.
fn is_own(key: &str) -> bool {
    let first = key.split('.').next().unwrap_or_default();
    OWN.contains(&first) && !key.starts_with("network.")
}

/// The algorithm that an item names.
fn congestion_of(item: &Item<'_>) -> Option<CongestionControl> {
    let named = item.text()?.parse::<CongestionControl>();
    named.map_err(|error| item.problem(error.to_string())).ok()
}

/// All hosts with work, in the order of the first row that names them.
fn hosts_of(rows: &[RunRow]) -> Vec<HostName> {
    let mut hosts: Vec<HostName> = Vec::new();
    for row in rows {
        let programs = row.programs.iter().map(|step| &step.host);
        let activities =
            row.activities.iter().flat_map(|step| [Some(&step.on), step.to.as_ref()]).flatten();
        for host in programs.chain(activities) {
            if !hosts.contains(host) {
                hosts.push(host.clone());
            }
        }
    }
    hosts
}

/// The networks of rows, each once.
#[derive(Default)]
struct Gathered {
    asked: Vec<ExperimentNetwork>,
    found: Vec<Found>,
}

impl Gathered {
    /// The index of a network; `None` if there would be too many.
    fn place(&mut self, asked: ExperimentNetwork, found: Found) -> Option<usize> {
        if let Some(place) = self.asked.iter().position(|one| *one == asked) {
            return Some(place);
        }
        if self.asked.len() >= MOST_NETWORKS {
            return None;
        }
        self.asked.push(asked);
        self.found.push(found);
        Some(self.asked.len() - 1)
    }
}

struct Reader<'a> {
    text: &'a str,
    source_name: &'a str,
    ground: Ground<'a>,
}

impl Reader<'_> {
    /// The file with the settings that are its own.
    fn document(&self, settings: &[(String, String)]) -> Document<'_> {
        let own: Vec<(String, String)> =
            settings.iter().filter(|(key, _)| is_own(key)).cloned().collect();
        Document::parse(self.text, self.source_name, KIND, &own)
    }

    /// The content of a document with these levels.
    fn setup(
        &self,
        document: &Document<'_>,
        fields: &Fields<'_>,
        factors: &Factors,
        levels: &[usize],
        network: Vec<(String, String)>,
    ) -> Option<Setup> {
        let Some((hosts, asked, found)) = self.hosts(document, fields, network) else {
            // These keys are right; what they say needs the hosts.
            for key in ["service", "measure"] {
                let _ = fields.get(key);
            }
            return None;
        };
        let mut words = factors.words(levels);
        for (host, address) in &hosts {
            words
                .entry(host.to_string())
                .or_insert_with(|| address.map_or_else(|| host.to_string(), |one| one.to_string()));
        }
        let context = Context {
            hosts: &hosts,
            drawing: found.as_ref().map(|found| &found.drawing),
            words: &words,
            with_programs: asked.is_some(),
            loads: factors.loads(levels),
        };
        let mut setup = Setup::read(fields, document, &context)?;
        setup.network = asked.zip(found);
        Some(setup)
    }

    /// The hosts by address, and their network.
    #[allow(clippy::type_complexity, reason = "three things that are found together and used once")]
    fn hosts(
        &self,
        document: &Document<'_>,
        fields: &Fields<'_>,
        settings: Vec<(String, String)>,
    ) -> Option<(BTreeMap<HostName, Option<IpAddr>>, Option<ExperimentNetwork>, Option<Found>)>
    {
        let (item, inventory) = (fields.get("network"), fields.get("hosts"));
        let congestion = fields.get(CONGESTION);
        if let Some(inventory) = &inventory {
            inventory.text()?;
        }
        match self.ground {
            Ground::Hosts(hosts) => {
                if let Some(item) = item {
                    item.problem(
                        "real hosts were named to measure on: leave the network out, or the hosts",
                    );
                }
                if let Some(item) = congestion {
                    item.problem("it applies to a network's stations: real hosts have their own");
                }
                Some((hosts.iter().map(|host| (host.clone(), None)).collect(), None, None))
            }
            Ground::Networks { find, instead } => {
                let name = match (&item, instead) {
                    (_, Some(instead)) => Some(instead.to_owned()),
                    (Some(item), None) if item.is_table() => None,
                    (Some(item), None) => Some(item.text()?.to_owned()),
                    (None, None) => {
                        fields.problem(
                            "`network` is missing: write for example `network = \"home-fq-codel\"` (`btu net list`), or \
                             `hosts = \"lab.toml\"`, an inventory of real hosts",
                        );
                        return None;
                    }
                };
                let congestion_control = match congestion {
                    Some(item) => Some(congestion_of(&item)?),
                    None => None,
                };
                let asked = ExperimentNetwork { name, settings, congestion_control };
                match find(&asked) {
                    Ok(found) => {
                        let stations = found.drawing.stations.iter();
                        let hosts = stations
                            .map(|one| (HostName::from(one), Some(IpAddr::from(one.address))))
                            .collect();
                        Some((hosts, Some(asked), Some(found)))
                    }
                    Err(why) => {
                        match item {
                            Some(item) => item.problem(why),
                            None => fields.problem(why),
                        }
                        let _ = document;
                        None
                    }
                }
            }
        }
    }

    /// Reports levels that cannot be inserted, each at its place.
    fn check_levels(
        &self,
        document: &Document<'_>,
        settings: &[(String, String)],
        factors: &Factors,
    ) {
        let is_right = document.is_right();
        for (factor, level) in factors.each() {
            let levels = factors.only(factor, level);
            let with = factors.settings(&levels, settings, factor);
            let other = self.document(&with);
            let Some(fields) = other.fields() else { continue };
            self.setup(&other, &fields, factors, &levels, of_network(&with));
            Order::read(&fields);
            let problems = other.problems_of_settings();
            let first = problems.into_iter().next().map(|(_, message)| message);
            // Mistakes of the file itself were reported already.
            let other_problem =
                (is_right && !other.is_right()).then(|| other.verdict().err()).flatten();
            let network = other_problem.map(|error| error.problems()[0].message.clone());
            if let Some(message) = first.or(network) {
                document.problem_at(factors.spot(factor, level), message);
            }
        }
    }

    /// A row; a mistake that appears only together with other levels is marked so.
    fn row(
        &self,
        document: &Document<'_>,
        settings: &[(String, String)],
        factors: &Factors,
        levels: &[usize],
        networks: &mut Gathered,
    ) -> Option<RunRow> {
        let with = factors.all_settings(levels, settings);
        let other = self.document(&with);
        let fields = other.fields()?;
        let setup = self.setup(&other, &fields, factors, levels, of_network(&with));
        drop(fields);
        let Some(setup) = setup.filter(|_| other.is_right()) else {
            let why = other
                .verdict()
                .err()
                .map(|error| error.problems()[0].message.clone())
                .unwrap_or_default();
            document
                .problem_at(factors.place(), format!("with {}: {why}", factors.in_words(levels)));
            return None;
        };
        let network = match setup.network {
            None => 0,
            Some((asked, found)) => networks.place(asked, found).or_else(|| {
                let most =
                    format!("more than {MOST_NETWORKS} networks would be up at the same time: use fewer levels");
                document.problem_at(factors.place(), most);
                None
            })?,
        };
        let (programs, activities) = (setup.programs, setup.activities);
        Some(RunRow { levels: levels.to_vec(), network, lead: setup.lead, programs, activities })
    }
}

/// Whether so many rows are a plan's.
const fn is_too_many(rows: usize) -> bool {
    rows > MOST_ROWS
}

#[cfg(test)]
mod tests;
