//! The pcapng blocks that a capture consists of, written.
//!
//! Source: draft-ietf-opsawg-pcapng, sections 4.1 (Section Header), 4.2 (Interface Description),
//! 4.3 (Enhanced Packet), 4.6 (Interface Statistics) and 3.5 (options). Everything is
//! little-endian; one interface to a section, number 0.

use btu_units::Time;

use super::FrameDirection;

pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
pub(super) const INTERFACE_DESCRIPTION: u32 = 1;
pub(super) const INTERFACE_STATISTICS: u32 = 5;
pub(super) const ENHANCED_PACKET: u32 = 6;

pub(super) const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Octets of a packet block before the frame's own.
pub(super) const PACKET_HEAD: usize = 28;
/// Octets of a packet block beyond the frame's own, its padding not counted: head, flags, end of
/// options, length.
pub(super) const PACKET_OVERHEAD: usize = PACKET_HEAD + 8 + 4 + 4;

const LINKTYPE_ETHERNET: u16 = 1;
/// Time stamps count units of 10 to the power of minus this: nanoseconds.
pub(super) const RESOLUTION: u8 = 9;

/// The codes of options.
pub(super) mod option {
    pub(crate) const SHB_USERAPPL: u16 = 4;
    pub(crate) const IF_NAME: u16 = 2;
    pub(crate) const IF_DESCRIPTION: u16 = 3;
    pub(crate) const IF_TSRESOL: u16 = 9;
    pub(crate) const EPB_FLAGS: u16 = 2;
    pub(crate) const ISB_IFRECV: u16 = 4;
    pub(crate) const ISB_IFDROP: u16 = 5;
    pub(crate) const ISB_OSDROP: u16 = 7;
    pub(crate) const ISB_USRDELIV: u16 = 8;
}

/// The counts of an interface statistics block, in frames since the capture began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Seen at the port, both ways, those dropped by the kernel not counted (`isb_ifrecv`).
    pub seen: u64,
    /// Dropped by the kernel before the wire could take them (`isb_ifdrop`).
    pub dropped: u64,
    /// Carried, but not written for lack of time or room (`isb_osdrop`).
    pub missed: u64,
    /// In the file (`isb_usrdeliv`).
    pub written: u64,
}

/// The head of a file: a section of one Ethernet interface.
pub(super) fn head(out: &mut Vec<u8>, name: &str, description: &str) {
    block(out, SECTION_HEADER, |out| {
        out.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        out.extend(1u16.to_le_bytes());
        out.extend(0u16.to_le_bytes());
        // The section's length is not known.
        out.extend((-1i64).to_le_bytes());
        option_of(out, option::SHB_USERAPPL, concat!("btu ", env!("CARGO_PKG_VERSION")).as_bytes());
        end_of_options(out);
    });
    block(out, INTERFACE_DESCRIPTION, |out| {
        out.extend(LINKTYPE_ETHERNET.to_le_bytes());
        out.extend([0; 2]);
        // Frames are kept whole.
        out.extend([0; 4]);
        option_of(out, option::IF_NAME, name.as_bytes());
        option_of(out, option::IF_DESCRIPTION, description.as_bytes());
        option_of(out, option::IF_TSRESOL, &[RESOLUTION]);
        end_of_options(out);
    });
}

/// One frame, at a wall-clock time.
pub(super) fn packet(out: &mut Vec<u8>, at: Time, direction: FrameDirection, frame: &[u8]) {
    block(out, ENHANCED_PACKET, |out| {
        let length = (frame.len() as u32).to_le_bytes();
        out.extend([0; 4]);
        time(out, at);
        out.extend(length);
        out.extend(length);
        out.extend_from_slice(frame);
        pad(out, frame.len());
        option_of(out, option::EPB_FLAGS, &direction.flags().to_le_bytes());
        end_of_options(out);
    });
}

/// The counts at the end.
pub(super) fn statistics(out: &mut Vec<u8>, at: Time, statistics: &Statistics) {
    let Statistics { seen, dropped, missed, written } = *statistics;
    block(out, INTERFACE_STATISTICS, |out| {
        out.extend([0; 4]);
        time(out, at);
        for (code, frames) in [
            (option::ISB_IFRECV, seen),
            (option::ISB_IFDROP, dropped),
            (option::ISB_OSDROP, missed),
            (option::ISB_USRDELIV, written),
        ] {
            option_of(out, code, &frames.to_le_bytes());
        }
        end_of_options(out);
    });
}

/// Type, length, content, length again.
fn block(out: &mut Vec<u8>, kind: u32, content: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    content(out);
    let length = (out.len() - start + 4) as u32;
    out[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
    out.extend(length.to_le_bytes());
}

/// The upper and then the lower half.
fn time(out: &mut Vec<u8>, at: Time) {
    let nanoseconds = at.nanoseconds();
    out.extend(((nanoseconds >> 32) as u32).to_le_bytes());
    out.extend((nanoseconds as u32).to_le_bytes());
}

/// An option; values are short texts and numbers, longer texts are cut.
fn option_of(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend_from_slice(value);
    pad(out, value.len());
}

fn end_of_options(out: &mut Vec<u8>) {
    out.extend([0; 4]);
}

/// Zeros after `length` octets, to the next multiple of four.
fn pad(out: &mut Vec<u8>, length: usize) {
    const ZEROS: [u8; 3] = [0; 3];
    out.extend_from_slice(&ZEROS[..length.next_multiple_of(4) - length]);
}
