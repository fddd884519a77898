//! The agent's service as generated from `proto/agent.proto`, and its version.

// Generated code has its own style.
#![allow(missing_docs, clippy::pedantic, unreachable_pub)]

tonic::include_proto!("btu.agent.v2");

/// Version of the protocol and of the documents it carries; both sides must name the same.
pub const PROTOCOL: u32 = 2;

/// The changes of a version, for peers with an older one.
const NEWS: [(u32, &str); 1] =
    [(2, "reservations, leases, kept accounts and impairment by the agent")];

/// The message when the two sides have different versions.
pub fn mismatch(agent: (u32, &str), controller: (u32, &str)) -> String {
    let older = agent.0.min(controller.0);
    let lacks: Vec<&str> =
        NEWS.iter().filter(|(version, _)| *version > older).map(|(_, what)| *what).collect();
    let lacks = if lacks.is_empty() {
        String::new()
    } else {
        format!("; version {older} lacks {}", lacks.join(", "))
    };
    let named = |(protocol, btu): (u32, &str)| match btu {
        "" => protocol.to_string(),
        btu => format!("{protocol} (btu {btu})"),
    };
    format!(
        "this agent speaks protocol {} and the controller {}{lacks}: use the same btu on both",
        named(agent),
        named(controller)
    )
}

/// The largest message either side takes: an account with its histogram is far below.
pub const MESSAGE_LIMIT_BYTES: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mismatch_names_both_versions_and_what_the_older_lacks() {
        let said = mismatch((2, "0.2.0"), (1, ""));
        assert_eq!(
            said,
            "this agent speaks protocol 2 (btu 0.2.0) and the controller 1; version 1 lacks reservations, leases, kept \
             accounts and impairment by the agent: use the same btu on both"
        );
        assert!(!mismatch((2, "0.2.0"), (3, "0.3.0")).contains("lacks"));
    }
}
