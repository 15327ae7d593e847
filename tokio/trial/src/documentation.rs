//! The documentation tests of tokio, tokio-util and tokio-stream: one binary with those that compile.
//!
//! rustdoc would compile each of them by itself, a thousand on each side, and it can test a crate's
//! documentation with that crate alone, not with another one in its place. So they are taken out of the
//! sources here, by rustdoc's rules, each a file and a module. What is lost: examples that are built by
//! macros, and those that must not compile.

use crate::cargo;
use crate::suite::{self, Compiled, Program, Suite};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The packages whose documentation is tested.
const PACKAGES: [&str; 3] = ["tokio", "tokio-util", "tokio-stream"];

/// What the examples name.
const MANIFEST: &str = r#"[dependencies]
tokio = { version = "RELEASE", features = ["full", "test-util"] }
tokio-util = { version = "0.7", features = ["full"] }
tokio-stream = { version = "0.1", features = ["full"] }

[dev-dependencies]
async-stream = "0.3"
bytes = "1.2.1"
futures = "0.3"
futures-util = "0.3"
libc = "0.2.168"
socket2 = { version = "0.6", features = ["all"] }
tempfile = "3"
tokio-test = "0.4"

[profile.dev]
debug = 0
incremental = false
"#;

/// The root of the binary: what the `main` of an example may return.
const ROOT: &str = "\
pub trait Ends {
    fn end(self);
}

impl Ends for () {
    fn end(self) {}
}

impl<E: std::fmt::Debug> Ends for Result<(), E> {
    fn end(self) {
        self.unwrap()
    }
}

";

impl Suite {
    /// Builds the examples of the packages' documentation in `folder`, with the package in `face` in place of
    /// tokio if there is one. With a choice, those of some packages. `release`: of which tokio.
    pub(crate) fn of_documentation(
        folder: &Path,
        face: Option<&Path>,
        release: &str,
        wanted: &[String],
    ) -> Result<Self, String> {
        let name = if face.is_some() { "liten" } else { "tokio" };
        let named = |error: io::Error| format!("{}: {error}", folder.display());
        suite::begin(folder, &suite::manifest(MANIFEST, release, face)).map_err(named)?;
        let examples = folder.join("examples");
        _ = fs::remove_dir_all(&examples);
        fs::create_dir_all(&examples).map_err(named)?;
        for (package, source) in sources(folder, face)? {
            if wanted.is_empty() || wanted.contains(&package) {
                write_examples(&package, &source, &examples).map_err(named)?;
            }
        }
        let mut broken = BTreeSet::new();
        loop {
            fs::write(folder.join("all.rs"), root(&examples, &broken).map_err(named)?)
                .map_err(named)?;
            match suite::compile(folder, &examples, false)? {
                Compiled::Binary(binary) => {
                    let programs = vec![Program { binary, prefix: String::new() }];
                    let broken = broken.iter().map(|name: &String| name.replace("__", "::"));
                    let broken = broken.map(|name| name + "::example").collect();
                    return Ok(Self { name, programs, folder: folder.to_owned(), broken });
                }
                Compiled::Errors(found) => broken.extend(found),
            }
        }
    }
}

/// The packages and where their sources lie: tokio's are the real one's, whatever the examples run on.
fn sources(folder: &Path, face: Option<&Path>) -> Result<Vec<(String, PathBuf)>, String> {
    let real = if face.is_some() { folder.with_file_name("real") } else { folder.to_owned() };
    let chosen = cargo::chosen(&real)?;
    let sources = PACKAGES.iter().map(|package| {
        let found = chosen.iter().find(|(name, _)| name == package);
        let (name, place) = found.ok_or(format!("cargo has not chosen {package}"))?;
        Ok((name.clone(), place.join("src")))
    });
    sources.collect()
}

/// The root's text: a module for each package, with one for each example that compiles.
fn root(examples: &Path, broken: &BTreeSet<String>) -> io::Result<String> {
    let mut modules = BTreeSet::new();
    for entry in examples.read_dir()? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        if !broken.contains(&name) {
            modules.insert((name, path));
        }
    }
    let mut text = ROOT.to_owned();
    for package in PACKAGES.map(module) {
        text += &format!("mod {package} {{\n");
        for (name, path) in &modules {
            if let Some(example) = name.strip_prefix(&format!("{package}__")) {
                text += &format!("#[path = {:?}]\nmod {example};\n", path.display().to_string());
            }
        }
        text += "}\n";
    }
    Ok(text)
}

/// The name of the module of a package. The package's own name means the package in examples.
fn module(package: &str) -> String {
    format!("of_{}", package.replace('-', "_"))
}

fn write_examples(package: &str, source: &Path, to: &Path) -> io::Result<()> {
    let mut folders = vec![source.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir()? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let inside = path.strip_prefix(source).unwrap_or(&path).with_extension("");
                let inside = inside.display().to_string().replace(['/', '\\'], "_");
                for example in examples(&fs::read_to_string(&path)?) {
                    let name = format!("{}__{inside}_{}.rs", module(package), example.line);
                    fs::write(to.join(name), example.text())?;
                }
            }
        }
    }
    Ok(())
}

/// An example in a doc comment.
#[derive(Debug, PartialEq, Eq)]
struct Example {
    /// Where it begins.
    line: usize,
    code: String,
    runs: bool,
    should_panic: bool,
}

/// The examples in the doc comments of a source file.
fn examples(source: &str) -> Vec<Example> {
    let mut examples = Vec::new();
    // The one that is being read, and whether it is to be tested.
    let mut open: Option<(Example, bool)> = None;
    for (number, line) in source.lines().enumerate() {
        let line = line.trim_start();
        let Some(text) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            open = None;
            continue;
        };
        let text = text.strip_prefix(' ').unwrap_or(text);
        match (text.trim_start().strip_prefix("```"), open.take()) {
            (Some(_), Some((example, is_test))) => examples.extend(is_test.then_some(example)),
            (Some(words), None) => open = Some(opened(number + 1, words)),
            (None, Some((mut example, is_test))) => {
                example.code += shown(text);
                example.code.push('\n');
                open = Some((example, is_test));
            }
            (None, None) => {}
        }
    }
    examples
}

/// An example that begins, and whether it is Rust that has to compile.
fn opened(line: usize, words: &str) -> (Example, bool) {
    let words: Vec<&str> = words.split([',', ' ']).filter(|word| !word.is_empty()).collect();
    let is_known = |word: &&str| {
        let begins = |with: &str| word.starts_with(with);
        ["rust", "no_run", "should_panic"].contains(word) || begins("edition") || begins("ignore-")
    };
    let has = |word| words.contains(&word);
    let (runs, should_panic) = (!has("no_run"), has("should_panic"));
    (Example { line, code: String::new(), runs, should_panic }, words.iter().all(is_known))
}

/// A line without the mark that hides it from readers.
fn shown(line: &str) -> &str {
    let trimmed = line.trim_start();
    match trimmed.strip_prefix('#') {
        Some("") => "",
        Some(rest) if rest.starts_with('#') => rest,
        Some(rest) if rest.starts_with(' ') => rest,
        _ => line,
    }
}

impl Example {
    /// The text of its module.
    fn text(&self) -> String {
        // What is for the whole crate has no meaning for a part of one.
        let lines = self.code.lines().filter(|line| !line.trim_start().starts_with("#!["));
        let code: String = lines.flat_map(|line| [line, "\n"]).collect();
        let code = if code.contains("fn main(") {
            code
        } else if code.trim_end().ends_with("(())") {
            format!("fn main() -> Result<(), impl std::fmt::Debug> {{\n{code}}}\n")
        } else {
            format!("fn main() {{\n{code}}}\n")
        };
        let attribute = if self.should_panic { "#[should_panic]\n" } else { "" };
        let call = if self.runs { "crate::Ends::end(main());" } else { "let _ = main;" };
        format!("#![allow(warnings)]\n{code}\n#[test]\n{attribute}fn example() {{ {call} }}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::{Example, examples, shown};

    fn code(source: &str) -> Vec<String> {
        examples(source).into_iter().map(|example| example.code).collect()
    }

    #[test]
    fn an_example_is_what_stands_between_the_marks_in_a_doc_comment() {
        assert_eq!(code("/// ```\n/// f();\n/// ```\nfn f() {}\n"), ["f();\n"]);
        assert_eq!(code("//! ```rust\n//! a\n//! # b\n//! ```\n"), ["a\n b\n"]);
        assert_eq!(code("// ```\n// f();\n// ```\n"), [""; 0]);
        assert_eq!(code("/// ```\n/// f();\nfn f() {}\n/// ```\n/// g();\n"), [""; 0]);
    }

    #[test]
    fn what_is_no_rust_or_must_not_compile_is_left_out() {
        for words in ["text", "ignore", "compile_fail", "console", "rust,ignore"] {
            assert_eq!(code(&format!("/// ```{words}\n/// a\n/// ```\n")), [""; 0], "{words}");
        }
        let of = |words| examples(&format!("/// ```{words}\n/// ```\n")).remove(0);
        assert!(!of("no_run").runs && of("should_panic").should_panic && of("ignore-wasm").runs);
    }

    #[test]
    fn a_hidden_line_is_read_without_its_mark() {
        assert_eq!(["# a", "#", "## b", "#[c]"].map(shown), [" a", "", "# b", "#[c]"]);
    }

    #[test]
    fn an_example_without_a_main_gets_one() {
        let text = |code: &str| {
            Example { line: 1, code: code.into(), runs: true, should_panic: false }.text()
        };
        assert!(text("f();\n").contains("fn main() {\nf();\n}"));
        assert!(text("f()?;\nOk::<(), ()>(())\n").contains("fn main() -> Result<(), impl"));
        assert!(!text("fn main() {}\n").contains("fn main() {\nfn"));
    }
}
