//! Turns a row into activities on hosts, with the listening and the connecting ends and the peers'
//! impairments.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use btu_contract::activity::{
    Activity, Cpu, Disk, FtpFetch, FtpServe, Order, Rendezvous, Request, Respond, Rounds,
    TcpReceive, TcpSend, Token, Transport, UdpReceive, UdpSend, Work,
};
use btu_contract::load::Load;
use btu_contract::network::{HostRole, Impairment, Impairments};
use btu_contract::script::{Role, Script, Step};
use btu_units::{Bytes, Span};

use super::plan::Plan;
use super::row::{Component, Row};
use super::work::{Amounts, HostAmount, Pace, amount_for};

/// The parameters of a script in addition to plan and row.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Seed of payload and choices.
    pub seed: u64,
    /// Opens the cell's data connections.
    pub token: Token,
    /// The amount of work.
    pub amount: Amount,
    /// How long an activity may take before it is killed.
    pub deadline: Span,
    /// Scratch directory of the test station.
    pub scratch: PathBuf,
    /// The source file of the disk activity, when one is kept ready.
    pub disk_source: Option<PathBuf>,
    /// The password of the file transfer's server.
    pub ftp_password: String,
}

impl Setting {
    /// Of a cell that is not played: only how much work its activities have is told.
    pub fn unplayed(plan: &Plan, amounts: &Amounts) -> Self {
        Self {
            seed: plan.seed,
            token: Token::default(),
            amount: Amount::Fixed(amounts.clone()),
            deadline: Span::ZERO,
            scratch: PathBuf::new(),
            disk_source: None,
            ftp_password: String::new(),
        }
    }
}

/// The amount of work of a cell's activities.
#[derive(Debug, Clone, PartialEq)]
pub enum Amount {
    /// As calibrated or fixed.
    Fixed(Amounts),
    /// As much as possible in this time: a pilot.
    Pilot(Span),
}

/// The factor of an activity's deadline over its expected time, to which a constant is added.
pub const DEADLINE_FACTOR: u64 = 20;

/// A placeholder that is replaced before the order is sent.
const UNSET: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
const UNSET_PEER: SocketAddr = SocketAddr::new(UNSET, 0);

/// The script of `row`.
pub fn script(plan: &Plan, row: &Row, setting: &Setting) -> Script {
    match row {
        Row::Host { load } => {
            Script { impairments: Impairments::new(), steps: host_steps(plan, *load, setting, 0) }
        }
        Row::Network { component, message, load } => {
            let setting = &lasting(plan, *component, setting);
            let mut steps = network_steps(plan, *component, *message, setting);
            steps.extend(host_steps(plan, *load, setting, steps.len()));
            Script { impairments: at_black_boxes(plan, component.impairment()), steps }
        }
    }
}

/// The setting of a component. If its network activity lasts longer than the profile's time, the
/// host activity does more work, so that it runs all the time, and the deadline is later.
fn lasting<'a>(plan: &Plan, component: Component, setting: &'a Setting) -> Cow<'a, Setting> {
    let (target, stream) = (plan.profile.target, plan.stream_time());
    let amounts = match &setting.amount {
        Amount::Fixed(amounts) if component == Component::Udp && stream > target => amounts,
        Amount::Fixed(_) | Amount::Pilot(_) => return Cow::Borrowed(setting),
    };
    let more = |one: &HostAmount| HostAmount {
        amount: amount_for(Pace { done: one.amount, took: target }, stream),
        ..*one
    };
    let amounts = Amounts { host: amounts.host.iter().map(more).collect(), ..amounts.clone() };
    let deadline = setting.deadline + (stream - target) * DEADLINE_FACTOR;
    Cow::Owned(Setting { amount: Amount::Fixed(amounts), deadline, ..setting.clone() })
}

/// The peers apply `impairment` to incoming packets.
pub fn at_black_boxes(plan: &Plan, impairment: Impairment) -> Impairments {
    let black_boxes = plan
        .network
        .roles()
        .into_iter()
        .filter(|role| role.is_black_box() && !impairment.is_none());
    black_boxes.map(|role| (role.into(), impairment)).collect()
}

/// A script that does nothing on any station: it measures the tool's own cost.
pub fn null_script(plan: &Plan, setting: &Setting) -> Script {
    let steps = plan
        .network
        .roles()
        .into_iter()
        .map(|role| step(role, Role::Network, None, Activity::Null, setting));
    Script { impairments: Impairments::new(), steps: steps.collect() }
}

fn step(
    host: HostRole,
    role: Role,
    peer: Option<usize>,
    activity: Activity,
    setting: &Setting,
) -> Step {
    Step {
        host: host.into(),
        role,
        peer,
        order: Order::new(setting.seed, setting.deadline, activity),
    }
}

fn network_steps(
    plan: &Plan,
    component: Component,
    message: Bytes,
    setting: &Setting,
) -> Vec<Step> {
    let pairs: Vec<(Activity, Activity)> = match component {
        Component::InteractiveTcp => vec![exchange(plan, message, Transport::Tcp, setting)],
        Component::InteractiveUdp => vec![exchange(plan, message, Transport::Udp, setting)],
        Component::Udp => vec![datagrams(plan, message, setting)],
        _ => component
            .flows()
            .iter()
            .map(|flow| stream(plan, component, message, *flow, setting))
            .collect(),
    };
    let mut steps = Vec::with_capacity(2 * pairs.len());
    for ((from, to), (listening, connecting)) in component.flows().iter().zip(pairs) {
        let black_box = if from.is_black_box() { *from } else { *to };
        let peer = Some(steps.len());
        steps.push(step(black_box, Role::Network, None, listening, setting));
        steps.push(step(HostRole::Test, Role::Network, peer, connecting, setting));
    }
    steps
}

/// A bulk connection: (the peer's end, which listens; the test station's end, which connects).
fn stream(
    plan: &Plan,
    component: Component,
    message: Bytes,
    (from, _): (HostRole, HostRole),
    setting: &Setting,
) -> (Activity, Activity) {
    let listen = Rendezvous::Listen(UNSET);
    let connect = Rendezvous::Connect(UNSET_PEER);
    let (token, work) = (setting.token, flow_work(component, message, setting));
    let volume = match work {
        Work::Bytes(volume) => Some(volume),
        Work::For(_) => None,
    };
    let receiving = plan.receiving;
    // Only the peers get small windows: the machine under test is never modified.
    let black_box_window = plan.window;
    if from.is_black_box() {
        let send = TcpSend {
            meeting: listen,
            token,
            message,
            work,
            window: black_box_window,
            unsent: None,
        };
        let receive =
            TcpReceive { meeting: connect, token, message, window: None, volume, receiving };
        (Activity::TcpSend(send), Activity::TcpReceive(receive))
    } else {
        let receive = TcpReceive {
            meeting: listen,
            token,
            message,
            window: black_box_window,
            volume,
            receiving,
        };
        (
            Activity::TcpReceive(receive),
            Activity::TcpSend(TcpSend {
                meeting: connect,
                token,
                message,
                work,
                window: None,
                unsent: None,
            }),
        )
    }
}

/// One connection's share of the component's volume.
fn flow_work(component: Component, message: Bytes, setting: &Setting) -> Work {
    match &setting.amount {
        Amount::Pilot(span) => Work::For(*span),
        Amount::Fixed(amounts) => {
            let volume = amounts.volume(component, message).unwrap_or(message).count();
            Work::Bytes(Bytes::new((volume / component.flows().len() as u64).max(1)))
        }
    }
}

fn exchange(
    plan: &Plan,
    message: Bytes,
    transport: Transport,
    setting: &Setting,
) -> (Activity, Activity) {
    let respond = Respond { on: UNSET, transport, token: setting.token, message };
    let request = Request {
        to: UNSET_PEER,
        transport,
        token: setting.token,
        message,
        duration: duration(plan, setting),
        open_loop: None,
    };
    (Activity::Respond(respond), Activity::Request(request))
}

fn datagrams(plan: &Plan, message: Bytes, setting: &Setting) -> (Activity, Activity) {
    let duration = match setting.amount {
        Amount::Pilot(span) => span,
        Amount::Fixed(_) => plan.stream_time(),
    };
    let offered = plan.udp_offered;
    let expected = offered.bits_per_second() as f64 * duration.seconds() / message.bits();
    let send = UdpSend {
        meeting: Rendezvous::Listen(UNSET),
        token: setting.token,
        message,
        offered,
        duration,
        hold: None,
    };
    let receive = UdpReceive {
        meeting: Rendezvous::Connect(UNSET_PEER),
        token: setting.token,
        message,
        // A margin for rounding; more than this was not sent.
        expected_datagrams: expected as u64 + 16,
        offered: None,
        tells: false,
    };
    (Activity::UdpSend(send), Activity::UdpReceive(receive))
}

/// Activities that are rates by nature last the profile's time.
fn duration(plan: &Plan, setting: &Setting) -> Span {
    match setting.amount {
        Amount::Pilot(span) => span,
        Amount::Fixed(_) => plan.profile.target,
    }
}

/// The host activity on the test station, with its server on active where it needs one.
fn host_steps(plan: &Plan, load: Load, setting: &Setting, first: usize) -> Vec<Step> {
    let test = |peer, activity| step(HostRole::Test, Role::Host, peer, activity, setting);
    match load {
        Load::Idle => Vec::new(),
        Load::Cpu => vec![test(
            None,
            Activity::Cpu(Cpu { rounds: rounds(setting), gives_way: plan.verifies.is_some() }),
        )],
        Load::Disk => vec![test(
            None,
            Activity::Disk(Disk {
                directory: setting.scratch.clone(),
                source: setting.disk_source.clone(),
                file: plan.disk_file,
                work: host_work(load, setting),
            }),
        )],
        Load::Transfer => {
            let (server, client) = transfer(setting);
            vec![
                step(HostRole::Active, Role::Support, None, server, setting),
                test(Some(first), client),
            ]
        }
    }
}

fn rounds(setting: &Setting) -> Rounds {
    match &setting.amount {
        Amount::Pilot(span) => Rounds::For(*span),
        Amount::Fixed(amounts) => Rounds::Count(amounts.host(Load::Cpu).unwrap_or(1)),
    }
}

fn host_work(load: Load, setting: &Setting) -> Work {
    match &setting.amount {
        Amount::Pilot(span) => Work::For(*span),
        Amount::Fixed(amounts) => Work::Bytes(Bytes::new(amounts.host(load).unwrap_or(1))),
    }
}

fn transfer(setting: &Setting) -> (Activity, Activity) {
    let password = setting.ftp_password.clone();
    let fetch = FtpFetch {
        server: UNSET_PEER,
        password: password.clone(),
        directory: setting.scratch.clone(),
        work: host_work(Load::Transfer, setting),
    };
    (Activity::FtpServe(FtpServe { address: UNSET, password }), Activity::FtpFetch(fetch))
}

#[cfg(test)]
mod tests {
    use HostRole::{Active, Passive, Test};

    use super::*;
    use crate::rate::plan::Profile;
    use btu_contract::activity::{
        Broadcast, DrawEnd, FileClient, FileCopy, FileServer, FilesPlace, FilesServe, FilesStation,
        FilesTask, HintEnd, PipeEnd, PipeMeeting, Relay,
    };
    use btu_contract::app::{Drawing, Niceness, Protocol, Slowing, Speeds, Workload};
    use btu_contract::copy::{Cache, FilePlace, Program, Storage};
    use btu_contract::hint::HintPlan;
    use btu_contract::lan::{FileSizes, Pattern, StationProgram, StationWork, Task};
    use btu_contract::network::{HostName, Network};
    use btu_contract::pipe::{End, Kind, PipePlan, Place};

    fn setting() -> Setting {
        Setting {
            seed: 1,
            token: [7; 16],
            amount: Amount::Pilot(Span::from_milliseconds(100)),
            deadline: Span::from_seconds(10),
            scratch: PathBuf::from("/scratch"),
            disk_source: None,
            ftp_password: "secret".to_owned(),
        }
    }

    fn plan() -> Plan {
        Plan { window: Some(Bytes::new(4096)), ..Plan::whole(1, Profile::quick(), Network::Veth) }
    }

    fn steps_of(component: Component, load: Load) -> Script {
        script(&plan(), &Row::Network { component, message: Bytes::new(1024), load }, &setting())
    }

    /// The variants and their names in the stored form agree with [`Activity::kind`].
    #[test]
    fn kinds_are_the_variants() {
        let unknown = serde_json::from_str::<Activity>(r#"{"kind":"?"}"#).unwrap_err().to_string();
        let listed = Activity::KINDS.map(|kind| format!("`{kind}`")).join(", ");
        assert!(unknown.contains(&format!("expected one of {listed} at")), "{unknown}");

        let plan = Plan::whole(1, Profile::quick(), Network::Veth);
        let scripts = plan.rows().into_iter().map(|row| script(&plan, &row, &setting()));
        let mut all: Vec<Activity> =
            scripts.flat_map(|script| script.steps).map(|step| step.order.activity).collect();
        all.extend([Activity::Null, pipe(), hint()]);
        all.extend(drawings());
        all.extend(copies());
        all.extend(files());
        let mut kinds = std::collections::BTreeSet::new();
        for activity in all {
            assert_eq!(btu_contract::json::to_value(&activity).unwrap()["kind"], activity.kind());
            kinds.insert(activity.kind());
        }
        assert_eq!(kinds.len(), Activity::KINDS.len(), "one of each: {kinds:?}");
    }

    fn files() -> [Activity; 3] {
        let (token, room, service) = ([7; 16], Bytes::new(1), Span::ZERO);
        let directory = PathBuf::from("/scratch");
        let serve =
            FilesServe { address: UNSET, token, directory: directory.clone(), room, service };
        let place = FilesPlace::Own { directory, room, service };
        let (sizes, lead, target) = (FileSizes::Paper, Span::ZERO, Span::ZERO);
        let task = FilesTask { place, token, task: Task::FmSort, sizes, lead, target };
        let (pattern, program) = (Pattern::Record, StationProgram::Constant);
        let work = StationWork::Transactions { pattern, program, record: room };
        let station =
            FilesStation { place: FilesPlace::Server(UNSET_PEER), token, number: 1, work };
        [Activity::FilesServe(serve), Activity::FilesTask(task), Activity::FilesStation(station)]
    }

    fn pipe_plan() -> PipePlan {
        PipePlan::new(1, Kind::Tcp, Place::Here)
    }

    fn pipe() -> Activity {
        let meeting = PipeMeeting::Network(Rendezvous::Listen(UNSET));
        Activity::Pipe(Box::new(PipeEnd {
            end: End::Near,
            meeting,
            token: [7; 16],
            plan: pipe_plan(),
            turns: false,
        }))
    }

    fn hint() -> Activity {
        let meeting = PipeMeeting::Network(Rendezvous::Listen(UNSET));
        let hint = HintPlan::standard(2);
        Activity::Hint(Box::new(HintEnd {
            end: End::Near,
            meeting,
            token: [7; 16],
            hint,
            pipe: pipe_plan(),
        }))
    }

    fn drawings() -> [Activity; 7] {
        let meeting = PipeMeeting::Network(Rendezvous::Listen(UNSET));
        let drawing = Drawing {
            workload: Workload::Vectors,
            protocol: Protocol::Batched,
            application: Span::ZERO,
            display: Span::ZERO,
            speeds: Speeds::default(),
            slowing: Slowing::default(),
            nice: Niceness::default(),
            target: Span::ZERO,
            most_pictures: 1,
            mix: None,
            counts_broadcasts: false,
            echoes: false,
        };
        let inside = Activity::DrawInside(Box::new(drawing.clone()));
        let relay = Activity::Relay(Relay { on: UNSET, to: UNSET_PEER, token: [7; 16] });
        let end = DrawEnd { end: End::Near, meeting, token: [7; 16], drawing, pipe: pipe_plan() };
        let over_ssh = Activity::DrawOverSsh(Box::new(end.clone()));
        let over_x11 = Activity::DrawOverX11(Box::new(end.clone()));
        let by_x11perf = Activity::DrawByX11perf(Box::new(end.clone()));
        let draw = Activity::Draw(Box::new(end));
        let broadcasts = btu_contract::app::Broadcasts::default();
        let broadcast = Activity::Broadcast(Broadcast { on: UNSET, broadcasts });
        [draw, inside, over_ssh, over_x11, by_x11perf, relay, broadcast]
    }

    fn copies() -> [Activity; 5] {
        let (size, storage, cache) = (Bytes::new(1_000_000), Storage::Memory, Cache::Cold);
        let file = FilePlace { size, storage, cache, directory: PathBuf::from("/scratch") };
        let (program, token) = (Program::Bare, [7; 16]);
        let client =
            FileClient { program, to: UNSET_PEER, token, file: file.clone(), wait: Span::ZERO };
        let server = FileServer { program, on: UNSET, token, file: file.clone() };
        let (send, fetch) = (Activity::FileSend(client.clone()), Activity::FileFetch(client));
        let (receive, offer) = (Activity::FileReceive(server.clone()), Activity::FileOffer(server));
        [
            send,
            receive,
            fetch,
            offer,
            Activity::FileCopy(FileCopy {
                file,
                share: None,
                direction: btu_contract::copy::Direction::Put,
            }),
        ]
    }

    #[test]
    fn the_six_components_are_the_papers() {
        let shape = |component| {
            let script = steps_of(component, Load::Idle);
            let steps: Vec<_> =
                script.steps.iter().map(|s| (s.host.clone(), s.order.activity.kind())).collect();
            (steps, script.impairments)
        };
        let send = |to| [(HostName::from(to), "tcp-receive"), (Test.into(), "tcp-send")];
        let receive = |from| [(HostName::from(from), "tcp-send"), (Test.into(), "tcp-receive")];
        assert_eq!(shape(Component::Send), (send(Active).to_vec(), Impairments::new()));
        assert_eq!(shape(Component::Recv), (receive(Active).to_vec(), Impairments::new()));
        assert_eq!(
            shape(Component::SendDelayed),
            (send(Active).to_vec(), at_black_boxes(&plan(), Impairment::DL))
        );
        assert_eq!(
            shape(Component::SendRecv),
            ([send(Active), receive(Active)].concat(), Impairments::new())
        );
        assert_eq!(
            shape(Component::TwoRecvDelayed),
            ([receive(Active), receive(Passive)].concat(), at_black_boxes(&plan(), Impairment::DL))
        );
        assert_eq!(
            shape(Component::TwoSendDropped),
            ([send(Active), send(Passive)].concat(), at_black_boxes(&plan(), Impairment::DR))
        );
    }

    #[test]
    fn a_transfer_has_its_server_on_active_and_connects_to_it() {
        let script = steps_of(Component::SendRecv, Load::Transfer);
        assert_eq!(script.steps.len(), 6);
        let server = &script.steps[4];
        assert_eq!((server.host.as_str(), server.role), ("active", Role::Support));
        assert_eq!(script.steps[5].peer, Some(4));
        assert_eq!(script.steps[5].role, Role::Host);
    }

    #[test]
    fn small_windows_are_the_black_boxes_alone() {
        for component in Component::RATED {
            for step in steps_of(component, Load::Idle).steps {
                let window = match step.order.activity {
                    Activity::TcpSend(TcpSend { window, .. })
                    | Activity::TcpReceive(TcpReceive { window, .. }) => window,
                    other => panic!("{other:?} is not part of a bulk component"),
                };
                assert_eq!(window.is_some(), step.host != Test);
            }
        }
    }

    /// The stream outlasts the profile's time, and the load that runs with it lasts as long as the
    /// stream.
    #[test]
    fn a_load_lasts_as_long_as_its_stream() {
        let plan = Plan::whole(1, Profile::quick(), Network::Veth);
        assert_eq!(plan.udp_stream, Span::from_milliseconds(500));
        let host = vec![HostAmount { load: Load::Cpu, amount: 1000 }];
        let fixed =
            Setting { amount: Amount::Fixed(Amounts { host, ..Amounts::default() }), ..setting() };
        let played = |component| {
            let row = Row::Network { component, message: Bytes::new(1024), load: Load::Cpu };
            let mut steps = script(&plan, &row, &fixed).steps;
            let Activity::Cpu(Cpu { rounds, .. }) = steps.pop().unwrap().order.activity else {
                panic!("the load is last")
            };
            (rounds, steps.swap_remove(0).order)
        };
        let (rounds, order) = played(Component::Udp);
        assert_eq!((rounds, order.deadline), (Rounds::Count(5000), Span::from_seconds(18)));
        let Activity::UdpSend(send) = order.activity else { panic!("{order:?}") };
        assert_eq!(send.duration, Span::from_milliseconds(500));
        let (rounds, order) = played(Component::InteractiveUdp);
        assert_eq!((rounds, order.deadline), (Rounds::Count(1000), fixed.deadline));
    }

    #[test]
    fn two_connections_share_a_fixed_volume() {
        let volume = crate::rate::work::Volume {
            component: Component::SendRecv,
            message: Bytes::new(1024),
            volume: Bytes::new(4_000_000),
        };
        let amounts = Amounts { volumes: vec![volume], ..Amounts::default() };
        let fixed = Setting { amount: Amount::Fixed(amounts), ..setting() };
        assert_eq!(
            flow_work(Component::SendRecv, Bytes::new(1024), &fixed),
            Work::Bytes(Bytes::new(2_000_000))
        );
    }
}
