//! Fetches URLs with reqwest, all of them at once.
//!
//! ```sh
//! python3 -m http.server 8000 --bind 127.0.0.1        # in another terminal
//! cargo run -p real --example reqwest_fetch http://127.0.0.1:8000/ http://127.0.0.1:8000/nothing
//! ```
//!
//! reqwest knows no runtime but tokio. liten's feature `tokio-context` is all it takes: the program mentions
//! tokio nowhere. One line per URL, in their order: the status and the length, or what went wrong. It fails
//! if one of them did.

use liten::time::Duration;
use reqwest::{Client, StatusCode};
use std::env;
use std::error::Error;
use std::process::ExitCode;

/// How long one fetch may take.
const PATIENCE: Duration = Duration::from_secs(5);

#[liten::main]
async fn main() -> ExitCode {
    let client = Client::builder().timeout(PATIENCE).build().expect("no setting can be wrong");
    // Tasks of liten's; what they wait for is reported by the helper runtime of tokio.
    let fetches: Vec<_> = env::args()
        .skip(1)
        .map(|url| (url.clone(), liten::spawn(fetch(client.clone(), url))))
        .collect();
    if fetches.is_empty() {
        eprintln!("usage: reqwest_fetch URL ..");
        return ExitCode::FAILURE;
    }
    let mut code = ExitCode::SUCCESS;
    for (url, fetch) in fetches {
        match fetch.await.expect("no panic") {
            Ok((status, length)) => println!("{url}: {status}, {length} bytes"),
            Err(error) => {
                println!("{url}: {}", explain(&error));
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

async fn fetch(client: Client, url: String) -> reqwest::Result<(StatusCode, usize)> {
    let response = client.get(url).send().await?;
    let status = response.status();
    Ok((status, response.bytes().await?.len()))
}

/// reqwest's errors say what failed, and leave the reason to their sources.
fn explain(error: &reqwest::Error) -> String {
    let kind = match error {
        error if error.is_builder() => "not a URL",
        error if error.is_timeout() => "too slow",
        error if error.is_connect() => "no connection",
        error if error.is_body() || error.is_decode() => "the answer breaks off",
        _ => "no answer",
    };
    let mut reason: &dyn Error = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    format!("{kind}: {reason}")
}
