//! The seed that a board asks for.

use anyhow::Context;
use btu_contract::network::Network;
use btu_publication::{Challenge, ChallengeRequest};
use btu_studies::rate::Plan;
use btu_testbed::note;

use crate::cli::Board;
use crate::exit::Refusal;
use crate::published::client::{self, Sent};
use crate::published::key::Publisher;
use crate::stored::wall_clock;

/// Refuses a board that cannot be asked, and a run that could not be published there.
pub(super) fn check(board: &Board, plan: &Plan) -> Result<(), Refusal> {
    if matches!(plan.network, Network::Machines(_)) {
        let problem = "--challenge is for runs that are published, and one between real hosts is not, as its plan names them; \
                       leave one of both out";
        return Err(Refusal::Usage(problem.to_owned()));
    }
    client::refuse_exposed(board)
}

/// Asks the board for a seed, with the publisher's key.
pub(super) fn seed(board: &Board) -> anyhow::Result<u64> {
    let publisher = Publisher::named(None)?;
    let request = ChallengeRequest { board: board.to_string(), signed: wall_clock() }.text();
    let (signature, key) = (publisher.sign(&request)?, publisher.public.to_string());
    let fields = [("request", &*request), ("signature", &signature), ("key", &key)];
    let answer = client::post(board, "api/v1/challenges", Sent::Form(&fields))?;
    let challenge = Challenge::read(&answer);
    let Challenge { seed } =
        challenge.with_context(|| format!("{board} gave an answer that is not a challenge"))?;
    note!(
        "The board asks for seed {seed}; it will show whether this run comes back: publish it soon after its end."
    );
    Ok(seed)
}
