//! liten's own sources, which the package carries with it: its library, the packages that this depends on by
//! path, and those that depend on it, without their tests, benches and examples.

use crate::parcel::{files_under, read, relative};
use std::path::Path;
use toml_edit::{Array, DocumentMut, Item, TableLike, Value};

/// The folder in the package.
pub(crate) const FOLDER: &str = "liten";

/// Packages that depend on the library, for programs that name the copy in the folder: with one from
/// elsewhere a program would have two litens.
const COMPANIONS: [&str; 1] = ["tracing"];

/// Returns the paths and contents of the files. `liten` is the folder of the repository.
pub(crate) fn files(liten: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut root = manifest(liten)?;
    let mut parts = parts(&root);
    parts.extend(COMPANIONS.map(str::to_owned));
    if let Some(workspace) = root.get_mut("workspace").and_then(Item::as_table_like_mut) {
        for list in ["default-members", "exclude"] {
            workspace.remove(list);
        }
        let members = parts.iter().map(|part| Value::from(part.as_str()));
        workspace.insert("members", Item::Value(members.collect::<Array>().into()));
    }
    let mut files = of_package(liten, FOLDER, root)?;
    for part in &parts {
        let folder = liten.join(part);
        files.extend(of_package(&folder, &format!("{FOLDER}/{part}"), manifest(&folder)?)?);
    }
    Ok(files)
}

fn of_package(
    folder: &Path,
    name: &str,
    mut manifest: DocumentMut,
) -> Result<Vec<(String, Vec<u8>)>, String> {
    strip(&mut manifest);
    let mut files = vec![(format!("{name}/Cargo.toml"), manifest.to_string().into_bytes())];
    for path in files_under(&folder.join("src"))? {
        let inside = relative(folder, &path);
        // Pictures are for readers of the repository, and hidden files are an editor's.
        if !inside.ends_with(".png") && !inside.contains("/.") {
            files.push((format!("{name}/{inside}"), read(&path)?));
        }
    }
    Ok(files)
}

fn manifest(folder: &Path) -> Result<DocumentMut, String> {
    let path = folder.join("Cargo.toml");
    let text = String::from_utf8(read(&path)?).map_err(|error| error.to_string());
    let parsed =
        text.and_then(|text| text.parse().map_err(|error: toml_edit::TomlError| error.to_string()));
    parsed.map_err(|error| format!("{}: {error}", path.display()))
}

/// The paths of the packages that a library depends on by path.
fn parts(manifest: &DocumentMut) -> Vec<String> {
    let of_targets = manifest.get("target").and_then(Item::as_table_like);
    let of_targets = of_targets.into_iter().flat_map(TableLike::iter);
    let tables = of_targets.filter_map(|(_, target)| target.get("dependencies"));
    let tables = manifest.get("dependencies").into_iter().chain(tables);
    let dependencies = tables.filter_map(Item::as_table_like).flat_map(TableLike::iter);
    let paths = dependencies.filter_map(|(_, one)| Some(one.get("path")?.as_str()?.to_owned()));
    paths.collect()
}

/// Takes out what names files that are not there, and what only tests, benches and examples ask for.
fn strip(manifest: &mut DocumentMut) {
    for key in ["bench", "example", "test", "bin", "dev-dependencies", "profile"] {
        manifest.remove(key);
    }
    if let Some(package) = manifest.get_mut("package").and_then(Item::as_table_like_mut) {
        package.remove("readme");
    }
    let Some(targets) = manifest.get_mut("target").and_then(Item::as_table_like_mut) else {
        return;
    };
    let names: Vec<String> = targets.iter().map(|(name, _)| name.to_owned()).collect();
    for name in names {
        let target = targets.get_mut(&name).and_then(Item::as_table_like_mut);
        let is_empty = target.is_some_and(|target| {
            target.remove("dev-dependencies");
            target.is_empty()
        });
        if is_empty {
            targets.remove(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::files;
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    #[test]
    fn the_library_comes_with_the_packages_that_it_needs_and_without_its_tests() {
        let folder = std::env::temp_dir().join(format!("liten-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().expect("it lies in a folder"))
                .expect("it can be made");
            fs::write(path, text).expect("the file can be written");
        };
        write(
            "Cargo.toml",
            "[package]\nname = \"it\" # A name.\nreadme = \"README.md\"\n\n[[bench]]\nname = \"fast\"\n\n\
             [workspace]\nmembers = [\"tests/alone\"]\nexclude = [\"x\"]\n\n[workspace.package]\n\
             edition = \"2024\"\n\n[dependencies]\none = { path = \"one\" }\nfar = \"1\"\n\n\
             [target.'cfg(unix)'.dependencies]\ntwo = { path = \"two\", optional = true }\n\n\
             [dev-dependencies]\nit = { path = \".\" }\n\n\
             [target.'cfg(loom)'.dev-dependencies]\nloom = \"1\"\n\n[profile.bench]\ndebug = true\n",
        );
        write("src/lib.rs", "mod deep;");
        write("src/deep/file.rs", "");
        write("src/picture.png", "");
        write("src/.file.swp", "");
        write("tests/it.rs", "");
        for part in ["one", "two", "tracing"] {
            write(&format!("{part}/Cargo.toml"), "[package]\nname = \"part\"\n");
            write(&format!("{part}/src/lib.rs"), part);
        }
        let files: BTreeMap<String, Vec<u8>> =
            files(&folder).expect("all is there").into_iter().collect();
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        let expected = [
            "liten/Cargo.toml",
            "liten/one/Cargo.toml",
            "liten/one/src/lib.rs",
            "liten/src/deep/file.rs",
            "liten/src/lib.rs",
            "liten/tracing/Cargo.toml",
            "liten/tracing/src/lib.rs",
            "liten/two/Cargo.toml",
            "liten/two/src/lib.rs",
        ];
        assert_eq!(names, expected);
        let manifest = String::from_utf8_lossy(&files["liten/Cargo.toml"]);
        let expected = "[package]\nname = \"it\" # A name.\n\n[workspace]\n\
            members = [\"one\", \"two\", \"tracing\"]\n\n\
            [workspace.package]\nedition = \"2024\"\n\n[dependencies]\none = { path = \"one\" }\n\
            far = \"1\"\n\n[target.'cfg(unix)'.dependencies]\n\
            two = { path = \"two\", optional = true }\n";
        assert_eq!(manifest, expected);
        fs::remove_dir_all(folder).expect("the folder goes away");
    }

    #[test]
    fn no_file_of_liten_names_a_place_outside_of_it() {
        let liten = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("it is there");
        let files: BTreeMap<String, Vec<u8>> =
            files(liten).expect("all is there").into_iter().collect();
        for (name, bytes) in &files {
            let text = String::from_utf8_lossy(bytes);
            assert!(!text.contains(&liten.display().to_string()), "{name}");
            // What depends on the library lies in it.
            let outside = if name == "liten/Cargo.toml" { "path = \".." } else { "path = \"../" };
            if name.ends_with("Cargo.toml") {
                assert!(!text.contains(outside), "{name}");
            }
        }
        for name in ["liten/src/lib.rs", "liten/tracing/src/lib.rs"] {
            assert!(files.contains_key(name), "{name}");
        }
    }
}
