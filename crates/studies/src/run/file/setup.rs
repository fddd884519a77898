//! One combination of levels: services, loads, and what is measured.

use std::collections::BTreeMap;
use std::net::IpAddr;

use btu_network::{Document, Drawing, Fields, Item, Spot};
use btu_units::Span;

use super::super::doing::ActivityStep;
use super::super::plan::MOST_VALUES;
use super::super::value::Value;
use super::{ExperimentNetwork, Found, activity, program, value};
use btu_contract::network::HostName;
use btu_contract::program::{Part, ProgramStep};

/// The longest lead that is allowed.
const LONGEST_LEAD: Span = Span::from_seconds(600);

/// Most entries of a group.
const MOST: usize = 64;

/// The context for reading one.
pub(super) struct Context<'a> {
    /// The hosts of the network, with their addresses.
    pub(super) hosts: &'a BTreeMap<HostName, Option<IpAddr>>,
    /// The network itself; none on real hosts.
    pub(super) drawing: Option<&'a Drawing>,
    /// The meanings of words in braces.
    pub(super) words: &'a BTreeMap<String, String>,
    /// Whether programs can be started.
    pub(super) with_programs: bool,
    /// The running loads; by default all.
    pub(super) loads: Option<Vec<String>>,
}

/// Everything that a combination means.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Setup {
    pub(super) network: Option<(ExperimentNetwork, Found)>,
    pub(super) programs: Vec<ProgramStep>,
    pub(super) activities: Vec<ActivityStep>,
    pub(super) values: Vec<Value>,
    pub(super) lead: Span,
}

/// Something in a group of the file, being read.
pub(super) struct GroupEntry<'a, 'i> {
    pub(super) name: &'i str,
    pub(super) spot: &'i Spot,
    pub(super) fields: &'i Fields<'a>,
    pub(super) part: Part,
    /// The default time limit of a program.
    pub(super) deadline: Option<Span>,
}

impl Setup {
    /// Reads all groups; `None` if there is nothing to measure.
    pub(super) fn read(
        fields: &Fields<'_>,
        document: &Document<'_>,
        context: &Context<'_>,
    ) -> Option<Self> {
        let order = fields.get("order").and_then(|item| item.fields());
        let asked =
            order.as_ref().and_then(|order| order.quantity_in("lead", Span::ZERO..=LONGEST_LEAD));
        let deadline =
            order.as_ref().and_then(|order| order.quantity_in("deadline", program::DEADLINES));
        let mut setup = Self {
            network: None,
            programs: Vec::new(),
            activities: Vec::new(),
            values: Vec::new(),
            lead: asked.unwrap_or_else(|| btu_contract::lead::of(context.drawing)),
        };
        for (group, part) in
            [("service", Part::Service), ("load", Part::Load), ("measure", Part::Measured)]
        {
            let item = fields.get(group);
            setup.group(item.as_ref(), part, deadline, document, context);
        }
        if fields.get("measure").is_none() {
            fields.problem(
                "there is nothing to measure: write for example `[measure.get]`, `on = \"laptop\"` and \
                            `run = [\"curl\", \"-sO\", \"http://server/file\"]`",
            );
            return None;
        }
        let is_loaded = setup.programs.iter().any(|step| step.part == Part::Load)
            || setup.activities.iter().any(|step| step.part == Part::Load);
        if !is_loaded {
            // A server of a measured activity is there at once; a moment is enough.
            setup.lead =
                if setup.activities.is_empty() { Span::ZERO } else { Span::from_milliseconds(1) };
        }
        Some(setup)
    }

    fn group(
        &mut self,
        item: Option<&Item<'_>>,
        part: Part,
        deadline: Option<Span>,
        document: &Document<'_>,
        context: &Context<'_>,
    ) {
        let Some(table) = item.and_then(Item::fields) else { return };
        for (number, (name, spot, item)) in table.members().enumerate() {
            if number >= MOST {
                document.problem_at(&spot, format!("there are at most {MOST} of them"));
                return;
            }
            check_name(name, &spot, document);
            let Some(fields) = item.fields() else { continue };
            let entry = GroupEntry { name, spot: &spot, fields: &fields, part, deadline };
            self.entry(&entry, document, context);
            fields.finish();
        }
    }

    fn entry(
        &mut self,
        entry: &GroupEntry<'_, '_>,
        document: &Document<'_>,
        context: &Context<'_>,
    ) {
        let is_program = entry.fields.get("run").is_some();
        let is_activity = entry.part != Part::Service && entry.fields.get("activity").is_some();
        match (is_program, is_activity) {
            (true, true) => {
                document.problem_at(
                    entry.spot,
                    "`run` starts a program and `activity` is one of btu's own: write one of them",
                );
            }
            (false, false) => {
                let activities = if entry.part == Part::Service {
                    ""
                } else {
                    ", or one of btu's own: `activity = \"cpu\"`"
                };
                document.problem_at(
                    entry.spot,
                    format!("nothing says what is done: write `run = [\"program\", \"argument\"]`{activities}"),
                );
            }
            (true, false) => {
                let step = program::read(entry, document, context);
                if entry.part == Part::Measured {
                    self.values.extend(value::read(entry, true));
                }
                self.programs.extend(step.filter(|_| is_at_work(entry, context)));
            }
            (false, true) => {
                let step = activity::read(entry, document, context);
                if entry.part == Part::Measured {
                    self.values.extend(value::read(entry, false));
                }
                self.activities.extend(step.filter(|_| is_at_work(entry, context)));
            }
        }
        if self.values.len() > MOST_VALUES {
            document
                .problem_at(entry.spot, format!("an experiment has {MOST_VALUES} values at most"));
        }
    }
}

fn is_at_work(entry: &GroupEntry<'_, '_>, context: &Context<'_>) -> bool {
    let loads = context.loads.as_ref();
    entry.part != Part::Load
        || loads.is_none_or(|loads| loads.iter().any(|load| load == entry.name))
}

fn check_name(name: &str, spot: &Spot, document: &Document<'_>) {
    let is_good = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if name.is_empty() || name.len() > 40 || !name.chars().all(is_good) || name == "none" {
        document.problem_at(
            spot,
            "this is not a name here: a name is 1 to 40 letters, digits, `-` and `_`, and not `none`",
        );
    }
}

/// The host that `key` names.
pub(super) fn host(
    entry: &GroupEntry<'_, '_>,
    key: &'static str,
    context: &Context<'_>,
) -> Option<HostName> {
    let item = entry.fields.need(key, "\"laptop\"")?;
    let text = item.text()?;
    let found = context.hosts.keys().find(|host| host.as_str() == text).cloned();
    found.or_else(|| item.unknown(text, context.hosts.keys().map(HostName::as_str)))
}
