//! The files for installing an agent: the unit of systemd, and the container.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::lab_skipped;

fn at_root(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

pub(crate) fn unit() -> String {
    std::fs::read_to_string(at_root("packaging/btu-agent.service")).unwrap()
}

/// The values of a setting, in their order.
fn values<'a>(unit: &'a str, name: &str) -> Vec<&'a str> {
    unit.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('=')).collect()
}

#[test]
fn the_service_is_bounded_and_has_one_capability() {
    let unit = unit();
    for (name, value) in [
        ("MemoryMax", "50%"),
        ("TasksMax", "512"),
        ("CPUWeight", "50"),
        ("IOWeight", "50"),
        ("LimitNOFILE", "16384"),
        ("CapabilityBoundingSet", "CAP_NET_ADMIN"),
        ("AmbientCapabilities", "CAP_NET_ADMIN"),
        ("DynamicUser", "yes"),
        ("NoNewPrivileges", "yes"),
        ("ProtectSystem", "strict"),
        ("RestrictNamespaces", "net"),
    ] {
        assert_eq!(values(&unit, name), [value], "{name}");
    }
}

/// systemd's own reader knows every setting. The path of the program is replaced by the test's.
#[test]
fn systemd_understands_the_unit() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        lab_skipped("there is no systemd-analyze");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("btu-agent.service");
    let verify = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let output = Command::new("systemd-analyze")
            .args(["verify", "--man=no"])
            .arg(&path)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (
            output.status.success(),
            said.lines().filter(|line| line.contains("btu-agent")).collect::<Vec<_>>().join("\n"),
        )
    };
    let here = unit().replace("/usr/bin/btu", env!("CARGO_BIN_EXE_btu"));
    assert_eq!(verify(&here), (true, String::new()));
    let (_, said) = verify(&here.replace("TasksMax=512", "TasksMax=many\nTaskMax=3"));
    assert!(
        said.contains("maximum tasks") && said.contains("TaskMax"),
        "a mistake is found: {said}"
    );
}

/// The container has only btu's files, and starts with the restrictions of the unit.
/// `scripts/container --check` tests the effects of its limits.
#[test]
fn the_container_is_bounded_as_the_service_is() {
    let text = std::fs::read_to_string(at_root("packaging/Containerfile")).unwrap();
    let instructions: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(instructions[0], "FROM scratch");
    assert!(instructions.contains(&"USER 7417:7417"), "an agent needs no superuser");
    assert!(
        instructions.contains(&"ENTRYPOINT [\"/usr/bin/btu\"]")
            && values(&unit(), "ExecStart")[0].starts_with("/usr/bin/btu hosts agent")
    );
    let limit = |name: &str| values(&unit(), name)[0].to_owned();
    for option in [
        "--read-only".to_owned(),
        "--cap-drop all".to_owned(),
        "--security-opt no-new-privileges".to_owned(),
        "--memory 8g".to_owned(),
        format!("--pids-limit {}", limit("TasksMax")),
        format!("--ulimit nofile={0}:{0}", limit("LimitNOFILE")),
    ] {
        assert!(text.contains(&option), "{option}");
    }
}

/// The bill of materials names what is linked, once each, with what it depends on; but no
/// dependencies of tests.
#[test]
fn the_bill_of_materials_names_what_is_linked() {
    if Command::new("cargo").arg("--version").output().is_err() {
        println!("SKIPPED: this user has no cargo");
        return;
    }
    let output = Command::new(at_root("scripts/sbom")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bom: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&bom["bomFormat"], &bom["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    assert_eq!(bom["metadata"]["component"]["version"], env!("CARGO_PKG_VERSION"));
    let components = bom["components"].as_array().unwrap();
    let named = |name: &str| components.iter().find(|component| component["name"] == name);
    for linked in ["rustls", "rusqlite", "btu-traffic", "serde"] {
        assert!(named(linked).is_some(), "{linked}");
    }
    for apart in ["proptest", "insta", "vt100", "serde_derive"] {
        assert!(named(apart).is_none(), "{apart}");
    }
    let is_whole = |component: &&serde_json::Value| {
        let ours = component["name"].as_str().unwrap().starts_with("btu-");
        component["licenses"].is_array()
            && (ours || component["hashes"][0]["content"].as_str().unwrap().len() == 64)
    };
    assert_eq!(components.iter().filter(is_whole).count(), components.len());
    let references: std::collections::BTreeSet<&str> =
        components.iter().map(|component| component["bom-ref"].as_str().unwrap()).collect();
    assert_eq!(references.len(), components.len());
    for dependency in bom["dependencies"].as_array().unwrap() {
        let on = dependency["dependsOn"].as_array().unwrap();
        assert!(on.iter().all(|on| references.contains(on.as_str().unwrap())), "{dependency}");
    }
}
