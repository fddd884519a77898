//! The properties that two plans must share before their results may be compared.

use std::fmt;

use btu_contract::json;
use btu_units::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

use btu_contract::activity::Receiving;

use super::difference::{Leaf, leaves};
use crate::rate::{Component, Plan, Row};

btu_units::named! {
    /// An aspect that a plan decides.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Aspect {
        /// The meaning of the plan's values.
        Version = "version",
        /// The networks may differ.
        Network = "network",
        /// The components may differ.
        Components = "components",
        /// The message sizes may differ.
        Messages = "messages",
        /// The loads may differ.
        Loads = "loads",
        /// The volumes may differ.
        Volume = "volume",
        /// The windows of the sockets may differ.
        Window = "window",
        /// The length and the number of repetitions.
        Profile = "profile",
        /// The settings of the disk and transfer activities.
        Files = "files",
        /// The other options of a study.
        Options = "options",
    }
}

/// The key of the congestion control in a stored network.
const CONGESTION: &str = "congestion_control";

/// A difference between two plans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanDifference {
    /// The aspect in which the two plans differ.
    pub aspect: Aspect,
    /// The setting in words.
    pub setting: String,
    /// The value in the base's plan.
    pub base: String,
    /// The value in the other plan.
    pub other: String,
}

impl fmt::Display for PlanDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {} to {}", self.setting, self.base, self.other)
    }
}

impl PlanDifference {
    /// Differences below a key of two stored plans.
    pub(super) fn below(
        aspect: Aspect,
        key: &str,
        [base, other]: [Option<&Value>; 2],
    ) -> Vec<Self> {
        let leaves = leaves(key, base, other).into_iter();
        leaves
            .map(|Leaf { name, base, other }| Self { aspect, setting: name, base, other })
            .collect()
    }

    /// The differences of two networks: their names, else what is different in them.
    pub(super) fn of_networks(names: [String; 2], values: [Option<&Value>; 2]) -> Vec<Self> {
        if names[0] == names[1] {
            return Self::below(Aspect::Network, "network", values);
        }
        let congestion = values.map(|value| value.and_then(|value| value.get(CONGESTION)));
        let [base, other] = names;
        let mut all =
            vec![Self { aspect: Aspect::Network, setting: "network".to_owned(), base, other }];
        all.extend(Self::below(Aspect::Network, CONGESTION, congestion));
        all
    }
}

/// All differences between two plans, except the seed.
pub fn plan_differences(base: &Plan, other: &Plan) -> Vec<PlanDifference> {
    // Plans are structures with text keys: they have a JSON form.
    let documents = [base, other].map(|plan| json::to_value(plan).unwrap_or_default());
    let differs = |aspect: Aspect| {
        let values = documents.each_ref().map(|plan| exactly(plan, aspect));
        if values[0] == values[1] {
            return Vec::new();
        }
        let [base, other] = [base, other].map(|plan| in_words(plan, aspect));
        if base == other {
            // Texts are rounded; if that hides the difference, the exact figures are shown.
            return PlanDifference::below(
                aspect,
                aspect.name(),
                [&values[0], &values[1]].map(Some),
            );
        }
        vec![PlanDifference { aspect, setting: aspect.name().to_owned(), base, other }]
    };
    Aspect::ALL.into_iter().flat_map(differs).collect()
}

/// Whether `row` means an equal measurement in both plans: the paced stream does not if the plans
/// differ in offered load or length, as they do on networks of different rates.
pub fn asks_the_same(base: &Plan, other: &Plan, row: Row) -> bool {
    let paced = matches!(row, Row::Network { component: Component::Udp, .. });
    !paced || (base.udp_offered == other.udp_offered && base.stream_time() == other.stream_time())
}

/// The value of `aspect` in a plan as it is stored, to the last digit.
fn exactly(plan: &Value, aspect: Aspect) -> Value {
    let key = match aspect {
        Aspect::Version => "version",
        Aspect::Network => "network",
        Aspect::Components => "components",
        Aspect::Messages => "message_bytes",
        Aspect::Loads => "loads",
        Aspect::Volume => "volume_bytes",
        Aspect::Window => "window_bytes",
        Aspect::Profile => "profile",
        Aspect::Files => "disk_file_bytes",
        Aspect::Options => {
            return json!({"receiving": plan["receiving"], "protocol_work": plan["protocol_work"]});
        }
    };
    plan[key].clone()
}

/// Like `exactly`, rounded for readers.
fn in_words(plan: &Plan, aspect: Aspect) -> String {
    match aspect {
        Aspect::Options => options(plan),
        Aspect::Version => plan.version.to_string(),
        Aspect::Network => plan.network.to_string(),
        Aspect::Components => list(plan.components.iter().map(|component| component.name())),
        Aspect::Messages => list(plan.messages.iter().map(|size| size.count())),
        Aspect::Loads => list(plan.loads.iter().map(|load| load.name())),
        Aspect::Volume => size(plan.volume, "calibrated"),
        Aspect::Window => size(plan.window, "the system's choice"),
        Aspect::Profile => plan.profile.name.clone(),
        Aspect::Files => format!("{} on disk", plan.disk_file),
    }
}

/// The place of the protocol work means something only on one machine with divided processors.
fn options(plan: &Plan) -> String {
    let reads = match plan.receiving {
        Receiving::Plain => "receivers wait for each message",
        Receiving::Batched => "receivers read in batches",
    };
    match plan.processors {
        Some(_) => format!("{reads}, {}", plan.protocol_work),
        None => reads.to_owned(),
    }
}

fn size(size: Option<Bytes>, otherwise: &str) -> String {
    size.map_or_else(|| otherwise.to_owned(), |size| size.to_string())
}

fn list<T: ToString>(names: impl Iterator<Item = T>) -> String {
    let names: Vec<String> = names.map(|name| name.to_string()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(" ") }
}
