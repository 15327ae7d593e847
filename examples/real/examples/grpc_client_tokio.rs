//! A client for `grpc` on tonic's own transport, on tokio: nothing of liten is in it.
//!
//! ```sh
//! cargo run -p real --example grpc_client_tokio -- ADDRESS count TEXT
//! cargo run -p real --example grpc_client_tokio -- ADDRESS large BYTES      # counts such a text
//! cargo run -p real --example grpc_client_tokio -- ADDRESS split TEXT PAUSE [TIMEOUT]
//! cargo run -p real --example grpc_client_tokio -- ADDRESS tally STREAMS MESSAGES
//! ```
//!
//! PAUSE is how many milliseconds the server waits before each word, TIMEOUT how many it may take for all.
//! `tally` has that many streams at the same time, on one connection. Each sends that many messages, waits
//! for the answer to each before it sends the next one, and compares it.

use futures_util::stream::poll_fn;
use real::words::words_client::WordsClient;
use real::words::{Recital, Text, Total};
use std::env;
use std::error::Error;
use std::time::Duration;
use tokio::sync::mpsc::channel;
use tokio::task::JoinSet;
use tonic::Request;
use tonic::transport::{Channel, Endpoint};

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Some((address, call)) = arguments.split_first() else {
        return Err("usage: grpc_client_tokio ADDRESS CALL ARGUMENT ..".into());
    };
    let channel = Endpoint::from_shared(format!("http://{address}"))?.connect().await?;
    let mut client = WordsClient::new(channel);
    match *call {
        ["count", text] => count(&mut client, text.to_owned()).await,
        ["large", bytes] => count(&mut client, "x".repeat(bytes.parse()?)).await,
        ["split", text, pause] => {
            let recital = Recital { text: text.to_owned(), pause: pause.parse()? };
            split(&mut client, Request::new(recital)).await
        }
        ["split", text, pause, timeout] => {
            let recital = Recital { text: text.to_owned(), pause: pause.parse()? };
            let mut request = Request::new(recital);
            // tonic sends it, and heeds it itself until the answers begin; after that it is for the server.
            request.set_timeout(Duration::from_millis(timeout.parse()?));
            split(&mut client, request).await
        }
        ["tally", streams, messages] => {
            let (streams, messages) = (streams.parse()?, messages.parse()?);
            let mut tasks = JoinSet::new();
            for number in 0..streams {
                tasks.spawn(tally(client.clone(), number, messages));
            }
            let mut total = Total::default();
            while let Some(part) = tasks.join_next().await {
                let part = part??;
                total = Total { words: total.words + part.words, bytes: total.bytes + part.bytes };
            }
            println!("{} words, {} bytes", total.words, total.bytes);
            Ok(())
        }
        _ => Err("there is no such call".into()),
    }
}

async fn count(client: &mut WordsClient<Channel>, text: String) -> Result<(), Failure> {
    let total = client.count(Text { text }).await?.into_inner();
    println!("{} words, {} bytes", total.words, total.bytes);
    Ok(())
}

/// Says each word when it comes.
async fn split(
    client: &mut WordsClient<Channel>,
    request: Request<Recital>,
) -> Result<(), Failure> {
    let mut words = client.split(request).await?.into_inner();
    while let Some(word) = words.message().await? {
        println!("{}", word.text);
    }
    Ok(())
}

/// Sends texts of different lengths, one after the answer to the other, and returns the last answer.
async fn tally(
    mut client: WordsClient<Channel>,
    number: usize,
    messages: usize,
) -> Result<Total, Failure> {
    let (sender, mut receiver) = channel(1);
    let texts = poll_fn(move |cx| receiver.poll_recv(cx));
    let mut totals = client.tally(texts).await?.into_inner();
    let mut expected = Total::default();
    for message in 0..messages {
        let text = "word ".repeat((number * 31 + message * 7) % 5000);
        expected.add(&text);
        sender.send(Text { text }).await?;
        let total = totals.message().await?.ok_or("the answers end too early")?;
        if total != expected {
            return Err(format!("{total:?} instead of {expected:?}").into());
        }
        if message == 0 {
            println!("stream {number} has begun");
        }
    }
    drop(sender);
    match totals.message().await? {
        None => Ok(expected),
        Some(total) => Err(format!("one answer too many: {total:?}").into()),
    }
}
