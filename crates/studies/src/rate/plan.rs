//! The list of cells, decided before anything starts.
//!
//! A plan is data: it contains all settings and the order of the measurement, and its hash is its
//! name. Cells come in blocks; a block holds every row once, in an order drawn from the plan's
//! seed, so that baselines and loaded runs of a row are spread alike over the time of the run
//! (randomised blocks).

use btu_contract::activity::Receiving;
use btu_contract::border;
use btu_contract::congestion::CongestionControl;
use btu_contract::experiment::{Named, stream};
use btu_contract::load::Load;
use btu_contract::network::Network;
use btu_contract::processors::Division;
use btu_contract::protocol_work::ProtocolWork;
use btu_medium::Limit;
use btu_network::{Direction, Discipline, FairCodel, Rate, Red};
use btu_units::{BitRate, Bytes, Span};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use super::row::{Component, MESSAGE_SIZES, Row};

/// The name of this study in the store: its runs have a rating, and can be compared.
pub const STUDY: &str = "rate";

/// All settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of the plan's meaning; a newer program that would measure differently has a higher
    /// one.
    pub version: u32,
    /// Orders blocks, seeds payload, loss and jitter.
    pub seed: u64,
    /// The length and the number of repetitions.
    pub profile: Profile,
    /// The network on which the run is measured.
    pub network: Network,
    /// Fixed volume of a component in bytes, shared by its connections (the paper: 4 MB);
    /// calibrated when absent.
    #[serde(rename = "volume_bytes")]
    pub volume: Option<Bytes>,
    /// Window of the peers' sockets; the system's own choice when absent.
    #[serde(rename = "window_bytes")]
    pub window: Option<Bytes>,
    /// Message sizes of the rated components.
    #[serde(rename = "message_bytes", deserialize_with = "border::once")]
    pub messages: Vec<Bytes>,
    /// Components, rated and further.
    #[serde(deserialize_with = "border::once")]
    pub components: Vec<Component>,
    /// Loads, idle among them.
    #[serde(deserialize_with = "border::once")]
    pub loads: Vec<Load>,
    /// Size of the file that the disk activity reads.
    #[serde(rename = "disk_file_bytes")]
    pub disk_file: Bytes,
    /// Offered load of the UDP row.
    #[serde(rename = "udp_offered_bits_per_second")]
    pub udp_offered: BitRate,
    /// The time of the UDP row's stream.
    #[serde(rename = "udp_stream_ns")]
    pub udp_stream: Span,
    /// The processors of the machine under test and those of all other work, if they share one
    /// machine; without it, all share all processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<Division>,
    /// Where the protocol work of received frames is done, if the processors are divided.
    #[serde(default, skip_serializing_if = "ProtocolWork::is_sender")]
    pub protocol_work: ProtocolWork,
    /// Whether processors are kept from sleeping while the run lasts.
    #[serde(rename = "processors_kept_awake", default, skip_serializing_if = "std::ops::Not::not")]
    pub kept_awake: bool,
    /// The congestion control of a raised network's stations; the host's own choice when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_control: Option<CongestionControl>,
    /// When receivers of bulk streams read.
    pub receiving: Receiving,
    /// What another run says of waiting for processors, if this one takes the waits away: then the CPU load gives way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifies: Option<Verifies>,
}

/// The prediction that a run puts to the test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verifies {
    /// The number of the run that makes it, in the store of that time.
    pub run: u64,
    /// One for each component.
    #[serde(deserialize_with = "border::once")]
    pub predicted: Vec<Predicted>,
}

/// The time of a component under the CPU load, over its time alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// The component.
    pub component: Component,
    /// As it was measured.
    pub found: f64,
    /// Without the part in which the load had the processor.
    pub without_waiting: f64,
}

/// The length and the number of repetitions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// `quick`, `standard` or `full`.
    #[serde(deserialize_with = "border::profile")]
    pub name: String,
    /// The time of a calibrated baseline.
    #[serde(rename = "target_ns")]
    pub target: Span,
    /// The number of blocks, if there is time for all.
    #[serde(deserialize_with = "border::blocks")]
    pub most_blocks: u32,
    /// A row whose 95 % interval has a half width of a larger share of its mean has low confidence.
    #[serde(deserialize_with = "border::share")]
    pub wanted_half_width: f64,
    /// No block beyond the first is begun or continued after this time from the first cell.
    #[serde(rename = "budget_ns")]
    pub budget: Span,
}

impl Profile {
    /// About two minutes: a first look; most rows will say low confidence.
    pub fn quick() -> Self {
        Self {
            name: "quick".to_owned(),
            target: Span::from_milliseconds(100),
            most_blocks: 5,
            wanted_half_width: 0.10,
            budget: Span::from_seconds(140),
        }
    }

    /// About half an hour: numbers to work with.
    pub fn standard() -> Self {
        Self {
            name: "standard".to_owned(),
            target: Span::from_milliseconds(1000),
            most_blocks: 10,
            wanted_half_width: 0.05,
            budget: Span::from_seconds(45 * 60),
        }
    }

    /// Hours: numbers to publish; activities as long as the paper's.
    pub fn full() -> Self {
        Self {
            name: "full".to_owned(),
            target: Span::from_seconds(5),
            most_blocks: 15,
            wanted_half_width: 0.025,
            budget: Span::from_seconds(8 * 3600),
        }
    }

    /// The shortest time of a stream: waits of sender and receiver for a processor or a socket's
    /// buffer have little effect in it.
    const SHORTEST_STREAM: Span = Span::from_milliseconds(500);

    /// The longest time of a stream: a longer one would measure the queue rather than the network.
    const LONGEST_STREAM: Span = Span::from_seconds(20);

    /// The time of the UDP row's stream if the queue on its path takes this time to drain.
    ///
    /// Excess load first fills the queue, where it is neither delivered nor lost. So the receiver's
    /// time may be longer than the sender's by the time in which the queue drains, and goodput and
    /// loss disagree by at most this share of the stream's time. The stream's time is such a
    /// multiple of the queue's that this is no more than the half width that the profile requires:
    /// 10 times in `quick`, 20 in `standard`, 40 in `full`.
    pub fn stream_over(&self, drain: Span) -> Span {
        let outlasting = Span::from_seconds_f64(drain.seconds() / self.wanted_half_width);
        outlasting.clamp(Self::SHORTEST_STREAM, Self::LONGEST_STREAM).max(self.target)
    }

    /// The profile of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "quick" => Some(Self::quick()),
            "standard" => Some(Self::standard()),
            "full" => Some(Self::full()),
            _ => None,
        }
    }
}

/// Message size of the INTERACTIVE rows in bytes.
pub const INTERACTIVE_MESSAGE: Bytes = Bytes::new(100);

/// Payload of the UDP row's datagrams in bytes: fits one Ethernet frame.
pub const UDP_MESSAGE: Bytes = Bytes::new(1024);

impl Plan {
    /// The whole rating on `network`: six components, five sizes, three loads, and the further rows.
    pub fn whole(seed: u64, profile: Profile, network: Network) -> Self {
        let udp_offered = default_udp_load(&network);
        let drain = match &network {
            Network::Path(path) => drain_time(&Direction::new(path.rate, path.delay)),
            Network::Veth | Network::Drawing(_) | Network::Machines(_) => Span::ZERO,
        };
        let udp_stream = profile.stream_over(drain);
        Self {
            version: Self::VERSION,
            seed,
            profile,
            network,
            volume: None,
            window: None,
            messages: MESSAGE_SIZES.to_vec(),
            components: Component::RATED.iter().chain(&Component::FURTHER).copied().collect(),
            loads: Load::ALL.to_vec(),
            disk_file: Bytes::new(64 << 20),
            udp_offered,
            udp_stream,
            processors: None,
            protocol_work: ProtocolWork::Sender,
            kept_awake: false,
            congestion_control: None,
            receiving: Receiving::Plain,
            verifies: None,
        }
    }

    /// Whether everything that makes the rating is in the plan: six components, five sizes, all
    /// loads.
    pub fn is_whole(&self) -> bool {
        Component::RATED.iter().all(|component| self.components.contains(component))
            && MESSAGE_SIZES.iter().all(|size| self.messages.contains(size))
            && Load::ALL.iter().all(|load| self.loads.contains(load))
    }

    /// How long the UDP row's stream lasts: never less than the profile's time.
    pub fn stream_time(&self) -> Span {
        self.udp_stream.max(self.profile.target)
    }

    /// Message sizes of a component: the five for the rated, one for each of the further.
    pub fn messages_of(&self, component: Component) -> &[Bytes] {
        match component {
            Component::InteractiveTcp | Component::InteractiveUdp => &[INTERACTIVE_MESSAGE],
            Component::Udp => &[UDP_MESSAGE],
            _ => &self.messages,
        }
    }

    /// Every row once: network activities under every load, and host activities alone.
    pub fn rows(&self) -> Vec<Row> {
        let network = self.components.iter().flat_map(|&component| {
            self.messages_of(component).iter().flat_map(move |&message| {
                self.loads.iter().map(move |&load| Row::Network { component, message, load })
            })
        });
        let host =
            self.loads.iter().filter(|load| **load != Load::Idle).map(|&load| Row::Host { load });
        network.chain(host).collect()
    }

    /// `rows` in the order of block `block`: a permutation drawn from the seed and the block's
    /// number alone.
    pub fn shuffled(&self, block: u32, mut rows: Vec<Row>) -> Vec<Row> {
        // Sorting first makes the order depend on the set of rows, not on the caller's order.
        rows.sort_unstable();
        rows.shuffle(&mut self.stream(u64::from(block)));
        rows
    }

    /// The seed of one cell's payload and impairments.
    pub fn cell_seed(&self, block: u32, position: u32) -> u64 {
        self.stream(1 << 40 | u64::from(block) << 20 | u64::from(position)).random()
    }

    fn stream(&self, purpose: u64) -> Pcg64 {
        stream(self.seed, purpose)
    }
}

impl Named for Plan {
    const STUDY: &'static str = STUDY;
    const COMMAND: &'static str = "btu rate";
    const VERSION: u32 = 1;
}

/// Nine tenths of a path's rate as payload, 500 Mb/s if the host itself is the limit. The rate
/// between real hosts or on a network file is not known before a measurement or prediction; a
/// caller that knows it replaces this value.
fn default_udp_load(network: &Network) -> BitRate {
    match network {
        Network::Veth | Network::Drawing(_) | Network::Machines(_) => {
            BitRate::from_megabits_per_second(500)
        }
        Network::Path(path) => {
            // A frame carries the payload and 42 bytes of headers; 24 more count on the line.
            let payload = UDP_MESSAGE.count();
            BitRate::from_bits_per_second(
                path.rate.bits_per_second() / 10 * 9 / (payload + 66) * payload,
            )
        }
    }
}

/// The time in which a full queue before a line drains; for one with controlled delay, the time
/// until the delay is controlled.
pub fn drain_time(line: &Direction) -> Span {
    /// The header of a frame, and its preamble, check sequence and gap, which a queue does not
    /// count.
    const HEADER: u64 = 14;
    const OVERHEAD: u64 = 24;
    let limit = match line.queue {
        Discipline::TailDrop { limit } | Discipline::Red(Red { limit, .. }) => limit,
        Discipline::Codel(codel) | Discipline::FqCodel(FairCodel { codel, .. }) => {
            return codel.interval;
        }
    };
    let rate = match &line.rate {
        Rate::Fixed(rate) => *rate,
        Rate::Trace(trace) => trace.mean_rate(),
    };
    let queue = Limit::of(limit, rate);
    let full = line.mtu.count() + HEADER;
    let bytes = queue.bytes.count().min(queue.frames as u64 * full);
    let bits = (bytes + bytes.div_ceil(full) * OVERHEAD) * 8;
    Span::from_seconds_f64(bits as f64 / rate.bits_per_second().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use btu_contract::experiment::Experiment;
    use btu_contract::json;
    use serde_json::{Value, json};

    use super::*;
    use btu_contract::network::{HostRole, Machine, Machines, Path, Reached};

    fn plan() -> Plan {
        Plan::whole(7, Profile::quick(), Network::Veth)
    }

    #[test]
    fn the_whole_study_has_every_combination_once() {
        let rows = plan().rows();
        let rated = 6 * 5 * 4;
        let further = 3 * 4;
        assert_eq!(rows.len(), rated + further + 3);
        let mut unique = rows.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), rows.len());
    }

    #[test]
    fn blocks_are_permutations_that_differ_and_can_be_replayed() {
        let plan = plan();
        let first = plan.shuffled(0, plan.rows());
        let second = plan.shuffled(1, plan.rows());
        assert_ne!(first, second);
        assert_eq!(first, plan.shuffled(0, first.clone()), "the order depends on the set alone");
        let mut sorted = first;
        sorted.sort_unstable();
        let mut rows = plan.rows();
        rows.sort_unstable();
        assert_eq!(sorted, rows);
    }

    #[test]
    fn the_hash_names_what_is_measured_and_not_the_seed() {
        let other_seed = Plan { seed: 8, ..plan() };
        assert_eq!(plan().hash(), other_seed.hash());
        let other_volume = Plan { volume: Some(Bytes::new(4_000_000)), ..plan() };
        assert_ne!(plan().hash(), other_volume.hash());
    }

    #[test]
    fn the_stream_outlasts_the_queue_that_it_fills() {
        let rate = BitRate::from_megabits_per_second(10);
        let path = Path { rate, delay: Span::ZERO, loss: 0.0, duplicate: 0.0, reorder: 0.0 };
        // 100 frames of 1514 bytes and 24 more on the line, at 10 Mb/s.
        let drain = drain_time(&Direction::new(rate, Span::ZERO));
        assert_eq!(drain, Span::from_microseconds(123_040));
        for profile in [Profile::quick(), Profile::standard(), Profile::full()] {
            let stream = |network| Plan::whole(1, profile.clone(), network).stream_time();
            assert!(stream(Network::Veth) >= profile.target.max(Profile::SHORTEST_STREAM));
            let factor = stream(Network::Path(path.clone())).seconds() / drain.seconds();
            assert!(
                factor >= 0.999 / profile.wanted_half_width,
                "{}: {factor} times",
                profile.name
            );
        }
    }

    #[test]
    fn a_plan_survives_storage() {
        let text = serde_json::to_string(&plan()).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan());
    }

    fn refused(changed: impl Fn(&mut Value)) -> String {
        let host = |station: HostRole, reached| Machine {
            station: station.into(),
            name: station.name().to_owned(),
            reached,
            measured: [192, 0, 2, 1].into(),
        };
        let tls = Reached::Tls { address: "192.0.2.10:7417".to_owned() };
        let ssh = Reached::Ssh { destination: "me@alpha".to_owned() };
        let hosts = vec![host(HostRole::Test, tls), host(HostRole::Active, ssh)];
        let network = Network::Machines(Machines { hosts });
        let mut plan = json::to_value(&Plan::whole(1, Profile::quick(), network)).unwrap();
        assert!(json::from_value::<Plan>(&plan).is_ok());
        changed(&mut plan);
        json::from_value::<Plan>(&plan).unwrap_err().to_string()
    }

    #[test]
    fn a_plan_that_nobody_would_make_is_not_read() {
        let many: Vec<u64> = (1..=101).collect();
        let script = "<img src=x onerror=alert(1)></script>$(id)";
        for (word, found) in [
            ("101 entries", refused(|plan| plan["message_bytes"] = json!(many))),
            ("twice", refused(|plan| plan["message_bytes"] = json!([1, 2, 1]))),
            ("twice", refused(|plan| plan["components"] = json!(["SEND", "SEND"]))),
            ("twice", refused(|plan| plan["loads"] = json!(["idle", "cpu", "idle"]))),
            ("no profile", refused(|plan| plan["profile"]["name"] = json!(script))),
            ("blocks", refused(|plan| plan["profile"]["most_blocks"] = json!(u32::MAX))),
            ("blocks", refused(|plan| plan["profile"]["most_blocks"] = json!(0))),
            ("not a share", refused(|plan| plan["profile"]["wanted_half_width"] = json!(0.0))),
            (
                "cannot name a host",
                refused(|plan| plan["network"]["hosts"][0]["name"] = json!(script)),
            ),
            (
                "not an address",
                refused(|plan| plan["network"]["hosts"][0]["reached"]["address"] = json!(script)),
            ),
            (
                "ssh",
                refused(|plan| {
                    plan["network"]["hosts"][1]["reached"]["destination"] =
                        json!("-oProxyCommand=x");
                }),
            ),
            (
                "twice",
                refused(|plan| plan["network"]["hosts"][1] = plan["network"]["hosts"][0].clone()),
            ),
        ] {
            assert!(found.contains(word), "{found} has no `{word}`");
        }
    }
}
