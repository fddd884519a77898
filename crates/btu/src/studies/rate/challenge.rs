//! The seed that a board asks for.

use anyhow::Context;
use btu_publication::{Challenge, ChallengeRequest};
use btu_testbed::note;

use crate::published::board::Board;
use crate::published::client::{self, Field};
use crate::published::key::Publisher;
use crate::start::wall_clock;

/// Asks the board for a seed, with the publisher's key.
pub(super) fn seed(board: &Board) -> anyhow::Result<u64> {
    let publisher = Publisher::named(None)?;
    let request = ChallengeRequest { board: board.to_string(), signed: wall_clock() }.text();
    let (signature, key) = (publisher.sign(&request)?, publisher.public.to_string());
    let fields: [Field<'_>; 3] = [
        ("request", request.as_bytes()),
        ("signature", signature.as_bytes()),
        ("key", key.as_bytes()),
    ];
    let answer = client::post(board, "api/v1/challenges", &fields)?;
    let challenge = Challenge::read(&answer);
    let Challenge { seed } =
        challenge.with_context(|| format!("{board} answered with what is no challenge"))?;
    note!("The board asks for seed {seed}; it will show whether this run comes back.");
    Ok(seed)
}
