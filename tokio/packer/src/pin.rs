//! The version of the package where a caller chooses it: one that a requirement such as `~1.47` lets in.
//!
//! The package is the same under each. What the release of that version lacked may be there, and what it had
//! is.

use std::fmt::Display;

/// How the line begins in which the mark of a folder says the version.
const BEGIN: &str = "Its version was chosen: ";

/// Refuses what is not a version of tokio 1 that a release could have.
pub(crate) fn check(version: &str) -> Result<(), String> {
    let parts: Vec<_> = version.split('.').collect();
    let is_number =
        |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit()) && part.parse::<u64>().is_ok();
    // cargo knows no number with a zero in front.
    let is_plain = |part: &&str| is_number(part) && (*part == "0" || !part.starts_with('0'));
    match parts.len() == 3 && parts[0] == "1" && parts.iter().all(is_plain) {
        true => Ok(()),
        false => Err(format!(
            "{version:?} is not a version of tokio 1: write it as 1.47.3, with three numbers. A requirement \
             such as ~1.47 is met by 1.47.999"
        )),
    }
}

/// Gives a manifest the version.
pub(crate) fn manifest(text: &str, version: &str) -> Result<String, String> {
    let lines = text.split_inclusive('\n');
    let is_it = |line: &&str| line.starts_with("version = \"");
    match text.split_inclusive('\n').filter(is_it).count() {
        1 => Ok(lines
            .map(|line| match is_it(&line) {
                true => format!("version = \"{version}\"\n"),
                false => line.to_owned(),
            })
            .collect()),
        _ => Err("face/Cargo.toml does not have one line with its version".to_owned()),
    }
}

/// The line for the mark.
pub(crate) fn line(version: impl Display) -> String {
    format!("{BEGIN}{version}\n")
}

/// The version that a mark says.
pub(crate) fn read(mark: &str) -> Option<String> {
    mark.lines().find_map(|line| line.strip_prefix(BEGIN)).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{check, line, manifest, read};

    #[test]
    fn what_no_release_of_tokio_1_could_have_is_refused() {
        for good in ["1.47.3", "1.0.0", "1.47.999"] {
            assert_eq!(check(good), Ok(()));
        }
        let far = format!("1.{}.0", "9".repeat(30));
        for bad in
            ["", "1.47", "~1.47", "2.0.0", "0.2.1", "1.47.3-rc", "1.047.3", "1..3", "1.2.3.4", &far]
        {
            let error = check(bad).expect_err(bad);
            assert!(error.contains("1.47.3"), "{error}");
        }
    }

    #[test]
    fn the_manifest_has_the_version_and_is_else_the_same() {
        let text = "[package]\nversion = \"1.999.0\"\n\n[dependencies]\na = { version = \"1\" }\n";
        assert_eq!(manifest(text, "1.47.3"), Ok(text.replace("1.999.0", "1.47.3")));
        assert!(manifest("[package]\n", "1.47.3").is_err());
        let ours = include_str!("../../face/Cargo.toml");
        assert!(manifest(ours, "1.47.3").is_ok_and(|text| text.contains("\"1.47.3\"")));
    }

    #[test]
    fn the_mark_says_what_was_chosen() {
        assert_eq!(read(&format!("A text.\n{}", line("1.47.3"))).as_deref(), Some("1.47.3"));
        assert_eq!(read("A text.\n"), None);
    }
}
