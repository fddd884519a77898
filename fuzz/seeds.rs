//! Valid octets to begin with, made again each time, because a fuzzer cannot guess a signature.

use std::io::Read;
use std::time::Duration;

use btu_contract::activity::{Activity, Cpu, Order, Rendezvous, Rounds, TcpSend, Word, Work};
use btu_contract::app::{DisplayRequest, Workload};
use btu_contract::experiment::{AnyExperiment, Columns, Experiment, Measured, Named, Observation};
use btu_contract::hint::{HintPlan, HintPoint, HintRecord, HintRun};
use btu_contract::job::{Job, JobRecord};
use btu_contract::network::{Drawn, HostRole, Machine, Machines, Network, Path, Reached, Stations};
use btu_contract::pipe::{Accounts, End, Kind, PipePlan, Place, Point, Purpose, SetPlan, Trial};
use btu_contract::record::{
    CpuTime, Failure, HostClock, Outcome, PlacedReport, Received, Report, Requested, Sent, TcpInfo,
};
use btu_contract::roll::{self, Answer, Greeted, Roll};
use btu_contract::sample::Sample;
use btu_control::environment::collect;
use btu_control::protocol::{
    HelloReply, Json, PROTOCOL, PrepareRequest, Request as Call, ReserveRequest,
};
use btu_control::trust::{Bundle, BundleLimits};
use btu_publication::{Challenge, ChallengeRequest, Manifest, Visibility};
use btu_stats::Histogram;
use btu_store::{Level, Moment, NewRun, RunLock, State, Store};
use btu_studies::rate::{Plan, Profile};
use btu_units::{BitRate, Bytes, Span, Time};

use super::table::readback::study;
use super::table::signing_key;

#[allow(clippy::duplicate_mod, reason = "the tests of the commands have another use for it")]
#[path = "../crates/studies/tests/made/mod.rs"]
mod made;

/// Writes seeds of `target` into `directory`.
pub fn write(target: &str, directory: &std::path::Path) {
    for (number, seed) in of(target).iter().enumerate() {
        std::fs::write(directory.join(format!("seed-{number}")), seed)
            .expect("the corpus can be written");
    }
}

/// Seeds of `target`.
pub fn of(target: &str) -> Vec<Vec<u8>> {
    match target {
        "account" => accounts(),
        "app_requests" => app_requests(),
        "archive" => archives(),
        "bundle" => vec![bundle().0.to_text().into_bytes()],
        "calibration" => vec![CALIBRATION.as_bytes().to_vec()],
        "capture" => vec![capture()],
        "database" => vec![database()],
        "environment" => vec![json(&collect())],
        "experiment_file" => btu_studies::run::EXAMPLES.iter().map(|one| one.text.as_bytes().to_vec()).collect(),
        "http_head" => vec![
            b"PUT /copy HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer 00\r\nContent-Length: 9\r\n\r\n".to_vec(),
            b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\nConnection: close\r\n\r\n".to_vec(),
        ],
        "identity" => vec![bundle().1.into_bytes()],
        "import_and_show" => lines_of_runs(),
        "import_flent" => vec![FLENT.as_bytes().to_vec()],
        "import_hyperfine" => vec![HYPERFINE.as_bytes().to_vec()],
        "import_iperf3" => {
            [IPERF3_TCP, IPERF3_UDP, IPERF3_EVENTS].map(|text| text.as_bytes().to_vec()).to_vec()
        }
        "inventory" => vec![INVENTORY.as_bytes().to_vec()],
        "iperf3_parameters" => vec![IPERF3_PARAMETERS.as_bytes().to_vec()],
        "iperf3_results" => vec![IPERF3_RESULTS.as_bytes().to_vec()],
        "network_file" => btu_network::library().iter().map(|(_, text)| text.as_bytes().to_vec()).collect(),
        "nfs_answer" => vec![words(&NFS_ANSWER)],
        "nfs_call" => vec![words(&NFS_GETATTR), words(&NFS_WRITE)],
        "operation_trace" => vec![OPERATION_TRACE.as_bytes().to_vec()],
        "order" => orders().iter().map(json).collect(),
        "plan" => plans().iter().map(json).collect(),
        "policy" => vec![POLICY.as_bytes().to_vec()],
        "copy_log" => vec![
            b"Accepted publickey for daemon from 127.0.0.1 port 1\n".to_vec(),
            b"2026/11/24 16:33:43 [1] rsync to btu/copy from btu@x (127.0.0.1)\n".to_vec(),
        ],
        "publication" => publications(),
        "rcp_record" => vec![b"C0644 1000000 copy.bin\n".to_vec()],
        "replies" => {
            vec![[vec![0], json(&HelloReply { name: "alpha".into(), ..Default::default() })].concat()]
        }
        "requests" => requests(),
        "samples" => vec![samples()],
        "ssh_words" => vec![b"Welcome! btu-agent-is-on-its-way\nbtu-agent-is-ready\n".to_vec(), b"btu-agent-failed: no room\n".to_vec()],
        "stamp_answer" => vec![STAMP_ANSWER.to_vec(), [STAMP_ANSWER; 2].concat()],
        "stamp_packet" => vec![STAMP_PACKET.to_vec(), [STAMP_PACKET; 2].concat()],
        "stored_network" => networks().iter().map(json).collect(),
        "trace_file" => vec![b"0\n1\n1\n\n12\n".to_vec()],
        "word" => vec![json(&Word::Ready { endpoint: Some(([127, 0, 0, 1], 9).into()) })],
        _ => Vec::new(),
    }
}

/// A manifest, a request and its answer, a key and a signature.
fn publications() -> Vec<Vec<u8>> {
    let manifest = Manifest {
        board: "https://board.example.org".to_owned(),
        run: "0199d8a2-0000-7000-8000-000000000000".to_owned(),
        archive_sha256: "ab".repeat(32),
        plan_hash: "1f0d".to_owned(),
        seed: 7,
        created: "2026-11-01T10:00:00Z".to_owned(),
        signed: "2026-11-01T11:00:00Z".to_owned(),
        visibility: Visibility::Public,
        name: "Ada Example".to_owned(),
        system: Some("a machine".to_owned()),
        price: Some("899.50 EUR".parse().expect("a price")),
    };
    let request =
        ChallengeRequest { board: manifest.board.clone(), signed: manifest.signed.clone() };
    let key = signing_key();
    let public = key.public().expect("a key");
    let signature = key.sign("").expect("a signature");
    let texts = [
        manifest.text(),
        request.text(),
        Challenge { seed: 7 }.text(),
        public.to_string(),
        signature,
    ];
    texts.map(String::into_bytes).to_vec()
}

/// Calls of NFS version 3 and an answer (RFC 5531 section 9, RFC 1813): number, call, RPC 2,
/// program, version, procedure, no credential, no verifier; then a handle of eight octets.
const NFS_GETATTR: [u32; 13] = [1, 0, 2, 100_003, 3, 1, 0, 0, 0, 0, 8, 0, 1];

/// Like `NFS_GETATTR`, with procedure 7: at offset 0 four octets, durable at once.
const NFS_WRITE: [u32; 19] =
    [2, 0, 2, 100_003, 3, 7, 0, 0, 0, 0, 8, 0, 1, 0, 0, 4, 2, 4, 0x6174_6164];

/// Number, answer, accepted, no verifier, success; then status 0 and attributes of a regular file.
const NFS_ANSWER: [u32; 28] =
    [1, 1, 0, 0, 0, 0, 0, 1, 0o644, 1, 0, 0, 0, 512, 0, 512, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0];

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

const INVENTORY: &str = "[hosts.alpha]\nrole = \"test\"\ncontrol = \"192.0.2.10:7417\"\nmeasured = \"198.51.100.10\"\n\
                         [hosts.beta]\nssh = \"me@beta\"\n";

const OPERATION_TRACE: &str = "# seconds operation file\n0 stat letter\n0.1 open letter\n0.2 read letter 0 4096\n1 make new\n\
                               1.1 write new 0 4096\n1.2 flush new\n1.3 rename new letter\n2 remove notes\n";

/// Files of other programs, with the fields that are read.
const FLENT: &str = r#"{"metadata":{"NAME":"tcp_upload","TIME":"2026-11-28T00:14:20.913133Z","HOST":"server","TITLE":"",
    "TOTAL_LENGTH":7,"FLENT_VERSION":"2.3.0","FAILED_RUNNERS":0,"SERIES_META":{"TCP upload":{"UNITS":"Mbits/s",
    "MEAN_VALUE":18.72},"Ping (ms) ICMP":{"UNITS":"ms"}}},"x_values":[0.0,0.2],"results":{"TCP upload":[null,18.5],
    "Ping (ms) ICMP":[10.1,13]},"raw_values":{"Ping (ms) ICMP":[{"t":1.5,"val":10.1,"dur":0.2},{"t":1.7,"val":"x"}]},"version":4}"#;
const HYPERFINE: &str = r#"{"results":[{"command":"sleep 0.1","mean":0.1,"stddev":0.01,"median":0.1,"user":0.001,
    "system":0.001,"min":0.1,"max":0.1,"times":[0.1,0.11],"exit_codes":[0,null],"parameters":{"seconds":"0.1"}}]}"#;
const IPERF3_TCP: &str = r#"{"start":{"version":"iperf 3.12","timestamp":{"timesecs":1795824798},"connecting_to":
    {"host":"server","port":5201},"test_start":{"protocol":"TCP","num_streams":2,"omit":1,"reverse":0,"target_bitrate":0}},
    "intervals":[{"sum":{"end":1.0,"bits_per_second":18e6,"omitted":true}},{"sum":{"end":1.0,"bits_per_second":19e6,
    "omitted":false},"sum_bidir_reverse":{"end":1.0,"bits_per_second":9e6,"omitted":false}}],"end":{"streams":[{"sender":
    {"mean_rtt":32620,"sender":true}}],"sum_sent":{"seconds":1,"bits_per_second":19e6,"retransmits":3},"sum_received":
    {"seconds":1,"bits_per_second":18e6},"sum_sent_bidir_reverse":{"seconds":1,"bits_per_second":9e6,"retransmits":-1},
    "sum_received_bidir_reverse":{"seconds":1,"bits_per_second":9e6},"cpu_utilization_percent":{"host_total":3.5,
    "remote_total":2},"sender_tcp_congestion":"bbr"},"title":"a test"}"#;
const IPERF3_UDP: &str = r#"{"start":{"accepted_connection":{"host":"client","port":40000},"test_start":{"protocol":"UDP",
    "num_streams":1,"reverse":0,"target_bitrate":25000000}},"intervals":[],"end":{"sum":{"seconds":3.1,"bits_per_second":0},
    "sum_received":{"seconds":3.1,"bits_per_second":19e6,"jitter_ms":0.4,"lost_packets":1356,"packets":6472,
    "lost_percent":20.95}},"error":"interrupt"}"#;

/// A warning, and a test of 3.9 both ways as a stream of events.
const IPERF3_EVENTS: &str = "warning: x\n{\"event\":\"start\",\"data\":{\"connecting_to\":{\"host\":\"a\",\"port\":1}}}\n\
    {\"event\":\"interval\",\"data\":{\"sum\":{\"end\":1,\"bits_per_second\":2},\"sum\":{\"end\":1,\"bits_per_second\":null}}}\n\
    {\"event\":\"end\",\"data\":{\"sum\":{\"bits_per_second\":2,\"jitter_ms\":1,\"lost_packets\":1,\"packets\":9,\
    \"lost_percent\":-nan}}}\niperf3: error - y\n";

/// A STAMP sender's packet: number 2, a time of NTP, an error of 1 s, and a session.
const STAMP_PACKET: [u8; 44] = {
    let mut octets = [0; 44];
    (octets[3], octets[4], octets[8], octets[12]) = (2, 0xee, 0x80, 0x99);
    (octets[13], octets[15]) = (0x80, 7);
    octets
};

/// A reflector's answer to it: number 1, its time, its error, when the packet came, and what the packet had.
const STAMP_ANSWER: [u8; 44] = {
    let mut octets = [0; 44];
    (octets[3], octets[4], octets[8], octets[12], octets[15]) = (1, 0xee, 0x81, 0x3f, 7);
    (octets[16], octets[20], octets[27], octets[28]) = (0xee, 0x80, 2, 0xee);
    (octets[32], octets[36], octets[37], octets[40]) = (0x80, 0x99, 0x80, 64);
    octets
};

/// What a client of iperf3 says before and after a test.
const IPERF3_PARAMETERS: &str = r#"{"udp":true,"omit":0,"time":10,"num":0,"blockcount":0,"parallel":2,"len":1448,
    "reverse":true,"bandwidth":1000000,"pacing_timer":1000,"client_version":"3.12"}"#;
const IPERF3_RESULTS: &str = r#"{"cpu_util_total":1.5,"streams":[{"id":1,"bytes":5,"retransmits":-1,"jitter":0.001,
    "errors":2,"packets":9,"start_time":0,"end_time":2.5}]}"#;

const POLICY: &str = "activities = [\"tcp-send\", \"cpu\"]\npeers = [\"192.0.2.0/24\"]\nruns_at_once = 2\n\
                      [limits]\nrate = \"1 Gb/s\"\nbytes = \"100 GB\"\nduration = \"10 min\"\n\
                      [scratch]\ndirectory = \"/var/tmp\"\nbytes = \"2 GiB\"\n[share]\ndirectories = [\"/mnt/nas\"]\n";

fn accounts() -> Vec<Vec<u8>> {
    let report = |outcome| Report {
        started: Time::ZERO,
        finished: Time::ZERO,
        cpu: CpuTime::default(),
        outcome,
    };
    let outcomes = [
        Outcome::Null,
        Outcome::Responded { answers: 3 },
        Outcome::Served { bytes: Bytes::new(4096) },
    ];
    let failure = Failure::Died { status: "exit code 1".into() };
    let accounts = outcomes.map(|outcome| Ok::<_, Failure>(report(outcome)));
    accounts.iter().map(json).chain([json(&Err::<Report, _>(failure))]).collect()
}

const CALIBRATION: &str = r#"{"amounts":{"volumes":[{"component":"SEND","message_bytes":1024,"volume_bytes":4000000}],
    "host":[{"load":"cpu","amount":17}],"null_cell_ns":12},"network_check":{"items":[{"what":"rate in Mb/s","asked":10.0,
    "seen":9.9,"allowed":[9.5,10.5]}]}}"#;

/// Every kind of network that a plan can have.
fn networks() -> Vec<Network> {
    let host = |station: HostRole, name: &str, reached| Machine {
        station: station.into(),
        name: name.into(),
        reached,
        measured: [192, 0, 2, 1].into(),
    };
    let tls = Reached::Tls { address: "192.0.2.10:7417".into() };
    let ssh = Reached::Ssh { destination: "me@beta".into() };
    let hosts = vec![host(HostRole::Test, "alpha", tls), host(HostRole::Active, "beta", ssh)];
    let rate = BitRate::from_megabits_per_second(10);
    let path =
        Path { rate, delay: Span::from_milliseconds(5), loss: 0.01, duplicate: 0.0, reorder: 0.0 };
    let stations = Stations { test: "ship".into(), active: "server".into(), passive: None };
    let text = btu_network::library_text("satellite").expect("a network of the library").to_owned();
    let drawn = Drawn { name: "satellite".into(), text, stations };
    vec![
        Network::Veth,
        Network::Path(path),
        Network::Machines(Machines { hosts }),
        Network::Drawing(drawn),
    ]
}

/// A plan of each study, as JSON.
fn plans() -> Vec<serde_json::Value> {
    let rating = networks().into_iter().map(|network| Plan::whole(7, Profile::quick(), network));
    let jobs = jobs().into_iter().map(|job| value(&job));
    let studies = studies().into_iter().map(|study| study.plan);
    rating.map(|plan| value(&plan)).chain(jobs).chain(studies).collect()
}

/// A signature's plan.
pub fn pipe() -> PipePlan {
    PipePlan::new(7, Kind::Tcp, Place::Here)
}

/// The plans of a signature, of two of them, and of HINT.
pub fn jobs() -> [Job; 3] {
    let (two, one) = (HintPlan::standard(2), Some(HintPlan::standard(1)));
    [
        Job::One(Box::new(pipe())),
        Job::Set(SetPlan { purpose: Purpose::Load, series: vec![pipe(), pipe()] }),
        Job::Hint(Box::new(HintRun { pipe: pipe(), two, one })),
    ]
}

/// A size of a signature.
fn point() -> Point {
    let elapsed = Span::from_milliseconds(1);
    let trial = Trial { repetitions: 10, elapsed, clock: End::Near, lost: 0, repeated: 0 };
    let accounts = Accounts { sent: 40, received: 40, duplicates: 0, checked: 4, wrong: 0 };
    let mut each = Histogram::new();
    each.record(100_000);
    Point { trials: vec![trial; 3], accounts, each: Some(each), ..Point::empty(Bytes::new(16)) }
}

/// A step of HINT.
fn step(intervals: u64) -> HintPoint {
    let lap = Span::from_milliseconds(20);
    HintPoint {
        intervals,
        laps: 100,
        trials: vec![lap; 3],
        alone: vec![lap; 3],
        lower: 0.3,
        upper: 0.5,
    }
}

/// A study of scripted cells, a plan of it, one of its cells.
pub struct StudySeed {
    pub study: &'static dyn AnyExperiment,
    pub plan: serde_json::Value,
    pub cell: serde_json::Value,
}

impl StudySeed {
    /// The record of its cell.
    pub fn record(&self) -> Vec<u8> {
        record(&self.cell).into_bytes()
    }
}

/// One of each study.
pub fn studies() -> Vec<StudySeed> {
    let frame = serde_json::json!({
        "version": 1, "seed": 7, "profile": "quick", "blocks": 2, "budget_ns": 1_000_000_000, "deadline_ns": 1_000_000_000,
        "network": {
            "kind": "drawing", "name": "path", "stations": ["test", "active", "passive"],
            "text": btu_network::library_text("path").expect("a network of the library"),
        },
    });
    let app = serde_json::json!({
        "workloads": ["text"], "protocols": ["stop-and-wait", "window-4"], "carriers": ["tcp", "udp"],
        "application_ns": 0, "display_ns": 1000, "target_ns": 1,
    });
    let copy = serde_json::json!({
        "programs": ["local", "bare", "nfs-16-sync"], "size_bytes": [1000, 1_000_000], "background_thousandths": [0, 600],
        "storages": ["disk", "memory"], "pairs": [["test", "passive"]], "full_bits_per_second": 9_000_000, "lead_ns": 1,
    });
    let fleet = serde_json::json!({"time_ns": 1_000_000, "each_alone": true, "whole_blocks": 1});
    let pauses =
        serde_json::json!({"normal": {"mean_ns": 100_000_000, "deviation_ns": 25_000_000}});
    let lan = serde_json::json!({
        "version": 2, "tasks": ["wp-save-document", "fm-sort"], "levels": [0, 1], "service_ns": 2_000_000, "lead_ns": 1,
        "work": {"transactions": {
            "pattern": "mixed", "program": {"paced": {"pauses": pauses, "open_loop": true}}, "record_bytes": 512,
        }},
        "sizes": "paper", "target_ns": 1, "limit_ns": 20_000_000,
    });
    let speed = serde_json::json!({
        "version": 2, "phases": ["idle", "up", "datagrams-down"], "time_ns": 1_000_000, "idle_ns": 1_000_000, "streams": 2,
        "offered_bits_per_second": 1_000_000, "receiving": "plain",
    });
    let program = |name: &str, part: &str| {
        let order =
            serde_json::json!({"command": ["true"], "room_bytes": 4096, "deadline_ns": 1_000_000});
        serde_json::json!({"name": name, "host": "test", "part": part, "order": order})
    };
    let stream = serde_json::json!({
        "name": "stream", "on": "test", "to": "active", "part": "load", "activity": "tcp-stream", "message_bytes": 1000,
        "amount": {"bytes": 1_000_000}, "receiving": "plain",
    });
    let row = |level: usize| {
        serde_json::json!({
            "levels": [level], "network": 0, "lead_ns": 1, "programs": [program("web", "service"), program("get", "measured")],
            "activities": [stream],
        })
    };
    let value = |what: serde_json::Value| serde_json::json!({"name": "v", "of": "get", "what": what, "unit": "s", "better": "lower"});
    let run = serde_json::json!({
        "name": "experiment", "factors": [{"name": "load", "levels": ["none", "cpu"]}], "rows": [row(0), row(1)], "least_blocks": 1,
        "values": [value(serde_json::json!({"kind": "elapsed"})), value(serde_json::json!({"kind": "pattern", "pattern": "[0-9]+", "stream": "output"}))],
    });
    let cells = [
        serde_json::json!({"workload": "text", "protocol": "window-4", "carrier": "tcp"}),
        serde_json::json!({"program": "bare", "size_bytes": 1000, "storage": "disk", "background_thousandths": 0}),
        serde_json::json!({"kind": "pair", "from": "test", "to": "active"}),
        serde_json::json!({"level": {"stations": 1}, "task": "fm-sort"}),
        serde_json::json!({"levels": [1], "name": "load=cpu"}),
        serde_json::json!({"phase": "up"}),
    ];
    let studies =
        ["app", "copy", "fleet", "lan", "run", "speed"].map(|name| study(name).expect("one"));
    let plans = studies.into_iter().zip([app, copy, fleet, lan, run, speed]).zip(cells);
    plans
        .map(|((study, rest), cell)| StudySeed { study, plan: merged(&frame, &rest), cell })
        .collect()
}

/// A record of a study's cell, with workers' accounts like those of `btu speed`.
fn record(cell: &serde_json::Value) -> String {
    let tcp = TcpInfo::default();
    let bytes = Bytes::new(1_000_000);
    let received = Received {
        bytes,
        messages: 8,
        first_byte: Span::from_milliseconds(1),
        last_byte: Span::from_milliseconds(9),
        samples_checked: 1,
        samples_wrong: 0,
        progress: vec![(5_000_000, 500_000), (9_000_000, 1_000_000)],
        tcp,
    };
    let mut round_trip = Histogram::new();
    round_trip.record(1_000_000);
    let requested = Requested {
        requests: 1,
        answers: 1,
        lost: 0,
        late: 0,
        wrong: 0,
        lost_batches: Vec::new(),
        round_trip,
    };
    let outcomes = [
        Outcome::Responded { answers: 1 },
        Outcome::Requested(requested),
        Outcome::Received(received),
        Outcome::Sent(Sent { bytes, messages: 8, tcp, moments: Vec::new() }),
    ];
    let placed = |outcome| PlacedReport {
        station: HostRole::Test.into(),
        activity: "of a seed".into(),
        result: Ok(Report {
            started: Time::ZERO,
            finished: Time::ZERO,
            cpu: CpuTime::default(),
            outcome,
        }),
    };
    let reports = outcomes.into_iter().map(placed).collect();
    let seen = Observation { reports, ..Observation::default() };
    let measured = Measured { cell: cell.clone(), block: 0, position: 0, faults: Vec::new(), seen };
    serde_json::to_string(&measured).expect("a record has a JSON form")
}

fn merged(frame: &serde_json::Value, rest: &serde_json::Value) -> serde_json::Value {
    let (mut all, rest) =
        (frame.as_object().cloned().expect("an object"), rest.as_object().cloned());
    all.extend(rest.expect("an object"));
    all.into()
}

/// Runs as the lines of an archive: one of each study.
fn lines_of_runs() -> Vec<Vec<u8>> {
    std::iter::once(lines_of_a_rating())
        .chain(studies().iter().map(lines_of_a_study))
        .chain(lines_of_jobs())
        .chain([lines_of_a_roll_call()])
        .collect()
}

/// A run of a study with one cell.
fn lines_of_a_study(study: &StudySeed) -> Vec<u8> {
    let (plan, record) = (study.plan.to_string(), record(&study.cell));
    let read = study.study.plan(&plan).expect("a plan");
    let columns = read.cells(None).and_then(|mut cells| cells.add(&record)).expect("a cell");
    let hash = read.hash().expect("of this version");
    lines_of(study.study.study(), &study.plan, &hash, &[(columns, record)])
}

/// A signature, a set of two, and HINT: a message, two steps of two processes, two of one.
fn lines_of_jobs() -> Vec<Vec<u8>> {
    let [one, set, hint] = jobs();
    let message = || HintRecord::Message(Box::new(point()));
    let steps = vec![
        (0, message()),
        (0, HintRecord::Two(step(4))),
        (0, HintRecord::Two(step(8))),
        (0, HintRecord::One(step(4))),
        (0, HintRecord::One(step(8))),
    ];
    vec![
        lines_of_a_job(&one, vec![(0, message())]),
        lines_of_a_job(&set, vec![(0, message()), (1, message())]),
        lines_of_a_job(&hint, steps),
    ]
}

fn lines_of_a_job(job: &Job, seen: Vec<(usize, HintRecord)>) -> Vec<u8> {
    let records = (0..).zip(seen).map(|(position, (series, seen))| {
        let record = JobRecord { series, block: series as u32, position, seen };
        (job.columns(&record).expect("columns"), text(&record))
    });
    lines_of(Job::STUDY, &value(job), &job.hash(), &records.collect::<Vec<_>>())
}

/// Two hosts were called; one answered.
fn lines_of_a_roll_call() -> Vec<u8> {
    let answer = Answer {
        btu_version: "0.1.0".into(),
        protocol: 1,
        activities: vec!["null".into()],
        features: vec!["netem".into()],
        busy: None,
        clock: Some(HostClock {
            offset_ns: 5,
            round_trip_ns: 100,
            at_ns: 7,
            wall_offset_ns: 2_000_000_000,
        }),
        started_after_ns: Some(1000),
        environment: value(&collect()),
        findings: serde_json::Value::Null,
    };
    let greeted = |name: &str, answer: Option<Answer>| Greeted {
        name: name.into(),
        reached: "ssh me@beta".into(),
        trouble: answer.is_none().then(|| "it does not answer".into()),
        answer,
    };
    let hosts = vec![greeted("alpha", Some(answer)), greeted("beta", None)];
    let roll = Roll { hosts, start_skew_ns: Some(1000), skew_within_ns: 500 };
    let columns = Columns {
        block: 0,
        position: 0,
        component: "roll call".into(),
        message: Bytes::ZERO,
        load: "idle",
        valid: true,
        goodput_bits_per_second: None,
        duration: None,
        host_duration: None,
    };
    lines_of(roll::STUDY, &serde_json::Value::Null, "none", &[(columns, text(&roll))])
}

/// A complete run with these cells.
fn lines_of(
    study: &str,
    plan: &serde_json::Value,
    plan_hash: &str,
    cells: &[(Columns, String)],
) -> Vec<u8> {
    let directory = tempfile::tempdir().expect("a directory");
    let mut store = Store::open(directory.path().join("runs.sqlite")).expect("a store");
    let now = "2026-01-01T00:00:00Z";
    let new = NewRun { study, profile: "quick", network: "path", plan, plan_hash, ..run(now) };
    let lock = store.create_run(&new).expect("a run");
    for (columns, record) in cells {
        store.save_record(&lock, columns, record).expect("a cell");
    }
    store.finish(&lock, State::Complete, now).expect("its end");
    lines(&store, &lock)
}

fn lines_of_a_rating() -> Vec<u8> {
    let directory = tempfile::tempdir().expect("a directory");
    let mut store = Store::open(directory.path().join("runs.sqlite")).expect("a store");
    let lock = rated(&mut store);
    lines(&store, &lock)
}

/// A small database: pages of 512 octets, so that fuzzers change more than one of them.
fn database() -> Vec<u8> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("runs.sqlite");
    let mut store = Store::open(&path).expect("a store");
    drop(rated(&mut store));
    drop(store);
    let small = "PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM;";
    rusqlite::Connection::open(&path)
        .and_then(|it| it.execute_batch(small))
        .expect("smaller pages");
    std::fs::read(&path).expect("a file")
}

/// A run of the rating with a cell of each row.
fn rated(store: &mut Store) -> RunLock {
    let mut plan = Plan::whole(7, Profile::quick(), Network::Veth);
    plan.components.truncate(2);
    plan.messages.truncate(1);
    let document = btu_contract::json::to_value(&plan).expect("a plan has a JSON form");
    let now = "2026-01-01T00:00:00Z";
    let new = NewRun {
        study: "rate",
        profile: "quick",
        network: "veth",
        plan: &document,
        plan_hash: &plan.hash(),
        ..run(now)
    };
    let lock = store.create_run(&new).expect("a run");
    let machine = btu_contract::json::to_value(&collect()).expect("a machine has a JSON form");
    store.save_environment(&lock, Moment::Before, &machine).expect("an environment");
    store.save_event(&lock, now, Level::Warning, "two\nlines").expect("an event");
    store.save_calibration(&lock, &made::calibration(&plan)).expect("amounts of work");
    for row in plan.rows() {
        store.save(&lock, &plan, &made::cell(&plan, row, 0, 8e6)).expect("a cell");
    }
    store.finish(&lock, State::Complete, now).expect("its end");
    lock
}

/// The lines of an archive of this run between its first and its last one, which are made again.
fn lines(store: &Store, lock: &RunLock) -> Vec<u8> {
    let archive = store.export(&[lock.run()], Vec::new()).expect("an archive");
    let mut text = String::new();
    flate2::read::GzDecoder::new(archive.as_slice()).read_to_string(&mut text).expect("gzip");
    let lines: Vec<&str> = text.lines().collect();
    lines[1..lines.len() - 1].join("\n").into_bytes()
}

/// An empty run.
fn run(now: &str) -> NewRun<'_> {
    NewRun {
        study: "none",
        profile: "none",
        network: "none",
        label: None,
        tags: &[],
        created: now,
        seed: 7,
        btu_version: "0.1.0",
        plan: &serde_json::Value::Null,
        plan_hash: "none",
        planned_cells: 1,
    }
}

/// One in its written form, and the lines of another, because a fuzzer cannot produce valid
/// compression and checksums.
fn archives() -> Vec<Vec<u8>> {
    let directory = tempfile::tempdir().expect("a directory");
    let mut store = Store::open(directory.path().join("runs.sqlite")).expect("a store");
    let plan = serde_json::json!({"version": 1});
    let now = "2026-01-01T00:00:00Z";
    let new = NewRun {
        study: "rate",
        profile: "quick",
        network: "veth",
        label: Some("a seed"),
        tags: &["one".to_owned()],
        created: now,
        seed: 7,
        btu_version: "0.1.0",
        plan: &plan,
        plan_hash: "none",
        planned_cells: 1,
    };
    let lock = store.create_run(&new).expect("a run");
    store.finish(&lock, State::Complete, now).expect("its end");
    let written = store.export(&[lock.run()], Vec::new()).expect("an archive");
    let event = serde_json::json!({"event": {"at": now, "level": "info", "text": "begun"}});
    let environment = serde_json::json!({"environment": {"moment": "before", "document": {}}});
    vec![written, format!("{environment}\n{event}\n").into_bytes()]
}

/// The head of a pcapng file, a port, and a frame that came in.
fn capture() -> Vec<u8> {
    let words =
        |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let block = |kind: u32, content: Vec<u8>| {
        let length = content.len() as u32 + 12;
        [words(&[kind, length]), content, words(&[length])].concat()
    };
    let head = block(0x0a0d_0d0a, words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]));
    // Ethernet; options: name (2), description (3), stamps in ns (9).
    let options = [(2_u32, b"port"), (3, b"link")]
        .map(|(code, text)| [words(&[code | 4 << 16]), text.to_vec()].concat());
    let port = block(1, [words(&[1, 0]), options.concat(), words(&[9 | 1 << 16, 9, 0])].concat());
    let frame = vec![0xff; 16];
    let packet =
        block(6, [words(&[0, 0, 1000, 16, 16]), frame, words(&[2 | 4 << 16, 1, 0])].concat());
    [head, port, packet].concat()
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    text(value).into_bytes()
}

fn text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("it can be written")
}

fn value(value: &impl serde::Serialize) -> serde_json::Value {
    btu_contract::json::to_value(&value).expect("it has a JSON form")
}

/// The requests of the program's own pictures: as one end of `btu app` sends them, one by one and
/// in batches.
fn app_requests() -> Vec<Vec<u8>> {
    let of =
        |requests: Vec<DisplayRequest>| requests.iter().flat_map(DisplayRequest::encode).collect();
    Workload::ALL
        .into_iter()
        .flat_map(|workload| [true, false].map(|shown| of(workload.requests(shown))))
        .collect()
}

/// A bundle, and its controller's identity.
fn bundle() -> (Bundle, String) {
    let limits = BundleLimits {
        lasts: Duration::from_hours(1),
        idle: Duration::from_mins(2),
        towards: vec![[192, 0, 2, 1].into()],
        over: Some("10.0.0.0/8".parse().expect("a network")),
    };
    Bundle::issue(&["alpha".to_owned()], limits).expect("a bundle")
}

fn orders() -> Vec<Order> {
    let send = TcpSend {
        meeting: Rendezvous::Listen([127, 0, 0, 1].into()),
        token: [7; 16],
        message: Bytes::new(4096),
        work: Work::For(Span::from_seconds(1)),
        window: None,
        unsent: None,
    };
    [Activity::Null, Activity::TcpSend(send), Activity::Cpu(Cpu::of(Rounds::Count(3)))]
        .map(|activity| Order::new(1, Span::from_seconds(9), activity))
        .to_vec()
}

/// The alternate samples of both ends of a stream, the second time with the largest time, and the
/// end of one.
fn samples() -> Vec<u8> {
    let sample = |at, bytes| Sample {
        at,
        bytes: Bytes::new(bytes),
        missing: Some(2),
        requests: None,
        tcp: Some(TcpInfo::default()),
    };
    let told = |at, bytes| Word::Sample(Box::new(sample(at, bytes)));
    let (second, last) = (Span::from_seconds(1), Span::from_nanoseconds(u64::MAX));
    let failed = Word::Failed { message: "sending: broken pipe".into() };
    let words = [told(second, 1000), told(second, 900), told(last, 5000), told(last, 4000), failed];
    words.iter().flat_map(|word| [json(word), b"\n".to_vec()].concat()).collect()
}

/// Requests alone, and all of them as a connection carries them.
fn requests() -> Vec<Vec<u8>> {
    let session = vec![7; 16];
    let reserve = ReserveRequest {
        run: "r1".into(),
        controller: "desk".into(),
        expected_ms: 1000,
        session: session.clone(),
    };
    let prepare = |order: &Order| PrepareRequest {
        cell: 1,
        step: 2,
        order: Json::of(order).expect("an order has a JSON form"),
        session: session.clone(),
    };
    let mut requests = vec![Call::from(reserve)];
    requests.extend(orders().iter().map(prepare).map(Call::from));
    let mut carried = format!("btu-control {PROTOCOL} 0.1.0\n").into_bytes();
    for (id, request) in requests.iter().enumerate() {
        let frame = json(&serde_json::json!({"Call": {"id": id, "request": request}}));
        carried.extend((frame.len() as u32).to_be_bytes());
        carried.extend(frame);
    }
    requests.iter().map(json).chain([carried]).collect()
}
