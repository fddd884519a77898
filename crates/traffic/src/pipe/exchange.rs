//! The two loops of a mix: requests and responses of agreed sizes, without a picture.

use std::io;

use btu_contract::app::{Mix, Protocol};

use super::Pipe;
use super::draw::nonsense;

/// The octets of a number at the beginning of every request and response.
const NUMBER: usize = 8;

/// The content of one message of a call, and of its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Messages of a call.
    pub(super) messages: u64,
    /// Messages on their way at once.
    pub(super) window: u64,
    /// Requests in a message.
    pub(super) together: u64,
    request: usize,
    response: usize,
}

impl Shape {
    pub(super) fn of(mix: &Mix, protocol: Protocol) -> Self {
        let all = u64::from(mix.fan_out());
        let (messages, window, together) =
            mix.window(protocol).map_or((1, 1, all), |window| (all, window, 1));
        let (request, response) = (mix.request().count() as usize, mix.response().count() as usize);
        Self { messages, window, together, request, response }
    }

    /// Octets of a message of requests.
    pub(super) fn there(&self) -> usize {
        self.request * self.together as usize
    }

    /// Octets of a message of responses.
    pub(super) fn back(&self) -> usize {
        self.response * self.together as usize
    }

    /// Writes the requests of a message, of which the first has this number.
    pub(super) fn write_requests(&self, first: u64, message: &mut [u8]) {
        write(first, self.request, message);
    }

    /// Writes the responses to a message, of which the first has this number.
    pub(super) fn write_responses(&self, first: u64, message: &mut [u8]) {
        write(first, self.response, message);
    }

    /// Whether these are the requests that were due.
    pub(super) fn are_requests(&self, first: u64, message: &[u8]) -> bool {
        are_due(first, self.request, message)
    }

    /// Takes the responses that are due.
    pub(super) fn hear<P: Pipe>(
        &self,
        pipe: &mut P,
        first: u64,
        room: &mut [u8],
    ) -> io::Result<()> {
        pipe.receive(room)?;
        if are_due(first, self.response, room) {
            Ok(())
        } else {
            Err(nonsense("an answer is not the one that was due"))
        }
    }
}

/// Each of a message's parts begins with its number and ends with its lowest octet.
fn write(first: u64, size: usize, message: &mut [u8]) {
    for (part, number) in message.chunks_exact_mut(size).zip(first..) {
        part[NUMBER..].fill(number as u8);
        part[..NUMBER].copy_from_slice(&number.to_be_bytes());
    }
}

fn are_due(first: u64, size: usize, message: &[u8]) -> bool {
    let parts = message.chunks_exact(size).zip(first..);
    parts.into_iter().all(|(part, number)| {
        let ends = part.len() <= NUMBER || part.last() == Some(&(number as u8));
        part[..NUMBER] == number.to_be_bytes() && ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_known_again_and_nothing_else_is() {
        let mix: Mix = "fan-out=3,request=30 B,response=8 B".parse().unwrap();
        let shape = Shape::of(&mix, Protocol::Batched);
        assert_eq!((shape.messages, shape.together, shape.there(), shape.back()), (1, 3, 90, 24));
        let mut message = vec![0; shape.there()];
        shape.write_requests(12, &mut message);
        assert!(shape.are_requests(12, &message) && !shape.are_requests(13, &message));
        for octet in [7, 29, 37, 89] {
            let mut wrong = message.clone();
            wrong[octet] ^= 1;
            assert!(!shape.are_requests(12, &wrong), "octet {octet}");
        }
        let single = Shape::of(&mix, Protocol::Window(2));
        assert_eq!((single.messages, single.window, single.there()), (3, 2, 30));
    }
}
