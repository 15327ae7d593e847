//! What the doctor says.

use crate::finding::{Finding, version};
use crate::graph::{Tokio, Wish};
use crate::update;
use std::fmt;

const CIRCLE: &str = "cargo finds a circle: this project asks for liten with one of the features \
    `tokio-io`, `hyper`, `tokio-context` or `full`, which stand on the real tokio. With liten's package in \
    its place they are not needed: ask for liten with `default-features = false` and without them.";

/// What becomes of a feature that liten's package lacks.
const NEWER_FEATURE: &str = "If a newer tokio has it, add the name to [features] in the Cargo.toml of the \
    laid down package and in liten's tokio/face/Cargo.toml";

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InEffect { ours, others } => in_effect(f, ours, others),
            Self::NoTokio => f.write_str("No crate of this project asks for tokio."),
            Self::NoPatch { root, found, said } => no_patch(f, root, found, said),
            Self::Foreign { found } => write!(
                f,
                "Not in effect: the patch puts tokio {} in place, from {}, and this is not the package over \
                 liten. Lay that down with `bash tokio/lay DIR`, and name DIR in [patch.crates-io].",
                found.version, found.place
            ),
            Self::Elsewhere { wishes, found } => {
                let intro = format!(
                    "Not in effect for all: there is tokio {} from {}. [patch.crates-io] replaces what comes \
                     from the registry, and these crates want tokio from elsewhere:",
                    found.version, found.place
                );
                list(f, &intro, wishes)?;
                f.write_str(
                    "Let them ask for `tokio = \"1\"`, or give that source a patch too: \
                     [patch.\"ADDRESS\"].",
                )
            }
            Self::Refused { wishes, found } => {
                let intro = format!(
                    "Not in effect: tokio is {}, because these requirements keep {} out:",
                    found.version,
                    version()
                );
                list(f, &intro, wishes)?;
                f.write_str(
                    "Raise them, or take a release of those crates that asks for tokio 1 without an upper \
                     bound.",
                )
            }
            Self::Outdated { patch, found } => write!(
                f,
                "Not in effect: tokio is {}, and the patch is tokio {patch}, which is another version than \
                 this copy of liten lays down, {}. Run `bash tokio/lay DIR` again for its folder, and then \
                 once:\n\ncargo update -p tokio",
                found.version,
                version()
            ),
            Self::UnknownFeatures { wishes, features } => {
                let features: Vec<_> = features.iter().map(String::as_str).collect();
                let names = features.join(", ");
                let intro = format!(
                    "Not in effect: liten's package has no feature {names}, which these ask for:"
                );
                list(f, &intro, wishes)?;
                write!(f, "{NEWER_FEATURE}.")
            }
            Self::Locked { found, updates } => locked(f, found, updates),
            Self::Unclear { found, said } => write!(
                f,
                "Not in effect: tokio is {}, and `cargo update` would not change that. Something \
                 outside of the requirements and features of tokio is in the way. cargo says:\n\n{said}",
                found.version
            ),
            Self::Circle => f.write_str(CIRCLE),
            Self::CargoFails { said } => cargo_fails(f, said),
        }
    }
}

fn in_effect(f: &mut fmt::Formatter<'_>, ours: &Tokio, others: &[Tokio]) -> fmt::Result {
    write!(f, "In effect: each crate's tokio 1 is liten's, from {}.", ours.place)?;
    if ours.version != version() {
        write!(
            f,
            "\nIts version is {}, and this copy of liten lays down {}: run `bash tokio/lay DIR` again for \
             its folder.",
            ours.version,
            version()
        )?;
    }
    for other in others {
        write!(f, "\nBeside it there is tokio {}, which is another crate.", other.version)?;
    }
    Ok(())
}

fn no_patch(f: &mut fmt::Formatter<'_>, root: &str, found: &Tokio, said: &str) -> fmt::Result {
    write!(
        f,
        "Not in effect: tokio is {} from {}, and cargo knows of no patch for a package named tokio. It \
         counts in the Cargo.toml of the workspace's root alone ({root}/Cargo.toml):\n\n\
         [patch.crates-io]\ntokio = {{ path = \"DIR\" }}\n\nwith the folder that \
         `bash tokio/lay DIR` has laid down.",
        found.version, found.place
    )?;
    match said.is_empty() {
        true => Ok(()),
        false => write!(f, " cargo says:\n\n{said}"),
    }
}

fn locked(f: &mut fmt::Formatter<'_>, found: &Tokio, updates: &[Vec<String>]) -> fmt::Result {
    write!(f, "Not in effect: the lock file still says tokio {}, and ", found.version)?;
    f.write_str(match updates.len() {
        1 => "nothing else is in the way.",
        _ => "other crates in versions that are too old for liten's package.",
    })?;
    write!(f, " Run once:\n\n{}", update::commands(updates))
}

/// A line per crate with what it asks for.
fn list(f: &mut fmt::Formatter<'_>, intro: &str, wishes: &[Wish]) -> fmt::Result {
    writeln!(f, "{intro}\n")?;
    for wish in wishes {
        writeln!(f, "  {} asks for tokio {}", wish.package, wish.requirement)?;
    }
    writeln!(f)
}

fn cargo_fails(f: &mut fmt::Formatter<'_>, said: &str) -> fmt::Result {
    write!(f, "cargo cannot say what the project is made of. It says:\n\n{said}")?;
    let any = |words: &[&str]| words.iter().any(|words| said.contains(words));
    if any(&["offline", "failed to download", "Could not resolve host", "network"]) {
        f.write_str(
            "\n\ncargo looks up the project's crates in the registry, and keeps what it has found. Run \
             `cargo fetch` in the project once with the network, and this again.",
        )?;
    } else if said.contains("`tokio` does not have") {
        write!(
            f,
            "\n\nNeither tokio's releases nor liten's package have the feature. {NEWER_FEATURE}; else \
             correct the crate that asks for it."
        )?;
    } else if any(&["failed to load source for dependency `tokio`", "unable to update"]) {
        f.write_str(
            "\n\nIf it is the folder of the patch that is not there, lay it down: bash tokio/lay DIR",
        )?;
    }
    Ok(())
}
