use super::{Waitable, flush, read, read_when_ready, write, write_all};
use nix::errno::Errno;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::os::unix::thread::JoinHandleExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A socket that can always be read and written, and whose calls fail in this order before they succeed.
struct Moody {
    socket: UnixStream,
    errors: Vec<ErrorKind>,
    calls: Cell<usize>,
}

impl Moody {
    fn new(errors: &[ErrorKind]) -> (Self, UnixStream) {
        let (socket, mut other) = UnixStream::pair().unwrap();
        other.write_all(b"word").unwrap();
        let errors = errors.iter().rev().copied().collect();
        (Self { socket, errors, calls: Cell::new(0) }, other)
    }

    fn fail(&mut self) -> io::Result<()> {
        self.calls.set(self.calls.get() + 1);
        self.errors.pop().map_or(Ok(()), |error| Err(error.into()))
    }
}

impl AsFd for Moody {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Read for Moody {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.fail()?;
        self.socket.read(buf)
    }
}

impl Write for Moody {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.fail()?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.fail()
    }
}

/// A message that no socket takes would be tried for ever.
#[test]
fn what_can_never_be_written_counts_as_written() {
    let (socket, _other) = UnixDatagram::pair().unwrap();
    let mut socket = File::from(OwnedFd::from(socket));
    let (bytes, mut written) = (vec![1; 64 << 20], 0);
    let error = write_all(&mut socket, &bytes, &mut written).unwrap_err();
    assert_eq!((error.raw_os_error(), written), (Some(Errno::EMSGSIZE as i32), bytes.len()));
}

/// Each call is made once for each of these, and once more.
#[test]
fn calls_are_repeated_until_they_need_not_wait() {
    use ErrorKind::{Interrupted, WouldBlock};
    for errors in [
        &[][..],
        &[Interrupted],
        &[WouldBlock],
        // Although `poll` says that it is ready.
        &[Interrupted, WouldBlock, Interrupted, WouldBlock, WouldBlock, WouldBlock],
    ] {
        let (mut source, _other) = Moody::new(errors);
        let mut word = [0; 8];
        assert_eq!(read(&mut source, &mut word).unwrap(), 4);
        assert_eq!((&word[..4], source.calls.get()), (&b"word"[..], errors.len() + 1));
        let (mut to, mut other) = Moody::new(errors);
        assert_eq!(write(&mut to, b"back").unwrap(), 4);
        other.read_exact(&mut word[..4]).unwrap();
        assert_eq!((&word[..4], to.calls.get()), (&b"back"[..], errors.len() + 1));
        let (mut to, _other) = Moody::new(errors);
        flush(&mut to).unwrap();
        assert_eq!(to.calls.get(), errors.len() + 1);
    }
}

#[test]
fn other_errors_are_returned() {
    let errors = [ErrorKind::WouldBlock, ErrorKind::BrokenPipe];
    let check = |f: fn(&mut Moody) -> io::Result<()>| {
        let (mut moody, _other) = Moody::new(&errors);
        assert_eq!(f(&mut moody).unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!(moody.calls.get(), 2);
    };
    check(|moody| read(moody, &mut [0; 8]).map(drop));
    check(|moody| write(moody, b"x").map(drop));
    check(|moody| write_all(moody, b"x", &mut 0));
    check(flush);
}

#[test]
fn what_takes_nothing_is_no_place_to_write_to() {
    struct Full(UnixStream);
    impl AsFd for Full {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Ok(0)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut full = Full(UnixStream::pair().unwrap().0);
    assert_eq!(write_all(&mut full, b"x", &mut 0).unwrap_err().kind(), ErrorKind::WriteZero);
    write_all(&mut full, b"", &mut 0).unwrap();
}

/// Outside a runtime, too.
#[test]
fn a_socket_in_non_blocking_mode_is_used_as_in_blocking_mode() {
    fn waitable<T: Waitable>(source: T) -> T {
        source
    }
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let content: Vec<u8> = (0..1_000_000_u32).map(|number| number as u8).collect();
    let expected = content.clone();
    let other = thread::spawn(move || {
        let mut all = vec![0; expected.len()];
        theirs.read_exact(&mut all).unwrap();
        assert!(all == expected);
        theirs.write_all(b"seen").unwrap();
    });
    let mut ours = waitable(ours);
    write_all(&mut ours, &content, &mut 0).unwrap();
    let mut answer = [0; 8];
    assert_eq!(read(&mut ours, &mut answer).unwrap(), 4);
    assert_eq!(answer[..4], *b"seen");
    other.join().unwrap();
}

/// A socket in non-blocking mode, the reads of which are counted when they have been made.
struct Counted {
    socket: UnixStream,
    calls: Arc<AtomicUsize>,
}

impl Counted {
    fn new() -> (Self, Arc<AtomicUsize>, UnixStream) {
        let (socket, other) = UnixStream::pair().unwrap();
        socket.set_nonblocking(true).unwrap();
        let calls = Arc::new(AtomicUsize::new(0));
        (Self { socket, calls: calls.clone() }, calls, other)
    }
}

impl AsFd for Counted {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Read for Counted {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let result = self.socket.read(buf);
        self.calls.fetch_add(1, Ordering::SeqCst);
        result
    }
}

fn reach(counter: &AtomicUsize, count: usize) {
    while counter.load(Ordering::SeqCst) < count {
        thread::yield_now();
    }
}

/// `poll` would wait for ever.
#[test]
fn a_read_of_what_is_only_written_is_an_error() {
    let (_open, writer) = io::pipe().unwrap();
    let mut writer = File::from(OwnedFd::from(writer));
    let error = read_when_ready(&mut writer, &mut [0; 8]).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(Errno::EBADF as i32));
}

#[test]
fn a_read_in_non_blocking_mode_of_a_pipe_without_writers_ends_at_once() {
    let folder = std::env::temp_dir().join(format!("liten-wait-{}", std::process::id()));
    nix::unistd::mkfifo(&folder, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let flags = nix::fcntl::OFlag::O_NONBLOCK.bits();
    let mut options = File::options();
    let pipe = options.read(true).custom_flags(flags).open(&folder);
    std::fs::remove_file(&folder).unwrap();
    assert_eq!(read_when_ready(&mut pipe.unwrap(), &mut [0; 8]).unwrap(), 0);
}

/// It ends `poll`, but says nothing about the descriptor. So it neither leads to a read nor to a pause.
#[test]
#[allow(unsafe_code)]
fn a_signal_does_not_end_the_wait() {
    use nix::libc;

    static HANDLED: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn count(_: libc::c_int) {
        HANDLED.fetch_add(1, Ordering::SeqCst);
    }

    let handler = count as extern "C" fn(libc::c_int);
    // SAFETY: the handler does nothing but an atomic addition. No other test uses this signal.
    unsafe { libc::signal(libc::SIGWINCH, handler as libc::sighandler_t) };
    let (mut source, calls, mut other) = Counted::new();
    let reader = thread::spawn(move || read(&mut source, &mut [0; 8]));
    reach(&calls, 1);
    for sent in 1..=200 {
        // SAFETY: the thread has not been joined, so its id is its own.
        assert_eq!(unsafe { libc::pthread_kill(reader.as_pthread_t(), libc::SIGWINCH) }, 0);
        reach(&HANDLED, sent);
    }
    assert_eq!(calls.load(Ordering::SeqCst), 1, "a signal has led to a read");
    other.write_all(b"word").unwrap();
    assert_eq!(reader.join().unwrap().unwrap(), 4);
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

/// In a process of its own, because the limit is the process's.
#[cfg(target_os = "linux")]
#[test]
fn a_read_waits_without_a_descriptor_for_the_end_of_the_runtime() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};

    const ALONE: &str = "LITEN_TEST_NO_DESCRIPTORS";
    if std::env::var_os(ALONE).is_none() {
        let name = "a_read_waits_without_a_descriptor_for_the_end_of_the_runtime";
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let output = child.args([name, "--nocapture"]).env(ALONE, "1").output().unwrap();
        return assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let runtime = crate::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let (send, results) = std::sync::mpsc::channel();
    let start = |mut source: Counted| {
        let send = send.clone();
        drop(runtime.spawn_blocking(move || send.send(read(&mut source, &mut [0; 8]))));
    };
    let (first, first_calls, mut other) = Counted::new();
    let (second, second_calls, _open) = Counted::new();
    // The numbers below it are taken. `poll` takes no more descriptors than the limit says.
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, 3, hard).unwrap();
    assert!(UnixStream::pair().is_err());

    start(first);
    reach(&first_calls, 1);
    other.write_all(b"word").unwrap();
    assert_eq!(results.recv().unwrap().unwrap(), 4);

    start(second);
    reach(&second_calls, 1);
    drop(runtime);
    let ended = results.recv().unwrap().unwrap_err();
    assert!(!crate::observe::spare_descriptors::is_lacking(&ended), "{ended}");
}
