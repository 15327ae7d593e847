//! What is the matter, from cargo's answer and its words.

use crate::fit::{self, Fit};
use crate::graph::{Graph, Liten, Tokio, Wish};
use crate::submodule::Submodule;
use crate::toolchain::{Pin, release};
use crate::update::Update;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The manifest of the package, for its version and the names of its features.
const MANIFEST: &str = include_str!("../../face/Cargo.toml");

/// What is the matter with a project.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// The project pins a toolchain that is not installed.
    NoToolchain { pin: Pin },
    /// The project is built by a Rust that is too old for liten. `found`: the version of its cargo, if that
    /// was asked.
    OldRust { found: Option<String>, pin: Option<Pin> },
    /// Each crate's tokio 1 is liten's. `litens`: those of the graph that are not the one
    /// in it. `stale`: its folder, if that was laid down from another state of liten than this one.
    InEffect { ours: Tokio, others: Vec<Tokio>, litens: Vec<Liten>, stale: Option<PathBuf> },
    /// Nothing in the graph asks for tokio.
    NoTokio,
    /// cargo knows of no patch. `fit`: the version that a patch needs, if that is not the package's own.
    NoPatch { root: String, found: Tokio, fit: Option<Fit>, said: String },
    /// The patch has put another package there than liten's.
    Foreign { found: Tokio },
    /// The table `[replace]`, which is older than patches, has put another package there.
    Replaced { manifest: PathBuf, found: Tokio },
    /// Crates want tokio from somewhere that a patch of crates-io does not replace.
    Elsewhere { wishes: Vec<Wish>, found: Tokio },
    /// Requirements that keep the patch out. `patch`: its version and place. `fit`: a version of the package
    /// that they let in.
    Refused { wishes: Vec<Wish>, found: Tokio, patch: String, fit: Option<Fit> },
    /// The patch names liten's package as an other version of liten has laid it down.
    Outdated { patch: String, found: Tokio },
    /// A feature that liten's package does not have.
    UnknownFeatures { wishes: Vec<Wish>, features: BTreeSet<String> },
    /// Nothing is in the way but the lock file, and these calls of cargo change that.
    Locked { found: Tokio, updates: Vec<Vec<String>> },
    /// cargo does not take the patch, and none of the reasons above is there.
    Unclear { found: Tokio, said: String },
    /// The patch names a folder that is not there.
    NotLaid { folder: PathBuf },
    /// A path of the project leads into a submodule that is empty.
    NotCheckedOut { submodules: Vec<Submodule>, said: String },
    /// liten's features that need the real tokio.
    Circle,
    /// A crate asks for a liten by its path, and it is not the one in the package.
    TwoLitens,
    /// cargo fails for another reason.
    CargoFails { said: String },
}

impl Finding {
    /// What is the matter if cargo fails, and `said` is what it has written.
    pub(crate) fn of_failure(said: &str) -> Self {
        let said = said.trim_end().to_owned();
        if said.contains("cyclic package dependency") && said.contains("liten") {
            Self::Circle
        } else if finds_two_litens(&said) {
            Self::TwoLitens
        } else {
            Self::CargoFails { said }
        }
    }

    /// `said` is what cargo has written beside its answer. `update` tells which updates bring liten's in
    /// place of a tokio, `tokio@VERSION`, in which version.
    pub(crate) fn of(graph: &Graph, said: &str, update: impl FnOnce(&str, &str) -> Update) -> Self {
        let said = said.trim_end().to_owned();
        let (ours, others): (Vec<Tokio>, Vec<Tokio>) =
            graph.tokios.iter().cloned().partition(|tokio| tokio.is_liten);
        let one = others.iter().find(|tokio| tokio.version.starts_with("1.")).cloned();
        let found = match (ours.into_iter().next(), one) {
            (Some(ours), None) => {
                let litens = graph.litens.iter().filter(|liten| !ours.has(liten)).cloned();
                // One by itself is the one that it stands on, be it in its folder or not.
                let litens = if graph.litens.len() > 1 { litens.collect() } else { Vec::new() };
                return Self::InEffect { ours, others, litens, stale: None };
            }
            (None, None) => return Self::NoTokio,
            (_, Some(found)) => found,
        };
        let those = |is_one: &dyn Fn(&Wish) -> bool| -> Vec<Wish> {
            graph.wishes.iter().filter(|wish| is_one(wish)).cloned().collect()
        };
        let wishes = those(&|wish| !wish.is_of_registry);
        if !wishes.is_empty() {
            return Self::Elsewhere { wishes, found };
        }
        if found.is_patch {
            return Self::Foreign { found };
        }
        let fit = Fit::of(&graph.wishes, &found.version);
        let Some(patch) = unused_patch(&said) else {
            return Self::NoPatch { root: graph.root.clone(), found, fit, said };
        };
        let (number, place) = patch.split_once(' ').unwrap_or((&patch, ""));
        let chosen = place.strip_prefix('(').and_then(|place| place.strip_suffix(')'));
        let chosen = chosen.and_then(|place| packer::laid_as(Path::new(place)));
        if number != chosen.as_deref().unwrap_or(version()) {
            return Self::Outdated { patch, found };
        }
        let wishes =
            those(&|wish| fit::is_of_one(wish) && !fit::lets_in(&wish.requirement, number));
        if !wishes.is_empty() {
            return Self::Refused { wishes, found, patch, fit };
        }
        let known = features();
        let wishes = those(&|wish| fit::is_of_one(wish) && !wish.features.is_subset(&known));
        if !wishes.is_empty() {
            let all = wishes.iter().flat_map(|wish| &wish.features);
            let features = all.filter(|name| !known.contains(*name)).cloned().collect();
            return Self::UnknownFeatures { wishes, features };
        }
        match update(&format!("tokio@{}", found.version), number) {
            Update::These(updates) => Self::Locked { found, updates },
            Update::None(why) if finds_two_litens(&why) => Self::TwoLitens,
            Update::None(why) if why.is_empty() => Self::Unclear { found, said },
            Update::None(why) => Self::Unclear { found, said: why.trim_end().to_owned() },
        }
    }
}

/// Whether cargo says that two litens would have to stand in one lock file.
fn finds_two_litens(said: &str) -> bool {
    said.contains("package collision in the lockfile: packages liten v")
}

/// The version and the place of a package named tokio of which cargo says that it is not used: what stands
/// between the apostrophes in "Patch `tokio v1.999.0 (/place)` was not used".
fn unused_patch(said: &str) -> Option<String> {
    let rest = said.split_once("atch `tokio v")?.1;
    Some(rest.split_once('`')?.0.to_owned())
}

pub(crate) fn version() -> &'static str {
    let line = MANIFEST.lines().find_map(|line| line.strip_prefix("version = \""));
    line.and_then(|rest| rest.strip_suffix('"')).expect("the manifest has a version")
}

/// The oldest release of Rust that compiles the package: 1 and what follows it.
pub(crate) fn oldest_rust() -> (u64, u64) {
    let line = MANIFEST.lines().find_map(|line| line.strip_prefix("rust-version = \""));
    line.and_then(release).expect("the manifest says it")
}

/// The names in the manifest's table of features.
fn features() -> BTreeSet<String> {
    let table = MANIFEST.split("[features]\n").nth(1).expect("the manifest has features");
    let table = table.split("\n[").next().expect("the table has an end");
    let names = table.lines().filter(|line| !line.starts_with([' ', '#', ']']));
    names.filter_map(|line| Some(line.split_once(" = ")?.0.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::{Finding, features, version};
    use crate::graph::{Graph, Liten};
    use crate::update::Update;

    const UNUSED: &str = "warning: Patch `tokio v1.999.0 (/x)` was not used in the crate graph.";
    const REGISTRY: &str = r#""registry+https://example.org""#;

    /// A graph in which `source` is where tokio comes from, and one crate asks the registry for it. It needs
    /// the package `need`.
    fn graph(version: &str, source: &str, need: &str, requirement: &str, feature: &str) -> Graph {
        let answer = format!(
            r#"{{"workspace_root": "/w", "packages": [
                {{"name": "tokio", "version": "{version}", "source": {source},
                  "manifest_path": "/x/Cargo.toml", "dependencies": [{{"name": "{need}"}}]}},
                {{"name": "app", "version": "0.1.0", "source": null, "manifest_path": "/w/Cargo.toml",
                  "dependencies": [
                    {{"name": "tokio", "req": "{requirement}", "kind": null, "features": ["{feature}"],
                      "source": {REGISTRY}}}
                ]}}
            ]}}"#
        );
        Graph::parse(answer.as_bytes()).expect("it is what cargo writes")
    }

    fn real(requirement: &str, feature: &str) -> Graph {
        graph("1.54.1", REGISTRY, "mio", requirement, feature)
    }

    fn of(graph: &Graph, said: &str) -> Finding {
        Finding::of(graph, said, |tokio, _| Update::These(vec![vec![tokio.to_owned()]]))
    }

    #[test]
    fn standing_on_liten_is_the_proof_and_no_version_or_place() {
        for (version, source) in [(version(), "null"), ("1.998.0", r#""git+file:///x""#)] {
            let finding = of(&graph(version, source, "liten", "^1", "net"), "");
            assert!(matches!(finding, Finding::InEffect { .. }), "{finding}");
        }
        let finding = of(&graph(version(), "null", "mio", "^1", "net"), "");
        assert!(matches!(finding, Finding::Foreign { .. }), "{finding}");
    }

    #[test]
    fn a_second_liten_is_named_and_one_by_itself_is_not() {
        let mut graph = graph(version(), "null", "liten", "^1", "net");
        for (place, is_told) in [
            ("/elsewhere/Cargo.toml", false),
            ("/x/liten/Cargo.toml", false),
            ("git+file:///y", true),
        ] {
            graph.litens.push(Liten { place: place.to_owned() });
            if place.starts_with("/x/") {
                // From now on it is the one in the package.
                graph.litens.remove(0);
            }
            let said = of(&graph, "").to_string();
            assert_eq!(said.contains("another liten, from git+file:///y"), is_told, "{said}");
            assert_eq!(said.contains("another liten"), is_told, "{said}");
        }
    }

    #[test]
    fn each_reason_has_a_finding_of_its_own() {
        assert!(matches!(of(&real("^1", "net"), ""), Finding::NoPatch { .. }));
        assert!(matches!(of(&real("~1.47", "net"), UNUSED), Finding::Refused { .. }));
        assert!(matches!(of(&real("=1.54.1", "net"), UNUSED), Finding::Refused { .. }));
        assert!(matches!(of(&real("^1", "warp-drive"), UNUSED), Finding::UnknownFeatures { .. }));
        assert!(matches!(of(&real("^1", "net"), UNUSED), Finding::Locked { .. }));
        for (why, told) in [("", UNUSED), ("a reason\n", "a reason")] {
            let finding = Finding::of(&real("^1", "net"), UNUSED, |_, _| Update::None(why.into()));
            assert!(matches!(&finding, Finding::Unclear { said, .. } if said == told), "{finding}");
        }
        let old = UNUSED.replace("1.999.0", "1.998.0");
        assert!(matches!(of(&real("^1", "net"), &old), Finding::Outdated { .. }));
        let circle =
            "error: cyclic package dependency: package `tokio` depends on itself ... liten";
        assert_eq!(Finding::of_failure(circle), Finding::Circle);
        let two = "error: package collision in the lockfile: packages liten v0.1.0 (/a) and liten v0.1.0 \
            (/b) are different";
        assert_eq!(Finding::of_failure(two), Finding::TwoLitens);
        let finding = Finding::of(&real("^1", "net"), UNUSED, |_, _| Update::None(two.into()));
        assert_eq!(finding, Finding::TwoLitens);
        let finding = Finding::of_failure("error: no such command");
        assert!(matches!(finding, Finding::CargoFails { .. }), "{finding}");
    }

    #[test]
    fn all_that_the_lock_file_needs_is_said() {
        let updates = vec![vec!["update".to_owned()], vec!["check".to_owned()]];
        let finding = Finding::of(&real("^1", "net"), UNUSED, |tokio, version| {
            assert_eq!((tokio, version), ("tokio@1.54.1", "1.999.0"));
            Update::These(updates)
        });
        let said = finding.to_string();
        assert!(said.ends_with("\n\ncargo update\ncargo check"), "{said}");
    }

    #[test]
    fn another_major_may_have_features_that_this_one_lacks() {
        let mut graph = real("^1", "net");
        let mut old = graph.wishes[0].clone();
        (old.requirement, old.features) = ("^0.2".to_owned(), ["rt-core".to_owned()].into());
        graph.wishes.push(old);
        let finding = of(&graph, UNUSED);
        assert!(matches!(finding, Finding::Locked { .. }), "{finding}");
    }

    #[test]
    fn a_crate_that_wants_tokio_from_git_is_named() {
        let mut graph = real("^1", "net");
        graph.wishes[0].is_of_registry = false;
        let said = of(&graph, "").to_string();
        assert!(said.contains("app 0.1.0 asks for tokio ^1"), "{said}");
    }

    #[test]
    fn a_failure_of_cargo_that_has_a_remedy_is_told_with_it() {
        for (said, remedy) in [
            ("error: failed to download from `https://example.org`", "`cargo fetch`"),
            ("As a reminder, you're using offline mode", "`cargo fetch`"),
            (
                "`app` depends on `tokio` with feature `x` but `tokio` does not have that",
                "[features]",
            ),
            ("error: failed to load source for dependency `tokio`", "bash tokio/lay DIR"),
        ] {
            let answer = Finding::of_failure(said).to_string();
            assert!(answer.contains(said) && answer.contains(remedy), "{answer}");
        }
    }

    #[test]
    fn another_major_of_tokio_is_not_in_the_way() {
        let graph = graph("0.2.25", REGISTRY, "mio", "^0.2", "full");
        assert_eq!(of(&graph, ""), Finding::NoTokio);
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
