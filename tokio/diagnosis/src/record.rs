//! What a mend has changed, written down beside the manifest before it is changed. From it `--undo` restores
//! the files to the byte. A mend that was killed, or cut off by a crash of the machine, leaves one that is
//! not finished, and the next run puts the project back from it.

use crate::kept::{name_beside, replace};
use packer::checksum;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

/// The file, in the root of the workspace.
pub(crate) const NAME: &str = "tokio-on-liten.undo";
const ABOUT: &str = "What `bash tokio/doctor --mend` of liten has changed in this project. With `--undo` in \
    place of `--mend` it puts that back and removes this file.";

/// A file that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// `None`: there was no file.
    pub(crate) before: Option<String>,
    /// The checksum of what the mend has made of it. `None`: there was no file after it.
    after: Option<String>,
}

impl Entry {
    /// Whether a file is as the mend has left it.
    pub(crate) fn is_after(&self, now: Option<&str>) -> bool {
        now.map(|text| checksum(text.as_bytes())) == self.after
    }

    /// Whether a person has changed it between two mends.
    pub(crate) fn is_lost(&self) -> bool {
        self.after.as_deref() == Some(LOST)
    }

    /// Whether there was a file neither before the mend nor after it.
    pub(crate) fn was_never_there(&self) -> bool {
        self.before.is_none() && self.after.is_none()
    }
}

/// In place of the checksum of a file that a person has changed between two mends.
const LOST: &str = "changed between two mends";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    root: PathBuf,
    is_finished: bool,
    /// The doctor that writes it, or has written it.
    process: u32,
    /// By their names in the root.
    files: BTreeMap<String, Entry>,
    /// Those that the package was laid down in and that were not there. Each is named from the root.
    folders: BTreeSet<String>,
}

impl Record {
    pub(crate) fn new(root: &Path) -> Self {
        let (files, folders) = (BTreeMap::new(), BTreeSet::new());
        let process = process::id();
        Self { root: root.to_owned(), is_finished: false, process, files, folders }
    }

    /// Reads the record in a folder, if there is one.
    pub(crate) fn in_folder(root: &Path) -> Result<Option<Self>, String> {
        let path = root.join(NAME);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        let record = serde_json::from_str(&text).ok().and_then(|value| Self::of(root, &value));
        let why = || {
            format!(
                "{} is not what the doctor has written: restore it, or remove it, and take the patch of \
                 tokio out of Cargo.toml by hand",
                path.display()
            )
        };
        record.map(Some).ok_or_else(why)
    }

    fn of(root: &Path, value: &Value) -> Option<Self> {
        let text = |value: &Value| match value {
            Value::Null => Some(None),
            value => Some(Some(value.as_str()?.to_owned())),
        };
        let file = |(name, file): (&String, &Value)| {
            let entry = Entry { before: text(&file["before"])?, after: text(&file["after"])? };
            // No file outside of the project is ever named.
            let is_name = !name.is_empty() && !name.contains(['/', '\\']) && name != "..";
            is_name.then(|| (name.clone(), entry))
        };
        let files = value["files"].as_object()?.iter().map(file).collect::<Option<_>>()?;
        let folders = value["folders"].as_array()?.iter();
        Some(Self {
            root: root.to_owned(),
            is_finished: value["finished"].as_bool()?,
            process: value["process"].as_u64()?.try_into().ok()?,
            files,
            folders: folders.map(|one| Some(one.as_str()?.to_owned())).collect::<Option<_>>()?,
        })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.root.join(NAME)
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.is_finished
    }

    pub(crate) fn file(&self, name: &str) -> Option<&Entry> {
        self.files.get(name)
    }

    pub(crate) fn folders(&self) -> impl Iterator<Item = &str> {
        self.folders.iter().map(String::as_str)
    }

    /// Removes what the doctor that was killed had written beside the files and not yet put in their place.
    pub(crate) fn remove_half_written(&self) {
        for name in [NAME, "Cargo.toml", "Cargo.lock"] {
            // As a rule there is none.
            let _ = fs::remove_file(self.root.join(name_beside(name, self.process)));
        }
    }

    /// An error if another doctor that still runs is at work on the project.
    pub(crate) fn refuse_another(&self) -> Result<(), String> {
        if self.is_finished || self.process == process::id() || !is_running(self.process) {
            return Ok(());
        }
        Err(format!(
            "process {} is changing this project: wait for its end, and run this again. If that is not a \
             doctor of liten, write 0 in place of its number in {}",
            self.process,
            self.path().display()
        ))
    }

    /// Notes that a file changes from one text to another. What it was before the first mend stays noted. If
    /// a person has changed it since, it is not to be put back as it was.
    pub(crate) fn note_file(&mut self, name: &str, before: Option<&str>, after: Option<&str>) {
        let after = after.map(|text| checksum(text.as_bytes()));
        match self.files.get_mut(name) {
            Some(entry) if entry.is_after(before) => entry.after = after,
            Some(entry) => entry.after = Some(LOST.to_owned()),
            None => {
                let before = before.map(ToOwned::to_owned);
                self.files.insert(name.to_owned(), Entry { before, after });
            }
        }
    }

    pub(crate) fn note_folder(&mut self, name: String) {
        self.folders.insert(name);
    }

    /// Writes the record in one step, as that of changes that are under way or made to the end.
    pub(crate) fn save(&mut self, is_finished: bool) -> Result<(), String> {
        (self.is_finished, self.process) = (is_finished, process::id());
        let file = |(name, entry): (&String, &Entry)| {
            (name.clone(), json!({ "before": entry.before, "after": entry.after }))
        };
        let value = json!({
            "about": ABOUT,
            "finished": self.is_finished,
            "process": self.process,
            "folders": self.folders,
            "files": self.files.iter().map(file).collect::<Map<_, _>>(),
        });
        let text = format!("{value:#}\n");
        replace(&self.path(), text.as_bytes())
            .map_err(|error| format!("{}: {error}", self.path().display()))
    }
}

/// Where that cannot be asked, it counts as one that has ended.
fn is_running(process: u32) -> bool {
    // To process 0 the question would go to the caller's own group.
    let ask = || Command::new("kill").args(["-0", &process.to_string()]).output();
    cfg!(unix) && process != 0 && ask().is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::{NAME, Record};
    use std::fs;
    use std::path::PathBuf;

    fn folder(of: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("record-{of}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder can be made");
        folder
    }

    #[test]
    fn what_was_written_is_read() {
        let folder = folder("read");
        assert_eq!(Record::in_folder(&folder), Ok(None));
        let mut record = Record::new(&folder);
        record.note_file("Cargo.toml", Some("a\r\n\"b\""), Some("c"));
        record.note_file("Cargo.lock", None, None);
        record.note_folder("../x".to_owned());
        for is_finished in [false, true] {
            record.save(is_finished).expect("it can be written");
            assert_eq!(Record::in_folder(&folder), Ok(Some(record.clone())));
        }
        let manifest = record.file("Cargo.toml").expect("it was noted");
        assert_eq!(manifest.before.as_deref(), Some("a\r\n\"b\""));
        assert!(manifest.is_after(Some("c")) && !manifest.is_after(None));
        assert!(record.file("Cargo.lock").is_some_and(super::Entry::was_never_there));
        fs::remove_dir_all(folder).expect("the folder goes away");
    }

    #[test]
    fn what_is_no_record_is_an_error_that_names_it() {
        let folder = folder("bad");
        let files = r#""files": {"../x": {"before": "b"}}"#;
        let outside = &format!(r#"{{"finished": true, "process": 1, "folders": [], {files}}}"#);
        for text in ["", "{}", "{\"files\": 1}", outside] {
            fs::write(folder.join(NAME), text).expect("the file can be written");
            let error = Record::in_folder(&folder).expect_err("it is none");
            assert!(error.contains(NAME), "{error}");
        }
        fs::remove_dir_all(folder).expect("the folder goes away");
    }

    #[test]
    fn the_text_before_the_first_mend_stays_unless_a_person_has_changed_the_file() {
        let folder = folder("twice");
        let mut record = Record::new(&folder);
        record.note_file("Cargo.lock", Some("1"), Some("2"));
        record.save(true).expect("it can be written");
        record.note_file("Cargo.lock", Some("2"), Some("3"));
        let lock = |record: &Record| record.file("Cargo.lock").cloned().expect("it was noted");
        assert!(lock(&record).before.as_deref() == Some("1") && lock(&record).is_after(Some("3")));
        record.note_file("Cargo.lock", Some("a person's"), Some("4"));
        assert!(lock(&record).is_lost());
        fs::remove_dir_all(folder).expect("the folder goes away");
    }

    #[cfg(unix)]
    #[test]
    fn the_record_of_a_doctor_that_runs_is_left_to_it() {
        use super::is_running;
        let folder = folder("runs");
        let mut record = Record::new(&folder);
        record.save(false).expect("it can be written");
        assert_eq!(record.refuse_another(), Ok(()));
        let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("it starts");
        record.process = child.id();
        let error = record.refuse_another().expect_err("it runs");
        assert!(error.contains(&child.id().to_string()), "{error}");
        child.kill().and_then(|()| child.wait()).expect("it ends");
        assert_eq!(record.refuse_another(), Ok(()));
        assert!(!is_running(0));
        fs::remove_dir_all(folder).expect("the folder goes away");
    }
}
