//! Operations that are given up halfway.
//!
//! A pool of one thread that is busy with something else holds an operation where it is; the test then
//! drops its future, and goes on with another one.

use super::{Folder, occupy, pool};
use crate::support::guard::guarded;
use crate::support::loopback::{pattern, poll_once};
use liten::fs::File;
use liten::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt, SeekFrom};
use liten::runtime::Runtime;
use std::pin::pin;

/// A file with `0123456789`, for reading and writing.
fn digits(runtime: &Runtime, folder: &Folder) -> File {
    let path = folder.file("digits", "0123456789");
    runtime.block_on(File::options().read(true).write(true).open(path)).unwrap()
}

/// Polls once while the pool is busy, so that it cannot be ready, and drops the future.
macro_rules! give_up {
    ($runtime:expr, $future:expr) => {{
        let release = occupy(&$runtime);
        $runtime.block_on(async {
            let mut future = pin!($future);
            assert!(poll_once(&mut future).await.is_none());
        });
        drop(release);
    }};
}

#[test]
fn a_read_that_was_given_up_leaves_its_bytes_to_the_next() {
    guarded(|| {
        let (runtime, folder) = (pool(1), Folder::new());
        let mut file = digits(&runtime, &folder);
        let mut six = [0; 6];
        give_up!(runtime, file.read(&mut six));
        let mut buffer = [0; 4];
        runtime.block_on(async {
            file.read_exact(&mut buffer).await.unwrap();
            assert_eq!(&buffer, b"0123");
            // Two of the six are left; the position is where the reader is, and not where the file is.
            assert_eq!(file.stream_position().await.unwrap(), 4);
            let mut rest = String::new();
            file.read_to_string(&mut rest).await.unwrap();
            assert_eq!(rest, "456789");
        });
    });
}

/// Everything that stands on the position after a read-ahead.
#[test]
fn what_was_read_ahead_is_not_counted() {
    guarded(|| {
        let runtime = pool(1);
        for case in 0..7 {
            let folder = Folder::new();
            let mut file = digits(&runtime, &folder);
            let mut six = [0; 6];
            give_up!(runtime, file.read(&mut six));
            runtime.block_on(async {
                let mut one = [0];
                file.read_exact(&mut one).await.unwrap();
                let mut rest = String::new();
                match case {
                    0 => {
                        file.write_all(b"ab").await.unwrap();
                        file.flush().await.unwrap();
                        assert_eq!(std::fs::read(folder.join("digits")).unwrap(), b"0ab3456789");
                        file.read_to_string(&mut rest).await.unwrap();
                        assert_eq!(rest, "3456789");
                    }
                    1 => {
                        assert_eq!(file.seek(SeekFrom::Current(-1)).await.unwrap(), 0);
                        file.read_to_string(&mut rest).await.unwrap();
                        assert_eq!(rest, "0123456789");
                    }
                    2 => {
                        file.set_len(3).await.unwrap();
                        file.read_to_string(&mut rest).await.unwrap();
                        assert_eq!(rest, "12", "bytes that were cut off are not read");
                    }
                    3 => {
                        let mut clone = file.try_clone().await.unwrap();
                        clone.read_to_string(&mut rest).await.unwrap();
                        assert_eq!(rest, "123456789");
                    }
                    4 => {
                        use std::io::Read;
                        file.into_std().await.read_to_string(&mut rest).unwrap();
                        assert_eq!(rest, "123456789");
                    }
                    5 => {
                        assert_eq!(file.seek(SeekFrom::Start(8)).await.unwrap(), 8);
                        file.read_to_string(&mut rest).await.unwrap();
                        assert_eq!(rest, "89");
                    }
                    _ => {
                        assert!(file.seek(SeekFrom::Current(-2)).await.is_err());
                        file.read_to_string(&mut rest).await.unwrap();
                        assert_eq!(rest, "123456789", "a seek that fails moves nothing");
                    }
                }
            });
        }
    });
}

#[test]
fn a_write_that_was_given_up_has_written_nothing() {
    guarded(|| {
        let (runtime, folder) = (pool(1), Folder::new());
        let mut file = digits(&runtime, &folder);
        let release = occupy(&runtime);
        runtime.block_on(async {
            assert_eq!(file.write(b"abc").await.unwrap(), 3, "the first is accepted at once");
            let mut second = pin!(file.write(b"XYZ"));
            assert!(poll_once(&mut second).await.is_none(), "the second waits for the first");
        });
        runtime.block_on(async {
            let mut flush = pin!(file.flush());
            assert!(poll_once(&mut flush).await.is_none());
        });
        drop(release);
        runtime.block_on(async {
            file.write_all(b"def").await.unwrap();
            file.flush().await.unwrap();
        });
        assert_eq!(std::fs::read(folder.join("digits")).unwrap(), b"abcdef6789");
    });
}

#[test]
fn a_seek_that_was_given_up_and_repeated_counts_as_one() {
    guarded(|| {
        let (runtime, folder) = (pool(1), Folder::new());
        let mut file = digits(&runtime, &folder);
        give_up!(runtime, file.seek(SeekFrom::Current(2)));
        assert_eq!(runtime.block_on(file.seek(SeekFrom::Current(2))).unwrap(), 2);
        assert_eq!(runtime.block_on(file.seek(SeekFrom::Current(2))).unwrap(), 4);
        // Another one is not taken for it.
        give_up!(runtime, file.seek(SeekFrom::Start(9)));
        assert_eq!(runtime.block_on(file.seek(SeekFrom::Start(1))).unwrap(), 1);
        let mut rest = String::new();
        runtime.block_on(file.read_to_string(&mut rest)).unwrap();
        assert_eq!(rest, "123456789");
    });
}

/// Methods that take `&self` may run at the same time, be given up, and leave the file to `into_std`.
#[test]
fn calls_that_were_given_up_are_waited_for() {
    guarded(|| {
        let (runtime, folder) = (pool(1), Folder::new());
        let mut file = digits(&runtime, &folder);
        let release = occupy(&runtime);
        runtime.block_on(give_up_in(&file));
        file = match file.try_into_std() {
            Ok(_) => panic!("a call is under way, and no task has waited for it"),
            Err(file) => file,
        };
        drop(release);
        give_up!(runtime, file.set_len(5));
        give_up!(runtime, file.sync_all());
        give_up!(runtime, file.try_clone());
        runtime.block_on(async {
            let (length, synced, cut) =
                liten::join!(file.metadata(), file.sync_data(), file.set_len(4),);
            assert_eq!(length.unwrap().len(), 5);
            synced.unwrap();
            cut.unwrap();
            give_up_in(&file).await;
            let std = file.into_std().await;
            assert_eq!(std.metadata().unwrap().len(), 4);
        });
    });
}

/// The read of a pipe may last for ever. What has nothing to do with it goes on.
#[cfg(unix)]
#[test]
fn a_read_that_was_given_up_and_is_not_over_holds_up_no_metadata() {
    use std::os::fd::OwnedFd;
    guarded(|| {
        let runtime = pool(2);
        let (near, mut far) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut file = File::from(OwnedFd::from(near));
        runtime.block_on(async {
            let mut buffer = [0; 4];
            let mut reading = Box::pin(file.read(&mut buffer));
            assert!(poll_once(&mut reading).await.is_none());
            drop(reading);
            let metadata = file.metadata().await.unwrap();
            assert!(!metadata.is_file());
            file.set_permissions(metadata.permissions()).await.unwrap();
            give_up_in(&file).await;
            // After the one that was given up.
            file.metadata().await.unwrap();
            give_up_in(&file).await;

            std::io::Write::write_all(&mut far, b"late").unwrap();
            file.read_exact(&mut buffer).await.unwrap();
            assert_eq!(&buffer, b"late");
            drop(file.into_std().await);
        });
    });
}

async fn give_up_in(file: &File) {
    let mut metadata = pin!(file.metadata());
    let _ = poll_once(&mut metadata).await;
}

/// That a sync has failed is told once and never again by the system, so it must not get lost.
#[cfg(unix)]
#[test]
fn an_error_of_a_sync_that_was_given_up_is_reported_to_the_next() {
    use std::os::fd::OwnedFd;
    guarded(|| {
        let runtime = pool(1);
        let (near, _far) = std::os::unix::net::UnixStream::pair().unwrap();
        // Neither can a socket be synced nor has it a length.
        let mut file = File::from(OwnedFd::from(near));
        give_up!(runtime, file.sync_all());
        let error = runtime.block_on(file.flush()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        give_up!(runtime, file.set_len(0));
        runtime.block_on(file.flush()).expect("no data are lost by that");
    });
}

/// Many devices, and some other things without a position, do not refuse to be sought: it does nothing.
#[cfg(target_os = "linux")]
#[test]
fn what_was_read_ahead_stays_where_a_seek_does_nothing() {
    use nix::sys::time::TimeSpec;
    use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
    use std::io::ErrorKind;
    use std::os::fd::OwnedFd;
    guarded(|| {
        let runtime = pool(1);
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags).unwrap();
        let soon = Expiration::OneShot(TimeSpec::new(0, 1));
        timer.set(soon, TimerSetTimeFlags::empty()).unwrap();
        crate::support::guard::until(|| timer.get().unwrap().is_none());
        let mut file = File::from(OwnedFd::from(timer));
        let mut count = [0; 8];
        give_up!(runtime, file.read(&mut count));
        runtime.block_on(async {
            drop(file.try_clone().await.unwrap());
            let error = file.stream_position().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotSeekable);
            file.write_all(b"not written").await.unwrap();
            assert_eq!(file.flush().await.unwrap_err().kind(), ErrorKind::InvalidInput);
            file.read_exact(&mut count).await.unwrap();
            assert_eq!(u64::from_ne_bytes(count), 1, "it has expired once");
        });
    });
}

/// Reads, writes and seeks that lose against a ready future, again and again, until all has gone through.
#[test]
fn losing_a_race_loses_no_byte() {
    use liten::future::{Either, select};
    guarded(|| {
        let (runtime, folder) = (pool(2), Folder::new());
        let content = pattern(20_000);
        let (from, to) = (folder.file("from", &content), folder.join("to"));
        runtime.block_on(async {
            let mut from = File::open(from).await.unwrap();
            let mut to = File::create(&to).await.unwrap();
            from.set_max_buf_size(701);
            to.set_max_buf_size(509);
            let mut buffer = [0; 997];
            loop {
                let read = loop {
                    let read = pin!(from.read(&mut buffer));
                    let turn = pin!(liten::task::yield_now());
                    if let Either::Right((read, _)) = select(turn, read).await {
                        break read.unwrap();
                    }
                };
                if read == 0 {
                    break;
                }
                let mut rest = &buffer[..read];
                while !rest.is_empty() {
                    let write = pin!(to.write(rest));
                    let turn = pin!(liten::task::yield_now());
                    if let Either::Right((written, _)) = select(turn, write).await {
                        rest = &rest[written.unwrap()..];
                    }
                }
            }
            to.flush().await.unwrap();
        });
        assert!(std::fs::read(to).unwrap() == content);
    });
}
