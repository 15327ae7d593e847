//! Named pipes: the run answers as the kernel does, for the same scripts of calls.
//!
//! The kernel keeps a pipe in 16 pages, of which a page that is read in part has no room yet. The
//! run counts bytes. So a script moves whole pages, or it leaves too little unread to fill them.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write, read_to_string};
use std::mem::zeroed;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use liten_sim::check;

/// The file of a named pipe, which goes at the end.
struct Fifo(PathBuf);

impl Fifo {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("liten-sim-{name}-{}", std::process::id()));
        let text = c_string(&path);
        // SAFETY: the text ends with a zero byte.
        assert_eq!(unsafe { libc::mkfifo(text.as_ptr(), 0o600) }, 0, "mkfifo");
        Self(path)
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn c_string(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

/// Random numbers that are the same in every run of a script.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound).unwrap()
    }
}

fn told(result: isize) -> String {
    match result {
        0.. => result.to_string(),
        _ => format!("{:?}", std::io::Error::last_os_error().raw_os_error()),
    }
}

/// Makes random calls on openings of one named pipe, none of which waits. Returns what they
/// answered, with the bits of `poll` and the events of an edge-triggered epoll after each.
fn play(number: u64) -> Vec<String> {
    const PAGES: [usize; 4] = [4_096, 8_192, 65_536, 69_632];
    const SMALL: [usize; 4] = [0, 1, 100, 5_000];
    const ACCESS: [libc::c_int; 3] = [libc::O_RDONLY, libc::O_WRONLY, libc::O_RDWR];
    let fifo = Fifo::new("script");
    let path = c_string(&fifo.0);
    let mut draw = Draw(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut fds: Vec<libc::c_int> = Vec::new();
    let mut said = Vec::new();
    let mut buffer = vec![0; 70_000];
    // SAFETY: all pointers are to places of ours of the length beside them; the path ends with a
    // zero byte; the descriptors are the script's own.
    unsafe {
        let epoll = libc::epoll_create1(0);
        for _ in 0..60 {
            let which = if fds.is_empty() { 0 } else { draw.below(fds.len() as u64) };
            let length = if number.is_multiple_of(2) { PAGES } else { SMALL }[draw.below(4)];
            let is_full =
                !number.is_multiple_of(2) && polled(&fds).iter().any(|(_, unread)| *unread > 9_000);
            let call = match draw.below(10) {
                0..=2 if fds.len() < 4 => {
                    let access = draw.below(3);
                    let fd = libc::open(path.as_ptr(), ACCESS[access] | libc::O_NONBLOCK);
                    if fd < 0 {
                        format!("open {access}: {}", told(-1))
                    } else {
                        watch(epoll, fd);
                        fds.push(fd);
                        format!("open {access}")
                    }
                }
                _ if fds.is_empty() => continue,
                3 => {
                    libc::close(fds.remove(which));
                    format!("close {which}")
                }
                kind if kind < 7 || is_full => {
                    let read = libc::read(fds[which], buffer.as_mut_ptr().cast(), length);
                    format!("read {length} of {which}: {}", told(read))
                }
                _ => {
                    let written = libc::write(fds[which], buffer.as_ptr().cast(), length);
                    format!("write {length} to {which}: {}", told(written))
                }
            };
            said.push(format!("{call}; {:?}; {:?}", polled(&fds), events(epoll, &fds)));
        }
        for fd in fds {
            libc::close(fd);
        }
        libc::close(epoll);
    }
    said
}

fn watch(epoll: libc::c_int, fd: libc::c_int) {
    let wanted = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
    let mut event = libc::epoll_event { events: wanted as u32, u64: fd as u64 };
    // SAFETY: both descriptors are open, and the event is ours.
    let added = unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event) };
    assert_eq!(added, 0, "a named pipe can be watched");
}

/// The bits of `poll` and the number of unread bytes of each opening.
fn polled(fds: &[libc::c_int]) -> Vec<(libc::c_short, libc::c_int)> {
    let one = |fd: &libc::c_int| {
        let mut asked = libc::pollfd { fd: *fd, events: libc::POLLIN | libc::POLLOUT, revents: 0 };
        let mut unread = 0;
        // SAFETY: the descriptor is open, and both places are ours.
        unsafe {
            libc::poll(&raw mut asked, 1, 0);
            libc::ioctl(*fd, libc::FIONREAD, &raw mut unread);
        }
        (asked.revents, unread)
    };
    fds.iter().map(one).collect()
}

/// The events since the last call, each with the place of its opening among `fds`.
fn events(epoll: libc::c_int, fds: &[libc::c_int]) -> Vec<(Option<usize>, u32)> {
    // SAFETY: all zeros are a valid value, and there is room for what is asked for.
    let events = unsafe {
        let mut events: [libc::epoll_event; 8] = zeroed();
        let count = libc::epoll_wait(epoll, events.as_mut_ptr(), 8, 0);
        events[..usize::try_from(count).unwrap()].to_vec()
    };
    let place = |event: &libc::epoll_event| {
        let data = event.u64;
        (fds.iter().position(|fd| *fd as u64 == data), event.events)
    };
    let mut events: Vec<_> = events.iter().map(place).collect();
    events.sort_unstable();
    events
}

#[test]
fn the_run_and_the_kernel_answer_scripts_alike() {
    // This part runs before the run begins, so it is the kernel that answers.
    let answers: Vec<_> = (0..500).map(play).collect();
    check(2, move |sim| {
        let answers = answers.clone();
        sim.client("program", move || {
            for (number, expected) in (0..).zip(&answers) {
                let got = play(number);
                let same = got.iter().zip(expected).take_while(|(got, wanted)| got == wanted);
                let last = same.count().min(expected.len() - 1);
                assert_eq!(got[last], expected[last], "script {number} after {:?}", &got[..last]);
            }
        });
    });
}

/// What a thread that opens one side sees of another one, without `O_NONBLOCK`.
fn meet() -> Vec<String> {
    let fifo = Fifo::new("meeting");
    let mut seen = Vec::new();
    for reads in [true, false] {
        let path = fifo.0.clone();
        let first =
            thread::spawn(move || OpenOptions::new().read(reads).write(!reads).open(path).unwrap());
        sleep(Duration::from_millis(50));
        seen.push(format!("waits: {}", !first.is_finished()));
        // The other one comes and goes; the first has been let in all the same.
        let other = OpenOptions::new().read(!reads).write(reads).open(&fifo.0).unwrap();
        drop(other);
        let mut first = first.join().unwrap();
        if reads {
            seen.push(format!("{:?}", read_to_string(first).unwrap()));
        } else {
            seen.push(format!("{:?}", first.write(b"x").unwrap_err().kind()));
        }
    }
    // A writer that waits for a reader is one already, for a reader that does not wait.
    let writing = thread::spawn({
        let path = fifo.0.clone();
        move || File::options().write(true).open(path).unwrap().write_all(&[7; 200_000]).unwrap()
    });
    sleep(Duration::from_millis(50));
    let mut early = OpenOptions::new();
    let mut early = early.read(true).custom_flags(libc::O_NONBLOCK).open(&fifo.0).unwrap();
    assert!(early.metadata().unwrap().file_type().is_fifo());
    let mut read = 0;
    let mut buffer = [0; 1_000];
    while read < 200_000 {
        match early.read(&mut buffer) {
            Ok(length) => read += length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => sleep(Duration::from_millis(1)),
            Err(error) => panic!("{error}"),
        }
    }
    writing.join().unwrap();
    seen.push(format!("{:?}", early.read(&mut buffer)));
    seen
}

#[test]
fn two_that_open_a_named_pipe_wait_for_each_other_as_in_the_kernel() {
    let expected = meet();
    check(50, move |sim| {
        let expected = expected.clone();
        sim.client("program", move || assert_eq!(meet(), expected));
    });
}

/// Whether the named pipe has a reader on the calling host.
fn has_reader(path: &Path) -> bool {
    match File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.raw_os_error(), Some(libc::ENXIO));
            false
        }
    }
}

#[test]
fn a_crash_closes_named_pipes_and_other_hosts_do_not_see_them() {
    check(20, |sim| {
        let fifo = Fifo::new("crash");
        let starts = Arc::new(AtomicUsize::new(0));
        let path = fifo.0.clone();
        sim.host("waits", move || drop(File::open(&path).unwrap()));
        let path = fifo.0.clone();
        sim.host("holds", move || {
            // Relaxed: a run has one thread at a time.
            if starts.fetch_add(1, Ordering::Relaxed) == 1 {
                assert!(!has_reader(&path), "the crash has closed it");
                return;
            }
            let _both = File::options().read(true).write(true).open(&path).unwrap();
            assert!(has_reader(&path));
            sleep(Duration::from_secs(1_000));
        });
        let path = fifo.0.clone();
        sim.client("other", move || {
            sleep(Duration::from_secs(1));
            assert!(!has_reader(&path), "it is another host's");
        });
        sleep(Duration::from_secs(2));
        sim.crash("holds");
        sim.crash("waits");
        sim.restart("holds");
        sleep(Duration::from_secs(1));
    });
}
