//! What cargo says about a project's packages, as far as it is about tokio.

use serde_json::Value;
use std::collections::BTreeSet;

/// A package named tokio that is in the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tokio {
    pub(crate) version: String,
    /// Where it comes from; a folder if it is a patch.
    pub(crate) place: String,
    pub(crate) is_local: bool,
}

/// What one package asks of tokio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) package: String,
    pub(crate) requirement: String,
    pub(crate) features: BTreeSet<String>,
}

/// All that matters of the answer of `cargo metadata`.
pub(crate) struct Graph {
    pub(crate) tokios: Vec<Tokio>,
    pub(crate) wishes: Vec<Wish>,
    pub(crate) root: String,
}

impl Graph {
    pub(crate) fn parse(answer: &[u8]) -> Result<Self, String> {
        let answer: Value = serde_json::from_slice(answer).map_err(|error| error.to_string())?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut graph =
            Self { tokios: Vec::new(), wishes: Vec::new(), root: text(&answer["workspace_root"]) };
        for package in answer["packages"].as_array().into_iter().flatten() {
            if package["name"] == "tokio" {
                let is_local = package["source"].is_null();
                let key = if is_local { "manifest_path" } else { "source" };
                graph.tokios.push(Tokio {
                    version: text(&package["version"]),
                    place: text(&package[key]),
                    is_local,
                });
            }
            for wish in package["dependencies"].as_array().into_iter().flatten() {
                if wish["name"] == "tokio" && wish["kind"].is_null() {
                    let features = wish["features"].as_array().into_iter().flatten();
                    graph.wishes.push(Wish {
                        package: format!(
                            "{} {}",
                            text(&package["name"]),
                            text(&package["version"])
                        ),
                        requirement: text(&wish["req"]),
                        features: features.map(text).collect(),
                    });
                }
            }
        }
        Ok(graph)
    }
}
