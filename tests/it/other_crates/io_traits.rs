//! tokio's and hyper's I/O traits on liten's types, beside those of futures-io, on the same value.

use crate::net::tcp::narrow_pair;
use crate::support::loopback::{pattern, poll_once, run, tcp_pair};
use liten::hyper::LitenIo;
use liten::join;
use std::future::poll_fn;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

const MIB: usize = 1 << 20;
/// Reads of all these sizes in turn: some drain the socket, some fit exactly, some stop in between.
const SIZES: [usize; 6] = [1, 7, 251, 4_096, 65_536, 300_007];

/// Writing by one family of traits.
trait Writes<T> {
    fn poll_write(
        end: Pin<&mut T>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>>;

    fn poll_end(end: Pin<&mut T>, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// Reading by one family of traits.
trait Reads<T> {
    /// Reads into memory that is not initialised, where the family lends such, and adds it to `taken`.
    fn poll_read(
        end: Pin<&mut T>,
        cx: &mut Context<'_>,
        room: usize,
        taken: &mut Vec<u8>,
    ) -> Poll<io::Result<()>>;
}

struct Futures;
struct Tokio;
struct Hyper;

macro_rules! writes {
    ($family:ty, $trait:path, $end:ident) => {
        impl<T: $trait> Writes<T> for $family {
            fn poll_write(
                end: Pin<&mut T>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                end.poll_write_vectored(cx, bufs)
            }

            fn poll_end(end: Pin<&mut T>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                end.$end(cx)
            }
        }
    };
}

writes!(Futures, liten::io::AsyncWrite, poll_close);
writes!(Tokio, tokio::io::AsyncWrite, poll_shutdown);
writes!(Hyper, hyper::rt::Write, poll_shutdown);

impl<T: liten::io::AsyncRead> Reads<T> for Futures {
    fn poll_read(
        end: Pin<&mut T>,
        cx: &mut Context<'_>,
        room: usize,
        taken: &mut Vec<u8>,
    ) -> Poll<io::Result<()>> {
        let mut memory = vec![0; room];
        let (first, second) = memory.split_at_mut(room / 2);
        let mut bufs = [IoSliceMut::new(first), IoSliceMut::new(second)];
        let length = ready!(end.poll_read_vectored(cx, &mut bufs))?;
        taken.extend_from_slice(&memory[..length]);
        Poll::Ready(Ok(()))
    }
}

/// The first `room` bytes of an empty vector's memory, as the allocator gave them. `vec!` would store each
/// `MaybeUninit` by itself where nothing is optimised, and under the thread sanitizer that takes minutes.
fn lend(memory: &mut Vec<u8>, room: usize) -> &mut [MaybeUninit<u8>] {
    &mut memory.spare_capacity_mut()[..room]
}

impl<T: tokio::io::AsyncRead> Reads<T> for Tokio {
    fn poll_read(
        end: Pin<&mut T>,
        cx: &mut Context<'_>,
        room: usize,
        taken: &mut Vec<u8>,
    ) -> Poll<io::Result<()>> {
        // One byte is there already and has to stay.
        let mut memory = Vec::with_capacity(room + 1);
        let mut buf = tokio::io::ReadBuf::uninit(lend(&mut memory, room + 1));
        buf.put_slice(b"!");
        ready!(end.poll_read(cx, &mut buf))?;
        assert_eq!(buf.filled()[0], b'!');
        taken.extend_from_slice(&buf.filled()[1..]);
        Poll::Ready(Ok(()))
    }
}

impl<T: hyper::rt::Read> Reads<T> for Hyper {
    fn poll_read(
        end: Pin<&mut T>,
        cx: &mut Context<'_>,
        room: usize,
        taken: &mut Vec<u8>,
    ) -> Poll<io::Result<()>> {
        let mut memory = Vec::with_capacity(room + 1);
        let mut buf = hyper::rt::ReadBuf::uninit(lend(&mut memory, room + 1));
        buf.unfilled().put_slice(b"!");
        ready!(end.poll_read(cx, buf.unfilled()))?;
        assert_eq!(buf.filled()[0], b'!');
        taken.extend_from_slice(&buf.filled()[1..]);
        Poll::Ready(Ok(()))
    }
}

/// Reads once.
async fn read<F: Reads<T>, T: Unpin>(
    mut end: T,
    room: usize,
    taken: &mut Vec<u8>,
) -> io::Result<()> {
    poll_fn(|cx| F::poll_read(Pin::new(&mut end), cx, room, taken)).await
}

/// Writes `data`, two buffers at a time, and then the end.
async fn send<F: Writes<T>, T: Unpin>(mut end: T, data: &[u8]) {
    let mut end = Pin::new(&mut end);
    let mut rest = data;
    let mut turn = 0;
    while !rest.is_empty() {
        let piece = &rest[..SIZES[turn % SIZES.len()].min(rest.len())];
        let (first, second) = piece.split_at(piece.len() / 3);
        let bufs = [IoSlice::new(first), IoSlice::new(second)];
        let length = poll_fn(|cx| F::poll_write(end.as_mut(), cx, &bufs)).await.unwrap();
        assert!(0 < length && length <= piece.len(), "{length} of {}", piece.len());
        rest = &rest[length..];
        turn += 1;
    }
    poll_fn(|cx| F::poll_end(end.as_mut(), cx)).await.unwrap();
}

/// Reads to the end.
async fn receive<F: Reads<T>, T: Unpin>(mut end: T) -> Vec<u8> {
    let mut end = Pin::new(&mut end);
    let mut received = Vec::new();
    let mut turn = 0;
    loop {
        let before = received.len();
        let room = SIZES[turn % SIZES.len()];
        poll_fn(|cx| F::poll_read(end.as_mut(), cx, room, &mut received)).await.unwrap();
        assert!(received.len() <= before + room);
        if received.len() == before {
            return received;
        }
        turn += 1;
    }
}

/// One end sends by one family what the other end receives by another one.
async fn storm<W: Writes<A>, R: Reads<B>, A: Unpin, B: Unpin>(from: A, to: B) {
    let data = pattern(2 * MIB);
    let (_, received) = join!(send::<W, A>(from, &data), receive::<R, B>(to));
    assert!(received == data, "the bytes differ");
}

/// Storms in both directions at once, with all families in all roles. Each storm ends its stream, so each has
/// its own pair.
macro_rules! storms {
    ($pair:ident => $pairs:expr, $first:expr, $second:expr, $($writes:ty, $reads:ty;)*) => {$(
        {
            #[allow(unused_mut)]
            let mut $pair = $pairs.await;
            let (first_read, first_write) = $first;
            let (second_read, second_write) = $second;
            join!(
                storm::<$writes, $reads, _, _>(first_write, second_read),
                storm::<$reads, $writes, _, _>(second_write, first_read),
            );
        }
    )*};
    ($pair:ident => $pairs:expr, $first:expr, $second:expr) => {
        storms!(
            $pair => $pairs, $first, $second,
            Tokio, Tokio; Hyper, Hyper; Tokio, Futures; Futures, Hyper; Hyper, Tokio;
        )
    };
}

#[test]
fn every_byte_arrives_over_a_shared_tcp_stream() {
    run(async {
        storms!(pair => narrow_pair(), (&pair.0, &pair.0), (&pair.1, &pair.1));
    });
}

#[test]
fn every_byte_arrives_over_borrowed_halves() {
    run(async {
        storms!(pair => narrow_pair(), pair.0.split(), pair.1.split());
    });
}

#[test]
fn every_byte_arrives_over_owned_halves() {
    run(async {
        storms!(pair => narrow_pair(), pair.0.into_split(), pair.1.into_split());
    });
}

#[cfg(unix)]
#[test]
fn every_byte_arrives_over_unix_streams() {
    async fn pair() -> (liten::net::UnixStream, liten::net::UnixStream) {
        liten::net::UnixStream::pair().unwrap()
    }

    run(async {
        storms!(pair => pair(), (&pair.0, &pair.0), (&pair.1, &pair.1));
        storms!(pair => pair(), pair.0.split(), pair.1.split());
        storms!(pair => pair(), pair.0.into_split(), pair.1.into_split());
    });
}

/// A source that liten has no face for. Closing it only flushes, so the end is made by hand.
#[cfg(unix)]
#[test]
fn every_byte_arrives_over_any_source() {
    use liten::io::{Async, Fd};
    use std::os::unix::net::UnixStream;

    type Source = Async<Fd<UnixStream>>;

    fn end() -> (Source, Source) {
        let (first, second) = UnixStream::pair().unwrap();
        let [first, second] = [first, second].map(|stream| {
            stream.set_nonblocking(true).unwrap();
            Async::new(Fd::new(stream)).unwrap()
        });
        (first, second)
    }

    async fn one_way<W: for<'a> Writes<&'a Source>, R: for<'a> Reads<&'a Source>>() {
        let (from, to) = end();
        let data = pattern(2 * MIB);
        let sending = async {
            send::<W, _>(&from, &data).await;
            from.get_ref().get_ref().shutdown(std::net::Shutdown::Write).unwrap();
        };
        let (_, received) = join!(sending, receive::<R, _>(&to));
        assert!(received == data, "the bytes differ");
    }

    run(async {
        one_way::<Tokio, Hyper>().await;
        one_way::<Hyper, Futures>().await;
        one_way::<Futures, Tokio>().await;
    });
}

/// The adapter over a socket, over hyper's own traits of which it stands again.
#[test]
fn every_byte_arrives_through_the_adapter() {
    run(async {
        let (first, second) = narrow_pair().await;
        storm::<Hyper, Hyper, _, _>(LitenIo::new(&first), LitenIo::new(&second)).await;
        let (first, second) = (LitenIo::new(&first), LitenIo::new(&second));
        storm::<Futures, Futures, _, _>(LitenIo::new(second), LitenIo::new(first)).await;
    });
}

/// A reader that says it has read one byte more than there was room for.
#[cfg(unix)]
struct Boaster(std::os::unix::net::UnixStream);

#[cfg(unix)]
impl io::Read for &Boaster {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        Ok(buf.len() + 1)
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for Boaster {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What it says is not believed: no reader is lent bytes that were never written.
#[cfg(unix)]
#[test]
fn a_reader_that_says_too_much_fills_nothing() {
    use hyper::rt::Read;
    use liten::io::{Async, Fd};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn refused(read: impl FnOnce(&mut Context<'_>)) {
        let read = || read(&mut Context::from_waker(std::task::Waker::noop()));
        assert!(catch_unwind(AssertUnwindSafe(read)).is_err());
    }

    run(async {
        let (stream, _peer) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut boaster = Async::new(Fd::new(Boaster(stream))).unwrap();
        // Less, and more, than one read through `AsyncRead` asks for.
        for room in [64, 100_000] {
            let mut memory = vec![MaybeUninit::uninit(); room];
            let mut buf = hyper::rt::ReadBuf::uninit(&mut memory);
            refused(|cx| {
                let _ = Pin::new(&mut boaster).poll_read(cx, buf.unfilled());
            });
            let mut adapter = LitenIo::new(&boaster);
            refused(|cx| {
                let _ = Pin::new(&mut adapter).poll_read(cx, buf.unfilled());
            });
            assert!(buf.filled().is_empty());
            let mut memory = [MaybeUninit::uninit(); 64];
            let mut buf = tokio::io::ReadBuf::uninit(&mut memory);
            refused(|cx| {
                let _ = tokio::io::AsyncRead::poll_read(Pin::new(&mut boaster), cx, &mut buf);
            });
            assert!(buf.filled().is_empty());
        }
    });
}

#[test]
fn a_stream_that_is_shut_down_still_receives() {
    async fn ends<F>()
    where
        F: for<'a> Writes<&'a liten::net::TcpStream> + for<'a> Reads<&'a liten::net::TcpStream>,
    {
        let (client, server) = tcp_pair().await;
        send::<F, _>(&client, b"question").await;
        assert_eq!(receive::<F, _>(&server).await, b"question");
        send::<F, _>(&server, b"answer").await;
        assert_eq!(receive::<F, _>(&client).await, b"answer");
        // Once more, with no peer there: as for `close`, it is no error.
        drop(server);
        poll_fn(|cx| F::poll_end(Pin::new(&mut &client), cx)).await.unwrap();
    }

    run(async {
        ends::<Tokio>().await;
        ends::<Hyper>().await;
        ends::<Futures>().await;
    });
}

/// Methods of one name come from the extension trait in scope; the value is the same.
#[test]
fn both_families_of_extension_methods_work_on_one_value() {
    async fn by_tokio(stream: &mut liten::net::TcpStream) -> Vec<u8> {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        stream.write_all(b"from tokio's").await.unwrap();
        let mut buf = Vec::with_capacity(64);
        stream.read_buf(&mut buf).await.unwrap();
        buf
    }

    async fn by_futures(stream: &mut liten::net::TcpStream) -> Vec<u8> {
        use liten::io::{AsyncReadExt, AsyncWriteExt};
        stream.write_all(b"from ours").await.unwrap();
        let mut buf = vec![0; 64];
        let length = stream.read(&mut buf).await.unwrap();
        buf.truncate(length);
        buf
    }

    run(async {
        let (mut client, mut server) = tcp_pair().await;
        let (one, other) = join!(by_tokio(&mut client), by_futures(&mut server));
        assert_eq!((&one[..], &other[..]), (&b"from ours"[..], &b"from tokio's"[..]));
        let (one, other) = join!(by_futures(&mut client), by_tokio(&mut server));
        assert_eq!((&one[..], &other[..]), (&b"from tokio's"[..], &b"from ours"[..]));
    });
}

/// An inherent method of the name would win over the traits' on an owned stream, and hide them.
#[test]
fn an_owned_stream_is_shut_down_by_the_method_of_each_family() {
    run(async {
        let (mut client, mut server) = tcp_pair().await;
        {
            use tokio::io::AsyncWriteExt;
            client.shutdown().await.unwrap();
        }
        {
            use liten::io::{AsyncReadExt, AsyncWriteExt};
            assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 0);
            server.close().await.unwrap();
            assert_eq!(client.read(&mut [0; 8]).await.unwrap(), 0);
        }
        #[cfg(unix)]
        {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            let (mut here, mut there) = liten::net::UnixStream::pair().unwrap();
            here.shutdown().await.unwrap();
            assert_eq!(there.read(&mut [0; 8]).await.unwrap(), 0);
            there.shutdown_std(std::net::Shutdown::Both).unwrap();
            there.shutdown().await.unwrap();
        }
    });
}

/// A read that takes all there is must not lose the next event, and one that does not must not wait for it.
#[test]
fn reads_that_just_fit_go_on() {
    async fn rooms<F>()
    where
        F: for<'a> Writes<&'a liten::net::TcpStream> + for<'a> Reads<&'a liten::net::TcpStream>,
    {
        let (client, server) = tcp_pair().await;
        for _ in 0..100 {
            for room in [4, 8, 16] {
                let bufs = [IoSlice::new(b"12345678")];
                poll_fn(|cx| F::poll_write(Pin::new(&mut &client), cx, &bufs)).await.unwrap();
                let mut received = Vec::new();
                while received.len() < 8 {
                    read::<F, _>(&server, room, &mut received).await.unwrap();
                }
                assert_eq!(received, b"12345678");
            }
        }
    }

    run(async {
        rooms::<Tokio>().await;
        rooms::<Hyper>().await;
    });
}

#[test]
fn a_buffer_without_room_reads_nothing_and_ends_nothing() {
    run(async {
        let (client, server) = tcp_pair().await;
        send::<Tokio, _>(&client, b"bytes").await;
        let mut nothing = Vec::new();
        for _ in 0..3 {
            read::<Tokio, _>(&server, 0, &mut nothing).await.unwrap();
            read::<Hyper, _>(&server, 0, &mut nothing).await.unwrap();
        }
        assert!(nothing.is_empty());
        assert_eq!(receive::<Hyper, _>(&server).await, b"bytes");
    });
}

#[test]
fn writers_say_whether_they_write_vectored() {
    fn by_both<T: tokio::io::AsyncWrite + hyper::rt::Write>(writer: &T) -> [bool; 2] {
        let tokio = tokio::io::AsyncWrite::is_write_vectored(writer);
        [tokio, hyper::rt::Write::is_write_vectored(writer)]
    }

    run(async {
        let (mut client, server) = tcp_pair().await;
        assert_eq!(by_both(&client), [true; 2]);
        assert_eq!(by_both(&&client), [true; 2]);
        assert_eq!(by_both(&client.split().1), [true; 2]);
        assert_eq!(by_both(&server.into_split().1), [true; 2]);
        assert!(!hyper::rt::Write::is_write_vectored(&LitenIo::new(client)));
    });
}

/// A reset reaches the reader as an error, in each family.
#[test]
fn a_reset_is_an_error_and_not_an_end() {
    async fn reset<F: Reads<liten::net::TcpStream>>() -> io::ErrorKind {
        let (client, mut server) = tcp_pair().await;
        let mut bytes = Vec::new();
        let mut read = poll_fn(|cx| F::poll_read(Pin::new(&mut server), cx, 8, &mut bytes));
        assert!(poll_once(&mut read).await.is_none());
        client.set_linger(Some(std::time::Duration::ZERO)).unwrap();
        drop(client);
        read.await.unwrap_err().kind()
    }

    run(async {
        assert_eq!(reset::<Tokio>().await, io::ErrorKind::ConnectionReset);
        assert_eq!(reset::<Hyper>().await, io::ErrorKind::ConnectionReset);
    });
}

#[test]
fn every_byte_arrives_within_the_process() {
    run(async {
        let (first, second) = liten::io::duplex(100_000);
        storm::<Tokio, Tokio, _, _>(first, second).await;
        let (first, second) = liten::io::duplex(1_000);
        storm::<Tokio, Futures, _, _>(second, first).await;
        let (first, second) = liten::io::duplex(7_000);
        storm::<Futures, Tokio, _, _>(second, first).await;
    });
}
