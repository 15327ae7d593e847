//! The lines of a manifest that bring the package in.

use std::path::{Component, Path, PathBuf};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, TomlError, Value};

/// The manifest that a patch is added to.
pub(crate) struct Manifest {
    document: DocumentMut,
    /// Whether its lines end as on Windows. The parser does not keep that.
    has_returns: bool,
    /// Whether it begins with the mark of its encoding, which some editors write.
    has_mark: bool,
}

const MARK: char = '\u{feff}';

impl Manifest {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let document = text.parse().map_err(|error: TomlError| error.to_string())?;
        let has_returns =
            text.split_inclusive('\n').next().is_some_and(|one| one.ends_with("\r\n"));
        Ok(Self { document, has_returns, has_mark: text.starts_with(MARK) })
    }

    /// Where the patch of tokio leads, as it is written.
    pub(crate) fn patched_path(&self) -> Option<&str> {
        self.document.get("patch")?.get("crates-io")?.get("tokio")?.get("path")?.as_str()
    }

    /// Whether its table `[replace]` has an entry for a release of tokio.
    pub(crate) fn replaces_tokio(&self) -> bool {
        let table = self.document.get("replace").and_then(Item::as_table_like);
        let mut names = table.into_iter().flat_map(TableLike::iter).map(|(name, _)| name);
        names.any(|name| name.rsplit(['/', '#']).next().is_some_and(|it| it.starts_with("tokio:")))
    }

    /// Adds the patch, and returns what was added, in words. All else stays as it was. `None`: there is an
    /// entry of this name already, which was put there on purpose.
    pub(crate) fn add_patch(&mut self, path: &str) -> Result<Option<String>, String> {
        // Without a line of its own: only the tables in it have one.
        let group = || {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        };
        let patches = self.document.entry("patch").or_insert_with(group);
        let patches = patches.as_table_like_mut().ok_or("`patch` is not a table")?;
        let patches: &mut dyn TableLike = patches
            .entry("crates-io")
            .or_insert_with(|| Item::Table(Table::new()))
            .as_table_like_mut()
            .ok_or("`patch.crates-io` is not a table")?;
        if patches.contains_key("tokio") {
            return Ok(None);
        }
        let mut entry = InlineTable::new();
        entry.insert("path", path.into());
        let line = format!("under [patch.crates-io]: tokio = {entry}");
        patches.insert("tokio", Item::Value(entry.into()));
        Ok(Some(line))
    }

    /// Takes the patch of tokio out again, with the tables that have nothing else in them, and the exclusion
    /// of its folder. Returns what went, in words.
    pub(crate) fn remove_patch(&mut self, path: &str) -> String {
        fn inside<'a>(table: &'a mut dyn TableLike, key: &str) -> Option<&'a mut dyn TableLike> {
            table.get_mut(key)?.as_table_like_mut()
        }
        let root = self.document.as_table_mut();
        if let Some(patches) = inside(root, "patch") {
            if let Some(registry) = inside(patches, "crates-io") {
                registry.remove("tokio");
                if registry.is_empty() {
                    patches.remove("crates-io");
                }
            }
            if patches.is_empty() {
                root.remove("patch");
            }
        }
        let list = inside(root, "workspace").and_then(|it| it.get_mut("exclude")?.as_array_mut());
        let place =
            list.as_ref().and_then(|list| list.iter().position(|one| one.as_str() == Some(path)));
        let (Some(list), Some(place)) = (list, place) else {
            return "tokio under [patch.crates-io]".to_owned();
        };
        list.remove(place);
        if list.is_empty() {
            inside(root, "workspace").and_then(|it| it.remove("exclude"));
        }
        "tokio under [patch.crates-io]; its folder in `exclude` under [workspace]".to_owned()
    }

    /// Keeps a folder in the workspace from being taken for one of its members, and returns what was added.
    /// A pattern such as `crates/*` would make it one, and so would a dependency on the liten in it.
    pub(crate) fn exclude(&mut self, path: &str) -> Result<Option<String>, String> {
        let Some(workspace) = self.document.get_mut("workspace") else { return Ok(None) };
        let workspace = workspace.as_table_like_mut().ok_or("`workspace` is not a table")?;
        let list = workspace
            .entry("exclude")
            .or_insert_with(|| Item::Value(Array::new().into()))
            .as_array_mut()
            .ok_or("`workspace.exclude` is not a list")?;
        if list.iter().any(|one| one.as_str() == Some(path)) {
            return Ok(None);
        }
        let line = format!("under [workspace]: exclude = [{}]", Value::from(path));
        let prefix = list.iter().next().and_then(|first| first.decor().prefix()?.as_str());
        match prefix.and_then(|prefix| Some(prefix.rsplit_once('\n')?.1.to_owned())) {
            // In a list with a line per entry it comes first: there may be a comment behind the last.
            Some(indent) => {
                let value = Value::from(path).decorated(format!("\n{indent}"), "");
                list.insert_formatted(0, value);
            }
            None => list.push(path),
        }
        Ok(Some(line))
    }

    pub(crate) fn text(&self) -> String {
        let mut text = self.document.to_string().replace("\r\n", "\n");
        if self.has_returns {
            text = text.replace('\n', "\r\n");
        }
        if self.has_mark && !text.starts_with(MARK) {
            text.insert(0, MARK);
        }
        text
    }
}

/// How the manifest in `root` names a folder: without the path above both, which is another one on another
/// machine. `None`: there is no folder above both.
pub(crate) fn relative(root: &Path, package: &Path) -> Option<String> {
    let common =
        root.components().zip(package.components()).take_while(|(one, other)| one == other);
    let common: PathBuf = common.map(|(one, _)| one).collect();
    common.components().any(|part| matches!(part, Component::Normal(_))).then_some(())?;
    let (up, down) = (root.strip_prefix(&common).ok()?, package.strip_prefix(&common).ok()?);
    let up = up.components().map(|_| "..".to_owned());
    // With slashes on every system: the manifest is for all of them.
    let down = down.iter().map(|part| part.to_string_lossy().into_owned());
    Some(up.chain(down).collect::<Vec<_>>().join("/"))
}

/// A path without links and dots in it. Not all of it need be there.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            part => resolved.push(part),
        }
        if let Ok(real) = resolved.canonicalize() {
            resolved = real;
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use super::{Manifest, relative, resolved};
    use std::fs;
    use std::path::Path;

    #[track_caller]
    fn patched(text: &str) -> String {
        let mut manifest = Manifest::parse(text).expect("it is a manifest");
        let line = manifest.add_patch("../x").expect("it can be patched");
        assert_eq!(line.as_deref(), Some("under [patch.crates-io]: tokio = { path = \"../x\" }"));
        manifest.text()
    }

    #[test]
    fn the_lines_are_added_and_the_others_stay() {
        let manifest =
            "# The program.\n[package]\nname = \"app\" # its name\n\n[dependencies]\na = '1'\n";
        let expected = format!("{manifest}\n[patch.crates-io]\ntokio = {{ path = \"../x\" }}\n");
        assert_eq!(patched(manifest), expected);
    }

    #[test]
    fn other_patches_stay() {
        let manifest =
            "[patch.crates-io]\n# A fork.\nb = { path = \"b\" }\n\n[profile.dev]\ndebug = 0\n";
        let expected = manifest.replace("\n\n", "\ntokio = { path = \"../x\" }\n\n");
        assert_eq!(patched(manifest), expected);
        let manifest = "[patch.\"https://example.org\"]\nb = { path = \"b\" }\n";
        let text = patched(manifest);
        assert!(text.starts_with(manifest), "{text}");
        assert!(text.ends_with("\n[patch.crates-io]\ntokio = { path = \"../x\" }\n"), "{text}");
        let text = patched("patch.crates-io.b.path = \"b\"\n");
        let parsed: toml_edit::DocumentMut = text.parse().expect("it is TOML");
        for (name, path) in [("b", "b"), ("tokio", "../x")] {
            assert_eq!(parsed["patch"]["crates-io"][name]["path"].as_str(), Some(path), "{text}");
        }
    }

    #[test]
    fn an_entry_that_is_there_is_left_alone() {
        let text = "[patch.crates-io]\ntokio = { path = \"over/there\" }\n";
        let mut manifest = Manifest::parse(text).expect("it is a manifest");
        assert_eq!(manifest.add_patch("../x"), Ok(None));
        assert_eq!(manifest.patched_path(), Some("over/there"));
        let mut manifest = Manifest::parse("patch = 1\n").expect("it is TOML");
        assert!(manifest.add_patch("../x").is_err());
        assert!(Manifest::parse("[").is_err());
    }

    #[test]
    fn an_entry_that_replaces_tokio_is_found() {
        for (text, is_one) in [
            ("[replace]\n\"tokio:1.54.1\" = { path = \"fork\" }\n", true),
            ("[replace]\n\"https://example.org/x#tokio:1.54.1\" = { path = \"fork\" }\n", true),
            ("[replace]\n\"tokio-util:0.7.0\" = { path = \"fork\" }\n", false),
            ("[package]\nname = \"tokio\"\n", false),
        ] {
            let manifest = Manifest::parse(text).expect("it is a manifest");
            assert_eq!(manifest.replaces_tokio(), is_one, "{text}");
        }
    }

    #[test]
    fn a_folder_in_a_workspace_is_no_member_of_it() {
        for (text, expected) in [
            ("[package]\n", "[package]\n"),
            ("[workspace]\n\n[a]\n", "[workspace]\nexclude = [\"x\"]\n\n[a]\n"),
            ("[workspace]\nexclude = [\"a\"]\n", "[workspace]\nexclude = [\"a\", \"x\"]\n"),
            ("[workspace]\nexclude = [\"x\"]\n", "[workspace]\nexclude = [\"x\"]\n"),
            (
                "[workspace]\nexclude = [\n    \"a\", # Why.\n]\n",
                "[workspace]\nexclude = [\n    \"x\",\n    \"a\", # Why.\n]\n",
            ),
        ] {
            let mut manifest = Manifest::parse(text).expect("it is a manifest");
            manifest.exclude("x").expect("it can be excluded");
            assert_eq!(manifest.text(), expected);
        }
    }

    #[test]
    fn lines_end_as_they_did_and_the_mark_of_the_encoding_stays() {
        let plain = "[package]\n# A remark.\nname = \"a\"\n";
        let expected = patched(plain);
        assert_eq!(patched(&plain.replace('\n', "\r\n")), expected.replace('\n', "\r\n"));
        assert_eq!(patched(&format!("\u{feff}{plain}")), format!("\u{feff}{expected}"));
    }

    #[test]
    fn the_patch_goes_out_again_with_the_tables_that_are_empty_then() {
        for text in [
            "[package]\nname = \"a\"\n",
            "[workspace]\nmembers = []\n\n[patch.crates-io]\n# A fork.\nb = { path = \"b\" }\n",
            "[workspace]\nexclude = [\"a\"]\n\n[patch.\"https://example.org\"]\nb = { path = \"b\" }\n",
            "[workspace]\nexclude = [\n    \"a\", # Why.\n]\n",
        ] {
            let mut manifest = Manifest::parse(text).expect("it is a manifest");
            manifest.add_patch("x").expect("it can be patched");
            manifest.exclude("x").expect("it can be excluded");
            let with_more = format!("{}\n[dependencies]\nc = \"1\"\n", manifest.text());
            let mut manifest = Manifest::parse(&with_more).expect("it is a manifest");
            let words = manifest.remove_patch("x");
            assert_eq!(words.contains("exclude"), text.contains("[workspace]"), "{words}");
            assert_eq!(manifest.text(), format!("{text}\n[dependencies]\nc = \"1\"\n"));
        }
    }

    #[test]
    fn what_lies_under_one_folder_is_named_from_there() {
        let name = |package| relative(Path::new("/a/b"), Path::new(package));
        assert_eq!(name("/a/x").as_deref(), Some("../x"));
        assert_eq!(name("/a/b/x").as_deref(), Some("x"));
        assert_eq!(name("/a/c/x y").as_deref(), Some("../c/x y"));
        assert_eq!(name("/c/x"), None);
    }

    #[test]
    fn a_path_is_resolved_as_far_as_it_is_there() {
        let folder = std::env::temp_dir().join(format!("resolved-{}", std::process::id()));
        fs::create_dir_all(folder.join("a")).expect("the folder can be made");
        let real = folder.canonicalize().expect("it is there");
        assert_eq!(resolved(&folder.join("a/../b/./c/../d")), real.join("b/d"));
        fs::remove_dir_all(folder).expect("the folder goes away");
    }
}
