//! Works in several stations at once from one process outside of them.

use std::path::Path;

use super::entry_server;
use super::error::{Cause, TestbedError};
use super::namespace::Namespace;

/// Does `work` on a thread inside `station`'s network, of the testbed with this runtime directory:
/// sockets made there belong to the station, whichever process uses them afterwards. The calling
/// process must run in the testbed, like commands of [`super::enter`], in any of its stations.
///
/// # Errors
/// There is no such station, the testbed does not open, or the process is outside.
pub fn inside<T: Send>(
    runtime_directory: &Path,
    station: &str,
    work: impl FnOnce() -> T + Send,
) -> Result<T, TestbedError> {
    let Some(keys) = entry_server::request_namespaces(runtime_directory, station)? else {
        let remedy = "see `btu net check` for the stations of the file";
        return Err(TestbedError::new(
            Cause::Name,
            format!("enter {station}"),
            "there is no such station",
            remedy,
        ));
    };
    Namespace::from_key(keys.network).enter(work).map_err(|error| {
        let remedy = "start this from inside the network, with `btu net run` or `btu net exec`";
        TestbedError::new(Cause::Namespaces, format!("work in {station}"), error, remedy)
    })
}
