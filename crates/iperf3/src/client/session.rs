//! The states of a client's test. Each has a deadline, and ends at once when the server is gone.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use super::course::{Course, Second};
use super::handshakes::Handshakes;
use super::report::ClientReport;
use super::{Client, connect};
use crate::control::{ControlConnection, Deadline, Woken};
use crate::error::Ending;
use crate::pace::TICK;
use crate::protocol::{Cookie, MOST_RESULTS, Parameters, Protocol, State, TestSide};
use crate::results::{PeerResults, Results};
use crate::streams::Streams;
use crate::way::Ways;

/// Makes a test.
pub(super) fn run(
    client: &Client,
    stop: &Arc<AtomicBool>,
    observe: &mut dyn FnMut(&Second),
) -> Result<ClientReport, Ending> {
    let (control, cookie) = begun(client, stop)?;
    let mut session = ClientSession { client, control, cookie, observe, answer: Duration::ZERO };
    let mut result = session.conduct();
    // A server may have said why before it went away.
    if let Err(Ending::Gone(_)) = &result
        && let Err(why @ (Ending::ServerError { .. } | Ending::Terminated)) =
            refusal(&mut session.control, client.deadlines.answer)
    {
        result = Err(why);
    }
    if let Err(ending) = &result {
        session.control.say_why(farewell(ending));
    }
    result
}

/// A test that the server takes, within the grace period.
fn begun(client: &Client, stop: &Arc<AtomicBool>) -> Result<(ControlConnection, Cookie), Ending> {
    let until = Instant::now() + client.grace;
    loop {
        let cookie = Cookie::random();
        let attempt = connect::control(client, &cookie, stop).and_then(|mut control| {
            let by = Deadline::after(client.deadlines.answer, "ask for the parameters of the test");
            expect(&mut control, State::ParameterExchange, by)?;
            Ok(control)
        });
        match attempt {
            Ok(control) => return Ok((control, cookie)),
            Err(Ending::Connect { .. } | Ending::Gone(_) | Ending::ServerBusy)
                if Instant::now() + TICK < until =>
            {
                thread::sleep(TICK);
            }
            Err(ending) => return Err(ending),
        }
    }
}

/// Waits for this state of the server.
fn expect(control: &mut ControlConnection, state: State, by: Deadline) -> Result<(), Ending> {
    match control.hear(by)? {
        said if said == state => Ok(()),
        State::AccessDenied => Err(Ending::ServerBusy),
        State::ServerTerminate => Err(Ending::Terminated),
        State::ServerError => {
            // Not each error comes with one of the system, and what is missing is 0.
            let mut number = || {
                let mut octets = [0; 4];
                control.read(&mut octets, by).map_or(0, |()| i32::from_be_bytes(octets))
            };
            Err(Ending::ServerError { code: number(), errno: number() })
        }
        said => Err(Ending::Nonsense(format!("{said:?} instead of {state:?}"))),
    }
}

/// What the server says where it has nothing to say but why the test ends.
pub(super) fn refusal(control: &mut ControlConnection, answer: Duration) -> Result<(), Ending> {
    expect(control, State::ServerTerminate, Deadline::after(answer, "say why the test ends"))?;
    Err(Ending::Terminated)
}

/// The bytes with which a client says that its test ends early; none if the server knows.
fn farewell(ending: &Ending) -> &'static [u8] {
    match ending {
        Ending::Gone(_) | Ending::Terminated | Ending::ServerBusy | Ending::ServerError { .. } => {
            &[]
        }
        _ => const { &[State::ClientTerminate.octet()] },
    }
}

struct ClientSession<'a> {
    client: &'a Client,
    control: ControlConnection,
    cookie: Cookie,
    observe: &'a mut dyn FnMut(&Second),
    /// How long the server took to answer the parameters.
    answer: Duration,
}

/// What a test has until the results are exchanged.
struct Measured {
    start: Instant,
    /// The omitted seconds are over.
    counted: Instant,
    end: Instant,
    course: Vec<Second>,
    handshakes: Option<Handshakes>,
}

impl ClientSession<'_> {
    fn conduct(&mut self) -> Result<ClientReport, Ending> {
        let parameters = Arc::new(self.client.parameters());
        let mut streams = self.streams(&parameters)?;
        let measured = self.measure(&mut streams, &parameters)?;
        self.results(streams, &parameters, measured)
    }

    fn by(&self, doing: &'static str) -> Deadline {
        Deadline::after(self.client.deadlines.answer, doing)
    }

    /// Sends the parameters, and opens the streams.
    fn streams(&mut self, parameters: &Parameters) -> Result<Streams, Ending> {
        let by = self.by("take the parameters of the test");
        let asked = Instant::now();
        self.control.write_text(&parameters.text(), by)?;
        let by = self.by("ask for the streams of the test");
        expect(&mut self.control, State::CreateStreams, by)?;
        self.answer = asked.elapsed();
        let mut sockets = Vec::with_capacity(parameters.streams());
        for _ in 0..parameters.streams() {
            sockets.push(connect::stream(self.client, &self.cookie, &mut self.control)?);
        }
        Streams::prepare(sockets, parameters, TestSide::Client)
    }

    /// Moves data for the time of the test.
    fn measure(
        &mut self,
        streams: &mut Streams,
        parameters: &Arc<Parameters>,
    ) -> Result<Measured, Ending> {
        for state in [State::TestStart, State::TestRunning] {
            let by = self.by("start the test when its streams were open");
            expect(&mut self.control, state, by)?;
        }
        let client = self.client;
        let start = Instant::now();
        let end = start + client.omit + client.time;
        if !client.sends_nothing {
            streams.start(parameters, start)?;
        }
        let begin = |seed| Handshakes::start(client.server, seed, start, end);
        let mut handshakes = client.handshakes.map(begin).transpose()?;
        let mut course = Course::new(start, client.omit);
        let (mut counted, mut seconds) = (start, Vec::new());
        while Instant::now() < end {
            self.until(course.next().min(end))?;
            let round_trip = handshakes.as_mut().and_then(Handshakes::median_since);
            let second = course.take(streams, round_trip);
            (self.observe)(&second);
            if second.is_omitted && start.elapsed() >= client.omit {
                streams.omit();
                counted = Instant::now();
            }
            seconds.push(second);
        }
        Ok(Measured { start, counted, end: Instant::now(), course: seconds, handshakes })
    }

    /// Waits for this moment; whatever the server says before ends the test.
    fn until(&mut self, moment: Instant) -> Result<(), Ending> {
        loop {
            match self.control.wait(moment)? {
                Woken::Time => return Ok(()),
                Woken::Here => {}
                Woken::Peer => refusal(&mut self.control, self.client.deadlines.answer)?,
            }
        }
    }

    /// Exchanges results.
    fn results(
        &mut self,
        mut streams: Streams,
        parameters: &Parameters,
        measured: Measured,
    ) -> Result<ClientReport, Ending> {
        streams.end_sending();
        streams.end_counting();
        let by = self.by("take the end of the test");
        self.control.say(State::TestEnd, by)?;
        streams.count_sent();
        let after = self.client.deadlines.results;
        let by = Deadline::after(after, "end the test");
        expect(&mut self.control, State::ExchangeResults, by)?;
        // Until here the server may have sent, and what it sent had to be read.
        let cpu = streams.stop();
        let counted = measured.end - measured.counted;
        let whole = measured.end - measured.start;
        let congestion = streams.congestion().filter(|_| parameters.protocol == Protocol::Tcp);
        let ours = Results::new(
            &streams.all,
            parameters.protocol,
            congestion.clone(),
            counted,
            whole,
            cpu,
        );
        let said = self.exchange(&ours)?;
        let handshakes = measured.handshakes.map(Handshakes::finish);
        self.part();
        let ways = Ways { streams: &streams.all, said: &said, parameters, counted };
        Ok(ClientReport {
            server: self.client.server,
            protocol: parameters.protocol,
            direction: parameters.direction,
            streams: parameters.parallel,
            seconds: counted.as_secs_f64(),
            omitted_seconds: (measured.counted - measured.start).as_secs_f64(),
            to_server: ways.sent(),
            to_client: ways.received(),
            course: measured.course,
            handshakes: handshakes.unwrap_or_default(),
            answer_seconds: self.answer.as_secs_f64(),
            congestion,
            processor_percent: ours.processor_percent(),
            server_congestion: said.congestion,
            server_processor_percent: said.processor_percent,
        })
    }

    /// Says this end's results, and reads the server's.
    fn exchange(&mut self, ours: &Results) -> Result<PeerResults, Ending> {
        let text = serde_json::to_string(ours).map_err(|error| Ending::System {
            operation: "write the results",
            source: error.into(),
        })?;
        let by = Deadline::after(self.client.deadlines.results, "take the results");
        self.control.write_text(&text, by)?;
        let too_long = |length| {
            Ending::Nonsense(format!("results of {length} bytes, and {MOST_RESULTS} are allowed"))
        };
        let by = Deadline::after(self.client.deadlines.results, "say its results");
        PeerResults::read(&self.control.read_text(MOST_RESULTS, too_long, by)?)
    }

    /// The last words; the test counts also if the server leaves them out.
    fn part(&mut self) {
        let by = self.by("show its results");
        if expect(&mut self.control, State::DisplayResults, by).is_ok() {
            let _ = self.control.say(State::Done, by);
        }
    }
}
