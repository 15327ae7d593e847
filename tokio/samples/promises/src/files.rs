//! Standard streams and files: nothing that was accepted is lost without an error.

use crate::current_thread;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::env;
use std::fs::File as StdFile;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt, SeekFrom, stderr, stdin, stdout};

/// The arguments with which this program starts itself.
const WRITE_OUTPUT: &str = "write-output";
const WRITE_ERRORS: &str = "write-errors";
const READ_INPUT: &str = "read-input";
const FILL_UP: &str = "fill-up";
const FLUSH_AGAIN: &str = "flush-again";
const GIVE_UP_INPUT: &str = "give-up-input";
const SHARE_INPUT: &str = "share-input";

const LENGTH: usize = 2_000_000;

pub(crate) fn keep_all() {
    a_large_output_arrives_in_a_pipe_in_non_blocking_mode();
    an_input_in_non_blocking_mode_is_waited_for();
    an_input_that_was_given_up_is_there_for_the_next_handle();
    input_that_was_not_asked_for_is_left_to_std();
    a_file_is_given_back_when_its_write_is_done();
    an_error_of_a_write_does_not_keep_a_file_from_being_cut();
    a_file_in_non_blocking_mode_is_waited_for();
    a_read_of_what_is_only_written_is_an_error();
    a_read_that_waits_holds_up_no_end_of_a_runtime();
    no_call_says_ok_while_bytes_are_not_written();
    an_output_says_ok_when_all_is_written_and_not_before();
    fill_up_in_a_process_of_its_own();
}

/// What this program does when it was started with such an argument.
pub(crate) fn play_a_part(part: &str) -> bool {
    match part {
        WRITE_OUTPUT | WRITE_ERRORS => current_thread().block_on(async {
            let bytes = vec![b'x'; LENGTH];
            if part == WRITE_OUTPUT {
                let mut out = stdout();
                out.write_all(&bytes).await.expect("it is written");
                out.flush().await.expect("it is written");
            } else {
                let mut out = stderr();
                out.write_all(&bytes).await.expect("it is written");
                out.flush().await.expect("it is written");
            }
        }),
        READ_INPUT => {
            let mut text = String::new();
            let read = current_thread().block_on(stdin().read_to_string(&mut text));
            println!("{read:?} {text}");
        }
        SHARE_INPUT => {
            let mut start = [0; 4];
            let read = current_thread().block_on(stdin().read_exact(&mut start));
            let rest = std::io::read_to_string(std::io::stdin());
            println!("{read:?} {rest:?}");
        }
        GIVE_UP_INPUT => current_thread().block_on(give_up_and_read_again()),
        FLUSH_AGAIN => current_thread().block_on(flush_again()),
        FILL_UP => what_had_no_room_is_written_when_there_is_room(),
        _ => return false,
    }
    true
}

fn this_as(part: &str) -> Command {
    let mut this = Command::new(env::current_exe().expect("this program has a path"));
    this.arg(part);
    this
}

/// A pipe, of which one end is in non-blocking mode: the first, for reading, or else the other.
fn half_blocking_pipe(reads: bool) -> (StdFile, StdFile) {
    let (reader, writer) = own_pipe();
    fcntl_setfl(if reads { &reader } else { &writer }, OFlags::NONBLOCK).expect("a mode");
    (reader.into(), writer.into())
}

/// A pipe of which a child inherits no end but the one that it is given.
fn own_pipe() -> (OwnedFd, OwnedFd) {
    pipe_with(PipeFlags::CLOEXEC).expect("a pipe")
}

fn count_slowly(mut from: StdFile) -> usize {
    let (mut count, mut buffer) = (0, vec![0; 65_536]);
    loop {
        thread::sleep(Duration::from_millis(1));
        match from.read(&mut buffer).expect("it can be read") {
            0 => return count,
            length => count += length,
        }
    }
}

/// The mode belongs to the pipe, so any process that has it may set it. Does not hold on tokio, which loses
/// what does not fit.
fn a_large_output_arrives_in_a_pipe_in_non_blocking_mode() {
    for part in [WRITE_OUTPUT, WRITE_ERRORS] {
        let (reader, writer) = half_blocking_pipe(false);
        let mut this = this_as(part);
        match part {
            WRITE_OUTPUT => this.stdout(writer),
            _ => this.stderr(writer),
        };
        let mut child = this.spawn().expect("this program can be started");
        drop(this);
        assert_eq!(count_slowly(reader), LENGTH, "{part}");
        assert!(child.wait().expect("it ends").success());
    }
}

/// Does not hold on tokio, whose standard input would block.
fn an_input_in_non_blocking_mode_is_waited_for() {
    let (reader, mut writer) = half_blocking_pipe(true);
    let mut this = this_as(READ_INPUT);
    let child = this.stdin(reader).stdout(Stdio::piped()).spawn();
    drop(this);
    for word in ["one ", "two"] {
        thread::sleep(Duration::from_millis(30));
        writer.write_all(word.as_bytes()).expect("it is written");
    }
    drop(writer);
    let output = child.and_then(std::process::Child::wait_with_output).expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "Ok(7) one two");
}

fn input_that_was_not_asked_for_is_left_to_std() {
    let (reader, writer) = own_pipe();
    StdFile::from(writer).write_all(b"abcdefgh").expect("it is written");
    let output = this_as(SHARE_INPUT).stdin(reader).output().expect("it can be started");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "Ok(4) Ok(\"efgh\")");
}

fn a_file_is_given_back_when_its_write_is_done() {
    current_thread().block_on(async {
        let path = env::temp_dir().join(format!("promises-given-{}", std::process::id()));
        let mut file = File::create(&path).await.expect("a file");
        std::fs::remove_file(path).expect("it is there");
        file.write_all(b"hi").await.expect("it is accepted");
        let limit = std::time::Instant::now() + Duration::from_secs(30);
        while let Err(back) = file.try_into_std() {
            assert!(std::time::Instant::now() < limit, "its write is under way for ever");
            file = back;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
}

fn an_error_of_a_write_does_not_keep_a_file_from_being_cut() {
    current_thread().block_on(async {
        let options = OpenOptions::new().write(true).open("/dev/full").await;
        let mut file = options.expect("it is there");
        file.write_all(b"hi").await.expect("it is accepted");
        let error = file.set_len(0).await.expect_err("a device has no length");
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(file.flush().await.map_err(|it| it.kind()), Err(ErrorKind::StorageFull));
    });
}

/// Does not hold on tokio, which loses the first line and then waits for a third one for ever.
fn an_input_that_was_given_up_is_there_for_the_next_handle() {
    let (reader, writer) = own_pipe();
    let mut writer = StdFile::from(writer);
    let mut this = this_as(GIVE_UP_INPUT);
    let mut child = this.stdin(reader).stdout(Stdio::piped()).spawn().expect("it can be started");
    drop(this);
    let mut said = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).expect("it says that it has given up");
    writer.write_all(b"one\n").expect("it is written");
    std::io::BufRead::read_line(&mut said, &mut line).expect("it says what it has read");
    // It ends although another read waits.
    let id = child.id();
    let (ended, end) = std::sync::mpsc::channel::<()>();
    let watch = thread::spawn(move || {
        if end.recv_timeout(Duration::from_secs(30)).is_err() {
            let process = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw);
            let signal = rustix::process::Signal::KILL;
            rustix::process::kill_process(process.expect("a number"), signal).expect("it is there");
        }
    });
    let status = child.wait().expect("it ends");
    ended.send(()).expect("it waits");
    watch.join().expect("it does not panic");
    assert!(status.success(), "{status}");
    assert_eq!(line, "given up\none\n");
}

async fn give_up_and_read_again() {
    let line = async || {
        let mut line = String::new();
        let mut input = tokio::io::BufReader::new(stdin());
        let read = tokio::io::AsyncBufReadExt::read_line(&mut input, &mut line);
        let given_up = tokio::time::timeout(Duration::from_millis(20), read).await.is_err();
        (!given_up).then_some(line)
    };
    assert_eq!(line().await, None);
    println!("given up");
    loop {
        if let Some(line) = line().await {
            print!("{line}");
            break;
        }
    }
    std::io::stdout().flush().expect("there is room");
    assert_eq!(line().await, None);
}

/// Does not hold on tokio, either.
fn a_file_in_non_blocking_mode_is_waited_for() {
    let (reader, writer) = half_blocking_pipe(false);
    let count = thread::spawn(move || count_slowly(reader));
    current_thread().block_on(async {
        let mut file = File::from_std(writer);
        file.write_all(&vec![b'x'; LENGTH]).await.expect("it is written");
        file.flush().await.expect("it is written");
    });
    assert_eq!(count.join().expect("it counts"), LENGTH);
}

fn a_read_of_what_is_only_written_is_an_error() {
    let (_reader, writer) = std::io::pipe().expect("a pipe");
    let error = current_thread().block_on(async {
        let mut file = File::from_std(StdFile::from(OwnedFd::from(writer)));
        file.read(&mut [0; 8]).await.expect_err("it cannot be read")
    });
    assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::BADF.raw_os_error()));
}

/// It holds on tokio in non-blocking mode, in which such a read does not wait.
fn a_read_that_waits_holds_up_no_end_of_a_runtime() {
    let (reader, _writer) = half_blocking_pipe(true);
    ends_beside_a_read_of(reader);
    let (reader, _writer) = own_pipe();
    ends_beside_a_read_of(reader.into());
}

fn ends_beside_a_read_of(reader: StdFile) {
    let runtime = current_thread();
    runtime.block_on(async {
        let task = tokio::spawn(async { File::from_std(reader).read(&mut [0; 8]).await });
        tokio::time::sleep(Duration::from_millis(20)).await;
        drop(task);
    });
    drop(runtime);
}

/// Does not hold on tokio, where the second flush says `Ok`.
fn no_call_says_ok_while_bytes_are_not_written() {
    current_thread().block_on(async {
        let mut full = OpenOptions::new().write(true).open("/dev/full").await.expect("a device");
        full.write_all(&[1; 1000]).await.expect("it is accepted");
        for _ in 0..3 {
            for result in [
                full.flush().await,
                full.sync_all().await,
                full.sync_data().await,
                full.write(b"x").await.map(drop),
                full.shutdown().await,
            ] {
                assert_eq!(result.expect_err("it is full").kind(), ErrorKind::StorageFull);
            }
        }
    });
}

/// Does not hold on tokio, where the second flush says `Ok` and the first line is lost.
fn an_output_says_ok_when_all_is_written_and_not_before() {
    let child = this_as(FLUSH_AGAIN).stderr(Stdio::piped()).spawn().expect("it can be started");
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
}

/// The output is a device without room, and then a pipe that this process reads.
async fn flush_again() {
    let full = StdFile::options().write(true).open("/dev/full").expect("a device");
    rustix::stdio::dup2_stdout(&full).expect("a descriptor");
    let mut out = stdout();
    out.write_all(b"first\n").await.expect("it is accepted");
    for _ in 0..3 {
        for result in
            [out.flush().await, out.write(b"more\n").await.map(drop), out.shutdown().await]
        {
            assert_eq!(result.expect_err("it is full").kind(), ErrorKind::StorageFull);
        }
    }
    let (reader, writer) = own_pipe();
    rustix::stdio::dup2_stdout(&writer).expect("a descriptor");
    out.write_all(b"second\n").await.expect("it is accepted");
    out.flush().await.expect("there is room");
    let mut text = [0; 64];
    let length = StdFile::from(reader).read(&mut text).expect("it can be read");
    assert_eq!(&text[..length], b"first\nsecond\n");
}

/// With the signal of the limit ignored, which a shell can do.
fn fill_up_in_a_process_of_its_own() {
    let this = env::current_exe().expect("this program has a path");
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$1\""]).arg(this).arg(FILL_UP);
    assert!(shell.status().expect("there is a shell").success());
}

/// Files may have so many bytes, and no more.
fn with_room(bytes: Option<u64>) {
    let limit = Rlimit { current: bytes, ..getrlimit(Resource::Fsize) };
    setrlimit(Resource::Fsize, limit).expect("a limit");
}

/// Does not hold on tokio, which forgets the bytes.
fn what_had_no_room_is_written_when_there_is_room() {
    let path = env::temp_dir().join(format!("promises-file-{}", std::process::id()));
    for way in 0..3 {
        current_thread().block_on(async {
            let mut file = File::create(&path).await.expect("a file");
            with_room(Some(100));
            file.write_all(&[7; 1000]).await.expect("it is accepted");
            let error = file.flush().await.expect_err("there is no room");
            assert_eq!(error.kind(), ErrorKind::FileTooLarge);
            if way == 1 {
                file.seek(SeekFrom::Start(3)).await.expect("a seek needs no room");
            }
            with_room(None);
            match way {
                0 => file.flush().await.expect("there is room"),
                1 => file.sync_all().await.expect("there is room"),
                _ => file.shutdown().await.expect("there is room"),
            }
            let content = std::fs::read(&path).expect("it can be read");
            assert!(content == [7; 1000], "{way}: {} bytes", content.len());
        });
    }
    std::fs::remove_file(path).expect("it is there");
}
