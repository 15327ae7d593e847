//! What is the matter, from cargo's answer and its words.

use crate::graph::{Graph, Tokio, Wish};
use semver::{Version, VersionReq};
use std::collections::BTreeSet;
use std::fmt;

/// The manifest of the package, for its version and the names of its features.
const MANIFEST: &str = include_str!("../../face/Cargo.toml");

/// What is the matter with a project.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// Each crate's tokio 1 is liten's.
    InEffect { place: String, others: Vec<Tokio> },
    /// Nothing in the graph asks for tokio.
    NoTokio,
    /// cargo knows of no patch.
    NoPatch { root: String, found: Tokio },
    /// A requirement that keeps 1.999 out.
    Refused { wishes: Vec<Wish>, found: Tokio },
    /// A feature that liten's package does not have.
    UnknownFeatures { wishes: Vec<Wish>, features: BTreeSet<String> },
    /// Nothing is in the way but the lock file.
    Locked { found: Tokio },
    /// liten's features that need the real tokio.
    Circle,
    /// cargo fails for another reason.
    CargoFails { said: String },
}

impl Finding {
    /// `said` is what cargo has written beside its answer, and `graph` is `None` if it has failed.
    pub(crate) fn of(graph: Option<&Graph>, said: &str) -> Self {
        let Some(graph) = graph else {
            return match said.contains("cyclic package dependency") && said.contains("liten") {
                true => Self::Circle,
                false => Self::CargoFails { said: said.trim_end().to_owned() },
            };
        };
        let (ours, others): (Vec<Tokio>, Vec<Tokio>) = graph
            .tokios
            .iter()
            .cloned()
            .partition(|tokio| tokio.is_local && tokio.version == version());
        let mut ones = others.iter().filter(|tokio| tokio.version.starts_with("1."));
        match (ours.first(), ones.next()) {
            (Some(ours), None) => return Self::InEffect { place: ours.place.clone(), others },
            (None, None) => return Self::NoTokio,
            _ => {}
        }
        let found =
            others.iter().find(|tokio| tokio.version.starts_with("1.")).expect("see above").clone();
        if ours.is_empty() && !said.contains("Patch `tokio") && !said.contains("patch `tokio") {
            return Self::NoPatch { root: graph.root.clone(), found };
        }
        let refusing: Vec<Wish> =
            graph.wishes.iter().filter(|wish| refuses(wish)).cloned().collect();
        if !refusing.is_empty() {
            return Self::Refused { wishes: refusing, found };
        }
        let known = features();
        let wishes = graph.wishes.iter().filter(|wish| !wish.features.is_subset(&known));
        let wishes: Vec<Wish> = wishes.cloned().collect();
        if !wishes.is_empty() {
            let all = wishes.iter().flat_map(|wish| &wish.features);
            let features = all.filter(|name| !known.contains(*name)).cloned().collect();
            return Self::UnknownFeatures { wishes, features };
        }
        Self::Locked { found }
    }
}

/// Whether a requirement of tokio 1 keeps the version of liten's package out.
fn refuses(wish: &Wish) -> bool {
    let (Ok(requirement), Ok(version)) =
        (VersionReq::parse(&wish.requirement), Version::parse(version()))
    else {
        return false;
    };
    // Requirements of other majors have a tokio of their own.
    let is_of_one = requirement.comparators.iter().any(|part| part.major == 1);
    is_of_one && !requirement.matches(&version)
}

fn version() -> &'static str {
    let line = MANIFEST.lines().find_map(|line| line.strip_prefix("version = \""));
    line.and_then(|rest| rest.strip_suffix('"')).expect("the manifest has a version")
}

/// The names in the manifest's table of features.
fn features() -> BTreeSet<String> {
    let table = MANIFEST.split("[features]\n").nth(1).expect("the manifest has features");
    let table = table.split("\n[").next().expect("the table has an end");
    let names = table.lines().filter(|line| !line.starts_with([' ', '#', ']']));
    names.filter_map(|line| Some(line.split_once(" = ")?.0.to_owned())).collect()
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InEffect { place, others } => {
                write!(f, "In effect: each crate's tokio 1 is liten's, from {place}.")?;
                for other in others {
                    write!(f, "\nBeside it there is tokio {}, which is another crate.", other.version)?;
                }
                Ok(())
            }
            Self::NoTokio => f.write_str("No crate of this project asks for tokio."),
            Self::NoPatch { root, found } => write!(
                f,
                "Not in effect: tokio is {} from {}, and cargo knows of no patch. It counts in the \
                 Cargo.toml of the workspace's root alone ({root}/Cargo.toml):\n\n[patch.crates-io]\n\
                 tokio = {{ path = \"DIR\" }}\n\nwith the folder that `bash tokio/lay DIR` has laid down.",
                found.version, found.place
            ),
            Self::Refused { wishes, found } => {
                writeln!(
                    f,
                    "Not in effect: tokio is {}, because these requirements keep {} out:\n",
                    found.version,
                    version()
                )?;
                for wish in wishes {
                    writeln!(f, "  {} asks for tokio {}", wish.package, wish.requirement)?;
                }
                f.write_str(
                    "\nRaise them, or take a release of those crates that asks for tokio 1 without an upper \
                     bound.",
                )
            }
            Self::UnknownFeatures { wishes, features } => {
                let features: Vec<_> = features.iter().map(String::as_str).collect();
                writeln!(
                    f,
                    "Not in effect: liten's package has no feature {}, which is asked for by:\n",
                    features.join(", ")
                )?;
                for wish in wishes {
                    writeln!(f, "  {}", wish.package)?;
                }
                f.write_str("\nAdd the name to [features] in the Cargo.toml of the laid down package.")
            }
            Self::Locked { found } => write!(
                f,
                "Not in effect: the lock file still says tokio {}, and nothing else is in the way. Run \
                 once:\n\ncargo update -p tokio",
                found.version
            ),
            Self::Circle => f.write_str(
                "cargo finds a circle: this project asks for liten with one of the features `tokio-io`, \
                 `hyper`, `tokio-context` or `full`, which stand on the real tokio. With liten's package in \
                 its place they are not needed: ask for liten with `default-features = false` and without \
                 them.",
            ),
            Self::CargoFails { said } => {
                write!(f, "cargo cannot say what the project is made of. It says:\n\n{said}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Finding, features, version};
    use crate::graph::Graph;

    const UNUSED: &str = "warning: Patch `tokio v1.999.0 (/x)` was not used in the crate graph.";

    /// A graph in which `source` is where tokio comes from, and one crate asks for it.
    fn graph(version: &str, source: &str, requirement: &str, feature: &str) -> Graph {
        let answer = format!(
            r#"{{"workspace_root": "/w", "packages": [
                {{"name": "tokio", "version": "{version}", "source": {source},
                  "manifest_path": "/x/Cargo.toml", "dependencies": []}},
                {{"name": "app", "version": "0.1.0", "source": null, "manifest_path": "/w/Cargo.toml",
                  "dependencies": [
                    {{"name": "tokio", "req": "{requirement}", "kind": null, "features": ["{feature}"]}}
                ]}}
            ]}}"#
        );
        Graph::parse(answer.as_bytes()).expect("it is what cargo writes")
    }

    fn real(requirement: &str, feature: &str) -> Graph {
        graph("1.54.1", r#""registry""#, requirement, feature)
    }

    #[test]
    fn a_path_and_our_version_are_the_proof() {
        let finding = Finding::of(Some(&graph(version(), "null", "^1", "net")), "");
        assert!(matches!(finding, Finding::InEffect { .. }), "{finding}");
    }

    #[test]
    fn each_reason_has_a_finding_of_its_own() {
        let of = |graph: &Graph, said| Finding::of(Some(graph), said);
        assert!(matches!(of(&real("^1", "net"), ""), Finding::NoPatch { .. }));
        assert!(matches!(of(&real("~1.47", "net"), UNUSED), Finding::Refused { .. }));
        assert!(matches!(of(&real("=1.54.1", "net"), UNUSED), Finding::Refused { .. }));
        assert!(matches!(of(&real("^1", "warp-drive"), UNUSED), Finding::UnknownFeatures { .. }));
        assert!(matches!(of(&real("^1", "net"), UNUSED), Finding::Locked { .. }));
        let circle =
            "error: cyclic package dependency: package `tokio` depends on itself ... liten";
        assert_eq!(Finding::of(None, circle), Finding::Circle);
        assert!(matches!(Finding::of(None, "error: no network"), Finding::CargoFails { .. }));
    }

    #[test]
    fn another_major_of_tokio_is_in_nobodys_way() {
        let graph = graph("0.2.25", r#""registry""#, "^0.2", "full");
        assert_eq!(Finding::of(Some(&graph), ""), Finding::NoTokio);
    }

    #[test]
    fn the_names_of_the_features_come_from_the_manifest() {
        let names = features();
        for name in ["full", "rt-multi-thread", "once_cell", "tracing", "default"] {
            assert!(names.contains(name), "{name} is not among {names:?}");
        }
        assert!(!names.contains("liten"));
    }
}
