//! The rights that the program's file gives (setcap), and which of them are kept: an agent keeps
//! `CAP_NET_ADMIN` if only a group may start the file. All other processes give them up.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;

use btu_testbed::note;
use btu_testbed::privilege::{
    Capabilities, Gift, gift_of_the_file, give_up_all_but, take_no_gifts,
};

use crate::cli::{Command, Hosts, Internal};
use crate::exit::Refusal;

const IDENTITY: &str = "this program's file has a set-user-ID or set-group-ID bit, with which every user would act as its \
                        owner: take it away with chmod ug-s";

const PARTS: &str = "the program's file has capabilities (setcap), and this part of btu acts on any interface that it is \
                     given: only btu's own processes start it, and those have no capabilities";

const EVERYBODY: &str = "agent: gave up the capabilities of the program's file, since every user may start it: without netem; \
                         `btu hosts doctor` says how to give them to a group";

/// Keeps the capabilities that `command` needs and may have; call it before there is a second
/// thread.
///
/// # Errors
/// A process with rights of the file must not perform this request.
pub(crate) fn settle(command: &Command) -> Result<(), Refusal> {
    let failed = |error: io::Error| {
        Refusal::Machine(format!("giving up the rights of the program's file: {error}"))
    };
    match gift_of_the_file().map_err(failed)? {
        Gift::Nothing => Ok(()),
        Gift::Identity => Err(Refusal::Machine(IDENTITY.to_owned())),
        Gift::Capabilities => {
            // Its children start from that file, too.
            give_up_all_but(kept(command)?).and_then(|()| take_no_gifts()).map_err(failed)
        }
    }
}

fn kept(command: &Command) -> Result<Capabilities, Refusal> {
    match command {
        // An agent that has kept its capabilities starts these.
        Command::Internal(Internal::Testbed | Internal::Worker) => Ok(Capabilities::NONE),
        Command::Internal(_) => Err(Refusal::Machine(PARTS.to_owned())),
        Command::Hosts(Hosts::Agent(_) | Hosts::Doctor(_)) if is_a_groups() => {
            Ok(Capabilities::NET_ADMIN)
        }
        Command::Hosts(Hosts::Agent(_)) => {
            note!("{EVERYBODY}");
            Ok(Capabilities::NONE)
        }
        _ => Ok(Capabilities::NONE),
    }
}

/// Whether not every user may start this program's file.
fn is_a_groups() -> bool {
    fs::metadata("/proc/self/exe").is_ok_and(|file| file.permissions().mode() & 0o001 == 0)
}
