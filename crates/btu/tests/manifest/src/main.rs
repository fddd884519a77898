//! Reads a manifest on standard input, and fails where an object is not what the API takes, or has a
//! field that the API does not know.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::serde::Serialize;
use k8s_openapi::serde::de::DeserializeOwned;
use serde_json::Value;

fn main() {
    let manifest: Value = serde_json::from_reader(std::io::stdin()).expect("JSON");
    assert_eq!(manifest["kind"], "List");
    for item in manifest["items"].as_array().expect("items") {
        let read = match item["kind"].as_str() {
            Some("Secret") => again::<Secret>(item),
            Some("Service") => again::<Service>(item),
            Some("Job") => again::<Job>(item),
            other => panic!("no such kind here: {other:?}"),
        };
        // Unknown fields are lost on the way.
        assert_eq!(&read, item, "an unknown field");
        println!("{} {}", item["kind"], item["metadata"]["name"]);
    }
}

/// An object as the API's own type reads and writes it.
fn again<T: DeserializeOwned + Serialize>(item: &Value) -> Value {
    let read: T = serde_json::from_value(item.clone()).expect("an object of this kind");
    serde_json::to_value(read).expect("JSON") // no part of the program: retired word
}
