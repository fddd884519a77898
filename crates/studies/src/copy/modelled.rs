//! The report's model of a copy on a shared Ethernet, at the packet rates that were measured
//! (section 3.4, figures 9 to 11): the packets of the file wait one after the other, each for the
//! mean delay of Lam's cable under all traffic on it.

use btu_model::{FrameTimes, SharedCable};
use btu_network::{Drawing, Medium};
use serde::Serialize;

use super::{DATAGRAM, PacketCount};

/// Ethernet's overhead around a packet in addition to its header, in octets: preamble, check
/// sequence, gap.
const AROUND: f64 = 24.0;

/// Octets of the background's frames with all of that.
const BACKGROUND_FRAME: f64 = 1046.0 + AROUND;

/// The model's answer next to the measured time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Modelled {
    /// Packets that carried the file, and the other packets that the interface counted in that
    /// direction.
    pub packets: f64,
    /// Mean delay of a packet, in seconds.
    pub delay_seconds: f64,
    /// All of them one after the other, in seconds.
    pub seconds: f64,
    /// The model's time against the measured one, as a share of that.
    pub error: f64,
}

/// The shared Ethernet on which copies are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cable {
    bits_per_second: f64,
    propagation_seconds: f64,
}

impl Cable {
    /// The only segment of a network, where it is one.
    pub(super) fn of(drawing: &Drawing) -> Option<Self> {
        let [segment] = drawing.segments.as_slice() else { return None };
        match &segment.medium {
            Medium::SharedEthernet(ether) => Some(Self {
                bits_per_second: ether.rate.bits_per_second() as f64,
                propagation_seconds: ether.length.propagation(ether.velocity).seconds(),
            }),
            _ => None,
        }
    }

    /// The model's answer at the rates of a copy: `counts` are those of its interface, `is_sent`
    /// means that the file was sent, and `background` is the background's payload in bits per
    /// second. `None` above the model's range.
    pub(super) fn modelled(
        &self,
        counts: &[PacketCount],
        is_sent: bool,
        background: f64,
    ) -> Option<Modelled> {
        let all = counts.last().filter(|all| all.at.seconds() > 0.0)?;
        let measured = all.at.seconds();
        let kind = |packets: f64, octets: f64| {
            let seconds = (octets + AROUND * packets) * 8.0 / packets / self.bits_per_second;
            (packets > 0.0).then(|| (packets / measured, FrameTimes::fixed(seconds)))
        };
        let others = background / DATAGRAM.bits() * measured;
        let kinds = [
            kind(all.sent as f64, all.sent_octets as f64),
            kind(all.received as f64, all.received_octets as f64),
            kind(others, others * (BACKGROUND_FRAME - AROUND)),
        ];
        let kinds: Vec<(f64, FrameTimes)> = kinds.into_iter().flatten().collect();
        let rate = kinds.iter().map(|(rate, _)| rate).sum();
        let cable = SharedCable {
            rate,
            times: FrameTimes::mix(kinds),
            propagation: self.propagation_seconds,
        };
        let delay_seconds = cable.delay().value?;
        let packets = if is_sent { all.sent } else { all.received } as f64;
        let seconds = packets * delay_seconds;
        Some(Modelled { packets, delay_seconds, seconds, error: seconds / measured - 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use btu_units::Span;

    use super::*;

    fn cable() -> Cable {
        let drawing =
            btu_network::library_text("citi-1989").map(|text| Drawing::read(text, "citi-1989"));
        Cable::of(&drawing.unwrap().unwrap()).unwrap()
    }

    /// 60 packets of 1436 octets and 10 answers a second for ten seconds: by hand 600 times the
    /// delay of 60 and 10 packets a second that take 1.168 and 0.072 ms; with a background of 60 %
    /// it is longer, and beyond the cable's time there is none.
    #[test]
    fn packets_wait_one_after_the_other() {
        let all = PacketCount {
            at: Span::from_seconds(10),
            sent: 600,
            sent_octets: 600 * 1436,
            received: 100,
            received_octets: 100 * 66,
        };
        let times = FrameTimes::mix([
            (60.0, FrameTimes::fixed(1.168e-3)),
            (10.0, FrameTimes::fixed(0.072e-3)),
        ]);
        let by_hand =
            SharedCable { rate: 70.0, times, propagation: 5.12e-6 }.delay().value.unwrap();
        let light = cable().modelled(&[all], true, 0.0).unwrap();
        assert!((light.delay_seconds / by_hand - 1.0).abs() < 1e-3, "{light:?}, by hand {by_hand}");
        assert!(
            (light.seconds / (600.0 * by_hand) - 1.0).abs() < 1e-3
                && (light.error + 0.93).abs() < 0.01,
            "{light:?}"
        );
        let heavy = cable().modelled(&[all], true, 5.6e6).unwrap();
        assert!(heavy.delay_seconds > 1.5 * light.delay_seconds, "{heavy:?}");
        assert_eq!(cable().modelled(&[all], true, 9.4e6), None);
        assert_eq!(cable().modelled(&[], true, 0.0), None);
    }
}
