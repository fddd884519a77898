//! Reads captures: enough of pcapng for the blocks that this crate writes, and to skip others.

use btu_units::Time;
use thiserror::Error;

use super::FrameDirection;
use super::format::{
    BYTE_ORDER_MAGIC, ENHANCED_PACKET, INTERFACE_DESCRIPTION, INTERFACE_STATISTICS, PACKET_HEAD,
    RESOLUTION, SECTION_HEADER, Statistics, option,
};

/// A block of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// The header block of a section.
    Section,
    /// The interface block of a port.
    Interface {
        /// The name in question.
        name: String,
        /// The station that it leads to.
        description: String,
    },
    /// The block of a frame.
    Packet {
        /// The time at which it passed, by the wall clock.
        at: Time,
        /// The direction of the frame.
        direction: FrameDirection,
        /// From destination address to the end.
        frame: Vec<u8>,
    },
    /// The counts at the end.
    Statistics(Statistics),
    /// A block of another kind.
    Other(u32),
}

/// Why a file cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("octet {at}: {what}")]
pub struct NotACapture {
    /// The offset of the block that cannot be read.
    pub at: usize,
    what: &'static str,
}

/// The whole blocks of a file, and the number of octets of an unfinished one after them (none in a
/// file that was closed).
///
/// # Errors
/// It is not a capture in btu's form: little-endian, one Ethernet interface to a section, stamps in
/// nanoseconds.
pub fn read(octets: &[u8]) -> Result<(Vec<Block>, usize), NotACapture> {
    let mut blocks = Vec::new();
    let mut at = 0;
    while let Some(length) = word(octets, at + 4).map(|length| length as usize) {
        let refuse = |what| NotACapture { at, what };
        if length < 12 || length % 4 != 0 {
            return Err(refuse("a block's length is impossible"));
        }
        let Some(block) = octets.get(at..at.saturating_add(length)) else { break };
        if word(block, length - 4) != Some(length as u32) {
            return Err(refuse("a block's two lengths differ"));
        }
        let kind = word(block, 0).unwrap_or_default();
        if blocks.is_empty() && kind != SECTION_HEADER {
            return Err(refuse("it does not begin with a section header"));
        }
        blocks.push(parse(kind, &block[8..length - 4]).ok_or(refuse("a block makes no sense"))?);
        at += length;
    }
    Ok((blocks, octets.len() - at))
}

/// The content of a block: without type and lengths.
fn parse(kind: u32, content: &[u8]) -> Option<Block> {
    Some(match kind {
        SECTION_HEADER => (word(content, 0)? == BYTE_ORDER_MAGIC).then_some(Block::Section)?,
        INTERFACE_DESCRIPTION => {
            let options = content.get(8..)?;
            (value(options, option::IF_TSRESOL)? == [RESOLUTION]).then_some(())?;
            Block::Interface {
                name: text(options, option::IF_NAME)?,
                description: text(options, option::IF_DESCRIPTION)?,
            }
        }
        ENHANCED_PACKET => {
            const HEAD: usize = PACKET_HEAD - 8;
            let length = word(content, 12)? as usize;
            let frame = content.get(HEAD..HEAD.checked_add(length)?)?.to_vec();
            let flags =
                value(content.get(HEAD + length.next_multiple_of(4)..)?, option::EPB_FLAGS)?;
            Block::Packet {
                at: time(content)?,
                direction: FrameDirection::from_flags(word(flags, 0)?)?,
                frame,
            }
        }
        INTERFACE_STATISTICS => {
            let options = content.get(12..)?;
            let count = |code| value(options, code)?.try_into().ok().map(u64::from_le_bytes);
            Block::Statistics(Statistics {
                seen: count(option::ISB_IFRECV)?,
                dropped: count(option::ISB_IFDROP)?,
                missed: count(option::ISB_OSDROP)?,
                written: count(option::ISB_USRDELIV)?,
            })
        }
        other => Block::Other(other),
    })
}

/// After an interface's number: the upper and then the lower half.
fn time(content: &[u8]) -> Option<Time> {
    let (upper, lower) = (u64::from(word(content, 4)?), u64::from(word(content, 8)?));
    Some(Time::from_nanoseconds(upper << 32 | lower))
}

fn text(options: &[u8], code: u16) -> Option<String> {
    String::from_utf8(value(options, code)?.to_vec()).ok()
}

/// The value of the first option of this code.
fn value(mut options: &[u8], code: u16) -> Option<&[u8]> {
    loop {
        let [a, b, c, d, rest @ ..] = options else { return None };
        let length = usize::from(u16::from_le_bytes([*c, *d]));
        match u16::from_le_bytes([*a, *b]) {
            0 => return None,
            found if found == code => return rest.get(..length),
            _ => options = rest.get(length.next_multiple_of(4)..)?,
        }
    }
}

fn word(octets: &[u8], at: usize) -> Option<u32> {
    octets.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_le_bytes)
}

/// For fuzzers: any octets as a capture.
#[doc(hidden)]
pub fn fuzz_capture(octets: &[u8]) {
    if let Ok((_, left)) = read(octets) {
        assert!(left <= octets.len());
    }
}

#[cfg(test)]
mod tests {
    use super::super::format::{head, packet, statistics};
    use super::*;
    use proptest::prelude::*;

    fn direction() -> impl Strategy<Value = FrameDirection> {
        prop_oneof![Just(FrameDirection::Inbound), Just(FrameDirection::Outbound)]
    }

    proptest! {
        /// Every written file can be read again, whole or cut off anywhere.
        #[test]
        fn captures_survive(name in "[a-z]{1,15}", description in ".{0,40}",
                            frames in prop::collection::vec((any::<u64>(), direction(), prop::collection::vec(any::<u8>(), 14..200)), 0..8),
                            counts in any::<[u64; 4]>(), keep in 0.0f64..1.0) {
            let mut octets = Vec::new();
            head(&mut octets, &name, &description);
            let mut expected = vec![Block::Section, Block::Interface { name, description }];
            for (at, direction, frame) in frames {
                let at = Time::from_nanoseconds(at);
                packet(&mut octets, at, direction, &frame);
                expected.push(Block::Packet { at, direction, frame });
            }
            let [seen, dropped, missed, written] = counts;
            let counts = Statistics { seen, dropped, missed, written };
            statistics(&mut octets, Time::ZERO, &counts);
            expected.push(Block::Statistics(counts));
            prop_assert_eq!(octets.len() % 4, 0);
            prop_assert_eq!(read(&octets), Ok((expected.clone(), 0)));
            let cut = (octets.len() as f64 * keep) as usize;
            let (blocks, rest) = read(&octets[..cut]).unwrap();
            prop_assert!(expected.starts_with(&blocks) && rest <= cut);
            prop_assert!(blocks.len() < expected.len());
        }

        #[test]
        fn anything_can_be_read_or_refused(octets in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&octets);
            let mut octets = octets;
            let mut begun = Vec::new();
            head(&mut begun, "x", "y");
            begun.append(&mut octets);
            let _ = read(&begun);
        }
    }

    /// Against the draft's own layout, octet by octet (section 4.3, figure 11; options 3.5).
    #[test]
    fn a_packet_block_is_as_the_draft_has_it() {
        let mut octets = Vec::new();
        packet(
            &mut octets,
            Time::from_nanoseconds(0x0102_0304_0506_0708),
            FrameDirection::Outbound,
            &[9; 5],
        );
        let expected: Vec<u8> = [
            [6, 0, 0, 0].as_slice(),
            &[52, 0, 0, 0],
            &[0, 0, 0, 0],
            &[4, 3, 2, 1],
            &[8, 7, 6, 5],
            &[5, 0, 0, 0],
            &[5, 0, 0, 0],
            &[9, 9, 9, 9, 9, 0, 0, 0],
            &[2, 0, 4, 0, 2, 0, 0, 0],
            &[0, 0, 0, 0],
            &[52, 0, 0, 0],
        ]
        .concat();
        assert_eq!(octets, expected);
    }
}
