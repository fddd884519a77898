//! Several hosts, with faults of the network and of hosts.

use std::sync::atomic::AtomicU64;

use btu_suite::network::{HostRole, Machine, Machines};

use super::super::notes::{crowd, document};
use super::*;
use crate::agent::drill::Drill;
use crate::coordinator::stage::Stage;

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
    let mut authority = TestAuthority::new();
    let access = authority.access();
    let (mut agents, mut hosts, mut remote_hosts) = (Vec::new(), Vec::new(), Vec::new());
    for (station, name) in HostRole::ALL.into_iter().zip(["alpha", "beta", "gamma"]) {
        let agent = Drill::begin(&authority.identity(name, Role::Agent));
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
    let mut authority = TestAuthority::new();
    let (free, busy) =
        (authority.identity("alpha", Role::Agent), authority.identity("beta", Role::Agent));
    let (free, busy) = (Drill::begin(&free), Drill::begin(&busy));
    let calls = [call_to("alpha", &free), call_to("beta", &busy)];
    let access = Arc::new(authority.access());
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

/// Refused callers of an agent during a measurement give a warning in the run.
#[tokio::test]
async fn a_crowd_at_a_host_s_door_is_told() {
    let mut authority = TestAuthority::new();
    let agent = Drill::begin(&authority.identity("alpha", Role::Agent));
    let mut remote_host = reserved(&call_to("alpha", &agent), &authority.access()).await;
    let before = document(&remote_host.describe().await.unwrap(), "alpha", None).unwrap();
    for _ in 0..150 {
        drop(tokio::net::TcpStream::connect(agent.address).await.unwrap());
    }
    let began = std::time::Instant::now();
    let said = loop {
        let now = document(&remote_host.describe().await.unwrap(), "alpha", None).unwrap();
        if let Some(said) = crowd("alpha", &before, &now) {
            break said;
        }
        assert!(began.elapsed() < Duration::from_mins(3), "{now}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert!(said.starts_with("alpha: its agent turned away 1"), "{said}");
}
