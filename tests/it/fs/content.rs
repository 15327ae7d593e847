//! Whole files in one call, and what is true of every call.

use super::{Folder, run, same_error};
use crate::support::loopback::pattern;
use liten::fs;
use std::io::ErrorKind;

#[test]
fn whole_files_are_written_read_and_copied() {
    run(|| async {
        let folder = Folder::new();
        let (path, copy) = (folder.join("a"), folder.join("b"));
        let content = pattern(3_000_000);
        fs::write(&path, &content).await.unwrap();
        assert!(std::fs::read(&path).unwrap() == content);
        assert!(fs::read(&path).await.unwrap() == content);
        assert_eq!(fs::copy(&path, &copy).await.unwrap(), content.len() as u64);
        assert!(std::fs::read(&copy).unwrap() == content);

        // What is there is replaced.
        fs::write(&path, "grüße").await.unwrap();
        assert_eq!(fs::read_to_string(&path).await.unwrap(), "grüße");
        fs::copy(&path, &copy).await.unwrap();
        assert_eq!(std::fs::read(&copy).unwrap(), "grüße".as_bytes());
        fs::write(&path, []).await.unwrap();
        assert_eq!(fs::read(&path).await.unwrap(), b"");
    });
}

#[test]
fn errors_are_those_of_std() {
    run(|| async {
        let folder = Folder::new();
        let (missing, file) = (folder.join("missing"), folder.file("file", "text"));
        let below = file.join("below");
        for path in [&missing, &folder.0, &below] {
            same_error(fs::read(path).await, std::fs::read(path));
            same_error(fs::read_to_string(path).await, std::fs::read_to_string(path));
            same_error(
                fs::copy(path, folder.join("to")).await,
                std::fs::copy(path, folder.join("to")),
            );
        }
        for path in [&folder.0, &below, &missing.join("below")] {
            same_error(fs::write(path, "x").await, std::fs::write(path, "x"));
            same_error(fs::copy(&file, path).await, std::fs::copy(&file, path));
        }
        assert_eq!(fs::read(&missing).await.unwrap_err().kind(), ErrorKind::NotFound);
        let nul = folder.join("a\0b");
        assert_eq!(
            same_error(fs::read(&nul).await, std::fs::read(&nul)).kind(),
            ErrorKind::InvalidInput
        );
    });
}

#[test]
fn text_has_to_be_text() {
    run(|| async {
        let folder = Folder::new();
        let path = folder.file("bytes", b"ab\xffcd");
        let error = same_error(fs::read_to_string(&path).await, std::fs::read_to_string(&path));
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert_eq!(fs::read(&path).await.unwrap(), b"ab\xffcd");
    });
}

/// The super-user may read everything; then both succeed.
#[cfg(unix)]
#[test]
fn what_is_not_allowed_is_an_error_as_with_std() {
    use std::os::unix::fs::PermissionsExt;
    run(|| async {
        let folder = Folder::new();
        let path = folder.file("secret", "text");
        fs::set_permissions(&path, PermissionsExt::from_mode(0o000)).await.unwrap();
        match std::fs::read(&path) {
            Ok(content) => assert_eq!(fs::read(&path).await.unwrap(), content),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::PermissionDenied);
                same_error(fs::read(&path).await, Err::<(), _>(error));
                let opened = fs::File::open(&path).await;
                same_error(opened, std::fs::File::open(&path));
            }
        }
        // No user may do this.
        let link = folder.join("link");
        let error =
            same_error(fs::hard_link(&folder.0, &link).await, std::fs::hard_link(&folder.0, &link));
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    });
}

#[test]
fn calls_ask_for_the_runtime_when_they_are_polled() {
    let folder = Folder::new();
    let path = folder.file("file", "text");
    let reading = fs::read(&path);
    assert_eq!(run(|| reading).unwrap(), b"text");

    let mut reading = Box::pin(fs::read(&path));
    let outside = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        let _ = reading.as_mut().poll(&mut cx);
    }));
    let payload = outside.unwrap_err();
    let message = payload.downcast_ref::<String>().unwrap();
    assert!(message.starts_with("liten::fs called outside a runtime: use "), "{message}");
}

#[test]
fn futures_may_go_to_other_threads() {
    fn send<T: Send>(value: T) -> T {
        value
    }
    run(|| async {
        let folder = Folder::new();
        let path = folder.file("file", "text");
        let task = liten::spawn(send(async move {
            // Windows syncs only what may be written.
            let file = fs::File::options().read(true).write(true).open(&path).await.unwrap();
            file.sync_all().await.unwrap();
            file.metadata().await.unwrap().len() + fs::read(&path).await.unwrap().len() as u64
        }));
        assert_eq!(task.await.unwrap(), 8);
    });
}
