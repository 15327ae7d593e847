//! A small Redis on tokio, and its blocking client: what `mini_redis` was before it moved to liten.
//!
//! ```sh
//! cargo run -p real --example mini_redis_tokio -- serve 127.0.0.1:6380
//! cargo run -p real --example mini_redis_tokio -- 127.0.0.1:6380 set colour blue
//! cargo run -p real --example mini_redis_tokio -- 127.0.0.1:6380 subscribe news
//! ```
//!
//! `examples/real/ports.md` explains each line in which the two differ.

use std::collections::HashMap;
use std::env;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, BufWriter};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, broadcast};
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep, sleep_until, timeout};

/// How long a client may take for the rest of a request that it has begun, and all clients at the end.
const PATIENCE: Duration = Duration::from_secs(5);
/// The largest value, and the most words of a request.
const VALUE: usize = 1 << 20;
const WORDS: usize = 16;

type Words = Vec<Vec<u8>>;

fn main() -> io::Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", address] => serve(address),
        [address, ref command @ ..] if !command.is_empty() => ask(address, command),
        _ => Err(io::Error::other("serve ADDRESS | ADDRESS COMMAND ..")),
    }
}

// The blocking client: a program without async code, with a runtime inside.

fn ask(address: &str, command: &[&str]) -> io::Result<()> {
    let mut client = Client::connect(address)?;
    client.send(command)?;
    println!("{}", client.reply()?);
    while command[0].eq_ignore_ascii_case("subscribe") {
        println!("{}", client.reply()?);
    }
    Ok(())
}

struct Client {
    stream: BufReader<TcpStream>,
    runtime: Runtime,
}

impl Client {
    fn connect(address: &str) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let connecting = async { timeout(PATIENCE, TcpStream::connect(address)).await };
        let stream = runtime.block_on(connecting)??;
        Ok(Self { stream: BufReader::new(stream), runtime })
    }

    fn send(&mut self, words: &[&str]) -> io::Result<()> {
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request += &format!("${}\r\n{word}\r\n", word.len());
        }
        self.runtime.block_on(self.stream.write_all(request.as_bytes()))
    }

    /// The next answer, in one line.
    fn reply(&mut self) -> io::Result<String> {
        let Self { stream, runtime } = self;
        runtime.block_on(async {
            let line = read_line(stream).await?.ok_or(ErrorKind::UnexpectedEof)?;
            match line.as_bytes().first() {
                Some(b'$') if &line[1..] == "-1" => Ok("(nil)".to_owned()),
                Some(b'$') => Ok(text(&read_value(stream, &line[1..]).await?)),
                Some(b'*') => {
                    let words = read_words(stream, &line[1..]).await?;
                    Ok(words.iter().map(|word| text(word)).collect::<Vec<_>>().join(" "))
                }
                _ => Ok(line),
            }
        })
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

// The protocol, for either side.

async fn read_line(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<String>> {
    let mut line = String::new();
    if stream.take(1024).read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let line = line.strip_suffix("\r\n").ok_or_else(malformed)?;
    Ok(Some(line.to_owned()))
}

/// A value that is announced by its length.
async fn read_value(stream: &mut (impl AsyncBufRead + Unpin), length: &str) -> io::Result<Vec<u8>> {
    let length = length.parse().ok().filter(|length| *length <= VALUE).ok_or_else(malformed)?;
    let mut value = vec![0; length + 2];
    stream.read_exact(&mut value).await?;
    value.truncate(length);
    Ok(value)
}

/// Values whose number is announced.
async fn read_words(stream: &mut (impl AsyncBufRead + Unpin), count: &str) -> io::Result<Words> {
    let count = count.parse().ok().filter(|count| *count <= WORDS).ok_or_else(malformed)?;
    let mut words = Words::new();
    while words.len() < count {
        let line = read_line(stream).await?.ok_or(ErrorKind::UnexpectedEof)?;
        let word = match line.split_at_checked(1) {
            Some(("$", length)) => read_value(stream, length).await?,
            Some((":", number)) => number.into(),
            _ => return Err(malformed()),
        };
        words.push(word);
    }
    Ok(words)
}

fn malformed() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "this is not how Redis speaks")
}

// The server.

#[derive(Default)]
struct Shared {
    values: Mutex<HashMap<String, Value>>,
    channels: Mutex<HashMap<String, broadcast::Sender<Vec<u8>>>>,
    /// Told when a value may run out earlier than all others.
    sooner: Notify,
}

struct Value {
    bytes: Vec<u8>,
    until: Option<Instant>,
}

impl Shared {
    fn values(&self) -> MutexGuard<'_, HashMap<String, Value>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn channel(&self, name: String) -> broadcast::Sender<Vec<u8>> {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.retain(|_, channel| channel.receiver_count() > 0);
        channels.entry(name).or_insert_with(|| broadcast::channel(1024).0).clone()
    }
}

#[tokio::main]
async fn serve(address: &str) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    let shared = Arc::new(Shared::default());
    let sweeper = tokio::spawn(sweep(Arc::clone(&shared)));
    let mut connections = JoinSet::new();
    // One for all turns of the loop: a signal that comes between two of them is not lost.
    let mut interrupted = pin!(tokio::signal::ctrl_c());
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    connections.spawn(converse(stream, peer, Arc::clone(&shared)));
                }
                Err(error) => {
                    eprintln!("accept: {error}");
                    sleep(Duration::from_millis(100)).await;
                }
            },
            Some(_) = connections.join_next() => {}
            result = interrupted.as_mut() => break result?,
        }
    }
    sweeper.abort();
    println!("{} connections at the end", connections.len());
    connections.shutdown().await;
    Ok(())
}

/// Removes what has run out.
async fn sweep(shared: Arc<Shared>) {
    loop {
        let now = Instant::now();
        let next = {
            let mut values = shared.values();
            values.retain(|_, value| value.until.is_none_or(|until| now < until));
            values.values().filter_map(|value| value.until).min()
        };
        tokio::select! {
            () = sleep_until(next.unwrap_or(now)), if next.is_some() => {}
            () = shared.sooner.notified() => {}
        }
    }
}

async fn converse(stream: TcpStream, peer: SocketAddr, shared: Arc<Shared>) {
    let conversation = async {
        stream.set_nodelay(true)?;
        let (reader, writer) = stream.into_split();
        let (mut reader, mut writer) = (BufReader::new(reader), BufWriter::new(writer));
        while let Some(line) = read_line(&mut reader).await? {
            let count = line.strip_prefix('*').ok_or_else(malformed)?;
            let words = timeout(PATIENCE, read_words(&mut reader, count)).await??;
            if let Some((channel, receiver)) = answer(words, &shared, &mut writer).await? {
                return forward(reader, writer, &channel, receiver).await;
            }
            writer.flush().await?;
        }
        writer.shutdown().await
    };
    if let Err(error) = conversation.await {
        eprintln!("{peer}: {error}");
    }
}

type Subscription = Option<(String, broadcast::Receiver<Vec<u8>>)>;

/// Answers one request; a subscription goes on.
async fn answer(
    words: Words,
    shared: &Shared,
    writer: &mut BufWriter<OwnedWriteHalf>,
) -> io::Result<Subscription> {
    let names: Vec<String> = words.iter().map(|word| text(word)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let reply = match (names.first().unwrap_or(&"").to_lowercase().as_str(), &names[..]) {
        ("ping", _) => "+PONG\r\n".to_owned(),
        ("get", [_, key]) => {
            let value = shared.values().get(*key).map(|value| value.bytes.clone());
            return bulk(writer, value.as_deref()).await.map(|()| None);
        }
        ("set", [_, key, _, options @ ..]) => {
            let until = match options {
                [px, time] if px.eq_ignore_ascii_case("px") => {
                    let time = time.parse().map(Duration::from_millis).map_err(|_| malformed())?;
                    Some(Instant::now() + time)
                }
                _ => None,
            };
            let value = Value { bytes: words[2].clone(), until };
            shared.values().insert((*key).to_owned(), value);
            shared.sooner.notify_one();
            "+OK\r\n".to_owned()
        }
        ("del", [_, key]) => format!(":{}\r\n", u8::from(shared.values().remove(*key).is_some())),
        ("publish", [_, channel, _]) => {
            let heard = shared.channel((*channel).to_owned()).send(words[2].clone());
            format!(":{}\r\n", heard.unwrap_or(0))
        }
        ("subscribe", [_, channel]) => {
            let receiver = shared.channel((*channel).to_owned()).subscribe();
            return Ok(Some(((*channel).to_owned(), receiver)));
        }
        _ => "-ERR unknown command\r\n".to_owned(),
    };
    writer.write_all(reply.as_bytes()).await?;
    Ok(None)
}

async fn bulk(writer: &mut BufWriter<OwnedWriteHalf>, value: Option<&[u8]>) -> io::Result<()> {
    let Some(value) = value else { return writer.write_all(b"$-1\r\n").await };
    writer.write_all(format!("${}\r\n", value.len()).as_bytes()).await?;
    writer.write_all(value).await?;
    writer.write_all(b"\r\n").await
}

/// Everything that is published, until the client leaves or sends something.
async fn forward(
    mut reader: impl AsyncBufRead + Unpin,
    mut writer: BufWriter<OwnedWriteHalf>,
    channel: &str,
    mut receiver: broadcast::Receiver<Vec<u8>>,
) -> io::Result<()> {
    let head = format!("*3\r\n$9\r\nsubscribe\r\n${}\r\n{channel}\r\n:1\r\n", channel.len());
    writer.write_all(head.as_bytes()).await?;
    loop {
        writer.flush().await?;
        let message = tokio::select! {
            message = receiver.recv() => message.map_err(io::Error::other)?,
            _ = reader.fill_buf() => return writer.shutdown().await,
        };
        let head = format!("*3\r\n$7\r\nmessage\r\n${}\r\n{channel}\r\n", channel.len());
        writer.write_all(head.as_bytes()).await?;
        bulk(&mut writer, Some(&message)).await?;
    }
}
