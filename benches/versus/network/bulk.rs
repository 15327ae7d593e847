//! Bulk over TCP: what a KiB costs that goes through as fast as it can.
//!
//! Both ends of each connection are tasks of the same runtime, and so is the proxy between them, so the
//! processor time of this process is that of all of them. Each measurement makes its connections anew.

use super::cpu::process_time;
use super::lane::cpu_since;
use crate::contest::{Contest, Figure, Lane, Start, lane};
use crate::runtimes::{Liten, Runtime, Tokio};
use crate::sockets::LOOPBACK;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// What the first measurement carries; each of the others as much as the one before says.
const FIRST: usize = 1 << 20;
const KIB: f64 = 1024.0;

/// Names, and what is carried.
const SHAPES: [(&str, Shape); 6] = [
    ("bulk_4kib", Shape::new(4)),
    ("bulk_64kib", Shape::new(64)),
    ("bulk_1024kib", Shape::new(1024)),
    ("bulk_both_ways", Shape { both_ways: true, ..Shape::new(64) }),
    ("bulk_16_streams", Shape { streams: 16, ..Shape::new(64) }),
    ("bulk_proxy", Shape { proxied: true, both_ways: true, ..Shape::new(64) }),
];

#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// The size of the buffers that are written and read, in bytes.
    block: usize,
    streams: usize,
    /// Each end writes and reads at the same time.
    both_ways: bool,
    /// `copy_bidirectional` lies between the ends.
    proxied: bool,
}

impl Shape {
    const fn new(kib: usize) -> Self {
        Self { block: kib * 1024, streams: 1, both_ways: false, proxied: false }
    }
}

pub(crate) fn contests(workers: usize) -> Vec<Contest> {
    let figure = |suffix| Figure { suffix, unit: "ns", goal: Some(1.0) };
    let row = |(name, shape): (&str, Shape)| Contest {
        name: name.to_owned(),
        figures: vec![figure(""), figure("cpu")],
        lanes: vec![Carried::<Liten>::lane(workers, shape), Carried::<Tokio>::lane(workers, shape)],
        slice: super::SLICE,
        rounds: super::ROUNDS,
    };
    SHAPES.map(row).into()
}

/// Carrying bytes, written once for the two runtimes whose sockets have the same names.
pub(crate) trait Bulk: Runtime {
    /// Carries so many bytes over each stream, and in each direction.
    fn carry(shape: Shape, bytes: usize) -> impl Future<Output = io::Result<()>>;
}

macro_rules! bulk {
    ($runtime:ident of $library:ident) => {
        impl Bulk for $runtime {
            async fn carry(shape: Shape, bytes: usize) -> io::Result<()> {
                use $library::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
                use $library::net::{TcpListener, TcpStream};

                /// Writes what is to be sent while it reads to the end. Returns how much that was.
                async fn end(stream: TcpStream, block: usize, bytes: usize) -> io::Result<usize> {
                    let (mut from, mut to) = stream.into_split();
                    let writes = $library::spawn(async move {
                        let (buffer, mut left) = (vec![7; block], bytes);
                        while left > 0 {
                            to.write_all(&buffer[..block.min(left)]).await?;
                            left -= block.min(left);
                        }
                        // The other end reads to the end: this half is dropped, which shuts it down.
                        Ok::<(), io::Error>(())
                    });
                    let (mut buffer, mut read) = (vec![0; block], 0);
                    loop {
                        match from.read(&mut buffer).await? {
                            0 => break,
                            length => read += length,
                        }
                    }
                    writes.await.map_err(io::Error::other)??;
                    Ok(read)
                }

                /// Puts a proxy before `target` for so many connections.
                async fn before(target: SocketAddr, streams: usize) -> io::Result<SocketAddr> {
                    let listener = TcpListener::bind(LOOPBACK).await?;
                    let address = listener.local_addr()?;
                    $library::spawn(async move {
                        for _ in 0..streams {
                            let (mut front, _) = listener.accept().await?;
                            $library::spawn(async move {
                                let mut behind = TcpStream::connect(target).await?;
                                copy_bidirectional(&mut front, &mut behind).await
                            });
                        }
                        Ok::<(), io::Error>(())
                    });
                    Ok(address)
                }

                let listener = TcpListener::bind(LOOPBACK).await?;
                let mut address = listener.local_addr()?;
                if shape.proxied {
                    address = before(address, shape.streams).await?;
                }
                let mut ends = Vec::new();
                for _ in 0..shape.streams {
                    let client = TcpStream::connect(address).await?;
                    let (server, _) = listener.accept().await?;
                    let back = if shape.both_ways { bytes } else { 0 };
                    let server = $library::spawn(end(server, shape.block, back));
                    ends.push((bytes, server));
                    ends.push((back, $library::spawn(end(client, shape.block, bytes))));
                }
                for (expected, read) in ends {
                    assert_eq!(read.await.map_err(io::Error::other)??, expected, "bytes are lost");
                }
                Ok(())
            }
        }
    };
}

bulk!(Liten of liten);
bulk!(Tokio of tokio);

struct Carried<R> {
    runtime: R,
    shape: Shape,
    bytes: usize,
}

impl<R: Bulk> Carried<R> {
    fn lane(workers: usize, shape: Shape) -> (&'static str, Start) {
        lane::<R, _>(move || Self { runtime: R::start(workers), shape, bytes: FIRST })
    }
}

impl<R: Bulk> Lane for Carried<R> {
    fn warm_up(&mut self, slice: Duration) {
        // The first one says how much fits into a slice.
        self.measure(slice);
        self.measure(slice);
    }

    fn measure(&mut self, slice: Duration) -> Vec<f64> {
        let Shape { streams, both_ways, .. } = self.shape;
        let (before, begin) = (process_time(), Instant::now());
        self.runtime.block_on(R::carry(self.shape, self.bytes)).expect("connections on loopback");
        let elapsed = begin.elapsed();
        let kib = (self.bytes * streams) as f64 * if both_ways { 2.0 } else { 1.0 } / KIB;
        let values = vec![elapsed.as_nanos() as f64 / kib, cpu_since(before) / kib];
        let fits = self.bytes as f64 * slice.as_secs_f64() / elapsed.as_secs_f64();
        self.bytes = (fits as usize).max(self.shape.block);
        values
    }
}
