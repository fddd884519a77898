//! Handshakes in memory, between valid and invalid peers.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use rustls::{
    AlertDescription, ClientConfig, ClientConnection, Error, RootCertStore, ServerConfig,
    ServerConnection,
};

use super::authority::Authority;
use super::*;

/// The authority of a test's own job.
pub(crate) struct TestJob(Authority);

impl TestJob {
    pub(crate) fn new() -> Self {
        Self(Authority::new().unwrap())
    }

    fn identity(&self, name: &str, role: Role) -> Identity {
        Identity::parse("a test's", self.0.issue(name, role).unwrap().as_bytes()).unwrap()
    }

    pub(crate) fn agent(&self, name: &str) -> Identity {
        self.identity(name, Role::Agent)
    }

    pub(crate) fn controller(&self) -> Identity {
        self.identity("controller", Role::Controller)
    }
}

/// The results of both ends of a handshake that is over.
struct Ends {
    client: Result<(), Error>,
    server: Result<(), Error>,
}

impl Ends {
    fn met(&self) -> bool {
        self.client.is_ok() && self.server.is_ok()
    }

    fn explained(&self) -> String {
        explain("hostb", self.client.as_ref().unwrap_err()).unwrap()
    }
}

/// Runs a handshake in memory until neither side sends more data.
fn shake(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>, expected: &str) -> Ends {
    let mut client =
        ClientConnection::new(Arc::clone(client), server_name(expected).unwrap()).unwrap();
    let mut server = ServerConnection::new(Arc::clone(server)).unwrap();
    let (mut client_said, mut server_said) = (Ok(()), Ok(()));
    while client.wants_write() || server.wants_write() {
        let mut wire = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut wire).unwrap();
        }
        server_said = server_said.and(give(&wire, |bytes| {
            server.read_tls(bytes).unwrap();
            server.process_new_packets().map(drop)
        }));
        wire.clear();
        while server.wants_write() {
            server.write_tls(&mut wire).unwrap();
        }
        client_said = client_said.and(give(&wire, |bytes| {
            client.read_tls(bytes).unwrap();
            client.process_new_packets().map(drop)
        }));
    }
    Ends { client: client_said, server: server_said }
}

fn give(
    mut wire: &[u8],
    mut take: impl FnMut(&mut &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    while !wire.is_empty() {
        take(&mut wire)?;
    }
    Ok(())
}

/// A controller with this identity calls alpha, whose agent has that one.
fn called(controller: &Identity, agent: &Identity) -> Ends {
    shake(&client_config(controller).unwrap(), &server_config(agent).unwrap(), "alpha")
}

fn alert(ends: &Ends) -> AlertDescription {
    match &ends.client {
        Err(Error::AlertReceived(alert)) => *alert,
        other => panic!("no alert: {other:?}"),
    }
}

#[test]
fn a_job_lets_its_own_in_by_name() {
    let job = TestJob::new();
    let ends = called(&job.controller(), &job.agent("alpha"));
    assert!(ends.met(), "{:?} {:?}", ends.client, ends.server);
    let other = called(&job.controller(), &job.agent("beta"));
    assert!(other.explained().contains("is that of another agent"), "{}", other.explained());
}

#[test]
fn a_bundle_s_agents_take_orders_of_its_controller() {
    let limits = BundleLimits {
        lasts: Duration::from_secs(1),
        idle: Duration::from_secs(1),
        towards: Vec::new(),
        over: None,
    };
    let (bundle, controller) =
        Bundle::issue(&["beta".to_owned(), "alpha".to_owned()], limits).unwrap();
    let controller = Identity::parse("controller", controller.as_bytes()).unwrap();
    assert!(called(&controller, &bundle.identity(1).unwrap()).met());
    assert!(!called(&controller, &bundle.identity(0).unwrap()).met());
}

#[test]
fn another_job_s_controller_and_agent_are_refused() {
    let (job, other) = (TestJob::new(), TestJob::new());
    let ends = called(&other.controller(), &job.agent("alpha"));
    assert!(ends.explained().contains("is of another job"), "{}", ends.explained());
    // It takes any agent of this job, so that the test sees the agent's own decision.
    let forged = Identity { authority: job.agent("alpha").authority, ..other.controller() };
    let ends = called(&forged, &job.agent("alpha"));
    assert!(!ends.met() && ends.server.is_err(), "{:?}", ends.server);
    assert!(ends.explained().contains("it is of another job"), "{}", ends.explained());
}

#[test]
fn a_lapsed_certificate_is_refused_at_both_sides() {
    let old = TestJob(Authority::made(UNIX_EPOCH).unwrap());
    let ends = called(&old.controller(), &old.agent("alpha"));
    assert!(ends.explained().contains("the certificate that hostb shows has lapsed"));
    // The agent's own decision: the certificate that the controller checks is not the lapsed one.
    let job = TestJob::new();
    let mixed = Identity { authority: old.agent("alpha").authority, ..job.agent("alpha") };
    let lapsed = Identity { authority: job.agent("alpha").authority, ..old.controller() };
    let ends = called(&lapsed, &mixed);
    assert_eq!(alert(&ends), AlertDescription::CertificateExpired);
    assert!(ends.explained().contains("it has lapsed"), "{}", ends.explained());
}

#[test]
fn no_certificate() {
    let job = TestJob::new();
    let mut roots = RootCertStore::empty();
    roots.add(job.agent("alpha").authority).unwrap();
    let client =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
    let ends = shake(&Arc::new(client), &server_config(&job.agent("alpha")).unwrap(), "alpha");
    assert_eq!(alert(&ends), AlertDescription::CertificateRequired);
    assert!(ends.explained().contains("none was shown"));
}

/// Who has read the bundle cannot give orders, and the controller is no agent.
#[test]
fn an_agent_in_a_controllers_place_and_the_other_way_round() {
    let job = TestJob::new();
    let ends = called(&job.agent("beta"), &job.agent("alpha"));
    assert_eq!(alert(&ends), AlertDescription::UnsupportedCertificate);
    assert!(ends.explained().contains("it is an agent's"));
    let ends = called(&job.controller(), &job.controller());
    assert!(ends.client.is_err() && !ends.met());
}
