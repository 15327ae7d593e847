//! The command that lays the package named `tokio` down: `packer [--as VERSION] DIR`. `packer --record`
//! writes the checksums of another release of tokio into `upstream/files`. `packer --news VERSION [SINCE]`
//! says what that release has that another one had not.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: bash tokio/lay [--as VERSION] DIR
Lays the package named tokio down in DIR: a new or empty folder, or one that was laid down before. With --as
it gets this version, such as 1.47.3, where a requirement keeps its own out.";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let done = match &arguments[..] {
        [option] if option == "--record" => packer::record(&packer::home()),
        [folder] if is_name(folder) => lay(Path::new(folder), None),
        [option, version] if option == "--news" => {
            packer::news(&packer::home(), None, &version.to_string_lossy())
        }
        [option, version, since] if option == "--news" => packer::news(
            &packer::home(),
            Some(&since.to_string_lossy()),
            &version.to_string_lossy(),
        ),
        [option, version, folder] if option == "--as" && is_name(folder) => {
            lay(Path::new(folder), Some(&version.to_string_lossy()))
        }
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(message) => {
            println!("{message}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn is_name(argument: &OsString) -> bool {
    !argument.to_string_lossy().starts_with('-')
}

fn lay(folder: &Path, version: Option<&str>) -> Result<String, String> {
    let release = packer::lay(&packer::home(), folder, version, &mut |_| Ok(()))?;
    let under = version.map_or(String::new(), |version| format!(" as version {version}"));
    let from_here = if folder.is_relative() { ", if that lies here" } else { "" };
    let (path, but) = match toml(folder) {
        Some(path) => (path, ""),
        None => ("\"DIR\"".to_owned(), ", with its path for DIR, which has to be UTF-8 there"),
    };
    Ok(format!(
        "The package named tokio, with the files of tokio {release} and with liten, lies in {}{under}. Add \
         to the Cargo.toml of the workspace's root{from_here}{but}:\n\n[patch.crates-io]\n\
         tokio = {{ path = {path} }}\n\nand run once: cargo update -p tokio",
        folder.display()
    ))
}

/// A path as a manifest writes it, with its quotes. A manifest is UTF-8, and a path need not be.
fn toml(path: &Path) -> Option<String> {
    Some(toml_edit::Value::from(path.to_str()?).to_string())
}

#[cfg(test)]
mod tests {
    use super::toml;
    use std::path::Path;
    use toml_edit::Value;

    #[test]
    fn a_manifest_reads_the_path_that_was_written_for_it() {
        assert_eq!(toml(Path::new("../tokio")).as_deref(), Some("\"../tokio\""));
        for path in ["a \"b\"", r"a\b", "it's", "it's \"b\"", "a\nb", "'''\"\"\"\\"] {
            let written = toml(Path::new(path)).expect("it is UTF-8");
            let read: Value = written.parse().expect("it is a value");
            assert_eq!(read.as_str(), Some(path), "{written}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_no_manifest_can_have_is_none() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        assert_eq!(toml(Path::new(OsStr::from_bytes(b"not-\xff"))), None);
    }
}
