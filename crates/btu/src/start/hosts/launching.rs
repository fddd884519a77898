//! The agents of a job, which its launcher starts when they are first needed.

use std::sync::Arc;
use std::time::Duration;

use btu_control::controller::{Launch, LaunchRequest};
use btu_units::Span;

use super::rated::refused;
use crate::cli::Launching;
use crate::exit::Refusal;
use crate::start::progress::Steps;
use crate::stored;

/// The name of Slurm's own launcher.
const SLURM: &str = "slurm";

/// Slurm's launcher: one process on each node of the allocation, next to what runs there. `--ntasks` and `--distribution` are given, too, since a
/// job with tasks sets variables that are srun's defaults (`SLURM_NTASKS`, `SLURM_DISTRIBUTION`), next to which it ignores the rest.
const SRUN: &str = "srun --overlap --ntasks-per-node=1 --distribution=block";

impl Launching {
    /// The agents, which are started now unless they were; `None` if no launcher is named.
    pub(crate) fn started(&self, reconnect_timeout: Span) -> anyhow::Result<Option<Arc<Launch>>> {
        let Some(launcher) = &self.launcher else { return Ok(None) };
        if let Some(launch) = self.launch.get() {
            return Ok(Some(Arc::clone(launch)));
        }
        let command = command(launcher, |name| std::env::var(name).ok())?;
        let executable = std::env::current_exe()?;
        // Nodes mostly share its user's home.
        let directory = stored::directory(self.data.0.as_deref())?;
        let steps = Steps::new(false);
        steps.say(format!("starting agents with {}", command[0]));
        let launch = Launch::start(&LaunchRequest {
            command: &command,
            executable: &executable,
            directory: &directory,
            over: self.over,
            reconnect_timeout: Duration::from(reconnect_timeout),
        });
        steps.clear();
        let launch = Arc::new(launch.map_err(refused)?);
        Ok(Some(Arc::clone(self.launch.get_or_init(|| launch))))
    }
}

/// The launcher's words: `slurm` is `srun` on all nodes of the allocation.
fn command(
    launcher: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<String>, Refusal> {
    let is_slurm = launcher == SLURM;
    let text = if is_slurm { SRUN } else { launcher };
    let mut words = shlex::split(text).filter(|words| !words.is_empty()).ok_or_else(|| {
        Refusal::Usage(format!(
            "--launcher `{launcher}`: it is empty, or a quotation mark is not closed"
        ))
    })?;
    if is_slurm {
        let nodes = variable("SLURM_JOB_NUM_NODES").ok_or_else(|| {
            let problem = "--launcher slurm works within a job: run `salloc --nodes 8 btu ...`, or btu in a script for sbatch";
            Refusal::Usage(problem.to_owned())
        })?;
        words.extend([format!("--nodes={nodes}"), format!("--ntasks={nodes}")]);
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slurm_starts_one_agent_on_each_node() {
        let in_job = |name: &str| (name == "SLURM_JOB_NUM_NODES").then(|| "8".to_owned());
        let words = command("slurm", in_job).unwrap();
        let one_each = ["--ntasks-per-node=1", "--distribution=block", "--nodes=8", "--ntasks=8"];
        assert_eq!(words, [&["srun", "--overlap"][..], &one_each].concat());
        let outside = command("slurm", |_| None).unwrap_err().to_string();
        assert!(outside.contains("salloc"), "{outside}");
        let words = command("mpirun -np 8 -hosts 'a b'", |_| None).unwrap();
        assert_eq!(words, ["mpirun", "-np", "8", "-hosts", "a b"]);
        for wrong in ["", "mpirun 'x"] {
            assert!(command(wrong, |_| None).is_err());
        }
    }
}
