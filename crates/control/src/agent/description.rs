//! Describes the host for callers. This raises namespaces and tries the disk, so it is done by one
//! caller at a time, and the result is reused for a while.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use btu_testbed::own_process::give_back_code;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::Instant;

use super::internal;
use crate::doctor;
use crate::protocol::{DescribeReply, Json, Status};

/// The time for which a description is reused.
const FRESH: Duration = Duration::from_secs(3);

/// The last description.
#[derive(Debug, Clone, Default)]
pub(super) struct Description(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    last: Option<(Instant, DescribeReply)>,
    /// The number of examinations of the host.
    looks: u64,
}

impl Description {
    /// The description of the host.
    pub(super) async fn get(
        &self,
        executable: PathBuf,
        scratch: PathBuf,
    ) -> Result<DescribeReply, Status> {
        let seen = Arc::clone(&self.0).lock_owned().await;
        if let Some((_, reply)) = seen.last.as_ref().filter(|(when, _)| when.elapsed() < FRESH) {
            return Ok(reply.clone());
        }
        // A caller that disconnects must not let another one begin before this is over.
        let looking = tokio::task::spawn_blocking(move || look(seen, &executable, &scratch));
        looking.await.map_err(internal("looking around"))?
    }
}

fn look(
    mut seen: OwnedMutexGuard<Seen>,
    executable: &Path,
    scratch: &Path,
) -> Result<DescribeReply, Status> {
    seen.looks += 1;
    // An examination is rare, and it needs much code that no other work needs. So the agent
    // releases the memory of code before and after it: the code of other work does not stay in
    // memory during the examination, and its own code does not stay in memory afterwards.
    let _ = give_back_code();
    let facts = doctor::look(executable, scratch);
    let findings = Json::of(&doctor::judge(&facts)).map_err(internal("writing the findings"))?;
    let environment = Json::of(&facts.environment).map_err(internal("writing the environment"))?;
    let reply = DescribeReply { environment, findings };
    seen.last = Some((Instant::now(), reply.clone()));
    let _ = give_back_code();
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn many_who_ask_are_told_of_one_look_even_if_the_first_hangs_up() {
        let description = Description::default();
        let ask = || description.get("/bin/true".into(), std::env::temp_dir());
        // Polled once, and dropped during the examination.
        let first = tokio::time::timeout(Duration::ZERO, ask()).await;
        let replies = join_all((0..8).map(|_| ask())).await;
        assert!(replies.iter().all(Result::is_ok), "{replies:?}");
        assert_eq!(description.0.lock().await.looks, 1, "{first:?}");
    }
}
