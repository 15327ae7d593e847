//! A server of axum that sleeps, reads a file and looks a name up, and a client of reqwest that asks it 100
//! times. It prints the names of the threads that the handlers ran on, and of all threads of the process.

use axum::Router;
use axum::extract::Path;
use axum::routing::get;
use std::collections::BTreeSet;
use std::error::Error;
use std::thread;
use std::time::Duration;
use tokio::net::{TcpListener, lookup_host};
use tokio::task::JoinSet;
use tokio::time::sleep;

const REQUESTS: usize = 100;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let router = Router::new().route("/{number}", get(answer));
    let server = tokio::spawn(async move { axum::serve(listener, router).await });

    let client = reqwest::Client::new();
    let mut requests = JoinSet::new();
    for number in 0..REQUESTS {
        let request = client.get(format!("{url}/{number}")).send();
        requests.spawn(async move {
            let text = request.await?.error_for_status()?.text().await?;
            let (answered, thread) = text.split_once(' ').expect("a number and a name");
            assert_eq!(answered, number.to_string());
            Ok::<String, reqwest::Error>(thread.to_owned())
        });
    }
    let mut handlers = BTreeSet::new();
    while let Some(answer) = requests.join_next().await {
        handlers.insert(answer??);
    }
    server.abort();
    println!("{REQUESTS} requests answered");
    println!("handlers: {}", kinds(handlers));
    println!("threads: {}", kinds(threads()?));
    Ok(())
}

async fn answer(Path(number): Path<usize>) -> String {
    sleep(Duration::from_millis(5)).await;
    let text = tokio::fs::read("/proc/self/comm").await.expect("each process has a name");
    assert!(!text.is_empty());
    let found = lookup_host(("localhost", 80)).await.expect("each machine has this name").count();
    assert!(found > 0);
    format!("{number} {}", thread::current().name().unwrap_or("no name"))
}

/// The names that the system knows of all threads of this process, which are cut to 15 bytes.
fn threads() -> std::io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for thread in std::fs::read_dir("/proc/self/task")? {
        let name = std::fs::read_to_string(thread?.path().join("comm"))?;
        names.insert(name.trim_end().to_owned());
    }
    Ok(names)
}

/// The names without their numbers.
fn kinds(names: BTreeSet<String>) -> String {
    let kinds = names.iter().map(|name| {
        name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-').to_owned()
    });
    kinds.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
}
