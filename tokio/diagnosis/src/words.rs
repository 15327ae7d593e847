//! What the doctor says.

use crate::finding::{Finding, oldest_rust, version};
use crate::fit::Fit;
use crate::graph::{Liten, Tokio, Wish};
use crate::submodule::Submodule;
use crate::toolchain::Pin;
use crate::update;
use std::fmt;
use std::io::{Write, stderr, stdout};
use std::path::Path;
use toml_edit::Value;

const CIRCLE: &str = "cargo finds a circle: this project asks for liten with one of the features \
    `tokio-io`, `hyper`, `tokio-context` or `full`, which stand on the real tokio. With liten's package in \
    its place they are not needed: ask for liten with `default-features = false` and without them.";

const TWO_LITENS: &str = "cargo finds two litens: this project asks for one by its path, and the package \
    named tokio has one in it. Let the project ask for the latter, with the folder of the package for DIR, \
    so that both have the same runtimes and tasks: liten = { path = \"DIR/liten\" }";

const NO_NETWORK: &str = "cargo looks up the project's crates in the registry, and keeps what it has \
    found. Run `cargo fetch` in the project once with the network, and this again.";

const VENDORED: &str = "The crates of the project are vendored, and that folder lacks what liten's package \
    needs. Take the source that replaces crates-io out of cargo's configuration, run this with --mend, then \
    `cargo vendor`, and put the source back.";

/// What becomes of a feature that liten's package lacks.
const NEWER_FEATURE: &str = "If a newer tokio has it, add the name to [features] in the Cargo.toml of the \
    laid down package and in liten's tokio/face/Cargo.toml";

/// Writes a line of the report. A line that finds the pipe closed does not end the program before its work
/// is done.
pub(crate) fn say(what: &dyn fmt::Display) {
    let _ = writeln!(stdout(), "{what}");
}

/// Writes why nothing can be said. What other tools say may begin with the same word.
pub(crate) fn complain(error: &str) {
    let _ = writeln!(stderr(), "error: {}", error.strip_prefix("error: ").unwrap_or(error));
}

/// A path as one word of a shell.
pub(crate) fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |char: char| char.is_alphanumeric() || "/._-+@:".contains(char);
    match path.chars().all(is_plain) {
        true => path,
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

/// The command that lays the package down.
pub(crate) fn lay(folder: &Path, version: Option<&str>) -> String {
    match version {
        Some(version) => format!("bash tokio/lay --as {version} {}", quoted(folder)),
        None => format!("bash tokio/lay {}", quoted(folder)),
    }
}

/// Whether cargo has looked for a crate in a folder of vendored ones.
fn is_about_vendored(said: &str) -> bool {
    said.contains("directory source")
}

/// Whether cargo says that it has no network, or has been told to do without.
pub(crate) fn is_about_network(said: &str) -> bool {
    let words =
        ["offline", "failed to download", "Could not resolve host", "Could not connect", "network"];
    words.iter().any(|words| said.contains(words))
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoToolchain { pin } => no_toolchain(f, pin),
            Self::OldRust { found, pin } => old_rust(f, found.as_deref(), pin.as_ref()),
            Self::InEffect { ours, others, litens, stale } => {
                in_effect(f, ours, others)?;
                other_litens(f, ours, litens)?;
                stale.as_deref().map_or(Ok(()), |folder| out_of_date(f, folder))
            }
            Self::NoTokio => f.write_str("No crate of this project asks for tokio."),
            Self::NoPatch { root, found, fit, said } => {
                no_patch(f, root, found, fit.as_ref(), said)
            }
            Self::Foreign { found } => write!(
                f,
                "Not in effect: the patch puts tokio {} in place, from {}, and this is not the package over \
                 liten. Lay that down with `bash tokio/lay DIR`, and name DIR in [patch.crates-io].",
                found.version, found.place
            ),
            Self::Replaced { manifest, found } => write!(
                f,
                "Not in effect: [replace] in {} puts tokio {} in place, from {}, and this is not the package \
                 over liten. cargo looks at that before it looks at a patch: take the entry of tokio out.",
                manifest.display(),
                found.version,
                found.place
            ),
            Self::Elsewhere { wishes, found } => elsewhere(f, wishes, found),
            Self::Refused { wishes, found, patch, fit } => {
                refused(f, wishes, found, patch, fit.as_ref())
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
            Self::Unclear { found, said } => unclear(f, found, said),
            Self::NotLaid { folder } => not_laid(f, folder),
            Self::NotCheckedOut { submodules, said } => not_checked_out(f, submodules, said),
            Self::Circle => f.write_str(CIRCLE),
            Self::TwoLitens => f.write_str(TWO_LITENS),
            Self::CargoFails { said } => cargo_fails(f, said),
        }
    }
}

fn no_toolchain(f: &mut fmt::Formatter<'_>, pin: &Pin) -> fmt::Result {
    write!(
        f,
        "The project pins the toolchain {} in {}, and it is not installed. Install it, and run this again: \
         rustup toolchain install {}",
        pin.channel,
        pin.file.display(),
        pin.channel
    )
}

fn in_effect(f: &mut fmt::Formatter<'_>, ours: &Tokio, others: &[Tokio]) -> fmt::Result {
    write!(f, "In effect: each crate's tokio 1 is liten's, from {}.", ours.place)?;
    let chosen = Path::new(&ours.place).parent().and_then(packer::laid_as);
    if chosen.as_ref() == Some(&ours.version) {
        write!(f, " Its version is {}, which lets the requirements have it.", ours.version)?;
    } else if ours.version != version() {
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

fn out_of_date(f: &mut fmt::Formatter<'_>, folder: &Path) -> fmt::Result {
    write!(
        f,
        "\nThe liten in it is not that of this copy of liten: run `{}` to bring it up to date.",
        lay(folder, packer::laid_as(folder).as_deref())
    )
}

fn elsewhere(f: &mut fmt::Formatter<'_>, wishes: &[Wish], found: &Tokio) -> fmt::Result {
    let intro = format!(
        "Not in effect for all: there is tokio {} from {}. [patch.crates-io] replaces what comes from the \
         registry, and these crates want tokio from elsewhere:",
        found.version, found.place
    );
    list(f, &intro, wishes)?;
    f.write_str(
        "Let them ask for `tokio = \"1\"`, or give that source a patch too: [patch.\"ADDRESS\"].",
    )
}

fn refused(
    f: &mut fmt::Formatter<'_>,
    wishes: &[Wish],
    found: &Tokio,
    patch: &str,
    fit: Option<&Fit>,
) -> fmt::Result {
    let (number, place) = patch.split_once(' ').unwrap_or((patch, ""));
    let intro = format!(
        "Not in effect: tokio is {}, because these requirements keep {number} out:",
        found.version
    );
    list(f, &intro, wishes)?;
    let folder = place.trim_start_matches('(').trim_end_matches(')');
    write!(
        f,
        "Lay the package down under a version that they let in, which --mend does: {}",
        lay(Path::new(folder), fit.and_then(Fit::version).as_deref())
    )
}

fn unclear(f: &mut fmt::Formatter<'_>, found: &Tokio, said: &str) -> fmt::Result {
    if found.is_vendored || is_about_vendored(said) {
        return write!(
            f,
            "Not in effect: the lock file says tokio {}. {VENDORED} cargo says:\n\n{said}",
            found.version
        );
    }
    match is_about_network(said) {
        true => write!(
            f,
            "Not in effect: the lock file says tokio {}, and cargo cannot look up what would change that. It \
             says:\n\n{said}\n\n{NO_NETWORK}",
            found.version
        ),
        false => write!(
            f,
            "Not in effect: tokio is {}, and `cargo update` would not change that. Something outside of the \
             requirements and features of tokio is in the way. cargo says:\n\n{said}",
            found.version
        ),
    }
}

fn not_laid(f: &mut fmt::Formatter<'_>, folder: &Path) -> fmt::Result {
    write!(
        f,
        "The patch in the Cargo.toml of the workspace's root names a folder that is not there: {}. Lay the \
         package down there with `bash tokio/lay {}`, or name the folder in which it lies.",
        folder.display(),
        quoted(folder)
    )
}

fn other_litens(f: &mut fmt::Formatter<'_>, ours: &Tokio, litens: &[Liten]) -> fmt::Result {
    for liten in litens {
        write!(
            f,
            "\nBeside it there is another liten, from {}, and neither knows of the runtimes and tasks of the \
             other. A crate that is to use the one under tokio has to name that of the package: ",
            liten.place
        )?;
        match Path::new(&ours.place).parent().filter(|folder| folder.is_dir()) {
            Some(folder) => {
                let path = Value::from(folder.join("liten").display().to_string());
                write!(f, "liten = {{ path = {path} }}")?;
            }
            None => f.write_str("the liten that lies beside tokio there")?,
        }
    }
    Ok(())
}

fn old_rust(f: &mut fmt::Formatter<'_>, found: Option<&str>, pin: Option<&Pin>) -> fmt::Result {
    match (found, pin) {
        (_, Some(pin)) => {
            write!(f, "The project pins the toolchain {} in {}", pin.channel, pin.file.display())?;
            if let Some(found) = found {
                write!(f, ", which is {found}")?;
            }
        }
        (found, None) => write!(f, "This is cargo {}", found.unwrap_or_default())?,
    }
    let (major, minor) = oldest_rust();
    write!(f, ", and liten needs Rust {major}.{minor} or newer: ")?;
    match pin {
        Some(_) => f.write_str("pin such a one there."),
        None => f.write_str("update it, for example with `rustup update`."),
    }
}

fn not_checked_out(
    f: &mut fmt::Formatter<'_>,
    submodules: &[Submodule],
    said: &str,
) -> fmt::Result {
    for Submodule { top, path } in submodules {
        writeln!(
            f,
            "The project needs what lies in {path}, which is a submodule of git in {} that has not been \
             checked out. Run there: git submodule update --init --recursive -- {}",
            top.display(),
            quoted(Path::new(path))
        )?;
    }
    write!(f, "cargo says:\n\n{said}")
}

fn no_patch(
    f: &mut fmt::Formatter<'_>,
    root: &str,
    found: &Tokio,
    fit: Option<&Fit>,
    said: &str,
) -> fmt::Result {
    let command = lay(Path::new("DIR"), fit.and_then(Fit::version).as_deref());
    write!(
        f,
        "Not in effect: tokio is {} from {}, and cargo knows of no patch for a package named tokio. It \
         counts in the Cargo.toml of the workspace's root alone ({root}/Cargo.toml):\n\n\
         [patch.crates-io]\ntokio = {{ path = \"DIR\" }}\n\nwith the folder that `{command}` \
         has laid down.",
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
    if is_about_vendored(said) {
        write!(f, "\n\n{VENDORED}")?;
    } else if is_about_network(said) {
        write!(f, "\n\n{NO_NETWORK}")?;
    } else if said.contains("`tokio` does not have") {
        write!(
            f,
            "\n\nNeither tokio's releases nor liten's package have the feature. {NEWER_FEATURE}; else \
             correct the crate that asks for it."
        )?;
    } else if said.contains("failed to load source for dependency `tokio`") {
        f.write_str(
            "\n\nIf it is the folder of the patch that is not there, lay it down: bash tokio/lay DIR",
        )?;
    } else if let Some(path) = absent(said) {
        write!(
            f,
            "\n\nA path that the project names is not there: {path}. If it is another repository, clone \
             it to that place."
        )?;
    }
    Ok(())
}

/// The folder of a package whose manifest cargo has not found.
fn absent(said: &str) -> Option<&str> {
    let is_missing =
        said.contains("No such file or directory") || said.contains("cannot find the ");
    let rest = said.split_once("failed to read `")?.1;
    let path = rest.split_once("Cargo.toml`")?.0;
    is_missing.then(|| path.trim_end_matches(['/', '\\']))
}
