//! iperf3's protocol on the control connection: states, cookies, lengths and parameters. What a
//! client sends is read into types that cannot be wrong.

use btu_contract::json;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::{Ending, code};
use crate::settings::Limits;

/// The port of iperf3.
pub const PORT: u16 = 5201;

/// The longest parameters, in bytes: iperf3's own limit.
pub(crate) const MOST_PARAMETERS: usize = 8 << 10;
/// The longest results, in bytes: 256 streams of some 300 bytes, and room.
pub(crate) const MOST_RESULTS: usize = 256 << 10;

/// The states of a test; one signed byte each on the control connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub(crate) enum State {
    TestStart = 1,
    TestRunning = 2,
    TestEnd = 4,
    ParameterExchange = 9,
    CreateStreams = 10,
    ServerTerminate = 11,
    ClientTerminate = 12,
    ExchangeResults = 13,
    DisplayResults = 14,
    Done = 16,
    AccessDenied = -1,
    ServerError = -2,
}

impl State {
    const ALL: [Self; 12] = [
        Self::TestStart,
        Self::TestRunning,
        Self::TestEnd,
        Self::ParameterExchange,
        Self::CreateStreams,
        Self::ServerTerminate,
        Self::ClientTerminate,
        Self::ExchangeResults,
        Self::DisplayResults,
        Self::Done,
        Self::AccessDenied,
        Self::ServerError,
    ];

    /// The byte that stands for the state.
    pub(crate) const fn octet(self) -> u8 {
        (self as i8).cast_unsigned()
    }

    /// The state of a byte; `None` if there is no such state.
    pub(crate) fn of(octet: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.octet() == octet)
    }
}

/// The first bytes of every connection: 36 octets that name the test, and a NUL. Since 3.2 they are
/// small letters and the digits 2 to 7; before, the host's name, the time and more digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Cookie([u8; Self::LENGTH]);

impl Cookie {
    /// The length in bytes.
    pub(crate) const LENGTH: usize = 37;

    /// `None` unless it ends as a cookie.
    pub(crate) fn read(octets: [u8; Self::LENGTH]) -> Option<Self> {
        octets.ends_with(&[0]).then_some(Self(octets))
    }

    /// One that no other test has: 180 bits of the standard library's random keys.
    pub(crate) fn random() -> Self {
        let mut octets = [0; Self::LENGTH];
        for (index, letters) in octets[..Self::LENGTH - 1].chunks_mut(12).enumerate() {
            let mut bits = RandomState::new().hash_one(index);
            for letter in letters {
                *letter = b"abcdefghijklmnopqrstuvwxyz234567"[(bits % 32) as usize];
                bits /= 32;
            }
        }
        Self(octets)
    }

    /// The bytes with which each connection of the test begins.
    pub(crate) const fn octets(&self) -> &[u8; Self::LENGTH] {
        &self.0
    }
}

/// An end of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestSide {
    /// It opens all connections.
    Client,
    /// It accepts them.
    Server,
}

btu_units::named! {
    /// What carries the data.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Protocol {
        /// TCP.
        Tcp = "TCP",
        /// UDP.
        Udp = "UDP",
    }
}

impl Protocol {
    /// The key of a client's parameters that names it.
    const fn key(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

/// Who sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The client.
    ToServer,
    /// The server (`--reverse`).
    ToClient,
    /// Both at a time (`--bidir`).
    Both,
}

/// What a test is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "the client's flags, which are independent")]
pub(crate) struct Parameters {
    pub(crate) protocol: Protocol,
    pub(crate) direction: Direction,
    /// Streams each way.
    pub(crate) parallel: u16,
    /// Bytes of one write, or of a datagram's payload.
    pub(crate) length: usize,
    /// The first part of the test, which does not count.
    pub(crate) omit: Duration,
    /// How long the client sends or receives after that; `None`: until an amount has moved.
    pub(crate) time: Option<Duration>,
    pub(crate) no_delay: bool,
    /// The largest segment of TCP, in bytes.
    pub(crate) segment_bytes: Option<u32>,
    /// Sizes of the socket's buffers, in bytes.
    pub(crate) window_bytes: Option<usize>,
    /// The rate of each stream, in bits a second; `None`: as fast as possible.
    pub(crate) rate: Option<u64>,
    /// Writes or datagrams that may leave at once before the rate is kept.
    pub(crate) burst: u32,
    pub(crate) type_of_service: Option<u8>,
    pub(crate) congestion: Option<String>,
    pub(crate) wants_output: bool,
    pub(crate) has_long_counters: bool,
    pub(crate) repeats_payload: bool,
    pub(crate) title: Option<String>,
}

impl Parameters {
    /// Reads a client's JSON.
    ///
    /// # Errors
    /// [`Ending::Refused`] with the number of iperf3's message.
    pub(crate) fn read(text: &[u8], limits: &Limits) -> Result<Self, Ending> {
        let value: Value = json::from_octets(text).map_err(|error| {
            Ending::refused(code::PARAMETERS, format!("its parameters are no JSON: {error}"))
        })?;
        let Value::Object(said) = value else {
            return Err(Ending::refused(code::PARAMETERS, "its parameters are no JSON object"));
        };
        let said = ClientParameters(said);
        let protocol = said.protocol()?;
        let amount = said.number("num", u64::MAX, code::PARAMETERS)?.unwrap_or(0)
            | said.number("blockcount", u64::MAX, code::PARAMETERS)?.unwrap_or(0);
        let rate = said.number("bandwidth", MOST_RATE, code::PARAMETERS)?.filter(|rate| *rate > 0);
        let paced = said.number("fqrate", MOST_RATE, code::PARAMETERS)?.filter(|rate| *rate > 0);
        Ok(Self {
            protocol,
            direction: said.direction(),
            parallel: said.parallel(limits)?,
            length: said.length(protocol)?,
            omit: Duration::from_secs(said.number("omit", 600, code::OMIT)?.unwrap_or(0)),
            time: said.time(amount > 0, limits)?,
            no_delay: said.flag("nodelay"),
            segment_bytes: said
                .number("MSS", 65_535, code::SEGMENT_SIZE)?
                .filter(|bytes| *bytes > 0)
                .map(|bytes| bytes as u32),
            window_bytes: said
                .number("window", 512 << 20, code::WINDOW)?
                .filter(|bytes| *bytes > 0)
                .map(|bytes| bytes as usize),
            // The pace that the client asks of the kernel is kept by the sending thread.
            rate: rate.into_iter().chain(paced).min(),
            burst: said.number("burst", 1000, code::PARAMETERS)?.unwrap_or(0).max(1) as u32,
            type_of_service: said
                .number("TOS", 255, code::PARAMETERS)?
                .filter(|octet| *octet > 0)
                .map(|octet| octet as u8),
            congestion: said.congestion()?,
            wants_output: said.flag("get_server_output"),
            has_long_counters: said.flag("udp_counters_64bit"),
            repeats_payload: said.flag("repeating_payload"),
            title: said.text("title").map(|title| title.chars().take(200).collect()),
        })
    }

    /// The JSON that a client sends: as iperf3 does, flags only when they are true.
    pub(crate) fn text(&self) -> String {
        let mut said = json!({
            self.protocol.key(): true,
            "omit": self.omit.as_secs(),
            "time": self.time.map_or(0, |time| time.as_secs()),
            "num": 0,
            "blockcount": 0,
            "parallel": self.parallel,
            "len": self.length,
        });
        let mut add = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                said[key] = value;
            }
        };
        add("reverse", (self.direction == Direction::ToClient).then_some(true.into()));
        add("bidirectional", (self.direction == Direction::Both).then_some(true.into()));
        add("nodelay", self.no_delay.then_some(true.into()));
        add("udp_counters_64bit", self.has_long_counters.then_some(1.into()));
        add("bandwidth", self.rate.map(Value::from));
        add("TOS", self.type_of_service.map(Value::from));
        add("congestion", self.congestion.clone().map(Value::from));
        said.to_string()
    }

    /// Streams in all.
    pub(crate) fn streams(&self) -> usize {
        usize::from(self.parallel) * if self.direction == Direction::Both { 2 } else { 1 }
    }

    /// Whether the server sends on the stream with this place in the order of connections: in a test
    /// both ways the client makes those first on which it sends.
    pub(crate) fn server_sends(&self, place: usize) -> bool {
        match self.direction {
            Direction::ToServer => false,
            Direction::ToClient => true,
            Direction::Both => place >= usize::from(self.parallel),
        }
    }

    /// Whether this end sends on that stream.
    pub(crate) fn sends(&self, end: TestSide, place: usize) -> bool {
        self.server_sends(place) == (end == TestSide::Server)
    }
}

/// Ten terabits a second.
const MOST_RATE: u64 = 10_000_000_000_000;
/// The largest payload of a UDP datagram over IPv4.
const MOST_DATAGRAM: u64 = 65_507;
/// The largest write of a client of iperf3.
const MOST_BLOCK: u64 = 1 << 20;
/// The number of each stream's place: iperf3 leaves 2 out.
pub(crate) const fn stream_id(place: usize) -> u64 {
    if place == 0 { 1 } else { place as u64 + 2 }
}

/// A client's words; unknown ones are ignored.
struct ClientParameters(Map<String, Value>);

impl ClientParameters {
    /// Clients give flags only when they are true.
    fn flag(&self, key: &str) -> bool {
        match self.0.get(key) {
            Some(Value::Bool(value)) => *value,
            Some(Value::Number(number)) => number.as_f64().is_some_and(|value| value != 0.0),
            _ => false,
        }
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// A whole number from 0 to `most`. Large ones come with an exponent.
    fn number(&self, key: &'static str, most: u64, code: i32) -> Result<Option<u64>, Ending> {
        let Some(value) = self.0.get(key) else { return Ok(None) };
        let wrong = || Ending::refused(code, format!("its `{key}` is not a number up to {most}"));
        let whole = value.as_u64().or_else(|| {
            // A cast of what is out of range ends at the range's end.
            value.as_f64().filter(|number| *number >= 0.0).map(|number| number as u64)
        });
        whole.filter(|number| *number <= most).map(Some).ok_or_else(wrong)
    }

    fn protocol(&self) -> Result<Protocol, Ending> {
        if self.0.contains_key("authtoken") {
            return Err(Ending::refused(code::AUTHENTICATION, "this server knows no users"));
        }
        if self.flag("sctp") {
            return Err(Ending::refused(code::UNIMPLEMENTED, "this server has no SCTP"));
        }
        Ok(if self.flag("udp") { Protocol::Udp } else { Protocol::Tcp })
    }

    fn direction(&self) -> Direction {
        if self.flag("bidirectional") {
            Direction::Both
        } else if self.flag("reverse") {
            Direction::ToClient
        } else {
            Direction::ToServer
        }
    }

    fn parallel(&self, limits: &Limits) -> Result<u16, Ending> {
        let most = u64::from(limits.streams_per_test);
        let parallel = self.number("parallel", most, code::STREAMS)?.unwrap_or(1);
        Ok(parallel.max(1) as u16)
    }

    fn length(&self, protocol: Protocol) -> Result<usize, Ending> {
        let (least, most, usual) = match protocol {
            Protocol::Tcp => (1, MOST_BLOCK, 128 << 10),
            // A datagram has room for its header.
            Protocol::Udp => (16, MOST_DATAGRAM, 1448),
        };
        let length = self.number("len", most, code::BLOCK_SIZE)?.filter(|length| *length > 0);
        let length = length.unwrap_or(usual);
        if length < least {
            let why = format!("its datagrams of {length} bytes are shorter than {least}");
            return Err(Ending::refused(code::BLOCK_SIZE, why));
        }
        Ok(length as usize)
    }

    fn time(&self, has_amount: bool, limits: &Limits) -> Result<Option<Duration>, Ending> {
        let most = limits.most_time.as_secs();
        let time = self.number("time", u64::MAX, code::DURATION)?.unwrap_or(0);
        if time > most || time == 0 && !has_amount {
            let endless = time == 0;
            let asked =
                if endless { "a test without an end".to_owned() } else { format!("{time} s") };
            let why = format!("it asks for {asked}, and a test may take {most} s (--most-time)");
            return Err(Ending::refused(self.duration_code(), why));
        }
        Ok((time > 0 && !has_amount).then(|| Duration::from_secs(time)))
    }

    /// The number of the message that says most of a test that is too long: until 3.20 there was none
    /// of a server's limit.
    fn duration_code(&self) -> i32 {
        let mut numbers = self.text("client_version").unwrap_or_default().split('.');
        let mut number = || -> u32 {
            let digits = numbers.next().unwrap_or_default();
            let digits = digits.split(|letter: char| !letter.is_ascii_digit()).next();
            digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
        };
        if (number(), number()) >= (3, 20) { code::SERVER_DURATION } else { code::DURATION }
    }

    /// The name goes to the kernel, which has at most 15 letters for it.
    fn congestion(&self) -> Result<Option<String>, Ending> {
        let Some(name) = self.text("congestion") else { return Ok(None) };
        let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || octet == b'_' || octet == b'-';
        if name.len() > 15 || !name.bytes().all(is_plain) {
            let why = "its congestion control has no name that Linux could know";
            return Err(Ending::refused(code::SET_CONGESTION, why));
        }
        Ok(Some(name.to_owned()))
    }
}

#[cfg(test)]
mod tests;
