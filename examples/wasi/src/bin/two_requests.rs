//! Two HTTP requests at once, without a task: prints what came back, and how long both took together.
//!
//! `two_requests URL [URL]`, in a component: with one URL both requests go there.

#[cfg(target_family = "wasm")]
fn main() {
    use component::http;
    use futures_concurrency::future::Join;
    use std::time::Instant;

    let mut arguments = std::env::args().skip(1);
    let Some(first) = arguments.next() else {
        eprintln!("usage: two_requests URL [URL]");
        std::process::exit(2);
    };
    let second = arguments.next().unwrap_or_else(|| first.clone());

    let start = Instant::now();
    let (one, two) = liten::wasi::block_on(async |reactor| {
        (http::get(&reactor, &first), http::get(&reactor, &second)).join().await
    });
    let took = start.elapsed();

    let mut failed = false;
    for (url, outcome) in [(first, one), (second, two)] {
        match outcome {
            Ok(answer) => {
                failed |= answer.status != 200;
                println!("{url}: {}, {} bytes, with", answer.status, answer.body.len());
                for name in answer.header_names {
                    println!("  {name}");
                }
            }
            Err(error) => {
                failed = true;
                println!("{url}: {error}");
            }
        }
    }
    println!("both together: {} ms", took.as_millis());
    std::process::exit(i32::from(failed));
}

#[cfg(not(target_family = "wasm"))]
fn main() {
    eprintln!("two_requests speaks HTTP through a component's host: build it for wasm32-wasip2");
}
