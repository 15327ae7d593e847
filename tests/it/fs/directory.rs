//! Directories: made, listed, removed.

use super::{Folder, occupy, pool, run, same_error};
use crate::support::guard::guarded;
use crate::support::loopback::poll_once;
use liten::fs;
use liten::future::StreamExt;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::pin::pin;

#[test]
fn directories_are_made_and_removed() {
    run(|| async {
        let folder = Folder::new();
        let (a, deep) = (folder.join("a"), folder.join("x/y/z"));
        fs::create_dir(&a).await.unwrap();
        assert!(a.is_dir());
        fs::create_dir_all(&deep).await.unwrap();
        fs::create_dir_all(&deep).await.unwrap();
        fs::DirBuilder::new().recursive(true).create(folder.join("p/q")).await.unwrap();
        assert!(folder.join("p/q").is_dir());
        std::fs::write(deep.join("file"), "").unwrap();

        let x = folder.join("x");
        same_error(fs::create_dir(&a).await, std::fs::create_dir(&a));
        same_error(
            fs::create_dir(folder.join("m/n")).await,
            std::fs::create_dir(folder.join("m/n")),
        );
        let file = deep.join("file");
        same_error(fs::create_dir_all(&file).await, std::fs::create_dir_all(&file));
        let built = fs::DirBuilder::new().create(&a).await;
        assert_eq!(built.unwrap_err().kind(), ErrorKind::AlreadyExists);
        same_error(fs::remove_dir(&x).await, std::fs::remove_dir(&x));
        same_error(fs::remove_dir(&file).await, std::fs::remove_dir(&file));

        fs::remove_dir(&a).await.unwrap();
        assert!(!a.exists());
        fs::remove_dir_all(&x).await.unwrap();
        assert!(!x.exists());
        same_error(fs::remove_dir_all(&x).await, std::fs::remove_dir_all(&x));
    });
}

#[cfg(unix)]
#[test]
fn a_directory_is_made_with_a_mode() {
    use std::os::unix::fs::PermissionsExt;
    run(|| async {
        let folder = Folder::new();
        let path = folder.join("a");
        fs::DirBuilder::new().mode(0o700).create(&path).await.unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    });
}

/// Several portions, and the ends of portions.
#[test]
fn every_entry_is_listed_once() {
    run(|| async {
        for count in [0, 1, 31, 32, 33, 64, 100] {
            let folder = Folder::new();
            let names: BTreeSet<OsString> = (0..count).map(|n| format!("{n}").into()).collect();
            for name in &names {
                std::fs::write(folder.join(name), "12").unwrap();
            }
            let mut entries = fs::read_dir(&folder.0).await.unwrap();
            let mut seen = BTreeSet::new();
            while let Some(entry) = entries.next_entry().await.unwrap() {
                assert_eq!(entry.path(), folder.join(entry.file_name()));
                assert!(entry.file_type().await.unwrap().is_file());
                assert_eq!(entry.metadata().await.unwrap().len(), 2);
                assert!(seen.insert(entry.file_name()));
            }
            assert_eq!(seen, names);
            assert!(entries.next_entry().await.unwrap().is_none(), "the end stays the end");

            let stream = fs::read_dir(&folder.0).await.unwrap();
            let streamed: BTreeSet<_> =
                stream.map(|entry| entry.unwrap().file_name()).collect().await;
            assert_eq!(streamed, names);
        }
    });
}

#[test]
fn what_cannot_be_listed_is_an_error() {
    run(|| async {
        let folder = Folder::new();
        for path in [folder.join("missing"), folder.file("file", "")] {
            same_error(fs::read_dir(&path).await.map(drop), std::fs::read_dir(&path).map(drop));
        }
    });
}

/// Windows tells it with the name.
#[cfg(unix)]
#[test]
fn what_is_removed_meanwhile_has_no_metadata() {
    run(|| async {
        let folder = Folder::new();
        let path = folder.file("goes", "");
        let mut entries = fs::read_dir(&folder.0).await.unwrap();
        std::fs::remove_file(&path).unwrap();
        let entry = entries.next_entry().await.unwrap().unwrap();
        assert_eq!(entry.metadata().await.unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[cfg(unix)]
#[test]
fn entries_tell_what_they_are_without_following() {
    use std::os::unix::fs::MetadataExt;
    run(|| async {
        let folder = Folder::new();
        fs::symlink("nowhere", folder.join("link")).await.unwrap();
        let entry = fs::read_dir(&folder.0).await.unwrap().next_entry().await.unwrap().unwrap();
        assert!(entry.file_type().await.unwrap().is_symlink());
        let metadata = entry.metadata().await.unwrap();
        assert!(metadata.is_symlink());
        assert_eq!(entry.ino(), metadata.ino());
    });
}

#[test]
fn giving_up_on_an_entry_loses_none() {
    guarded(|| {
        let runtime = pool(1);
        let folder = Folder::new();
        for name in 0..40 {
            folder.file(&name.to_string(), "");
        }
        let mut entries = runtime.block_on(fs::read_dir(&folder.0)).unwrap();
        let mut seen = 0;
        let release = runtime.block_on(async {
            while seen < 32 {
                assert!(entries.next_entry().await.unwrap().is_some());
                seen += 1;
            }
            let release = occupy(&runtime);
            let mut next = pin!(entries.next_entry());
            assert!(poll_once(&mut next).await.is_none());
            release
        });
        drop(release);
        runtime.block_on(async {
            while poll_fn(|cx| entries.poll_next_entry(cx)).await.unwrap().is_some() {
                seen += 1;
            }
        });
        assert_eq!(seen, 40);
    });
}

#[test]
fn a_list_ends_with_its_runtime_and_says_so() {
    guarded(|| {
        let folder = Folder::new();
        for name in 0..40 {
            folder.file(&name.to_string(), "");
        }
        for queued in [false, true] {
            let (runtime, other) = (pool(1), pool(1));
            let mut entries = runtime.block_on(fs::read_dir(&folder.0)).unwrap();
            let (release, handle) = (occupy(&runtime), runtime.handle().clone());
            runtime.block_on(async {
                for _ in 0..32 {
                    assert!(entries.next_entry().await.unwrap().is_some());
                }
                if queued {
                    let mut next = pin!(entries.next_entry());
                    assert!(poll_once(&mut next).await.is_none());
                }
            });
            runtime.shutdown_background();
            drop(release);
            let error = other.block_on(async {
                let _entered = handle.enter();
                entries.next_entry().await.unwrap_err()
            });
            assert_eq!(error.to_string(), "not done: the runtime is shutting down");
            assert!(other.block_on(entries.next_entry()).unwrap().is_none());
        }
    });
}
