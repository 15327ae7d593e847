//! The update of a lock file that brings liten's package.

use std::ffi::OsString;

/// What has to be updated.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Update {
    /// The arguments of each call of cargo, in their order.
    These(Vec<Vec<String>>),
    /// No update brings it, and this is what cargo says.
    None(String),
}

/// The update of these crates.
pub(crate) fn of(crates: &[String]) -> Vec<String> {
    let mut arguments = all();
    arguments.extend(crates.iter().flat_map(|one| ["-p".to_owned(), one.clone()]));
    arguments
}

/// The update of one crate to one version. Without it cargo takes the newest version that goes with all
/// that is locked, and that is a tokio from the registry as soon as one crate is too old for liten.
pub(crate) fn precise(tokio: &str, version: &str) -> Vec<String> {
    ["update", "-p", tokio, "--precise", version].map(ToOwned::to_owned).into()
}

/// The update of all crates.
pub(crate) fn all() -> Vec<String> {
    vec!["update".to_owned()]
}

/// Those of the caller's arguments that an update gets: where cargo looks for crates, and its configuration.
/// The others are for `cargo metadata`. An update does not know all of them, and some change its words, which
/// are read here.
pub(crate) fn arguments(given: &[OsString]) -> Vec<OsString> {
    let mut arguments = Vec::new();
    let mut given = given.iter();
    while let Some(argument) = given.next() {
        let text = argument.to_string_lossy();
        if text == "--config" || text == "-Z" {
            arguments.push(argument.clone());
            arguments.extend(given.next().cloned());
        } else if text == "--offline" || text.starts_with("--config=") || text.starts_with("-Z") {
            arguments.push(argument.clone());
        } else if text == "--frozen" {
            // That is `--locked` too, and an update is there to write the file which that keeps as it is.
            arguments.push("--offline".into());
        }
    }
    arguments
}

/// The commands as the user would type them, each in a line.
pub(crate) fn commands(updates: &[Vec<String>]) -> String {
    let lines = updates.iter().map(|arguments| command(arguments));
    lines.collect::<Vec<_>>().join("\n")
}

pub(crate) fn command(arguments: &[String]) -> String {
    format!("cargo {}", arguments.join(" "))
}

/// The names of the crates that cargo found to be in the way of a version, from its words. It names what it
/// had chosen before, and what asks for a version that is locked.
pub(crate) fn in_the_way(said: &str) -> Vec<String> {
    let name = |line: &str, words: &str| {
        let rest = line.split_once(words)?.1;
        Some(rest.split([' ', '`']).next()?.to_owned())
    };
    let chosen = said.lines().filter_map(|line| name(line, "previously selected package `"));
    let locked = said.lines().filter(|line| line.contains("(locked to "));
    let locked = locked.filter_map(|line| name(line, "satisfies dependency `"));
    let failed = said.lines().filter_map(|line| name(line, "failed to select a version for `"));
    let asks = said.lines().filter_map(|line| name(line, "required by package `"));
    let mut names = Vec::new();
    for name in chosen.chain(locked).chain(failed).chain(asks) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The update that changes nothing but what the manifests ask for.
pub(crate) fn needed() -> Vec<String> {
    ["update", "--workspace"].map(ToOwned::to_owned).into()
}

/// The version of a crate that the text of a lock file has from a path.
pub(crate) fn without_source(lock: &str, name: &str) -> Option<String> {
    let of_one = |package: &str| {
        let is_it = field(package, "name").as_deref() == Some(name);
        (is_it && field(package, "source").is_none()).then(|| field(package, "version"))?
    };
    lock.split("[[package]]").find_map(of_one)
}

/// A field of a package in a lock file.
fn field(package: &str, key: &str) -> Option<String> {
    let mut lines = package.lines();
    let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
    value.strip_suffix('"').map(ToOwned::to_owned)
}

/// The versions of a crate in the text of a lock file, each as `NAME@VERSION`. Those that no registry has
/// do not count: an update does not change them.
pub(crate) fn locked(lock: &str, name: &str) -> Vec<String> {
    let of_one = |package: &str| {
        let is_it = field(package, "name")? == name;
        let is_it = is_it && field(package, "source")?.starts_with("registry+");
        is_it.then(|| Some(format!("{name}@{}", field(package, "version")?)))?
    };
    lock.split("[[package]]").filter_map(of_one).collect()
}

#[cfg(test)]
mod tests {
    use super::{all, arguments, commands, in_the_way, locked, of, precise, without_source};
    use std::ffi::OsString;

    #[test]
    fn the_crates_in_the_way_are_those_that_cargo_names() {
        let said = "error: failed to select a version for `crossbeam-utils`.
    ... required by package `crossbeam-deque v0.8.8`
    ... which satisfies dependency `crossbeam-deque = \"^0.8.8\"` of package `liten v0.1.0 (/liten)`
versions that meet the requirements `^0.8.18` (locked to 0.8.21) are: 0.8.21

  previously selected package `futures-core v0.3.15`
    ... which satisfies dependency `futures-util = \"^0.3.0\"` (locked to 0.3.15) of package `app v0.1.0`";
        let names = in_the_way(said);
        assert_eq!(names, ["futures-core", "futures-util", "crossbeam-utils", "crossbeam-deque"]);
        assert!(in_the_way("error: no such command").is_empty());
    }

    #[test]
    fn an_update_gets_those_arguments_of_the_caller_that_say_what_it_finds() {
        for (given, passed_on) in [
            ("--features a --offline", "--offline"),
            ("-F a,b -q", ""),
            ("--filter-platform=x --filter-platform x -vv", ""),
            ("--no-default-features --config a=1 --config=b=2", "--config a=1 --config=b=2"),
            ("-Z one -Ztwo --color always", "-Z one -Ztwo"),
            ("--locked", ""),
            ("--frozen", "--offline"),
        ] {
            let given: Vec<OsString> = given.split(' ').map(OsString::from).collect();
            assert_eq!(arguments(&given).join(" ".as_ref()), passed_on, "{given:?}");
        }
    }

    #[test]
    fn all_versions_from_the_registry_are_found_in_a_lock_file() {
        let lock = "version = 4

[[package]]
name = \"one\"
version = \"0.1.0\"

[[package]]
name = \"two\"
version = \"1.0.0\"
source = \"registry+https://example.org\"
dependencies = [
 \"one\",
]

[[package]]
name = \"two\"
version = \"2.0.0\"
source = \"registry+https://example.org\"
";
        assert_eq!(locked(lock, "two"), ["two@1.0.0", "two@2.0.0"]);
        assert!(locked(lock, "one").is_empty(), "an update does not change a path");
        assert!(locked(lock, "tw").is_empty());
        assert_eq!(without_source(lock, "one").as_deref(), Some("0.1.0"));
        assert_eq!(without_source(lock, "two"), None);
    }

    #[test]
    fn the_commands_are_those_that_the_user_would_type() {
        let crates = ["a@1".to_owned(), "a@2".to_owned()];
        let updates = [all(), of(&crates), precise("tokio@1.0.0", "1.999.0")];
        let expected = "cargo update\ncargo update -p a@1 -p a@2\n\
            cargo update -p tokio@1.0.0 --precise 1.999.0";
        assert_eq!(commands(&updates), expected);
    }
}
