//! Paths in JSON: text where they are UTF-8, a list of their bytes where they are not.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path as it stands in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Form {
    Text(String),
    Bytes(Vec<u8>),
}

impl Form {
    fn of(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(path.as_os_str().as_bytes().to_vec()),
        }
    }

    fn path(self) -> PathBuf {
        match self {
            Self::Text(text) => PathBuf::from(text),
            Self::Bytes(bytes) => PathBuf::from(OsString::from_vec(bytes)),
        }
    }
}

/// The path as a JSON value: two paths have the same value only when they are the same.
pub(crate) fn value(path: &Path) -> serde_json::Value {
    match Form::of(path) {
        Form::Text(text) => text.into(),
        Form::Bytes(bytes) => bytes.into(),
    }
}

pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    Form::of(path).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Form::deserialize(deserializer).map(Form::path)
}

/// A list of paths.
pub(crate) mod list {
    use super::{Deserialize, Deserializer, Form, PathBuf, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        paths.iter().map(|path| Form::of(path)).collect::<Vec<_>>().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
        let forms = Vec::<Form>::deserialize(deserializer)?;
        Ok(forms.into_iter().map(Form::path).collect())
    }
}

/// A path that may be absent.
pub(crate) mod optional {
    use super::{Deserialize, Deserializer, Form, PathBuf, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(Form::of).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<Form>::deserialize(deserializer)?.map(Form::path))
    }
}
