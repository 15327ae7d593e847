//! Submodules of git that were not checked out: a path in one of them leads nowhere.

use std::fs;
use std::path::{Path, PathBuf};

/// A folder that is to come from another repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Submodule {
    /// The repository that it belongs to.
    pub(crate) top: PathBuf,
    /// Where it lies in there.
    pub(crate) path: String,
}

/// The submodules that are not there and that cargo's words name.
pub(crate) fn missing(folder: &Path, said: &str) -> Vec<Submodule> {
    let of_one = |top: &Path| {
        let list = fs::read_to_string(top.join(".gitmodules")).unwrap_or_default();
        let all = paths(&list).into_iter().map(|path| Submodule { top: top.to_owned(), path });
        all.collect::<Vec<_>>()
    };
    // A repository may be a submodule of another one.
    let all = folder.ancestors().flat_map(of_one);
    all.filter(|one| one.is_empty() && one.is_in(said)).collect()
}

impl Submodule {
    fn place(&self) -> PathBuf {
        self.top.join(&self.path)
    }

    /// git makes the folder, and puts nothing in it before it is told to.
    fn is_empty(&self) -> bool {
        self.place().read_dir().map_or(true, |mut inside| inside.next().is_none())
    }

    fn is_in(&self, said: &str) -> bool {
        let place = self.place().display().to_string();
        said.match_indices(&place).any(|(start, _)| {
            let next = said[start + place.len()..].chars().next();
            matches!(next, None | Some('/' | '\\' | '`' | '\n'))
        })
    }
}

/// The paths in the text of a file `.gitmodules`.
fn paths(list: &str) -> Vec<String> {
    let value = |line: &str| {
        let (key, value) = line.split_once('=')?;
        let value = value.trim().trim_matches('"').trim_end_matches('/');
        (key.trim() == "path" && !value.is_empty()).then(|| value.to_owned())
    };
    list.lines().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::{Submodule, paths};

    #[test]
    fn the_paths_are_read_and_nothing_else() {
        let list = "[submodule \"path = x\"]\n\tpath = vendor/a b\n\turl = https://example.org/?path=y\n\
            [submodule \"two\"]\npath=\"two\"\nbranch = main\n";
        assert_eq!(paths(list), ["vendor/a b", "two"]);
    }

    #[test]
    fn a_submodule_is_named_by_a_path_in_it_and_not_by_one_beside_it() {
        let one = Submodule { top: "/top".into(), path: "sub".into() };
        for (said, expected) in [
            ("failed to read `/top/sub/library/Cargo.toml`", true),
            ("Unable to update /top/sub\n\nCaused by:", true),
            ("failed to read `/top/sub-two/Cargo.toml`", false),
            ("failed to read `/top/other/Cargo.toml`", false),
        ] {
            assert_eq!(one.is_in(said), expected, "{said}");
        }
    }
}
