//! What `clear_ready` clears: a state that has passed, and no end.

use crate::current_thread;
use rustix::fs::{CWD, Mode, OFlags, mkfifoat, open};
use rustix::io::{Errno, read, write};
use rustix::net::sockopt::socket_error;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, accept, bind, connect,
    getsockname, listen, recv, send, socket_with,
};
use rustix::pipe::{PipeFlags, pipe_with};
use std::io::{self, ErrorKind};
use std::net;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::{Interest, Ready};
use tokio::time::{sleep, timeout};

/// More than events come in any of these.
const MANY: usize = 20;

pub(crate) fn keep_all() {
    current_thread().block_on(async {
        a_socket_is_waited_for_that_was_registered_before_it_listened().await;
        a_socket_is_waited_for_that_was_registered_before_it_connected().await;
        an_error_that_was_fetched_is_over().await;
        urgent_data_ends_no_wait_for_other_data().await;
        a_named_pipe_is_waited_for_after_the_end_of_a_writer().await;
        an_end_stays_although_it_was_cleared().await;
        an_end_stays_that_a_wait_for_room_did_not_show().await;
    });
}

#[allow(deprecated, reason = "the other way needs `unsafe`, for descriptors that are not owned")]
fn registered<T: AsRawFd>(source: T) -> AsyncFd<T> {
    AsyncFd::new(source).expect("it can be polled")
}

/// Waits for data and tries `f`, which would block each time, until there is nothing to wait for. Fails if
/// that does not come to an end.
async fn settle<T: AsRawFd>(
    fd: &AsyncFd<T>,
    interest: Interest,
    mut f: impl FnMut(&T) -> rustix::io::Result<()>,
) {
    let moment = Duration::from_millis(30);
    for turn in 0.. {
        assert!(turn < MANY, "{interest:?}: it turns for ever");
        let Ok(guard) = timeout(moment, fd.ready(interest)).await else {
            return;
        };
        let mut guard = guard.expect("the runtime goes on");
        assert_eq!(f(guard.get_inner()), Err(Errno::WOULDBLOCK));
        match turn % 3 {
            0 => guard.clear_ready(),
            1 => guard.clear_ready_matching(Ready::ALL),
            _ => assert!(guard.try_io(|_| Err::<(), _>(ErrorKind::WouldBlock.into())).is_err()),
        }
    }
}

/// Waits until `f` does something else than block.
async fn once<T: AsRawFd, R>(fd: &AsyncFd<T>, mut f: impl FnMut(&T) -> rustix::io::Result<R>) -> R {
    let done = fd.async_io(Interest::READABLE, |fd| f(fd).map_err(io::Error::from));
    let done = timeout(Duration::from_secs(20), done).await;
    done.expect("it is told of").expect("it can be done")
}

fn stream() -> OwnedFd {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).expect("a socket")
}

fn local() -> net::SocketAddr {
    net::SocketAddr::from((net::Ipv4Addr::LOCALHOST, 0))
}

fn receive(socket: &OwnedFd) -> rustix::io::Result<()> {
    recv(socket, &mut [0; 8][..], RecvFlags::empty()).map(drop)
}

/// The system reports such a socket as hung up. Does not hold on tokio, where each wait returns at once.
async fn a_socket_is_waited_for_that_was_registered_before_it_listened() {
    let socket = stream();
    bind(&socket, &local()).expect("a port");
    let address = net::SocketAddr::try_from(getsockname(&socket).expect("an address"));
    let fd = registered(socket);
    sleep(Duration::from_millis(10)).await;
    listen(fd.get_ref(), 8).expect("it listens");
    settle(&fd, Interest::READABLE, |socket| accept(socket).map(drop)).await;
    let _client = net::TcpStream::connect(address.expect("of IPv4")).expect("a connection");
    once(&fd, |socket| accept(socket)).await;
}

/// Does not hold on tokio, either.
async fn a_socket_is_waited_for_that_was_registered_before_it_connected() {
    let listener = net::TcpListener::bind(local()).expect("a listener");
    let fd = registered(stream());
    sleep(Duration::from_millis(10)).await;
    let _in_progress = connect(fd.get_ref(), &listener.local_addr().expect("an address"));
    let (mut peer, _) = listener.accept().expect("a connection");
    settle(&fd, Interest::READABLE, receive).await;
    io::Write::write_all(&mut peer, b"word").expect("it is sent");
    once(&fd, receive).await;
}

/// An error of a datagram looks like the end of the write side. Does not hold on tokio, either.
async fn an_error_that_was_fetched_is_over() {
    let gone = net::UdpSocket::bind(local()).and_then(|socket| socket.local_addr());
    let socket = net::UdpSocket::bind(local()).expect("a socket");
    socket.connect(gone.expect("an address")).expect("it can be connected");
    socket.set_nonblocking(true).expect("a socket can be nonblocking");
    let fd = registered(OwnedFd::from(socket));
    send(fd.get_ref(), b"x", SendFlags::empty()).expect("it is sent");
    let mut told = fd.ready(Interest::ERROR).await.expect("the runtime goes on");
    assert_eq!(socket_error(fd.get_ref()).expect("it can be asked"), Err(Errno::CONNREFUSED));
    told.clear_ready();
    for interest in [Interest::READABLE, Interest::WRITABLE, Interest::ERROR] {
        settle(&fd, interest, |_| Err(Errno::WOULDBLOCK)).await;
    }
}

async fn urgent_data_ends_no_wait_for_other_data() {
    let listener = net::TcpListener::bind(local()).expect("a listener");
    let address = listener.local_addr().expect("an address");
    let ours = net::TcpStream::connect(address).expect("a connection");
    let (peer, _) = listener.accept().expect("a connection");
    ours.set_nonblocking(true).expect("a socket can be nonblocking");
    let fd = registered(OwnedFd::from(ours));
    send(&peer, b"!", SendFlags::OOB).expect("it is sent");
    sleep(Duration::from_millis(10)).await;
    settle(&fd, Interest::READABLE, receive).await;
}

fn fifo() -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("promises-{}", std::process::id()));
    mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).expect("a named pipe");
    path
}

/// Reading returns the end as long as there is no writer, and blocks when there is one again. Does not hold
/// on tokio, where each wait returns at once after the end of the first writer.
async fn a_named_pipe_is_waited_for_after_the_end_of_a_writer() {
    let path = fifo();
    let open = |flags| open(&path, flags | OFlags::NONBLOCK, Mode::empty()).expect("it is opened");
    let reader = open(OFlags::RDONLY);
    #[allow(deprecated, reason = "as above")]
    let fd = AsyncFd::with_interest(reader, Interest::READABLE).expect("it can be polled");
    let read = |fd: &OwnedFd| read(fd, &mut [0; 8]);
    for _ in 0..3 {
        let writer = open(OFlags::WRONLY);
        settle(&fd, Interest::READABLE, |fd| read(fd).map(drop)).await;
        write(&writer, b"word").expect("it is written");
        assert_eq!(once(&fd, read).await, 4);
        drop(writer);
        assert_eq!(once(&fd, read).await, 0);
        // The end is reported, too.
        sleep(Duration::from_millis(10)).await;
    }
    std::fs::remove_file(path).expect("it is there");
}

/// Whether or not the program has looked.
async fn cleared<T: AsRawFd>(fd: &AsyncFd<T>, interest: Interest) {
    for way in 0..3 {
        let wait = timeout(Duration::from_secs(20), fd.ready(interest)).await;
        let mut guard = wait.expect("an end stays").expect("the runtime goes on");
        match way {
            0 => guard.clear_ready(),
            1 => guard.clear_ready_matching(Ready::ALL),
            _ => assert!(guard.try_io(|_| Err::<(), _>(ErrorKind::WouldBlock.into())).is_err()),
        }
    }
    let both = Interest::READABLE | Interest::WRITABLE;
    assert!(fd.try_io(both, |_| Err::<(), _>(ErrorKind::WouldBlock.into())).is_err());
    let wait = timeout(Duration::from_secs(20), fd.ready(interest)).await;
    drop(wait.expect("an end stays"));
}

/// The system reports an end once, so what is lost of it is lost for every later reader.
async fn an_end_stays_although_it_was_cleared() {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().expect("two sockets");
    ours.set_nonblocking(true).expect("a socket can be nonblocking");
    let fd = registered(ours);
    drop(theirs);
    sleep(Duration::from_millis(10)).await;
    cleared(&fd, Interest::READABLE).await;
    cleared(&fd, Interest::WRITABLE).await;

    let listener = net::TcpListener::bind(local()).expect("a listener");
    let address = listener.local_addr().expect("an address");
    let ours = net::TcpStream::connect(address).expect("a connection");
    ours.set_nonblocking(true).expect("a socket can be nonblocking");
    let fd = registered(ours);
    drop(listener.accept().expect("a connection"));
    sleep(Duration::from_millis(10)).await;
    cleared(&fd, Interest::READABLE).await;

    for reads in [true, false] {
        let (reader, writer) = pipe_with(PipeFlags::NONBLOCK).expect("a pipe");
        let (ours, theirs) = if reads { (reader, writer) } else { (writer, reader) };
        let interest = if reads { Interest::READABLE } else { Interest::WRITABLE };
        #[allow(deprecated, reason = "as above")]
        let fd = AsyncFd::with_interest(ours, interest).expect("it can be polled");
        // A full pipe has nothing else to report than its end.
        while !reads && write(fd.get_ref().as_fd(), &[0; 4096]).is_ok() {}
        sleep(Duration::from_millis(10)).await;
        drop(theirs);
        sleep(Duration::from_millis(10)).await;
        cleared(&fd, interest).await;
    }
}

/// The program is shown the room alone, and says that the stream is ready for nothing at all.
async fn an_end_stays_that_a_wait_for_room_did_not_show() {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().expect("two sockets");
    ours.set_nonblocking(true).expect("a socket can be nonblocking");
    let fd = registered(ours);
    theirs.shutdown(net::Shutdown::Write).expect("it is open");
    sleep(Duration::from_millis(10)).await;
    let mut room = fd.writable().await.expect("the runtime goes on");
    room.clear_ready_matching(Ready::ALL);
    drop(room);
    let wait = timeout(Duration::from_secs(20), fd.readable()).await;
    drop(wait.expect("an end stays"));
}
