//! The toolchain that a project pins, as far as it has to be known before cargo is called: a cargo that
//! rustup stands in for may install it, or answers with an error of rustup's that names no file.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use toml_edit::DocumentMut;

/// The file in which a project says which toolchain it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pin {
    pub(crate) channel: String,
    pub(crate) file: PathBuf,
}

impl Pin {
    /// The one that counts in a folder: that of the folder or of the nearest one above it.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let files = folder.ancestors().flat_map(|above| {
            // In one folder, rustup takes the first of them.
            ["rust-toolchain", "rust-toolchain.toml"].map(|name| above.join(name))
        });
        let (file, text) = files
            .into_iter()
            .find_map(|file| Some((file.clone(), fs::read_to_string(file).ok()?)))?;
        let is_toml = file.extension() == Some(OsStr::new("toml"));
        Some(Self { channel: channel(&text, is_toml)?, file })
    }

    /// Whether one of the toolchains that `rustup toolchain list` names is this one.
    pub(crate) fn is_among(&self, list: &str) -> bool {
        list.lines().any(|line| {
            let name = line.split(" (").next().unwrap_or(line).trim();
            // What follows the name of a channel is a platform. A date would make it another channel.
            let rest = name.strip_prefix(&self.channel);
            rest.is_some_and(|rest| {
                let mut rest = rest.chars();
                matches!((rest.next(), rest.next()), (None, _) | (Some('-'), Some('a'..='z')))
            })
        })
    }

    /// Whether `rustup override list` has a toolchain for the folder of the file or for one below it, in
    /// which the project in `folder` lies. It goes before the file.
    pub(crate) fn is_overridden(&self, folder: &Path, list: &str) -> bool {
        let top = self.file.parent();
        let mut folders =
            folder.ancestors().take_while(|above| top.is_some_and(|top| above.starts_with(top)));
        folders.any(|folder| {
            let path = folder.display().to_string();
            let mut rests = list.lines().filter_map(|line| line.strip_prefix(&path));
            rests.any(|rest| rest.starts_with([' ', '\t']))
        })
    }
}

/// The name of the channel in the text of such a file. Those of the old kind have nothing else in them.
fn channel(text: &str, is_toml: bool) -> Option<String> {
    let text = text.trim();
    if !is_toml && !text.contains(['[', '\n']) {
        return Some(text.to_owned()).filter(|name| !name.is_empty());
    }
    let file: DocumentMut = text.parse().ok()?;
    Some(file.get("toolchain")?.get("channel")?.as_str()?.to_owned())
}

/// The release of Rust that a text begins with, `1.80` of "1.80.0-x86_64-unknown-linux-gnu". `stable` is
/// none.
pub(crate) fn release(text: &str) -> Option<(u64, u64)> {
    let mut parts = text.split(|char: char| !char.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{Pin, channel, release};
    use std::path::Path;

    fn pin(channel: &str) -> Pin {
        Pin { channel: channel.to_owned(), file: "/a/rust-toolchain.toml".into() }
    }

    #[test]
    fn a_channel_is_read_from_both_kinds_of_file() {
        let table = "[toolchain]\nchannel = \"1.80\" # Why.\nprofile = \"minimal\"\n";
        assert_eq!(channel(table, true).as_deref(), Some("1.80"));
        assert_eq!(channel(table, false).as_deref(), Some("1.80"));
        assert_eq!(channel("nightly-2025-01-01\n", false).as_deref(), Some("nightly-2025-01-01"));
        for (text, is_toml) in [
            ("1.80\n", true),
            ("", false),
            ("[toolchain", false),
            ("[toolchain]\npath = \"/x\"", true),
        ] {
            assert_eq!(channel(text, is_toml), None, "{text}");
        }
    }

    #[test]
    fn a_toolchain_is_installed_for_a_platform_and_not_as_of_another_day() {
        let list = "stable-x86_64-unknown-linux-gnu (active, default)\nmine\n\
            nightly-2025-01-01-x86_64-unknown-linux-gnu\n1.80.1-x86_64-unknown-linux-gnu\n";
        for (name, expected) in [
            ("stable", true),
            ("stable-x86_64-unknown-linux-gnu", true),
            ("mine", true),
            ("nightly-2025-01-01", true),
            ("1.80.1", true),
            ("nightly", false),
            ("1.80", false),
            ("1.8", false),
            ("beta", false),
        ] {
            assert_eq!(pin(name).is_among(list), expected, "{name}");
        }
    }

    #[test]
    fn a_toolchain_for_the_folder_or_one_below_it_goes_before_the_file() {
        let of = |list| pin("1.80").is_overridden(Path::new("/a/b c/d"), list);
        assert!(of("/x      \tstable\n/a/b c  \tstable-x86_64-unknown-linux-gnu\n"));
        assert!(of("/a\tstable"));
        assert!(!of("no overrides\n"));
        assert!(!of("/      \tstable\n/a/b  \tstable\n/a/b c/d/e \tstable\n"));
    }

    #[test]
    fn a_release_is_what_begins_with_its_numbers() {
        assert_eq!(release("1.80.0-x86_64-unknown-linux-gnu"), Some((1, 80)));
        assert_eq!(release("1.85"), Some((1, 85)));
        for other in ["stable", "nightly-2025-01-01", "1", ""] {
            assert_eq!(release(other), None, "{other}");
        }
    }
}
