//! Tests with wrong peers: each gives an error with the host's name and advice.

mod bad_days;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use rustls::ServerConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::controller::error::ControllerError;
use crate::protocol::PROTOCOL;
use crate::trust::server_config;
use crate::trust::tests::TestJob;

/// What a controller of this job has.
fn access(job: &TestJob) -> Access {
    Access {
        identity: Some(job.controller()),
        launch: None,
        ssh_program: "ssh".into(),
        binary: Program::at("/nowhere".into()),
        executable: "/nowhere".into(),
        controller: "a test".to_owned(),
        timeout: Duration::from_secs(1),
    }
}

/// Calls the listener at `address` by the name of alpha.
fn call(address: SocketAddr, access: &Access) -> ControllerError {
    let call = HostCall {
        name: "alpha".to_owned(),
        reached: Reached::Tls { address: address.to_string() },
    };
    runtime()
        .unwrap()
        .block_on(async { RemoteHost::call(&call, access).await.map(drop) })
        .unwrap_err()
}

/// A listener on a thread of its own, for one remote host.
fn listen(serve: impl FnOnce(std::net::TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || serve(listener.accept().unwrap().0));
    address
}

/// One TLS connection at which these octets answer the first ones that come.
fn serve_agent_that_says(config: Arc<ServerConfig>, said: &'static [u8]) -> SocketAddr {
    listen(move |stream| {
        runtime().unwrap().block_on(async {
            stream.set_nonblocking(true).unwrap();
            let stream = tokio::net::TcpStream::from_std(stream).unwrap();
            let Ok(mut stream) = TlsAcceptor::from(config).accept(stream).await else { return };
            let mut room = [0; 1024];
            if stream.read(&mut room).await.is_ok_and(|read| read > 0) {
                let _ = stream.write_all(said).await;
                // Until the caller disconnects.
                while stream.read(&mut room).await.is_ok_and(|read| read > 0) {}
            }
        });
    })
}

/// What an agent of protocol 2 says first: the settings of HTTP/2.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

fn serve_old_agent(config: Arc<ServerConfig>) -> SocketAddr {
    serve_agent_that_says(config, SETTINGS)
}

#[test]
fn nobody_there() {
    let job = TestJob::new();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = call(address, &access(&job));
    assert!(error.may_pass(), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("host alpha cannot be reached")
            && text.contains("does `btu hosts agent` run there"),
        "{text}"
    );
}

#[test]
fn somebody_who_sends_garbage() {
    let job = TestJob::new();
    let address = listen(|mut stream| {
        stream.write_all(b"SSH-2.0-OpenSSH_9.2p1\r\n").unwrap();
        assert!(stream.read(&mut [0; 1024]).is_ok_and(|read| read > 0), "it was greeted");
    });
    let error = call(address, &access(&job));
    assert!(matches!(error, ControllerError::NotTrusted { .. }), "{error:?}");
    assert!(error.to_string().contains("alpha"), "{error}");
}

#[test]
fn somebody_who_says_nothing() {
    let job = TestJob::new();
    let address = listen(|mut stream| {
        // Until the caller disconnects.
        while stream.read(&mut [0; 1024]).is_ok_and(|read| read > 0) {}
    });
    let error = call(address, &access(&job));
    assert!(error.may_pass() && error.to_string().contains("no answer within"), "{error:?}");
}

#[test]
fn an_agent_of_another_job() {
    let (job, other) = (TestJob::new(), TestJob::new());
    let config = server_config(&other.agent("alpha")).unwrap();
    let error = call(serve_old_agent(config), &access(&job));
    assert!(matches!(error, ControllerError::NotTrusted { .. }) && !error.may_pass(), "{error:?}");
    assert!(error.to_string().contains("alpha"), "{error}");
}

#[test]
fn an_agent_that_is_somebody_else() {
    let job = TestJob::new();
    let config = server_config(&job.agent("beta")).unwrap();
    let error = call(serve_old_agent(config), &access(&job));
    assert!(matches!(error, ControllerError::NotTrusted { .. }), "{error:?}");
}

#[test]
fn an_agent_of_another_version() {
    for (said, names) in [(SETTINGS, "2"), (b"btu-control 9 4.5.6\n", "9 (btu 4.5.6)")] {
        let job = TestJob::new();
        let config = server_config(&job.agent("alpha")).unwrap();
        let error = call(serve_agent_that_says(config, said), &access(&job));
        assert!(matches!(error, ControllerError::Version { .. }), "{error:?}");
        let own = format!("{PROTOCOL} (btu {})", env!("CARGO_PKG_VERSION"));
        assert_eq!(
            error.to_string(),
            format!(
                "host alpha: this agent speaks protocol {names} and the controller {own}: use the same btu on both"
            )
        );
    }
}

#[test]
fn what_speaks_tls_and_is_no_agent() {
    let job = TestJob::new();
    let config = server_config(&job.agent("alpha")).unwrap();
    let error = call(serve_agent_that_says(config, b"220 alpha ready\r\n"), &access(&job));
    assert!(error.to_string().contains("speaks no protocol of btu"), "{error}");
}

#[test]
fn no_identity() {
    let access = Access { identity: None, ..access(&TestJob::new()) };
    let error = call("127.0.0.1:9".parse().unwrap(), &access).to_string();
    assert!(error.contains("--identity FILE") && error.contains("ssh = "), "{error}");
}

#[test]
fn no_ssh_here() {
    let job = TestJob::new();
    let directory = tempfile::tempdir().unwrap();
    let binary = directory.path().join("btu");
    std::fs::write(&binary, "#!/bin/sh\n").unwrap();
    let access =
        Access { ssh_program: "/nowhere/ssh".into(), binary: Program::at(binary), ..access(&job) };
    let call = HostCall {
        name: "alpha".to_owned(),
        reached: Reached::Ssh { destination: "alpha".to_owned() },
    };
    let error = runtime()
        .unwrap()
        .block_on(async { RemoteHost::call(&call, &access).await.map(drop) })
        .unwrap_err();
    assert!(!error.may_pass() && error.to_string().contains("is OpenSSH installed"), "{error:?}");
}
