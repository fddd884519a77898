//! The container, and the bill of materials.

use std::path::{Path, PathBuf};
use std::process::Command;

fn at_root(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// The container has only btu's files, and starts with few rights.
/// `scripts/container --check` tests the effects of its limits.
#[test]
fn the_container_is_bounded() {
    let text = std::fs::read_to_string(at_root("packaging/Containerfile")).unwrap();
    let instructions: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(instructions[0], "FROM scratch");
    assert!(instructions.contains(&"USER 7417:7417"), "an agent needs no superuser");
    assert!(instructions.contains(&"ENTRYPOINT [\"/usr/bin/btu\"]"));
    for option in [
        "--read-only",
        "--cap-drop all",
        "--security-opt no-new-privileges",
        "--memory 8g",
        "--pids-limit 512",
        "--ulimit nofile=16384:16384",
    ] {
        assert!(text.contains(option), "{option}");
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
