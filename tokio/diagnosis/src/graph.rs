//! What cargo says about a project's packages, as far as it is about tokio.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// A package named tokio that is in the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tokio {
    pub(crate) version: String,
    /// Where it comes from: a manifest or the address of a source.
    pub(crate) place: String,
    /// Whether it is the package that `tokio/lay` makes: the real one does not stand on liten.
    pub(crate) is_liten: bool,
    /// Whether `[patch.crates-io]` can have put it there: the real one, from the registry, is not.
    pub(crate) is_patch: bool,
    /// Whether it lies in a folder of vendored crates, and so all that come from the registry do.
    pub(crate) is_vendored: bool,
}

/// A package named liten that is in the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Liten {
    /// A manifest or the address of a source.
    pub(crate) place: String,
}

impl Tokio {
    /// Whether it carries this liten with it.
    pub(crate) fn has(&self, liten: &Liten) -> bool {
        let folder = Path::new(&self.place).parent();
        liten.place == self.place
            || folder.is_some_and(|folder| Path::new(&liten.place).starts_with(folder))
    }
}

/// What one package asks of tokio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) package: String,
    pub(crate) requirement: String,
    pub(crate) features: BTreeSet<String>,
    /// From where it wants tokio: only what is wanted from the registry is replaced by a patch of crates-io.
    pub(crate) is_of_registry: bool,
}

/// All that matters of the answer of `cargo metadata`.
pub(crate) struct Graph {
    pub(crate) tokios: Vec<Tokio>,
    pub(crate) litens: Vec<Liten>,
    pub(crate) wishes: Vec<Wish>,
    pub(crate) root: String,
}

impl Graph {
    pub(crate) fn parse(answer: &[u8]) -> Result<Self, String> {
        let answer: Value = serde_json::from_slice(answer).map_err(|error| error.to_string())?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let from_registry = |value: &Value| {
            value["source"].as_str().is_some_and(|source| !source.starts_with("git+"))
        };
        let root = text(&answer["workspace_root"]);
        let mut graph = Self { tokios: vec![], litens: vec![], wishes: vec![], root };
        for package in answer["packages"].as_array().into_iter().flatten() {
            let key = if package["source"].is_null() { "manifest_path" } else { "source" };
            if package["name"] == "liten" {
                graph.litens.push(Liten { place: text(&package[key]) });
            }
            if package["name"] == "tokio" {
                let needs = package["dependencies"].as_array();
                graph.tokios.push(Tokio {
                    version: text(&package["version"]),
                    place: text(&package[key]),
                    is_liten: needs.into_iter().flatten().any(|need| need["name"] == "liten"),
                    is_patch: !from_registry(package),
                    // What `cargo vendor` writes beside each manifest.
                    is_vendored: Path::new(&text(&package["manifest_path"]))
                        .with_file_name(".cargo-checksum.json")
                        .exists(),
                });
            }
            for wish in package["dependencies"].as_array().into_iter().flatten() {
                // The tests of a crate that is not the project's are not built.
                let counts = wish["kind"] != "dev" || package["source"].is_null();
                if wish["name"] == "tokio" && counts {
                    let features = wish["features"].as_array().into_iter().flatten();
                    graph.wishes.push(Wish {
                        package: format!(
                            "{} {}",
                            text(&package["name"]),
                            text(&package["version"])
                        ),
                        requirement: text(&wish["req"]),
                        features: features.map(text).collect(),
                        is_of_registry: from_registry(wish),
                    });
                }
            }
        }
        Ok(graph)
    }
}
