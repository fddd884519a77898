//! `btu hosts kubernetes`: a manifest with an agent on each node and a job that measures with them.

use std::fmt::Write as _;
use std::time::Duration;

use btu_control::trust::{Bundle, BundleLimits, MOST_AGENTS};
use btu_network::{AGENT_PORT, HostRole};
use serde_json::{Value, json};

use crate::cli::{Common, Kubernetes};
use crate::exit::Refusal;
use crate::terminal::print_json;

/// An agent ends when no controller was connected for this time: an image may have to be fetched
/// for the controller first.
const IDLE: Duration = Duration::from_mins(10);

/// The user of the image (packaging/Containerfile).
const USER: u32 = 7417;

/// Where the secrets are in a pod.
const SECRETS: &str = "/btu";

/// Prints the manifest. It holds private keys.
pub(crate) fn run(options: &Kubernetes, common: &Common) -> anyhow::Result<()> {
    common.no_json("a manifest is JSON anyway")?;
    let (least, most) = (HostRole::ALL.len(), MOST_AGENTS);
    if !(least..=most).contains(&options.nodes) {
        let problem = format!("--nodes {}: from {least} to {most}", options.nodes);
        return Err(Refusal::Usage(problem).into());
    }
    print_json(&manifest(options)?)
}

fn manifest(options: &Kubernetes) -> anyhow::Result<Value> {
    let name = options.name.as_str();
    let hosts: Vec<String> = (0..options.nodes).map(|index| format!("{name}-{index}")).collect();
    let limits = BundleLimits {
        lasts: Duration::from(options.time_limit),
        idle: IDLE,
        towards: Vec::new(),
        over: None,
    };
    let (bundle, controller) = Bundle::issue(&hosts, limits)?;
    let secret = |name: &str, data: Value| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": "Opaque", "stringData": data});
    let controller_name = controller_name(name);
    let items = [
        secret(name, json!({"bundle": bundle.to_text()})),
        secret(
            &controller_name,
            json!({"controller.pem": controller, "hosts.toml": inventory(name, &hosts)}),
        ),
        service(name),
        agents(options),
        controller_job(options),
    ];
    Ok(json!({"apiVersion": "v1", "kind": "List", "items": items}))
}

fn controller_name(name: &str) -> String {
    format!("{name}-controller")
}

/// The pods by their names in the service's domain; the first three have the roles of a rating.
fn inventory(service: &str, hosts: &[String]) -> String {
    let mut text = String::new();
    let mut roles = HostRole::ALL.iter();
    for host in hosts {
        let role = roles.next().map_or_else(String::new, |role| format!("role = \"{role}\"\n"));
        // Writing to a string cannot fail.
        let _ = write!(text, "[hosts.{host}]\n{role}control = \"{host}.{service}:{AGENT_PORT}\"\n");
    }
    text
}

/// A name for each pod, before it is ready, too: agents do not say that they are.
fn service(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": true,
            "selector": {"app.kubernetes.io/name": name},
            "ports": [{"name": "control", "port": AGENT_PORT}],
        },
    })
}

/// One agent on each node: never two on one.
fn agents(options: &Kubernetes) -> Value {
    let name = options.name.as_str();
    let alike = json!({"matchLabels": {"app.kubernetes.io/name": name}});
    let listen = format!("[::]:{AGENT_PORT}");
    let arguments =
        json!(["hosts", "agent", "--launched", format!("{SECRETS}/bundle"), "--listen", listen]);
    let mut pod = pod(options, name, &arguments);
    pod["subdomain"] = json!(name);
    pod["affinity"] = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": alike, "topologyKey": "kubernetes.io/hostname"},
    ]}});
    if options.host_network {
        pod["hostNetwork"] = json!(true);
        pod["dnsPolicy"] = json!("ClusterFirstWithHostNet");
    }
    let mut job = job(options, name, &pod);
    job["spec"]["completionMode"] = json!("Indexed");
    job["spec"]["completions"] = json!(options.nodes);
    job["spec"]["parallelism"] = json!(options.nodes);
    job["spec"]["backoffLimit"] = json!(0);
    job
}

/// The controller: started again until all agents answer.
fn controller_job(options: &Kubernetes) -> Value {
    let name = controller_name(&options.name);
    let usual = ["fleet".to_owned(), "--all".to_owned()];
    let command = if options.command.is_empty() { &usual[..] } else { &options.command };
    let mut arguments = command.to_vec();
    for (option, file) in [("--hosts", "hosts.toml"), ("--identity", "controller.pem")] {
        arguments.extend([option.to_owned(), format!("{SECRETS}/{file}")]);
    }
    let mut pod = pod(options, &name, &json!(arguments));
    pod["restartPolicy"] = json!("OnFailure");
    let mut job = job(options, &name, &pod);
    job["spec"]["backoffLimit"] = json!(10);
    job
}

fn job(options: &Kubernetes, name: &str, pod: &Value) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "activeDeadlineSeconds": Duration::from(options.time_limit).as_secs(),
            "template": {"metadata": {"labels": {"app.kubernetes.io/name": name}}, "spec": pod},
        },
    })
}

/// A pod with no right beyond the cluster's strictest standard ("restricted"), and with as much
/// processor as it asks for, so that its share does not depend on its neighbours.
fn pod(options: &Kubernetes, secret: &str, arguments: &Value) -> Value {
    let resources = json!({"cpu": options.cpu, "memory": options.memory});
    json!({
        "restartPolicy": "Never",
        "automountServiceAccountToken": false,
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [{
            "name": "btu",
            "image": options.image,
            "args": arguments,
            "env": [
                {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                // The cluster shows the files to the pod's group, which has no other member.
                {"name": "CREDENTIALS_DIRECTORY", "value": SECRETS},
                {"name": "BTU_DATA", "value": "/data"},
            ],
            "resources": {"requests": resources, "limits": resources},
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]},
            },
            "volumeMounts": [
                {"name": "secret", "mountPath": SECRETS, "readOnly": true},
                {"name": "data", "mountPath": "/data"},
                {"name": "scratch", "mountPath": "/tmp"},
            ],
        }],
        "volumes": [
            {"name": "secret", "secret": {"secretName": secret, "defaultMode": 0o440}},
            {"name": "data", "emptyDir": {}},
            {"name": "scratch", "emptyDir": {}},
        ],
    })
}
