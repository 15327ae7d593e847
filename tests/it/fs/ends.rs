//! Files and the end of their runtime; many files at once.

use super::{Folder, occupy, pool};
use crate::support::guard::{guarded, until};
use crate::support::loopback::{pattern, poll_once};
use liten::fs::{self, File};
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::runtime::LocalRuntime;
use std::pin::pin;

const ENDED: &str = "not done: the runtime is shutting down";

#[test]
fn after_a_flush_nothing_is_lost_whatever_ends() {
    guarded(|| {
        let content = pattern(100_000);
        for round in 0..20 {
            let (runtime, folder) = (pool(2), Folder::new());
            let path = folder.join("file");
            runtime.block_on(async {
                let mut file = File::create(&path).await.unwrap();
                file.write_all(&content).await.unwrap();
                file.flush().await.unwrap();
            });
            if round % 2 == 0 {
                runtime.shutdown_background();
            } else {
                drop(runtime);
            }
            assert!(std::fs::read(&path).unwrap() == content);
        }
    });
}

/// The write waits in the queue of the pool when the file and then the runtime are dropped.
#[test]
fn a_write_that_was_accepted_is_made_although_file_and_runtime_are_dropped() {
    guarded(|| {
        for background in [false, true] {
            let (runtime, folder) = (pool(1), Folder::new());
            let path = folder.join("file");
            let mut file = runtime.block_on(File::create(&path)).unwrap();
            let release = occupy(&runtime);
            let text = b"accepted";
            assert_eq!(runtime.block_on(file.write(text)).unwrap(), text.len());
            drop(file);
            assert_eq!(std::fs::read(&path).unwrap(), b"", "it is queued");
            if background {
                runtime.shutdown_background();
                drop(release);
                until(|| std::fs::read(&path).unwrap() == text);
            } else {
                // Tasks are dropped after the pool has been closed.
                runtime.spawn(async move {
                    std::future::pending::<()>().await;
                    drop(release);
                });
                drop(runtime);
                assert_eq!(std::fs::read(&path).unwrap(), text, "the end waits for it");
            }
        }
    });
}

#[test]
fn after_the_end_every_call_is_an_error() {
    guarded(|| {
        let (runtime, other, folder) = (pool(1), pool(1), Folder::new());
        let path = folder.file("file", "0123456789");
        let mut file =
            runtime.block_on(File::options().read(true).write(true).open(&path)).unwrap();
        let handle = runtime.handle().clone();
        drop(runtime);
        other.block_on(async {
            let _entered = handle.enter();
            let ended = |error: std::io::Error| assert_eq!(error.to_string(), ENDED);
            ended(fs::read(&path).await.unwrap_err());
            ended(fs::read_dir(&folder.0).await.unwrap_err());
            ended(File::open(&path).await.unwrap_err());
            ended(file.read(&mut [0; 4]).await.unwrap_err());
            ended(file.write(b"abc").await.unwrap_err());
            file.flush().await.expect("what was not accepted is not missed");
            ended(file.set_len(0).await.unwrap_err());
            ended(file.metadata().await.unwrap_err());
            ended(file.sync_all().await.unwrap_err());
        });
        // The file itself is as good as before, in another runtime.
        other.block_on(async {
            let mut text = String::new();
            file.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, "0123456789");
            assert_eq!(file.into_std().await.metadata().unwrap().len(), 10);
        });
    });
}

/// What was read ahead before, and the read that is cancelled in the queue, leave the position where it
/// was.
#[test]
fn a_call_that_the_end_cancels_changes_nothing() {
    guarded(|| {
        let (runtime, other, folder) = (pool(1), pool(1), Folder::new());
        let path = folder.file("file", "0123456789");
        let mut file = runtime.block_on(File::open(&path)).unwrap();
        let release = occupy(&runtime);
        runtime.block_on(async {
            let mut buffer = [0; 6];
            let mut reading = pin!(file.read(&mut buffer));
            assert!(poll_once(&mut reading).await.is_none());
        });
        drop(release);
        let mut one = [0];
        runtime.block_on(file.read_exact(&mut one)).unwrap();
        let release = occupy(&runtime);
        runtime.block_on(async {
            let mut cloning = pin!(file.try_clone());
            assert!(poll_once(&mut cloning).await.is_none());
        });
        runtime.shutdown_background();
        drop(release);
        let mut text = String::new();
        other.block_on(file.read_to_string(&mut text)).unwrap();
        assert_eq!(text, "123456789");

        let runtime = pool(1);
        let mut file = runtime.block_on(File::open(&path)).unwrap();
        let release = occupy(&runtime);
        let mut buffer = [0; 6];
        runtime.block_on(async {
            let mut reading = pin!(file.read(&mut buffer));
            assert!(poll_once(&mut reading).await.is_none());
        });
        runtime.shutdown_background();
        drop(release);
        let error = other.block_on(file.read(&mut buffer)).unwrap_err();
        assert_eq!(error.to_string(), ENDED, "the next call learns of it");
        assert_eq!(other.block_on(file.read(&mut buffer)).unwrap(), 6);
        assert_eq!(&buffer, b"012345");
    });
}

#[test]
fn more_files_than_threads() {
    guarded(|| {
        let (runtime, folder) = (pool(2), Folder::new());
        let content = pattern(10_000);
        runtime.block_on(async {
            let tasks: Vec<_> = (0..100)
                .map(|n| {
                    let (path, content) = (folder.join(n.to_string()), content.clone());
                    liten::spawn(async move {
                        let mut file = File::create_new(&path).await.unwrap();
                        for part in content[n..].chunks(1_111) {
                            file.write_all(part).await.unwrap();
                        }
                        file.flush().await.unwrap();
                        drop(file);
                        assert!(fs::read(&path).await.unwrap() == content[n..]);
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert!(runtime.metrics().num_blocking_threads() <= 2);
    });
}

#[test]
fn a_runtime_of_one_thread_has_files_too() {
    guarded(|| {
        let folder = Folder::new();
        let path = folder.join("file");
        LocalRuntime::new().unwrap().block_on(async {
            let mut file = File::create(&path).await.unwrap();
            file.write_all(b"text").await.unwrap();
            file.flush().await.unwrap();
            assert_eq!(fs::read_to_string(&path).await.unwrap(), "text");
        });
    });
}
