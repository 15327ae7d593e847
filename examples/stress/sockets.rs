//! An echo server and its clients, some of which cut the connection.

use super::ledger::Ledger;
use fastrand::Rng;
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::net::{TcpListener, TcpStream};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Echoes until it is cancelled. What a client does to its connection is no concern of the others'.
pub(crate) async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        drop(liten::spawn(async move { liten::io::copy(&stream, &mut &stream).await }));
    }
}

/// One connection, from beginning to end. Errors belong to cut connections, and to the runtime's end.
pub(crate) async fn exchange(ledger: &Arc<Ledger>, server: SocketAddr, rng: &mut Rng) {
    ledger.connections.add(1);
    let cut = rng.u32(..4) == 0;
    let whole = talk(ledger, server, rng, cut).await;
    match whole {
        Ok(bytes) if !cut => {
            ledger.sent.add(bytes);
            ledger.echoed.add(bytes);
        }
        _ => ledger.cut.add(1),
    }
}

/// Sends some bytes in some pieces and reads them back; returns how many.
async fn talk(ledger: &Ledger, server: SocketAddr, rng: &mut Rng, cut: bool) -> io::Result<u64> {
    let mut stream = TcpStream::connect(server).await?;
    let mut total = 0;
    for _ in 0..rng.u32(1..4) {
        let size = [1, 100, 70_000][rng.usize(..3)];
        let (first, mut back) = (rng.u8(..), vec![0; size]);
        let bytes: Vec<u8> = (0..size).map(|i| first.wrapping_add(i as u8)).collect();
        if cut && rng.bool() {
            if rng.bool() {
                // A reset instead of an orderly end.
                stream.set_linger(Some(Duration::ZERO))?;
            }
            drop(liten::time::timeout(Duration::from_micros(50), stream.write_all(&bytes)).await);
            return Ok(total);
        }
        let (mut reader, mut writer) = (&stream, &stream);
        let (sent, read) = liten::join!(writer.write_all(&bytes), reader.read_exact(&mut back));
        sent.and(read)?;
        if back != bytes {
            ledger.garbled.add(1);
        }
        total += size as u64;
    }
    stream.close().await?;
    if stream.read(&mut [0; 16]).await? != 0 {
        ledger.garbled.add(1);
    }
    Ok(total)
}
