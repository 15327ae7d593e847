//! Open files.

use super::{Folder, occupy, pool, run, same_error};
use crate::support::guard::guarded;
use crate::support::loopback::pattern;
use liten::fs::{File, OpenOptions};
use liten::future::TryStreamExt;
use liten::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufReader, IoSlice, SeekFrom,
};
use std::io::{ErrorKind, Read};
use std::time::{Duration, SystemTime};

#[test]
fn a_file_is_written_sought_and_read() {
    run(|| async {
        let folder = Folder::new();
        let path = folder.join("file");
        let content = pattern(5_000_000);
        let mut file = File::create_new(&path).await.unwrap();
        file.write_all(&content).await.unwrap();
        file.flush().await.unwrap();
        assert!(std::fs::read(&path).unwrap() == content);
        assert_eq!(file.seek(SeekFrom::Start(1_000_000)).await.unwrap(), 1_000_000);
        let mut rest = Vec::new();
        file.read_to_end(&mut rest).await.unwrap();
        assert!(rest == content[1_000_000..]);
        assert_eq!(file.read(&mut [0; 10]).await.unwrap(), 0, "the end of the file");
        assert_eq!(file.seek(SeekFrom::End(-3)).await.unwrap(), 4_999_997);
        assert_eq!(file.read(&mut []).await.unwrap(), 0);
        assert_eq!(file.write(&[]).await.unwrap(), 0);
        let mut last = [0; 3];
        file.read_exact(&mut last).await.unwrap();
        assert_eq!(last, content[4_999_997..]);
    });
}

#[test]
fn options_are_those_of_std() {
    run(|| async {
        let folder = Folder::new();
        let (path, missing) = (folder.file("file", "0123"), folder.join("missing"));
        let mut appending = OpenOptions::default().append(true).open(&path).await.unwrap();
        appending.seek(SeekFrom::Start(0)).await.unwrap();
        appending.write_all(b"45").await.unwrap();
        appending.flush().await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"012345");
        let mut writing = File::options().write(true).open(&path).await.unwrap();
        writing.write_all(b"ab").await.unwrap();
        writing.flush().await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"ab2345");
        File::options().write(true).truncate(true).open(&path).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"");

        let taken = same_error(File::create_new(&path).await, std::fs::File::create_new(&path));
        assert_eq!(taken.kind(), ErrorKind::AlreadyExists);
        same_error(File::open(&missing).await, std::fs::File::open(&missing));
        same_error(File::create(&folder.0).await, std::fs::File::create(&folder.0));
        same_error(File::open(path.join("below")).await, std::fs::File::open(path.join("below")));
        let mut nothing = std::fs::OpenOptions::new();
        same_error(OpenOptions::from(nothing.clone()).open(&path).await, nothing.open(&path));
        nothing.read(true).truncate(true);
        same_error(OpenOptions::from(nothing.clone()).open(&path).await, nothing.open(&path));
    });
}

/// `O_NOFOLLOW` has another value on each system.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn files_are_opened_with_flags() {
    use std::os::unix::fs::OpenOptionsExt;
    const NOFOLLOW: i32 = 0o400_000;
    run(|| async {
        let folder = Folder::new();
        let (path, link) = (folder.file("file", ""), folder.join("link"));
        liten::fs::symlink(&path, &link).await.unwrap();
        let ours = OpenOptions::new().read(true).custom_flags(NOFOLLOW).open(&link).await;
        let mut std = std::fs::OpenOptions::new();
        same_error(ours, std.read(true).custom_flags(NOFOLLOW).open(&link));
    });
}

#[cfg(unix)]
#[test]
fn files_are_made_with_modes() {
    use std::os::unix::fs::PermissionsExt;
    run(|| async {
        let folder = Folder::new();
        let path = folder.join("file");
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        options.open(&path).await.unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    });
}

#[test]
fn a_directory_is_no_file() {
    run(|| async {
        let folder = Folder::new();
        // Unix opens it, and refuses to read it; Windows does not open it.
        match File::open(&folder.0).await {
            Ok(mut file) => {
                let mut std = std::fs::File::open(&folder.0).unwrap();
                let mut buffer = [0; 4];
                let error = same_error(file.read(&mut buffer).await, std.read(&mut buffer));
                assert_eq!(error.kind(), ErrorKind::IsADirectory);
                let again = file.read(&mut buffer).await.unwrap_err();
                assert_eq!(again.kind(), ErrorKind::IsADirectory);
            }
            Err(error) => drop(same_error(Err::<(), _>(error), std::fs::File::open(&folder.0))),
        }
    });
}

/// The file is open for reading only: the write is accepted, and fails on the pool.
#[test]
fn an_error_of_a_write_comes_out_at_a_place_for_it() {
    run(|| async {
        let folder = Folder::new();
        let path = folder.file("file", "0123456789");
        for case in 0..5 {
            let mut file = File::open(&path).await.unwrap();
            assert_eq!(file.write(b"abc").await.unwrap(), 3);
            for _ in 0..2 {
                // None of these is the place, before the error has come out and afterwards.
                let mut one = [0];
                assert_eq!(file.read(&mut one).await.unwrap(), 1);
                assert_eq!(file.seek(SeekFrom::Start(0)).await.unwrap(), 0);
                assert_eq!(file.metadata().await.unwrap().len(), 10);
                drop(file.try_clone().await.unwrap());
                let error = match case {
                    0 => file.flush().await.unwrap_err(),
                    1 => file.write(b"def").await.unwrap_err(),
                    2 => file.sync_all().await.unwrap_err(),
                    3 => file.close().await.unwrap_err(),
                    _ => file.sync_data().await.unwrap_err(),
                };
                let mut std = std::fs::File::open(&path).unwrap();
                same_error(Err::<(), _>(error), std::io::Write::write(&mut std, b"abc"));
            }
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"0123456789");
    });
}

#[test]
fn an_error_of_a_write_does_not_keep_a_file_from_being_cut_off() {
    run(|| async {
        let folder = Folder::new();
        let path = folder.file("file", "0123456789");
        let mut file = File::open(&path).await.unwrap();
        assert_eq!(file.write(b"abc").await.unwrap(), 3);
        let mut std = std::fs::File::open(&path).unwrap();
        for _ in 0..2 {
            same_error(file.set_len(0).await, std.set_len(0));
        }
        for _ in 0..2 {
            same_error(file.flush().await, std::io::Write::write(&mut std, b"abc"));
        }
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_reported_with_its_code() {
    run(|| async {
        let mut full = File::options().write(true).open("/dev/full").await.unwrap();
        full.write_all(b"abc").await.unwrap();
        let error = full.flush().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert_eq!(error.raw_os_error(), Some(28));
    });
}

#[test]
fn what_depends_on_writes_waits_for_them() {
    guarded(|| {
        let (runtime, folder) = (pool(1), Folder::new());
        let path = folder.join("file");
        for case in 0..5 {
            let mut file = runtime.block_on(File::create(&path)).unwrap();
            let release = occupy(&runtime);
            assert_eq!(runtime.block_on(file.write(b"0123456789")).unwrap(), 10);
            drop(release);
            runtime.block_on(async {
                match case {
                    0 => assert_eq!(file.metadata().await.unwrap().len(), 10),
                    1 => file.sync_all().await.unwrap(),
                    2 => file.sync_data().await.unwrap(),
                    3 => file.set_len(10).await.unwrap(),
                    _ => assert_eq!(file.into_std().await.metadata().unwrap().len(), 10),
                }
                assert_eq!(std::fs::read(&path).unwrap(), b"0123456789");
            });
        }
    });
}

#[test]
fn length_permissions_and_times_are_set() {
    run(|| async {
        let folder = Folder::new();
        let path = folder.file("file", "0123456789");
        let file = File::options().read(true).write(true).open(&path).await.unwrap();
        file.set_len(3).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"012");
        file.set_len(5).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"012\0\0");
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        file.set_modified(then).await.unwrap();
        let metadata = file.metadata().await.unwrap();
        assert_eq!(metadata.modified().unwrap(), then);
        let mut permissions = metadata.permissions();
        permissions.set_readonly(true);
        file.set_permissions(permissions).await.unwrap();
        assert!(std::fs::metadata(&path).unwrap().permissions().readonly());

        let reader = File::open(&path).await.unwrap();
        let std = std::fs::File::open(&path).unwrap();
        same_error(reader.set_len(0).await, std.set_len(0));
        assert_eq!(std::fs::read(&path).unwrap(), b"012\0\0");
    });
}

#[test]
fn a_clone_has_the_same_position() {
    run(|| async {
        let folder = Folder::new();
        let path = folder.file("file", "0123456789");
        let mut file = File::open(&path).await.unwrap();
        file.set_max_buf_size(7);
        let mut clone = file.try_clone().await.unwrap();
        assert_eq!(clone.max_buf_size(), 7);
        let mut three = [0; 3];
        file.read_exact(&mut three).await.unwrap();
        clone.read_exact(&mut three).await.unwrap();
        assert_eq!(&three, b"345");
    });
}

#[test]
fn files_of_std_come_and_go() {
    run(|| async {
        let folder = Folder::new();
        let path = folder.file("file", "0123456789");
        let mut std = std::fs::File::open(&path).unwrap();
        std.read_exact(&mut [0; 2]).unwrap();
        let mut file = File::from(std);
        assert!(format!("{file:?}").starts_with("File { std: File {"), "{file:?}");
        let mut three = [0; 3];
        file.read_exact(&mut three).await.unwrap();
        assert_eq!(&three, b"234");
        let mut std = file.try_into_std().unwrap();
        let mut rest = String::new();
        std.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "56789");
    });
}

#[test]
fn one_call_moves_as_much_as_the_file_may_and_no_more() {
    run(|| async {
        let folder = Folder::new();
        let path = folder.file("file", "0123456789");
        let mut file = File::options().read(true).write(true).open(&path).await.unwrap();
        assert_eq!(file.max_buf_size(), 2 * 1024 * 1024);
        file.set_max_buf_size(4);
        assert_eq!(file.write(b"abcdef").await.unwrap(), 4);
        let parts = [IoSlice::new(b"g"), IoSlice::new(b""), IoSlice::new(b"hijkl")];
        assert_eq!(file.write_vectored(&parts).await.unwrap(), 4);
        file.seek(SeekFrom::Start(0)).await.unwrap();
        let mut buffer = [0; 9];
        assert_eq!(file.read(&mut buffer).await.unwrap(), 4);
        let mut rest = String::new();
        file.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "ghij89");
    });
}

#[test]
#[should_panic(expected = "max_buf_size must not be 0")]
fn a_buffer_of_nothing_is_refused() {
    File::from_std(std::fs::File::open("Cargo.toml").unwrap()).set_max_buf_size(0);
}

#[test]
fn lines_come_through_a_buffered_reader() {
    run(|| async {
        let folder = Folder::new();
        let text: String = (0..2_000).map(|n| format!("line {n}\n")).collect();
        let path = folder.file("file", &text);
        let lines = BufReader::new(File::open(&path).await.unwrap()).lines();
        let lines: Vec<String> = lines.try_collect().await.unwrap();
        assert_eq!(lines.len(), 2_000);
        assert_eq!(lines[1_999], "line 1999");
    });
}

/// Reading ahead and writing behind are independent where there is no position.
#[cfg(unix)]
#[test]
fn what_has_no_position_can_be_read_and_written() {
    use std::os::fd::{AsFd, AsRawFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    guarded(|| {
        let runtime = pool(1);
        let (near, far) = UnixStream::pair().unwrap();
        let mut far = far;
        std::io::Write::write_all(&mut far, b"012345").unwrap();
        let mut file = File::from(OwnedFd::from(near));
        assert_eq!(file.as_fd().as_raw_fd(), file.as_raw_fd());
        let release = occupy(&runtime);
        runtime.block_on(async {
            let mut buffer = [0; 6];
            let mut reading = std::pin::pin!(file.read(&mut buffer));
            assert!(crate::support::loopback::poll_once(&mut reading).await.is_none());
        });
        drop(release);
        runtime.block_on(async {
            let mut two = [0; 2];
            file.read_exact(&mut two).await.unwrap();
            file.write_all(b"ab").await.unwrap();
            file.flush().await.unwrap();
            let mut answer = [0; 2];
            far.read_exact(&mut answer).unwrap();
            assert_eq!(&answer, b"ab");
            assert_eq!(
                file.seek(SeekFrom::Start(0)).await.unwrap_err().kind(),
                ErrorKind::NotSeekable
            );
            let mut four = [0; 4];
            file.read_exact(&mut four).await.unwrap();
            assert_eq!(&four, b"2345", "what was read ahead is still there");
        });
    });
}

/// tokio's traits, with tokio's own extension methods.
#[test]
fn the_traits_of_tokio_do_the_same() {
    use std::pin::Pin;
    use tokio::io::{AsyncReadExt, AsyncSeek, AsyncSeekExt, AsyncWriteExt};
    guarded(|| {
        let (runtime, folder) = (pool(1), Folder::new());
        let path = folder.file("file", "");
        let mut file =
            runtime.block_on(File::options().read(true).write(true).open(&path)).unwrap();
        runtime.block_on(async {
            let text = "0123456789";
            AsyncWriteExt::write_all(&mut file, text.as_bytes()).await.unwrap();
            AsyncWriteExt::shutdown(&mut file).await.unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            assert_eq!(AsyncSeekExt::seek(&mut file, SeekFrom::End(-4)).await.unwrap(), 6);
            assert_eq!(AsyncSeekExt::stream_position(&mut file).await.unwrap(), 6);
            let mut rest = String::new();
            AsyncReadExt::read_to_string(&mut file, &mut rest).await.unwrap();
            assert_eq!(rest, "6789");
            AsyncSeekExt::rewind(&mut file).await.unwrap();
            let parts = [IoSlice::new(b"ab"), IoSlice::new(b"cd")];
            assert_eq!(AsyncWriteExt::write_vectored(&mut file, &parts).await.unwrap(), 4);
            assert!(tokio::io::AsyncWrite::is_write_vectored(&file));
            AsyncWriteExt::flush(&mut file).await.unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "abcd456789");
        });
        let release = occupy(&runtime);
        runtime.block_on(async {
            Pin::new(&mut file).start_seek(SeekFrom::Start(1)).unwrap();
            let error = Pin::new(&mut file).start_seek(SeekFrom::Start(2)).unwrap_err();
            assert!(error.to_string().contains("call poll_complete"), "{error}");
        });
        drop(release);
        let place = std::future::poll_fn(|cx| Pin::new(&mut file).poll_complete(cx));
        assert_eq!(runtime.block_on(place).unwrap(), 1);
    });
}
