//! Several hosts, with faults of the network and of hosts.

use std::sync::atomic::AtomicU64;

use btu_contract::network::{HostRole, Machine, Machines};

use super::*;
use crate::agent::drill::Drill;
use crate::controller::stage::Stage;

fn purpose() -> Purpose {
    let left_ms = Arc::new(AtomicU64::new(1_000));
    Purpose { run: "r1".to_owned(), controller: "a test".to_owned(), left_ms }
}

fn call_to(name: &str, agent: &Drill) -> HostCall {
    HostCall { name: name.to_owned(), reached: Reached::Tls { address: agent.address.to_string() } }
}

async fn reserved(call: &HostCall, access: &Access) -> RemoteHost {
    let mut remote_host = RemoteHost::call(call, access).await.unwrap();
    remote_host.reserve(&purpose()).await.unwrap();
    remote_host
}

#[tokio::test]
async fn who_was_found_is_told_of_though_another_is_lost_meanwhile() {
    let job = TestJob::new();
    let access = access(&job);
    let (mut agents, mut hosts, mut remote_hosts) = (Vec::new(), Vec::new(), Vec::new());
    for (station, name) in HostRole::ALL.into_iter().zip(["alpha", "beta", "gamma"]) {
        let agent = Drill::begin(name, &job.agent(name));
        let call = call_to(name, &agent);
        let remote_host = reserved(&call, &access).await;
        if name == "alpha" {
            // As if its lease had ended.
            remote_host.link.clone().release(Duration::from_secs(5)).await.unwrap();
        }
        agents.push(agent);
        hosts.push(Machine {
            station: station.into(),
            name: call.name,
            reached: call.reached,
            measured: [127, 0, 0, 1].into(),
        });
        remote_hosts.push((station.into(), remote_host));
    }
    let mut stage =
        Stage::on_hosts(Machines { hosts }, remote_hosts, purpose(), Duration::from_secs(5));
    agents[2].calls.break_next("Impair");
    let mut found = Vec::new();
    let error = stage.find(&mut found).await.unwrap_err();
    assert!(error.is_lost() && error.to_string().contains("gamma"), "{error}");
    stage.find(&mut found).await.unwrap();
    assert_eq!(found.iter().map(|found| found.host.as_str()).collect::<Vec<_>>(), ["alpha"]);
}

/// An examination makes namespaces and tests netem, which would disturb the measurements of another
/// controller.
#[tokio::test]
async fn a_host_is_looked_at_only_when_it_is_ours() {
    let job = TestJob::new();
    let [free, busy] = ["alpha", "beta"].map(|name| Drill::begin(name, &job.agent(name)));
    let calls = [call_to("alpha", &free), call_to("beta", &busy)];
    let access = Arc::new(access(&job));
    let _somebody = reserved(&calls[1], &access).await;
    let roll =
        tokio::task::spawn_blocking(move || roll_call(&calls, &access)).await.unwrap().unwrap();
    let answers: Vec<_> = roll.hosts.into_iter().map(|host| host.answer.unwrap()).collect();
    let [alpha, beta] = answers.as_slice() else { panic!("{answers:?}") };
    assert!(alpha.environment.is_object() && alpha.findings.is_array());
    assert!(
        beta.busy.as_ref().is_some_and(|busy| busy.contains("run r1"))
            && beta.environment.is_null()
    );
    let seen = free.calls.seen();
    let at = |name: &str| seen.iter().position(|call| call == name);
    assert!(at("Describe").is_some() && at("Reserve") < at("Describe"), "{seen:?}");
    assert!(!busy.calls.seen().contains(&"Describe".to_owned()), "{:?}", busy.calls.seen());
}
