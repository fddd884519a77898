//! The states of one test. Each has a deadline, and ends at once when the client is gone.

use btu_contract::json;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::control::{ControlConnection, Deadline, Woken};
use crate::error::{Ending, code};
use crate::protocol::{MOST_PARAMETERS, MOST_RESULTS, Parameters, Protocol, State, TestSide};
use crate::registry::TestPlace;
use crate::report::{Report, Times};
use crate::results::{PeerResults, Results};
use crate::settings::Settings;
use crate::streams::{Socket, Streams};

/// What became of a test.
pub(crate) struct Finished {
    pub(crate) result: Result<Report, Ending>,
    /// Whether data began to move.
    pub(crate) has_begun: bool,
    pub(crate) rest: Option<Remains>,
}

/// What is left of a test that ended early.
pub(crate) struct Remains {
    control: ControlConnection,
    /// A client must read why the test ended before it sees that these are closed.
    streams: Option<Streams>,
}

impl Remains {
    /// Lets the client read the last words.
    pub(crate) fn linger(self) {
        self.control.linger();
        drop(self.streams);
    }
}

/// Makes the test of a client that has a place.
pub(crate) fn run(
    stream: TcpStream,
    peer: SocketAddr,
    place: &TestPlace,
    wake: UnixStream,
    settings: &Settings,
) -> Finished {
    let prepared = ControlConnection::new(stream, place.news(wake)).and_then(|control| {
        control.break_when_vanished(settings.deadlines.vanished)?;
        Ok(control)
    });
    let control = match prepared {
        Ok(control) => control,
        Err(error) => return Finished { result: Err(error), has_begun: false, rest: None },
    };
    let mut session =
        ServerSession { control, place, peer, settings, has_begun: false, broken_off: None };
    let result = session.conduct();
    let ServerSession { mut control, has_begun, broken_off: mut streams, .. } = session;
    let rest = result.as_ref().err().map(|ending| {
        control.say_why(&farewell(ending));
        if let Some(streams) = &mut streams {
            streams.stop();
        }
        Remains { control, streams }
    });
    Finished { result, has_begun, rest }
}

struct ServerSession<'a> {
    control: ControlConnection,
    place: &'a TestPlace,
    peer: SocketAddr,
    settings: &'a Settings,
    has_begun: bool,
    /// The streams of a test that ended early.
    broken_off: Option<Streams>,
}

/// When the parts of a test began and ended.
#[derive(Debug, Clone, Copy)]
struct TestTimes {
    start: Instant,
    /// The omitted seconds are over.
    counted: Instant,
    end: Instant,
}

impl ServerSession<'_> {
    fn conduct(&mut self) -> Result<Report, Ending> {
        let parameters = Arc::new(self.parameters()?);
        let sockets = self.sockets(&parameters)?;
        let mut streams = Streams::prepare(sockets, &parameters, TestSide::Server)?;
        match self.measure(&mut streams, &parameters) {
            Ok(moments) => self.results(streams, &parameters, moments),
            Err(ending) => {
                self.broken_off = Some(streams);
                Err(ending)
            }
        }
    }

    fn by(&self, after: fn(&Settings) -> Duration, doing: &'static str) -> Deadline {
        Deadline::after(after(self.settings), doing)
    }

    fn say(&mut self, state: State) -> Result<(), Ending> {
        let by = self.by(|settings| settings.deadlines.done, "take a state");
        self.control.say(state, by)
    }

    fn parameters(&mut self) -> Result<Parameters, Ending> {
        self.say(State::ParameterExchange)?;
        let by = self.by(|settings| settings.deadlines.parameters, "send its parameters");
        let too_long = |length| {
            // The 37th octet of iperf2's clients is NUL.
            let why = format!(
                "its parameters have {length} bytes, and {MOST_PARAMETERS} are allowed, so it may be no client of iperf3"
            );
            Ending::refused(code::PARAMETERS, why)
        };
        let text = self.control.read_text(MOST_PARAMETERS, too_long, by)?;
        Parameters::read(&text, &self.settings.limits)
    }

    /// The data connections.
    fn sockets(&mut self, parameters: &Parameters) -> Result<Vec<Socket>, Ending> {
        let number = parameters.streams();
        self.place.reserve(number)?;
        if parameters.protocol == Protocol::Udp {
            self.await_turn()?;
        }
        self.place.expect(number);
        self.say(State::CreateStreams)?;
        let by = self.by(|settings| settings.deadlines.streams, "connect its streams");
        let sockets = loop {
            if let Some(sockets) = self.place.arrived(number) {
                break sockets;
            }
            self.idle(by)?;
        };
        self.place.leave_queue();
        Ok(sockets)
    }

    /// UDP greetings name no test: see [`crate::registry`].
    fn await_turn(&mut self) -> Result<(), Ending> {
        self.place.queue();
        let by = self.by(|settings| settings.deadlines.turn, "get its turn to create UDP streams");
        while !self.place.has_turn() {
            self.idle(by)?;
        }
        Ok(())
    }

    /// Waits for the registry, while the client has nothing to say.
    fn idle(&mut self, by: Deadline) -> Result<(), Ending> {
        match self.control.wait(by.at())? {
            Woken::Here => Ok(()),
            Woken::Time => Err(by.late()),
            Woken::Peer => {
                let state = self.control.hear(by)?;
                Err(Ending::Nonsense(format!("{state:?} while its streams were created")))
            }
        }
    }

    /// Moves data until the client ends the test.
    fn measure(
        &mut self,
        streams: &mut Streams,
        parameters: &Arc<Parameters>,
    ) -> Result<TestTimes, Ending> {
        self.say(State::TestStart)?;
        let start = Instant::now();
        self.say(State::TestRunning)?;
        self.has_begun = true;
        self.place.begin(start);
        streams.start(parameters, start)?;
        let time = parameters.time.unwrap_or(self.settings.limits.most_time);
        let whole = parameters.omit + time + self.settings.deadlines.margin;
        let by = Deadline::after(whole, "end its test");
        let mut counted = start;
        if !parameters.omit.is_zero() {
            self.until_over(start + parameters.omit)?;
            streams.omit();
            counted = Instant::now();
        }
        match self.control.hear(by)? {
            State::TestEnd => Ok(TestTimes { start, counted, end: Instant::now() }),
            other => Err(Ending::Nonsense(format!("{other:?} while data moved"))),
        }
    }

    /// Waits until the omitted seconds are over, or the client says something.
    fn until_over(&mut self, moment: Instant) -> Result<(), Ending> {
        while self.control.wait(moment)? == Woken::Here {}
        Ok(())
    }

    /// Exchanges results.
    fn results(
        &mut self,
        mut streams: Streams,
        parameters: &Arc<Parameters>,
        moments: TestTimes,
    ) -> Result<Report, Ending> {
        let company = self.place.end(moments.end);
        streams.end_sending();
        // A client may wait for the rest of a block before it looks at its control connection.
        streams.close_sending();
        streams.count_sent();
        let rest = Rest::of(parameters);
        if rest.is_none() {
            streams.end_receiving();
        }
        self.say(State::ExchangeResults)?;
        let by = self.by(|settings| settings.deadlines.results, "send its results");
        let too_long = |length| {
            let why = format!("its results have {length} bytes, and {MOST_RESULTS} are allowed");
            Ending::refused(code::RESULTS, why)
        };
        let text = self.control.read_text(MOST_RESULTS, too_long, by)?;
        let said = PeerResults::read(&text)?;
        if let Some(rest) = rest {
            rest.wait(&streams, &said, moments);
        }
        let end = end(&streams, parameters, moments);
        streams.end_receiving();
        if rest.is_some_and(|rest| rest.protocol == Protocol::Udp) {
            streams.learn_sent(&said);
        }
        let cpu = streams.stop();
        let counted = end.saturating_duration_since(moments.counted);
        let times = Times { counted, omitted: moments.counted - moments.start };
        let report = Report::new(self.peer, parameters, times, &streams.all, &said, company);
        let congestion = streams.congestion().filter(|_| parameters.protocol == Protocol::Tcp);
        let whole = end.saturating_duration_since(moments.start);
        let mut ours =
            Results::new(&streams.all, parameters.protocol, congestion, counted, whole, cpu);
        if parameters.wants_output && self.settings.json {
            ours.server_output_json = json::to_value(&report).ok();
        } else if parameters.wants_output {
            ours.server_output_text = Some(report.text());
        }
        let text = serde_json::to_string(&ours).map_err(|error| Ending::System {
            operation: "write the results",
            source: error.into(),
        })?;
        let by = self.by(|settings| settings.deadlines.results, "take the results");
        self.control.write_text(&text, by)?;
        self.part();
        Ok(report)
    }

    /// The last words; the test counts also if the client leaves them out.
    fn part(&mut self) {
        let by = self.by(|settings| settings.deadlines.done, "say that it is done");
        if self.say(State::DisplayResults).is_ok() {
            let _ = self.control.hear(by);
        }
    }
}

/// When data ended: at the last arrival. What the client says of it comes on another connection, and
/// so later where a segment of that is lost. A test of some seconds in which data stopped to arrive
/// does not end before those seconds.
fn end(streams: &Streams, parameters: &Parameters, moments: TestTimes) -> Instant {
    let asked = parameters.time.map(|time| moments.start + parameters.omit + time);
    let asked = asked.map_or(moments.start, |asked| asked.min(moments.end));
    last_arrival(streams, moments).map_or(moments.end, |last| last.max(asked))
}

/// `None` if nothing arrives, because this end alone sends or nothing has come.
fn last_arrival(streams: &Streams, moments: TestTimes) -> Option<Instant> {
    let receiving = streams.all.iter().filter(|stream| !stream.sends);
    let last = receiving.map(|stream| stream.moved().count.last).max()?;
    (!last.is_zero()).then(|| moments.start + last)
}

/// What is still on its way when the client says that it has sent all: the state of the test comes
/// on another connection than the data.
///
/// A TCP test of some seconds needs no rest: its rate is that of the data that came within them.
/// After omitted seconds the two ends do not count from the same byte, and the rest is unknown.
#[derive(Debug, Clone, Copy)]
struct Rest {
    protocol: Protocol,
    /// Nothing more is expected when nothing has come for so long.
    quiet: Duration,
    most: Duration,
}

/// The interval of looks at the counters.
const LOOK: Duration = Duration::from_millis(2);

impl Rest {
    fn of(parameters: &Parameters) -> Option<Self> {
        let (quiet, most) = match parameters.protocol {
            Protocol::Udp => (Duration::from_millis(250), Duration::from_secs(2)),
            Protocol::Tcp => (Duration::from_secs(1), Duration::from_secs(10)),
        };
        let has_rest = parameters.omit.is_zero()
            && (parameters.protocol == Protocol::Udp || parameters.time.is_none());
        has_rest.then_some(Self { protocol: parameters.protocol, quiet, most })
    }

    /// Waits for it. UDP that is lost at the very end is known by what the client says.
    fn wait(self, streams: &Streams, said: &PeerResults, moments: TestTimes) {
        let begun = Instant::now();
        while !self.is_whole(streams, said) && begun.elapsed() < self.most {
            let last = last_arrival(streams, moments).unwrap_or(begun);
            if last.max(begun).elapsed() > self.quiet {
                break;
            }
            thread::sleep(LOOK);
        }
    }

    fn is_whole(self, streams: &Streams, said: &PeerResults) -> bool {
        streams.all.iter().filter(|stream| !stream.sends).all(|stream| {
            let (count, said) = (stream.moved().count, said.of(stream.id));
            match self.protocol {
                Protocol::Udp => count.highest >= said.packets,
                Protocol::Tcp => count.bytes >= said.bytes,
            }
        })
    }
}

/// The bytes with which the protocol says `ending`; none if the client ended the test.
fn farewell(ending: &Ending) -> Vec<u8> {
    let error = |code: i32| {
        [&[State::ServerError.octet()][..], &code.to_be_bytes(), &0_i32.to_be_bytes()].concat()
    };
    match ending {
        Ending::Gone(_) | Ending::Terminated => Vec::new(),
        Ending::Stopped => vec![State::ServerTerminate.octet()],
        Ending::Busy(_) => vec![State::AccessDenied.octet()],
        Ending::Refused { code, .. } => error(*code),
        Ending::Late { .. } | Ending::Nonsense(_) => error(code::MESSAGE),
        _ => error(code::INIT_TEST),
    }
}
