//! Whether a project is compiled with `--cfg tokio_unstable`, which liten's package refuses.
//!
//! cargo takes the flags of the first of these that is there: the variables `CARGO_ENCODED_RUSTFLAGS` and
//! `RUSTFLAGS`; then its configuration, which are files, variables and arguments. In the configuration the
//! keys `target.*.rustflags` go before `build.rustflags`. Which platform a key is for is not looked at here:
//! the flag is named wherever the configuration has it, since it makes a build for that platform fail.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item};

const UNSTABLE: &str = "tokio_unstable";

/// Where `--cfg tokio_unstable` stands for a project in `folder` that cargo is called for with `arguments`.
pub(crate) fn place_of_unstable(
    folder: &Path,
    arguments: &[OsString],
    variables: &BTreeMap<String, String>,
) -> Option<String> {
    for (name, separator) in [("CARGO_ENCODED_RUSTFLAGS", '\u{1f}'), ("RUSTFLAGS", ' ')] {
        // One that is there counts alone, even if it is empty.
        if let Some(flags) = variables.get(name) {
            return has_unstable(flags.split(separator)).then(|| name.to_owned());
        }
    }
    let of_file = |path: &PathBuf| -> Option<String> {
        let key = key_of_unstable(&fs::read_to_string(path).ok()?)?;
        Some(format!("{} ({key})", path.display()))
    };
    let of_variable = |(name, flags): (&String, &String)| {
        let is_one = name == "CARGO_BUILD_RUSTFLAGS"
            || name.starts_with("CARGO_TARGET_") && name.ends_with("_RUSTFLAGS");
        (is_one && has_unstable(flags.split(' '))).then(|| name.clone())
    };
    of_arguments(folder, arguments, of_file)
        .or_else(|| variables.iter().find_map(of_variable))
        .or_else(|| files(folder, variables).iter().find_map(of_file))
}

/// What `--config` adds: a line of TOML, or the path of a file.
fn of_arguments(
    folder: &Path,
    arguments: &[OsString],
    of_file: impl Fn(&PathBuf) -> Option<String>,
) -> Option<String> {
    let texts: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let mut after = texts.iter().skip(1);
    texts.iter().find_map(|argument| {
        let next = after.next();
        let value = match argument.strip_prefix("--config")? {
            "" => next?,
            rest => rest.strip_prefix('=')?,
        };
        let path = folder.join(value);
        match path.is_file() {
            true => of_file(&path),
            false => key_of_unstable(value).map(|key| format!("--config ({key})")),
        }
    })
}

/// The files of cargo's configuration that count in a folder.
fn files(folder: &Path, variables: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let home = match (variables.get("CARGO_HOME"), variables.get("HOME")) {
        (Some(home), _) => Some(PathBuf::from(home)),
        (None, home) => home.map(|home| Path::new(home).join(".cargo")),
    };
    let folders = folder.ancestors().map(|above| above.join(".cargo")).chain(home);
    // Where both names are there, cargo takes the one without an end.
    let files = folders.filter_map(|folder| {
        ["config", "config.toml"]
            .map(|name| folder.join(name))
            .into_iter()
            .find(|path| path.is_file())
    });
    files.collect()
}

/// The key of a configuration that has the flag.
fn key_of_unstable(config: &str) -> Option<String> {
    let config: DocumentMut = config.parse().ok()?;
    if config.get("build").is_some_and(table_has_unstable) {
        return Some("build.rustflags".to_owned());
    }
    let targets = config.get("target").and_then(Item::as_table_like)?;
    let (name, _) = targets.iter().find(|(_, target)| table_has_unstable(target))?;
    Some(format!("target.'{name}'.rustflags"))
}

/// Looks at `rustflags` in a table, which is a list, or one text with spaces between the flags.
fn table_has_unstable(table: &Item) -> bool {
    let flags = table.as_table_like().and_then(|table| table.get("rustflags"));
    flags.is_some_and(|flags| match flags.as_str() {
        Some(text) => has_unstable(text.split(' ')),
        None => flags
            .as_array()
            .is_some_and(|list| has_unstable(list.iter().filter_map(|flag| flag.as_str()))),
    })
}

/// `--cfg` and its value are one flag or two. `--check-cfg` switches nothing on.
fn has_unstable<'a>(flags: impl Iterator<Item = &'a str>) -> bool {
    let mut is_value = false;
    for flag in flags.map(str::trim).filter(|flag| !flag.is_empty()) {
        if is_value && flag == UNSTABLE || flag.strip_prefix("--cfg=") == Some(UNSTABLE) {
            return true;
        }
        is_value = flag == "--cfg";
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{has_unstable, key_of_unstable, place_of_unstable};
    use std::collections::BTreeMap;
    use std::env::temp_dir;
    use std::ffi::OsString;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process;

    const BUILD: &str = "[build]\nrustflags = [\"--cfg\", \"tokio_unstable\"]\n";
    const HARMLESS: &str = "[build]\nrustflags = [\"--cfg\", \"other\"]\n";

    fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    fn arguments(texts: &[&str]) -> Vec<OsString> {
        texts.iter().map(OsString::from).collect()
    }

    /// An empty folder whose name says which test it is for. Nothing above it has a configuration.
    fn folder(of: &str) -> PathBuf {
        let folder = temp_dir().join(format!("flags-{of}-{}", process::id()));
        fs::create_dir_all(folder.join(".cargo")).expect("the folder can be made");
        folder.canonicalize().expect("it is there")
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("it can be made");
        fs::write(path, text).expect("the file can be written");
    }

    #[test]
    fn the_flag_is_found_however_it_is_written() {
        for (flags, expected) in [
            ("--cfg tokio_unstable", true),
            ("-C opt-level=3  --cfg=tokio_unstable", true),
            ("--cfg other --check-cfg cfg(tokio_unstable)", false),
            ("--check-cfg=cfg(tokio_unstable) tokio_unstable", false),
            ("--cfg tokio_unstable_or_not", false),
            ("", false),
        ] {
            assert_eq!(has_unstable(flags.split(' ')), expected, "{flags}");
        }
    }

    #[test]
    fn each_key_of_the_configuration_that_has_flags_is_looked_at() {
        for (config, key) in [
            (BUILD, Some("build.rustflags")),
            ("build.rustflags = \"-g --cfg tokio_unstable\"", Some("build.rustflags")),
            (
                "[target.x86_64-unknown-linux-gnu]\nrustflags = [\"--cfg=tokio_unstable\"]",
                Some("target.'x86_64-unknown-linux-gnu'.rustflags"),
            ),
            (
                "[target.'cfg(unix)']\nrustflags = \"--cfg tokio_unstable\"",
                Some("target.'cfg(unix)'.rustflags"),
            ),
            ("[build]\nrustdocflags = [\"--cfg\", \"tokio_unstable\"]", None),
            (HARMLESS, None),
            ("[", None),
        ] {
            assert_eq!(key_of_unstable(config).as_deref(), key, "{config}");
        }
    }

    #[test]
    fn a_variable_with_flags_hides_the_configuration() {
        let folder = folder("variable");
        write(&folder.join(".cargo/config.toml"), BUILD);
        let place = |name, value| place_of_unstable(&folder, &[], &variables(&[(name, value)]));
        assert_eq!(place("RUSTFLAGS", "-g"), None);
        assert_eq!(place("RUSTFLAGS", ""), None);
        assert_eq!(place("RUSTFLAGS", "--cfg tokio_unstable"), Some("RUSTFLAGS".to_owned()));
        let encoded = place("CARGO_ENCODED_RUSTFLAGS", "--cfg\u{1f}tokio_unstable");
        assert_eq!(encoded, Some("CARGO_ENCODED_RUSTFLAGS".to_owned()));
        fs::remove_dir_all(folder).expect("the folder goes away");
    }

    #[test]
    fn the_file_is_found_here_above_and_in_the_home_of_cargo() {
        let above = folder("file");
        let (project, home) = (above.join("a/project"), above.join("home"));
        fs::create_dir_all(&project).expect("the folder can be made");
        let known = variables(&[("CARGO_HOME", home.to_str().expect("it is text"))]);
        for path in [
            project.join(".cargo/config.toml"),
            above.join(".cargo/config"),
            home.join("config.toml"),
        ] {
            assert_eq!(place_of_unstable(&project, &[], &known), None);
            write(&path, BUILD);
            let expected = format!("{} (build.rustflags)", path.display());
            assert_eq!(place_of_unstable(&project, &[], &known), Some(expected));
            write(&path, HARMLESS);
        }
        fs::remove_dir_all(above).expect("the folder goes away");
    }

    #[test]
    fn variables_and_arguments_of_the_configuration_count_as_well() {
        let folder = folder("argument");
        write(&folder.join("own.toml"), BUILD);
        let place = |texts: &[&str]| place_of_unstable(&folder, &arguments(texts), &variables(&[]));
        let line = "build.rustflags='--cfg tokio_unstable'";
        let told = Some("--config (build.rustflags)".to_owned());
        assert_eq!(place(&["--locked", "--config", line]), told);
        assert_eq!(place(&[&format!("--config={line}")]), told);
        assert_eq!(place(&["--config", "patch.crates-io.tokio.path='x'"]), None);
        let file = place(&["--config", "own.toml"]).expect("the file has the flag");
        assert!(file.ends_with("own.toml (build.rustflags)"), "{file}");
        for name in ["CARGO_BUILD_RUSTFLAGS", "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS"] {
            let known = variables(&[(name, "--cfg tokio_unstable")]);
            assert_eq!(place_of_unstable(&folder, &[], &known), Some(name.to_owned()));
        }
        fs::remove_dir_all(folder).expect("the folder goes away");
    }
}
