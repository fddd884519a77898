//! Documents within messages.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A JSON document that a message carries as it is: who passes it on does not read it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// The document that `value` is.
    ///
    /// # Errors
    /// `value` has no JSON form, such as a map with keys that are no text.
    pub fn of(value: &impl Serialize) -> serde_json::Result<Self> {
        serde_json::to_string(value).and_then(Self::from_text)
    }

    /// The document with this text.
    ///
    /// # Errors
    /// It is no JSON.
    pub fn from_text(text: String) -> serde_json::Result<Self> {
        RawValue::from_string(text).map(Self)
    }

    /// What the document says.
    ///
    /// # Errors
    /// It is the document of something else.
    pub fn read<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(self.0.get())
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}
