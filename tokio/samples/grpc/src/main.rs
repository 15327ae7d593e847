//! A gRPC service that counts words, and its client, both with tonic's transport.
//!
//! ```text
//! grpc serve               # prints where it listens; ctrl-c ends it
//! grpc ask ADDRESS         # calls each method, 50 streams at the same time, and prints what came
//! ```
//!
//! As a .proto file it would be
//!
//! ```proto
//! package words;
//!
//! service Words {
//!   rpc Count(Text) returns (Total);
//!   rpc Split(Recital) returns (stream Text);
//!   rpc Tally(stream Text) returns (stream Total);
//! }
//! ```
//!
//! with the messages below.

use std::env;
use std::error::Error;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::{signal, time};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status, Streaming};
use words::words_client::WordsClient;
use words::words_server::{Words, WordsServer};

mod words {
    include!(concat!(env!("OUT_DIR"), "/words.Words.rs"));
}

const STREAMS: u64 = 50;
const TEXTS: u64 = 20;

/// Some text.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Text {
    #[prost(string, tag = "1")]
    pub text: String,
}

/// A text that is to be given back word by word, with milliseconds before each.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Recital {
    #[prost(string, tag = "1")]
    pub text: String,
    #[prost(uint32, tag = "2")]
    pub pause: u32,
}

/// What has been counted.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Total {
    #[prost(uint64, tag = "1")]
    pub words: u64,
    #[prost(uint64, tag = "2")]
    pub bytes: u64,
}

impl Total {
    fn add(&mut self, text: &str) {
        self.words += text.split_whitespace().count() as u64;
        self.bytes += text.len() as u64;
    }
}

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve"] => serve().await,
        ["ask", address] => ask(address).await,
        _ => Err("usage: grpc serve | ask ADDRESS".into()),
    }
}

async fn serve() -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on {}", listener.local_addr()?);
    let interrupted = async {
        signal::ctrl_c().await.expect("the signal can be listened to");
    };
    let server = Server::builder().add_service(WordsServer::new(Counter));
    server.serve_with_incoming_shutdown(TcpListenerStream::new(listener), interrupted).await?;
    println!("bye");
    Ok(())
}

struct Counter;

#[tonic::async_trait]
impl Words for Counter {
    type SplitStream = ReceiverStream<Result<Text, Status>>;
    type TallyStream = ReceiverStream<Result<Total, Status>>;

    async fn count(&self, request: Request<Text>) -> Result<Response<Total>, Status> {
        let mut total = Total::default();
        total.add(&request.get_ref().text);
        Ok(Response::new(total))
    }

    async fn split(
        &self,
        request: Request<Recital>,
    ) -> Result<Response<Self::SplitStream>, Status> {
        let Recital { text, pause } = request.into_inner();
        if text.trim().is_empty() {
            return Err(Status::invalid_argument("there are no words"));
        }
        let (answers, stream) = mpsc::channel(1);
        tokio::spawn(async move {
            for word in text.split_whitespace() {
                time::sleep(Duration::from_millis(pause.into())).await;
                // The client has left.
                if answers.send(Ok(Text { text: word.to_owned() })).await.is_err() {
                    break;
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    /// An answer per message. A client that does not read its answers is not read.
    async fn tally(
        &self,
        request: Request<Streaming<Text>>,
    ) -> Result<Response<Self::TallyStream>, Status> {
        let mut texts = request.into_inner();
        let (answers, stream) = mpsc::channel(1);
        tokio::spawn(async move {
            let mut total = Total::default();
            while let Some(text) = texts.message().await.transpose() {
                let answer = text.map(|Text { text }| {
                    total.add(&text);
                    total
                });
                let ends = answer.is_err();
                if answers.send(answer).await.is_err() || ends {
                    break;
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

async fn ask(address: &str) -> Result<(), Failure> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?;
    let channel = endpoint.connect_timeout(Duration::from_secs(30)).connect().await?;
    let mut client = WordsClient::new(channel);
    let total = client.count(Text { text: "how many words".to_owned() }).await?.into_inner();
    println!("{} words, {} bytes", total.words, total.bytes);

    let recital = Recital { text: "one after the other".to_owned(), pause: 1 };
    let mut words = client.split(recital).await?.into_inner();
    while let Some(Text { text }) = words.message().await? {
        println!("{text}");
    }

    let slow = Recital { text: "never".to_owned(), pause: 600_000 };
    let mut words = client.split(slow).await?.into_inner();
    let late = time::timeout(Duration::from_millis(50), words.message()).await;
    println!("{}", if late.is_err() { "late" } else { "early" });
    // The server sees that its client has left.
    drop(words);

    let mut streams = JoinSet::new();
    for _ in 0..STREAMS {
        streams.spawn(tally(client.clone()));
    }
    let mut words = 0;
    while let Some(counted) = streams.join_next().await {
        words += counted??;
    }
    println!("{words} words in {STREAMS} streams");
    Ok(())
}

/// Sends each text after the answer to the one before, and returns how many words there were.
async fn tally(mut client: WordsClient<Channel>) -> Result<u64, Failure> {
    let (texts, stream) = mpsc::channel(1);
    let mut totals = client.tally(ReceiverStream::new(stream)).await?.into_inner();
    let mut words = 0;
    for _ in 0..TEXTS {
        texts.send(Text { text: "two words".to_owned() }).await?;
        words = totals.message().await?.ok_or("the stream has ended")?.words;
    }
    drop(texts);
    match totals.message().await? {
        Some(_) => Err("an answer to nothing".into()),
        None => Ok(words),
    }
}
