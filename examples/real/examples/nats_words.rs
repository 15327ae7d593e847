//! async-nats: questions and answers through a NATS server.
//!
//! ```sh
//! nats-server -a 127.0.0.1                            # in another terminal
//! cargo run -p real --example nats_words nats://127.0.0.1:4222 one two three
//! ```
//!
//! One task of liten's answers each word with its capitals, others ask, all at once, and the answers come in
//! the order of the words. The connection is a task of async-nats' own, in the helper runtime of tokio that
//! liten's feature `tokio-context` brings.

use async_nats::{Client, ConnectOptions, Subscriber};
use futures_util::StreamExt;
use liten::time::{Duration, timeout};
use std::env;
use std::error::Error;
use std::process::ExitCode;

/// How long to wait for the server, and for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

type Failure = Box<dyn Error + Send + Sync>;

#[liten::main]
async fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let Some(server) = arguments.next() else {
        eprintln!("usage: nats_words SERVER WORD ..");
        return ExitCode::FAILURE;
    };
    match run(&server, arguments.collect()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{server}: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(server: &str, words: Vec<String>) -> Result<(), Failure> {
    let options = ConnectOptions::new().request_timeout(Some(PATIENCE));
    // Its own limit is for the connection; a server that is none may say nothing at all.
    let client =
        timeout(PATIENCE, options.connect(server)).await.map_err(|_| "no NATS server")??;
    // A subject that no other program uses.
    let subject = client.new_inbox();
    let questions = client.subscribe(subject.clone()).await?;
    // Otherwise the first questions may come before the subscription.
    client.flush().await?;
    println!("connected");
    let answers = liten::spawn(answer(client.clone(), questions));
    let asked: Vec<_> = words
        .into_iter()
        .map(|word| {
            let (client, subject) = (client.clone(), subject.clone());
            liten::spawn(async move { client.request(subject, word.into()).await })
        })
        .collect();
    for question in asked {
        let reply = question.await.expect("no panic")?;
        println!("{}", String::from_utf8_lossy(&reply.payload));
    }
    answers.abort();
    client.drain().await?;
    Ok(())
}

async fn answer(client: Client, mut questions: Subscriber) -> Result<(), Failure> {
    while let Some(question) = questions.next().await {
        let capitals = String::from_utf8_lossy(&question.payload).to_uppercase();
        if let Some(reply) = question.reply {
            client.publish(reply, capitals.into()).await?;
        }
    }
    Ok(())
}
