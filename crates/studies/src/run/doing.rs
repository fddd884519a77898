//! btu's own activities in an experiment, and their steps.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use btu_units::{BitRate, Bytes, Span, hexadecimal};
use serde::{Deserialize, Serialize};

use btu_contract::activity::{
    Activity, Cpu, Disk, FtpFetch, FtpServe, OpenLoop, Order, Receiving, Rendezvous, Request,
    Respond, Rounds, TcpReceive, TcpSend, Token, Transport, UdpReceive, UdpSend, Work,
};
use btu_contract::experiment::CellSetting;
use btu_contract::network::HostName;
use btu_contract::program::Part;
use btu_contract::script::{Role, Step};

/// The default size of the file that the disk activity reads.
pub(super) const DISK_FILE: Bytes = Bytes::new(64 << 20);

/// One of btu's activities in an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActivityStep {
    /// The user's name for it.
    pub name: String,
    /// Its host.
    pub on: HostName,
    /// The other end, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<HostName>,
    /// Its role in the cell: a load, or the measured activity.
    pub part: Part,
    /// The work that the activity does.
    #[serde(flatten)]
    pub doing: Doing,
}

/// The work of an activity. A load continues until the measured activity has ended, for any given
/// amount.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "activity", rename_all = "kebab-case")]
pub enum Doing {
    /// Complex arithmetic and memory, so many rounds.
    Cpu {
        /// The number of rounds.
        rounds: u64,
    },
    /// Reads a file and copies it to another.
    Disk {
        /// Size of the file.
        #[serde(rename = "file_bytes")]
        file: Bytes,
        /// The copied amount.
        #[serde(rename = "amount_bytes")]
        amount: Bytes,
    },
    /// Fetches files by FTP from the other end.
    Transfer {
        /// The fetched amount.
        #[serde(rename = "amount_bytes")]
        amount: Bytes,
    },
    /// A bulk TCP stream to the other end.
    TcpStream {
        /// Bytes per system call.
        #[serde(rename = "message_bytes")]
        message: Bytes,
        /// The amount, or the time.
        amount: Work,
        /// Socket buffers; the system's own choice when absent.
        #[serde(rename = "window_bytes", default, skip_serializing_if = "Option::is_none")]
        window: Option<Bytes>,
        /// When the receiver reads.
        receiving: Receiving,
    },
    /// Datagrams on a schedule to the other end.
    UdpStream {
        /// The payload of a message, in bytes.
        #[serde(rename = "message_bytes")]
        message: Bytes,
        /// Offered load, counted over the payload.
        #[serde(rename = "rate_bits_per_second")]
        rate: BitRate,
        /// The duration of the activity.
        #[serde(rename = "time_ns")]
        time: Span,
    },
    /// Requests to the other end, on time at random moments, or each after the answer to the one
    /// before.
    Requests {
        /// The transport of the activity.
        transport: Transport,
        /// Size of request and of answer.
        #[serde(rename = "message_bytes")]
        message: Bytes,
        /// The duration of the activity.
        #[serde(rename = "time_ns")]
        time: Span,
        /// The mean time between random moments. Plans of older versions call it `every_ns`, and
        /// meant the least time from one request to the next, one at a time.
        #[serde(
            rename = "mean_interval_ns",
            alias = "every_ns",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        every: Option<Span>,
    },
}

/// A placeholder that is replaced before the order is sent.
const UNSET: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
const UNSET_PEER: SocketAddr = SocketAddr::new(UNSET, 0);

impl Doing {
    /// Whether it has another end.
    pub(crate) const fn has_peer(&self) -> bool {
        !matches!(self, Self::Cpu { .. } | Self::Disk { .. })
    }

    /// Most that its files hold at a time, on its own host.
    pub fn scratch(&self) -> Bytes {
        match self {
            Self::Disk { file, .. } => *file * 2,
            Self::Transfer { .. } => btu_contract::needs::FETCH_ROOM,
            Self::Cpu { .. }
            | Self::TcpStream { .. }
            | Self::UdpStream { .. }
            | Self::Requests { .. } => Bytes::ZERO,
        }
    }
}

impl ActivityStep {
    /// Its steps, of which the first has this place in the script: the other end first, where there
    /// is one.
    pub fn steps(&self, first: usize, setting: &CellSetting) -> Vec<Step> {
        let order = |activity| Order::new(setting.seed, setting.deadline, activity);
        let is_load = self.part == Part::Load;
        let role = if is_load { Role::Support } else { Role::Network };
        let (there, here) = self.activities(setting, is_load);
        let peer = there.is_some().then_some(first);
        let serving = matches!(there, Some(Activity::FtpServe(_)));
        let there_role = if serving { Role::Support } else { role };
        let there = there.zip(self.to.clone());
        let there = there.map(|(activity, host)| Step {
            host,
            role: there_role,
            peer: None,
            order: order(activity),
        });
        there
            .into_iter()
            .chain([Step { host: self.on.clone(), role, peer, order: order(here) }])
            .collect()
    }

    /// The activities of the other end and of this one.
    fn activities(&self, setting: &CellSetting, is_load: bool) -> (Option<Activity>, Activity) {
        // A load gets a `stop` before its deadline.
        let lasting = |work: Work| if is_load { Work::For(setting.deadline) } else { work };
        let long = |span: Span| if is_load { setting.deadline } else { span };
        let token = setting.token;
        match &self.doing {
            Doing::Cpu { rounds } => {
                let rounds =
                    if is_load { Rounds::For(setting.deadline) } else { Rounds::Count(*rounds) };
                (None, Activity::Cpu(Cpu::of(rounds)))
            }
            Doing::Disk { file, amount } => {
                let (directory, work) = (setting.scratch.clone(), lasting(Work::Bytes(*amount)));
                (None, Activity::Disk(Disk { directory, source: None, file: *file, work }))
            }
            Doing::Transfer { amount } => {
                let password = hexadecimal(&token);
                let fetch = FtpFetch {
                    server: UNSET_PEER,
                    password: password.clone(),
                    directory: setting.scratch.clone(),
                    work: lasting(Work::Bytes(*amount)),
                };
                (
                    Some(Activity::FtpServe(FtpServe { address: UNSET, password })),
                    Activity::FtpFetch(fetch),
                )
            }
            Doing::TcpStream { message, amount, window, receiving } => {
                tcp_stream(token, *message, lasting(*amount), *window, *receiving)
            }
            Doing::UdpStream { message, rate, time } => {
                udp_stream(token, *message, *rate, long(*time))
            }
            Doing::Requests { transport, message, time, every } => {
                let (transport, message, duration) = (*transport, *message, long(*time));
                let open_loop = every.map(OpenLoop::every);
                let respond = Respond { on: UNSET, transport, token, message };
                let request =
                    Request { to: UNSET_PEER, transport, token, message, duration, open_loop };
                (Some(Activity::Respond(respond)), Activity::Request(request))
            }
        }
    }
}

/// The receiver of a stream, and its sender.
fn tcp_stream(
    token: Token,
    message: Bytes,
    work: Work,
    window: Option<Bytes>,
    receiving: Receiving,
) -> (Option<Activity>, Activity) {
    let receive = TcpReceive {
        meeting: Rendezvous::Listen(UNSET),
        token,
        message,
        window,
        volume: None,
        receiving,
    };
    let meeting = Rendezvous::Connect(UNSET_PEER);
    let send = TcpSend { meeting, token, message, work, window, unsent: None };
    (Some(Activity::TcpReceive(receive)), Activity::TcpSend(send))
}

/// The receiver of paced datagrams, and their sender.
fn udp_stream(
    token: Token,
    message: Bytes,
    offered: BitRate,
    duration: Span,
) -> (Option<Activity>, Activity) {
    let expected = offered.bits_per_second() as f64 * duration.seconds() / message.bits();
    let receive = UdpReceive {
        meeting: Rendezvous::Listen(UNSET),
        token,
        message,
        // A margin for rounding; more than this is not sent.
        expected_datagrams: (expected as u64).saturating_add(16),
        offered: Some(offered),
        tells: false,
    };
    let meeting = Rendezvous::Connect(UNSET_PEER);
    let send = UdpSend { meeting, token, message, offered, duration, hold: None };
    (Some(Activity::UdpReceive(receive)), Activity::UdpSend(send))
}
