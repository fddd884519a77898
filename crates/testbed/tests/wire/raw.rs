//! Raw stations: the test's own frames, sent and received without a protocol in between.

use std::thread;

use btu_medium::Address;
use btu_testbed::port::{BATCH, Batch, Buffers, Carriage, Port, now};
use btu_units::{Span, Time};

/// An Ethernet type for experiments (IEEE 802, clause 9.2.4).
const EXPERIMENT: [u8; 2] = [0x88, 0xb5];

/// Memory for some 2,000 full frames that wait to be received.
const RING_BYTES: usize = 4 << 20;

/// Much longer than any frame of these tests is under way on any machine.
const LONG: Span = Span::from_seconds(10);

/// The end of a cable, for use in its namespace.
pub(crate) struct Raw {
    port: Port,
    batch: Batch,
    buffers: Buffers,
}

impl Raw {
    /// The interface of that name in the calling thread's namespace.
    pub(crate) fn open(interface: &str) -> Self {
        let port = Port::open(interface, Carriage::Frames, RING_BYTES).unwrap();
        Self { port, batch: Batch::new(), buffers: Buffers::new(2048) }
    }

    /// Sends frames at once.
    pub(crate) fn send(&mut self, frames: &[Vec<u8>]) {
        for part in frames.chunks(BATCH) {
            let buffers: Vec<u32> = part
                .iter()
                .map(|frame| self.buffers.put(Carriage::Frames, frame).unwrap())
                .collect();
            assert_eq!(
                self.port.send(&mut self.batch, &self.buffers, &buffers).unwrap(),
                part.len()
            );
            for buffer in buffers {
                self.buffers.release(buffer);
            }
        }
    }

    /// The frames that arrived by `end`, with the kernel's time of arrival.
    pub(crate) fn receive_until(&mut self, end: Time) -> Vec<(Time, Vec<u8>)> {
        self.receive_while(|_| now() < end)
    }

    /// The frames that arrive until there are so many, and those that come with the last of them; a
    /// frame that has not come after a long time never will.
    pub(crate) fn receive(&mut self, count: usize) -> Vec<(Time, Vec<u8>)> {
        let end = now() + LONG;
        self.receive_while(|received| received < count && now() < end)
    }

    fn receive_while(&mut self, goes_on: impl Fn(usize) -> bool) -> Vec<(Time, Vec<u8>)> {
        let mut frames = Vec::new();
        while goes_on(frames.len()) {
            self.port.receive(&mut self.batch, &mut self.buffers).expect("the interface is up");
            for received in self.batch.received() {
                frames.push((received.at, self.buffers.frame(received.buffer).to_vec()));
                self.buffers.release(received.buffer);
            }
            if self.batch.received().is_empty() {
                thread::sleep(Span::from_microseconds(300).into());
            }
        }
        frames
    }
}

/// A frame of `length` octets from one station of a drawing to another, with a number that
/// identifies it.
pub(crate) fn frame(from: u32, to: Address, number: u32, length: usize) -> Vec<u8> {
    let mut frame = [to.octets(), Address::of_station(from).octets()].concat();
    frame.extend(EXPERIMENT);
    frame.extend(number.to_be_bytes());
    frame.resize(length, 0x55);
    frame
}
