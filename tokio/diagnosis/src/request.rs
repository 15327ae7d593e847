//! What the caller wants, from the arguments of the command.

use crate::project::Project;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

const USAGE: &str =
    "usage: bash tokio/doctor [--mend[=DIR] | --undo] [--dry-run] [FOLDER] [ARGUMENT OF CARGO...]
Says whether the tokio of the project in FOLDER is the package over liten, and if not, why. With --mend
it makes the changes that need no decision, and lays the package down in DIR, or else in tokio-on-liten
in the project. With --undo it puts back what --mend has changed. With --dry-run it only says what it
would change, for --mend if neither is given.";

/// What is to be done with a project.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Only to say what there is.
    Look,
    /// To bring the patch into effect. `place`: where the package lies or is to be laid down.
    Mend { place: Option<PathBuf> },
    /// To put back what was mended.
    Undo,
}

pub(crate) struct Request {
    pub(crate) order: Order,
    /// Whether nothing is to be changed.
    pub(crate) is_trial: bool,
    pub(crate) project: Project,
}

impl Request {
    pub(crate) fn parse(given: impl Iterator<Item = OsString>) -> Result<Self, String> {
        let (mut order, mut folder, mut arguments) = (Order::Look, None, Vec::new());
        let mut is_trial = false;
        for argument in given {
            let place = argument.to_str().and_then(|text| text.strip_prefix("--mend"));
            match (argument.to_str(), place) {
                (Some("--dry-run"), _) => is_trial = true,
                // It is one of the two.
                (Some("--undo"), _) if matches!(order, Order::Mend { .. }) => {
                    return Err(USAGE.to_owned());
                }
                (Some("--undo"), _) => order = Order::Undo,
                (_, Some(_)) if order == Order::Undo => return Err(USAGE.to_owned()),
                (_, Some("")) => order = Order::Mend { place: None },
                (_, Some(rest)) if rest.len() > 1 && rest.starts_with('=') => {
                    let home = env::var_os("HOME");
                    order = Order::Mend { place: Some(expanded(&rest[1..], home.as_deref())) };
                }
                (_, Some(_)) => return Err(USAGE.to_owned()),
                _ if folder.is_some() => arguments.push(argument),
                // Arguments of cargo have values that could not be told from a folder.
                _ if argument.to_string_lossy().starts_with('-') => return Err(USAGE.to_owned()),
                _ => folder = Some(PathBuf::from(argument)),
            }
        }
        if is_trial && order == Order::Look {
            order = Order::Mend { place: None };
        }
        refuse_other_files(&arguments)?;
        let folder = project_folder(&folder.unwrap_or_else(|| ".".into()))?;
        Ok(Self { order, is_trial, project: Project { folder, arguments } })
    }
}

/// Refuses what names the manifest or the lock file to cargo. The doctor puts back the lock file of the
/// project in FOLDER, and would not know that cargo writes another one.
fn refuse_other_files(arguments: &[OsString]) -> Result<(), String> {
    let names = |argument: &OsString, option: &str| {
        let rest = argument.to_str().and_then(|text| text.strip_prefix(option));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    for option in ["--manifest-path", "--lockfile-path"] {
        if arguments.iter().any(|argument| names(argument, option)) {
            return Err(format!(
                "FOLDER says which project is meant, so leave out `{option}`: name the folder of its \
                 Cargo.toml, in which or above which its lock file lies"
            ));
        }
    }
    Ok(())
}

/// Puts the home in for a tilde, which shells leave as it is behind an equals sign.
fn expanded(path: &str, home: Option<&OsStr>) -> PathBuf {
    match (path.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.into(),
        (Some(rest), Some(home)) if rest.starts_with('/') => {
            Path::new(home).join(rest.trim_start_matches('/'))
        }
        _ => path.into(),
    }
}

/// The folder without links in it, since cargo answers with such paths. The caller may name the manifest.
fn project_folder(named: &Path) -> Result<PathBuf, String> {
    let folder = match named.file_name() == Some(OsStr::new("Cargo.toml")) && named.is_file() {
        true => named.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new(".")),
        false => named,
    };
    let found = folder.canonicalize().ok().filter(|folder| folder.is_dir());
    found.ok_or_else(|| {
        let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        format!("there is no folder {}", absolute.display())
    })
}

#[cfg(test)]
mod tests {
    use super::{Order, Request, expanded};
    use std::ffi::{OsStr, OsString};
    use std::path::{Path, PathBuf};

    fn request(given: &[&str]) -> Result<Request, String> {
        Request::parse(given.iter().map(OsString::from))
    }

    #[test]
    fn the_option_stands_anywhere_and_the_rest_is_cargos() {
        let mend = |place: Option<&str>| Order::Mend { place: place.map(PathBuf::from) };
        for (given, order, arguments) in [
            (&[][..], Order::Look, &[][..]),
            (&["."], Order::Look, &[]),
            (&["--mend", "."], mend(None), &[]),
            (&["--mend=a b", ".", "--locked"], mend(Some("a b")), &["--locked"]),
            (&[".", "--locked", "--mend", "x"], mend(None), &["--locked", "x"]),
            (&["--dry-run"], mend(None), &[]),
            (&[".", "--undo", "--dry-run"], Order::Undo, &[]),
        ] {
            let request = request(given).expect("it is understood");
            assert_eq!(request.order, order, "{given:?}");
            assert_eq!(request.project.arguments, arguments, "{given:?}");
        }
    }

    #[test]
    fn what_is_not_understood_is_answered_with_the_usage() {
        for given in [
            &["--wend", "."][..],
            &["--help"],
            &["--mends"],
            &["--mend="],
            &["--mend", "--undo"],
            &["--undo", "--mend=x"],
        ] {
            let error = request(given).err().expect("it is no such option");
            assert!(error.starts_with("usage: "), "{error}");
        }
    }

    #[test]
    fn an_argument_that_names_other_files_of_the_project_is_refused() {
        for given in [
            &[".", "--manifest-path", "x/Cargo.toml"][..],
            &[".", "--manifest-path=x/Cargo.toml"],
            &["--mend", ".", "--locked", "--lockfile-path", "x/Cargo.lock"],
        ] {
            let error = request(given).err().expect("the project is named twice");
            assert!(error.contains("FOLDER") && error.contains("-path"), "{error}");
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_named_in_full_and_the_manifest_stands_for_its_own() {
        let error = request(&["not-there"]).err().expect("it is not there");
        assert!(error.ends_with("not-there") && error.contains("folder /"), "{error}");
        let project = request(&["Cargo.toml"]).expect("it is this package's").project;
        let here = std::env::current_dir().expect("there is one");
        assert_eq!(project.folder, here.canonicalize().expect("it is there"));
    }

    #[test]
    fn a_tilde_in_front_is_the_home() {
        let home = Some(OsStr::new("/home/it"));
        assert_eq!(expanded("~", home), Path::new("/home/it"));
        assert_eq!(expanded("~/a ~b", home), Path::new("/home/it/a ~b"));
        assert_eq!(expanded("a/~", home), Path::new("a/~"));
        assert_eq!(expanded("~other/a", home), Path::new("~other/a"));
        assert_eq!(expanded("~/a", None), Path::new("~/a"));
    }
}
