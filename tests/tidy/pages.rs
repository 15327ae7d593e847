//! Pages for readers name source files; the files exist.

use std::fs::read_to_string;
use std::path::Path;

/// The pages that lead a reader through the sources.
const PAGES: &[&str] =
    &["README.md", "benches/README.md", ".github/CONTRIBUTING.md", "src/guide/inside.rs"];

/// The source files that `text` names, each in backquotes.
fn files(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|name| name.starts_with("src/") && name.ends_with(".rs"))
}

#[test]
fn the_source_files_that_pages_name_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for page in PAGES {
        // The published package leaves some of them out.
        let Ok(text) = read_to_string(root.join(page)) else { continue };
        for file in files(&text) {
            assert!(root.join(file).exists(), "{page} names {file}, which does not exist");
        }
    }
}

#[test]
fn a_file_is_named_in_backquotes() {
    let text = "see `src/lib.rs` and `src/a/b.rs`, not src/c.rs, `src/d` or `tests/e.rs`";
    assert!(files(text).eq(["src/lib.rs", "src/a/b.rs"]));
}

/// The pictures that `text` shows.
fn pictures(text: &str) -> impl Iterator<Item = &str> {
    let shown = text.split("![").skip(1).filter_map(|rest| rest.split_once("]("));
    shown.filter_map(|(_, rest)| rest.split_once(')')).map(|(file, _)| file)
}

/// The README of the published package shows them too.
#[test]
fn the_pictures_of_the_readme_are_in_the_package() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = read_to_string(root.join("README.md")).unwrap();
    let excluded = |file: &str| [".ci/", ".github/"].iter().any(|folder| file.starts_with(folder));
    let shown: Vec<_> = pictures(&text).collect();
    assert!(!shown.is_empty());
    for file in shown {
        assert!(root.join(file).exists() && !excluded(file), "{file} is not packaged");
    }
}
