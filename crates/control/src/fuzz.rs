//! Entry points for fuzzers. They must return for any data about trust and for any message between
//! controller and agent.

use std::fmt::Display;

use btu_contract::activity::{Order, Word};
use btu_contract::json;
use btu_contract::record::{Failure, Report};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::agent::Policy;
use crate::environment::Environment;
use crate::protocol::{
    CollectReply, DescribeReply, HelloReply, RenewReply, Request, ReserveReply, fuzz_frames,
};
use crate::trust::{Bundle, Identity};

/// Parses an identity file (PEM).
pub fn identity(octets: &[u8]) {
    shown(Identity::parse("fuzz.pem", octets));
}

/// What a launcher hands to the agents that it starts.
pub fn bundle(octets: &[u8]) {
    shown(Bundle::parse(&String::from_utf8_lossy(octets)).map(|bundle| {
        shown(bundle.identity(0));
        bundle.to_text()
    }));
}

/// All that a controller says to an agent: its greeting and its frames; or one request alone.
pub fn requests(octets: &[u8]) {
    fuzz_frames(octets);
    if let Ok(request) = json::from_octets::<Request>(octets) {
        if let Request::Prepare(request) = &request {
            order(request.order.text().as_bytes());
        }
        json::<Request>(octets);
    }
}

/// An agent's answers, after an octet that says to what.
pub fn replies(octets: &[u8]) {
    let Some((kind, octets)) = octets.split_first() else { return };
    match kind % 6 {
        0 => json::<HelloReply>(octets),
        1 => json::<ReserveReply>(octets),
        2 => json::<RenewReply>(octets),
        3 => {
            if let Ok(reply) = json::from_octets::<DescribeReply>(octets) {
                environment(reply.environment.text().as_bytes());
            }
        }
        4 => word(octets),
        _ => {
            if let Ok(reply) = json::from_octets::<CollectReply>(octets) {
                reply.accounts.iter().for_each(|told| account(told.result.text().as_bytes()));
            }
        }
    }
}

/// The description of a host.
pub fn environment(octets: &[u8]) {
    json::<Environment>(octets);
}

/// An order for a worker.
pub fn order(octets: &[u8]) {
    json::<Order>(octets);
}

/// Parses the report of a worker, as JSON.
pub fn account(octets: &[u8]) {
    json::<Result<Report, Failure>>(octets);
}

/// A worker's messages, to its agent and through it to the controller.
pub fn word(octets: &[u8]) {
    json::<Word>(octets);
}

/// The ssh output before an agent's first message.
pub fn ssh_words(octets: &[u8]) {
    crate::controller::fuzz_ssh_words(octets);
}

/// A host's policy file.
pub fn policy(octets: &[u8]) {
    Policy::fuzz(octets);
}

/// Every accepted message can be encoded and is accepted again.
fn json<T: Serialize + DeserializeOwned>(octets: &[u8]) {
    if let Ok(value) = json::from_octets::<T>(octets) {
        let text = serde_json::to_string(&value).expect("what was read can be written");
        assert!(serde_json::from_str::<T>(&text).is_ok(), "{text}");
    }
}

/// Printing an error reads the input once more.
fn shown<T, E: Display>(result: Result<T, E>) {
    let _ = result.map_err(|error| error.to_string());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300), text in "[{\\[\"a-z0-9:,.\\]} ]{0,80}") {
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                for decode in [
                    super::identity, super::bundle,
                    super::requests, super::replies, super::order, super::account, super::environment, super::word, super::policy, super::ssh_words,
                ] {
                    decode(bytes);
                }
            }
        }
    }
}
