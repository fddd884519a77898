//! One end of an application that draws, as it is ordered, and its account.

use btu_stats::mean_without_highest_tenth;
use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use super::{Discarded, DisplayRequest, Mix, Niceness, Protocol, Slowing, Speeds, Workload};

/// The settings on which both ends have agreed before they meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drawing {
    /// The picture that is drawn.
    pub workload: Workload,
    /// The protocol: which end waits for which.
    pub protocol: Protocol,
    /// The application's additional computing for each request.
    #[serde(rename = "application_ns")]
    pub application: Span,
    /// The display's additional computing for each request.
    #[serde(rename = "display_ns")]
    pub display: Span,
    /// The speed of either end's computing: of its own work, and of the additional work.
    #[serde(default, skip_serializing_if = "Speeds::are_full")]
    pub speeds: Speeds,
    /// How an end is made slower.
    #[serde(default, skip_serializing_if = "Slowing::is_usual")]
    pub slowing: Slowing,
    /// The nice value of either end.
    #[serde(default, skip_serializing_if = "Niceness::is_usual")]
    pub nice: Niceness,
    /// The picture is drawn again until this time has passed, once at least.
    #[serde(rename = "target_ns")]
    pub target: Span,
    /// It is drawn no more often.
    pub most_pictures: u32,
    /// The messages instead of a picture, for [`Workload::Mix`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<Mix>,
    /// Whether both ends count the broadcasts that their hosts discard.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counts_broadcasts: bool,
    /// Whether the application measures echoes before the first picture.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub echoes: bool,
}

impl Drawing {
    /// The most pictures of any order.
    pub const MOST_PICTURES: u32 = 100_000;

    /// The requests before the measured time, for symbols that the display must have; none by most
    /// protocols.
    pub fn before(&self) -> Vec<DisplayRequest> {
        if self.protocol == Protocol::Redraw { self.workload.requests(true) } else { Vec::new() }
    }

    /// The requests in the measured time. With [`Protocol::Bitmap`] the pixels follow each request;
    /// the application has drawn them.
    pub fn requests(&self) -> Vec<DisplayRequest> {
        match self.protocol {
            Protocol::StopAndWait | Protocol::Window(_) | Protocol::Pipelined => {
                self.workload.requests(true)
            }
            Protocol::Construction => self.workload.requests(false),
            Protocol::Batched => {
                self.workload.requests(false).into_iter().chain([DisplayRequest::Show]).collect()
            }
            Protocol::Redraw => vec![DisplayRequest::Redraw],
            Protocol::Bitmap => pieces(),
        }
    }

    /// Messages of an [`Echoes::bursts`]: fewer than half of what TCP sends at first, so that nothing
    /// changes for the pictures.
    pub const BURST: u64 = 5;

    /// The largest message of a mix; `None` for a picture.
    pub(crate) fn largest_message(&self) -> Bytes {
        let Some(mix) = self.mix else { return Bytes::ZERO };
        let together =
            if mix.window(self.protocol).is_none() { u64::from(mix.fan_out()) } else { 1 };
        Bytes::new(together * mix.request().max(mix.response()).count())
    }

    /// Whether the kernel keeps an end to a share of a processor.
    pub fn is_kept_to_a_share(&self) -> bool {
        self.slowing == Slowing::Quota && !self.speeds.are_full()
    }

    /// Items of the picture: what a rate counts.
    pub fn items(&self) -> u64 {
        self.workload.items().len() as u64
    }
}

/// The whole bitmap in pieces.
fn pieces() -> Vec<DisplayRequest> {
    let (piece, all) = (super::BITMAP_PIECE as u32, super::PICTURE_BYTES as u32);
    let offsets = (0..all).step_by(super::BITMAP_PIECE);
    offsets.map(|offset| DisplayRequest::Bits { offset, length: piece.min(all - offset) }).collect()
}

/// What a message of 20 octets and its echo take before the first picture: the network's time, and that
/// of both ends' systems, in which no end computes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Echoes {
    /// Of a message alone.
    #[serde(rename = "alone_ns")]
    pub alone: Vec<Span>,
    /// Of [`Drawing::BURST`] messages at once, until the last echo.
    #[serde(rename = "bursts_ns")]
    pub bursts: Vec<Span>,
}

impl Echoes {
    /// Means in seconds of a message alone and of a burst, without the slowest tenth (at least one),
    /// in which a machine did something else; `None` if there are no two of each.
    pub fn means(&self) -> Option<[f64; 2]> {
        let mean = |spans: &[Span]| {
            let seconds: Vec<f64> = spans.iter().map(|span| span.seconds()).collect();
            mean_without_highest_tenth(&seconds)
        };
        Some([mean(&self.alone)?, mean(&self.bursts)?])
    }
}

/// The account of the application; at first, an empty one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Drawn {
    /// The time of each picture: from the first request's send to the last answer's arrival.
    #[serde(rename = "pictures_ns")]
    pub pictures: Vec<Span>,
    /// Requests sent while time was taken, over all pictures.
    pub requests: u64,
    /// Their octets, pixels behind them included.
    pub bytes: Bytes,
    /// Answers that came while time was taken.
    pub replies: u64,
    /// The application's computing in all pictures: making requests, and the additional work of the
    /// plan.
    #[serde(rename = "busy_ns")]
    pub busy: Span,
    /// Requests that were sent again, by transports that report it.
    pub repeated: u64,
    /// The broadcasts that the application's host discarded, if they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discarded: Option<Discarded>,
    /// The echoes before the first picture, if they were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echoes: Option<Echoes>,
}

/// The account of the display; at first, an empty one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Displayed {
    /// The number of pictures that were drawn.
    pub pictures: u64,
    /// The time of each here: from the first request's arrival until it was drawn.
    #[serde(rename = "spans_ns")]
    pub spans: Vec<Span>,
    /// Requests that came while time was taken.
    pub requests: u64,
    /// Their octets, pixels behind them included.
    pub bytes: Bytes,
    /// Answers sent while time was taken.
    pub replies: u64,
    /// The display's computing in all pictures: drawing, and the additional work of the plan.
    #[serde(rename = "busy_ns")]
    pub busy: Span,
    /// Pictures that are not, to the bit, what the workload draws; of a mix, requests that were not
    /// those that were due.
    pub wrong: u64,
    /// SHA-256 of the last picture, in hexadecimal digits.
    pub digest: String,
    /// Octets of the display file after the last picture, as Table 5-2 counts them.
    pub file: Bytes,
    /// Octets of memory that the display file held then.
    #[serde(rename = "memory_bytes", default)]
    pub memory: Bytes,
    /// The broadcasts that the display's host discarded, if they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discarded: Option<Discarded>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{Display, PICTURE_BYTES};

    fn drawing(workload: Workload, protocol: Protocol) -> Drawing {
        let (application, display, target) = (Span::ZERO, Span::ZERO, Span::ZERO);
        Drawing {
            workload,
            protocol,
            application,
            display,
            speeds: Speeds::default(),
            slowing: Slowing::default(),
            nice: Niceness::default(),
            target,
            most_pictures: 1,
            mix: None,
            counts_broadcasts: false,
            echoes: false,
        }
    }

    #[test]
    fn every_protocol_s_requests_leave_the_workload_s_picture() {
        for workload in Workload::ALL {
            let expected = workload.picture();
            for protocol in Protocol::USUAL.into_iter().chain([Protocol::Construction]) {
                let drawing = drawing(workload, protocol);
                let mut display = Display::default();
                for request in drawing.before().iter().chain(&drawing.requests()) {
                    display.take(request).unwrap();
                    if let DisplayRequest::Bits { offset, length } = *request {
                        let (from, to) = (offset as usize, (offset + length) as usize);
                        display.set_bits(offset, &expected.bits()[from..to]).unwrap();
                    }
                }
                if protocol == Protocol::Construction {
                    assert_eq!(display.picture().pixels_set(), 0, "nothing is shown");
                    display.take(&DisplayRequest::Show).unwrap();
                }
                assert_eq!(display.picture(), &expected, "{workload} {protocol}");
            }
        }
    }

    #[test]
    fn the_slowest_echo_does_not_count() {
        let spans = |each: &[u64]| each.iter().map(|us| Span::from_microseconds(*us)).collect();
        let echoes = Echoes { alone: spans(&[1100, 9000, 1000]), bursts: spans(&[1300, 1300]) };
        let [alone, burst] = echoes.means().unwrap();
        assert!(
            (alone - 1050e-6).abs() < 1e-9 && (burst - 1300e-6).abs() < 1e-9,
            "{alone} {burst}"
        );
        assert_eq!(Echoes::default().means(), None);
    }

    #[test]
    fn the_pieces_of_a_bitmap_are_the_whole_of_it() {
        let lengths: Vec<usize> = drawing(Workload::Text, Protocol::Bitmap)
            .requests()
            .iter()
            .map(|request| match request {
                DisplayRequest::Bits { length, .. } => *length as usize,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(lengths.iter().sum::<usize>(), PICTURE_BYTES);
    }
}
