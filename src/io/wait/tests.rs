use super::{Waitable, flush, read, write, write_all};
use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
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
    check(|moody| write_all(moody, b"x"));
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
    assert_eq!(write_all(&mut full, b"x").unwrap_err().kind(), ErrorKind::WriteZero);
    write_all(&mut full, b"").unwrap();
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
    write_all(&mut ours, &content).unwrap();
    let mut answer = [0; 8];
    assert_eq!(read(&mut ours, &mut answer).unwrap(), 4);
    assert_eq!(answer[..4], *b"seen");
    other.join().unwrap();
}
