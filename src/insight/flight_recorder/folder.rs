//! The files of the snapshots: so many, each so large, with names that say the time, the process and the
//! reason.
//!
//! A file is written under a name that ends in `.partial`, and is renamed when it is complete. A reader that
//! looks for `.json` therefore finds whole files only, and a program that ends meanwhile leaves a file that
//! counts and is removed as the others are. All files in the folder with such names count, whichever process
//! has written them: a program that panics at its start, is started again and panics again must not fill the
//! disk.

use super::date::date;
use super::snapshot::Kind;
use crate::insight::trace::Trace;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;
// std's, as no model has one that lives in a static.
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

const PREFIX: &str = "liten-";
const WHOLE: &str = ".json";
const PARTIAL: &str = ".partial";

/// Of all recorders of the process, so that no two files have one name.
static NUMBER: AtomicU64 = AtomicU64::new(0);

pub(super) struct Folder {
    path: PathBuf,
    max_files: usize,
    max_file_size: u64,
}

impl Folder {
    /// Makes the folder if it is not there.
    pub(super) fn open(path: PathBuf, max_files: usize, max_file_size: u64) -> io::Result<Self> {
        fs::create_dir_all(&path)?;
        Ok(Self { path, max_files, max_file_size })
    }

    /// Writes a file, and removes another one if there would be too many.
    pub(super) fn keep(&self, trace: &Trace, kind: Kind, at: SystemTime) -> io::Result<PathBuf> {
        // Something may have tidied it away.
        fs::create_dir_all(&self.path)?;
        self.make_room()?;
        // Ordering: Relaxed, a number only.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let (date, process, word) = (date(at), process::id(), kind.word());
        let name = format!("{PREFIX}{date}-{process}-{number}-{word}");
        let partial = self.path.join(format!("{name}{PARTIAL}"));
        let whole = self.path.join(format!("{name}{WHOLE}"));
        let kept = self.write(trace, &partial).and_then(|()| fs::rename(&partial, &whole));
        if let Err(error) = kept {
            // What is left of it would count.
            _ = fs::remove_file(&partial);
            return Err(error);
        }
        Ok(whole)
    }

    /// Writes the trace, or as much of its end as the file may have.
    fn write(&self, trace: &Trace, path: &Path) -> io::Result<()> {
        let mut newer = None;
        loop {
            let trace = newer.as_ref().unwrap_or(trace);
            let mut out = Limited { out: create(path)?, left: self.max_file_size, is_full: false };
            let mut buffer = BufWriter::new(&mut out);
            let written = trace.write_chrome_json(&mut buffer).and_then(|()| buffer.flush());
            drop(buffer);
            if !out.is_full {
                return written;
            }
            fs::remove_file(path)?;
            match trace.newer_half() {
                Some(half) => newer = Some(half),
                None => return written,
            }
        }
    }

    /// Leaves room for one file.
    fn make_room(&self) -> io::Result<()> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            names.extend(entry?.file_name().into_string().ok().and_then(Name::of));
        }
        while names.len() >= self.max_files {
            let oldest = names.swap_remove(one_too_many(&names));
            match fs::remove_file(self.path.join(oldest.text)) {
                // Another process has removed it.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                result => result?,
            }
        }
        Ok(())
    }
}

/// A new file, which no other user may read.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Neither a file of another process nor what a link leads to is written over.
    options.write(true).create_new(true);
    #[cfg(unix)]
    options.mode(0o600);
    options.open(path)
}

/// The name of a file that some recorder has written, or is about to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Name {
    /// It begins with the date.
    text: String,
    kind: Kind,
}

impl Name {
    fn of(text: String) -> Option<Self> {
        let name = text.strip_prefix(PREFIX)?;
        let name = name.strip_suffix(WHOLE).or_else(|| name.strip_suffix(PARTIAL))?;
        let mut parts = name.split('-');
        let (date, process, number) = (parts.next()?, parts.next()?, parts.next()?);
        let word = parts.next().filter(|_| parts.next().is_none())?;
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let is_date = date.len() >= 20 && date.starts_with(|c: char| c.is_ascii_digit());
        let kind = Kind::ALL.into_iter().find(|kind| kind.word() == word)?;
        let is_ours = is_date && date.ends_with('Z') && is_number(process) && is_number(number);
        is_ours.then_some(Self { text, kind })
    }
}

/// Which file is removed: the oldest of the kind that has the most. So what happens all the time does not
/// remove what has happened once.
fn one_too_many(names: &[Name]) -> usize {
    let count = |kind| names.iter().filter(|name| name.kind == kind).count();
    let most = Kind::ALL.into_iter().map(count).max();
    let of_most = (0..names.len()).filter(|&index| Some(count(names[index].kind)) == most);
    of_most.min_by_key(|&index| &names[index].text).unwrap_or(0)
}

/// Takes a limited number of bytes, and is full then.
struct Limited {
    out: File,
    left: u64,
    is_full: bool,
}

impl Write for &mut Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            self.is_full = true;
            return Err(io::Error::other("the trace is larger than max_file_size"));
        }
        let written = self.out.write(bytes)?;
        self.left -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(texts: &[&str]) -> Vec<Name> {
        texts.iter().map(|&text| Name::of(text.to_owned()).unwrap()).collect()
    }

    #[test]
    fn files_of_others_have_other_names() {
        let ours = "liten-20261125T013015.123Z-4242-0-slow_poll.json";
        let name = Name::of(ours.to_owned()).unwrap();
        assert_eq!((name.text.as_str(), name.kind), (ours, Kind::SlowPoll));
        assert!(Name::of(ours.replace("json", "partial")).is_some());
        for (from, to) in [
            ("liten", "tokio"),
            (".json", ".txt"),
            ("-4242", "-x"),
            ("-4242", "-"),
            ("-0-", "-0-0-"),
            ("slow_poll", "slow"),
            ("20261125T", "notes"),
            ("123Z", "123"),
        ] {
            assert_eq!(Name::of(ours.replace(from, to)), None, "{from} -> {to}");
        }
    }

    #[test]
    fn the_oldest_of_the_kind_that_has_the_most_goes() {
        let oldest = |texts: &[&str]| one_too_many(&names(texts));
        let [early, middle, late] =
            ["20261125T013015.123Z", "20261125T013015.124Z", "20261201T000000.000Z"];
        let name = |date, kind| format!("liten-{date}-1-0-{kind}.json");
        let [panic, slow, slower] =
            [name(early, "panic"), name(late, "slow_poll"), name(middle, "slow_poll")];
        assert_eq!(oldest(&[&panic, &slow, &slower]), 2);
        assert_eq!(oldest(&[&slow, &panic]), 1, "each kind has one");
        assert_eq!(oldest(&[&slow]), 0);
    }
}
