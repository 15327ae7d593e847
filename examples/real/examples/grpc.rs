//! gRPC: tonic's services on liten, without a runtime of tokio's.
//!
//! ```sh
//! cargo run -p real --example grpc              # 127.0.0.1:50051, or the address given as the argument
//! cargo run -p real --example grpc_client_tokio -- 127.0.0.1:50051 count "how many words"
//! cargo run -p real --example grpc_client_tokio -- 127.0.0.1:50051 split "one after the other" 500
//! ```
//!
//! What tonic generates is a service of tower's, its `Routes` are an axum `Router`, and `real::serve` serves
//! that, with hyper on liten's executor and timer. tonic's own server, its `transport`, is tokio's and not
//! needed. With it goes what it does about deadlines; that is done here, and for the whole of a stream.
//!
//! A call is a stream that its connection polls: when a client leaves, the stream is dropped with all that it
//! waits for. For each stream of answers there is a line on how it went. Ctrl-c ends the server gracefully.

use futures_util::stream::{iter, try_unfold, unfold};
use liten::future::{Stream, StreamExt};
use liten::net::TcpListener;
use liten::signal::ctrl_c;
use liten::time::{Duration, Instant, sleep, timeout_at};
use real::serve::serve;
use real::words::words_server::{Words, WordsServer};
use real::words::{Recital, Text, Total};
use std::env;
use std::io;
use std::pin::Pin;
use tonic::metadata::MetadataMap;
use tonic::service::Routes;
use tonic::{Code, Request, Response, Status, Streaming};

/// The longest message, in bytes. A longer one is refused by its head, before it fills our memory.
const MESSAGE: usize = 1024 * 1024;

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[liten::main]
async fn main() -> io::Result<()> {
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:50051".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    let words = WordsServer::new(Counter).max_decoding_message_size(MESSAGE);
    let router = Routes::new(words).prepare().into_axum_router();
    let interrupted = async {
        if let Err(error) = ctrl_c().await {
            eprintln!("ctrl-c: {error}");
        }
    };
    let done = serve(listener, router, interrupted).await;
    println!("{}", if done { "bye" } else { "bye, although some clients were not done" });
    Ok(())
}

struct Counter;

#[tonic::async_trait]
impl Words for Counter {
    type SplitStream = Answers<Text>;
    type TallyStream = Answers<Total>;

    /// At once, so that no deadline matters.
    async fn count(&self, request: Request<Text>) -> Result<Response<Total>, Status> {
        let mut total = Total::default();
        total.add(&request.get_ref().text);
        Ok(Response::new(total))
    }

    async fn split(
        &self,
        request: Request<Recital>,
    ) -> Result<Response<Self::SplitStream>, Status> {
        let deadline = deadline(request.metadata())?;
        let Recital { text, pause } = request.into_inner();
        let words: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            return Err(Status::invalid_argument("there are no words"));
        }
        let pause = Duration::from_millis(pause.into());
        let words = iter(words).then(move |text| async move {
            sleep(pause).await;
            Ok(Text { text })
        });
        Ok(answers("split", deadline, words))
    }

    /// An answer per message. A client that does not read its answers is not read.
    async fn tally(
        &self,
        request: Request<Streaming<Text>>,
    ) -> Result<Response<Self::TallyStream>, Status> {
        let deadline = deadline(request.metadata())?;
        let begin = (request.into_inner(), Total::default());
        let totals = try_unfold(begin, |(mut texts, mut total)| async move {
            let Some(Text { text }) = texts.message().await? else { return Ok(None) };
            total.add(&text);
            Ok(Some((total, (texts, total))))
        });
        Ok(answers("tally", deadline, totals))
    }
}

/// Says how a call went when it is dropped, whichever side has ended it.
struct Call {
    name: &'static str,
    answers: u64,
    code: Code,
}

impl Drop for Call {
    fn drop(&mut self) {
        println!("{}: {} answers, {:?}", self.name, self.answers, self.code);
    }
}

/// Makes a response of `answers`, which end with an error at the deadline.
fn answers<T: Send + 'static>(
    name: &'static str,
    deadline: Option<Instant>,
    answers: impl Stream<Item = Result<T, Status>> + Send + 'static,
) -> Response<Answers<T>> {
    // Cancelled, unless it comes to its end.
    let call = Call { name, answers: 0, code: Code::Cancelled };
    let stream = unfold((call, Box::pin(answers)), move |(mut call, mut answers)| async move {
        let answer = match deadline {
            Some(deadline) => timeout_at(deadline, answers.next()).await.unwrap_or_else(|_| {
                Some(Err(Status::deadline_exceeded("the client wanted it sooner")))
            }),
            None => answers.next().await,
        };
        match &answer {
            Some(Ok(_)) => call.answers += 1,
            Some(Err(status)) => call.code = status.code(),
            None => call.code = Code::Ok,
        }
        answer.map(|answer| (answer, (call, answers)))
    });
    Response::new(Box::pin(stream))
}

/// When a call has to be over, by its header `grpc-timeout`: up to eight digits and the letter of a unit.
fn deadline(metadata: &MetadataMap) -> Result<Option<Instant>, Status> {
    let Some(value) = metadata.get("grpc-timeout") else { return Ok(None) };
    let malformed = || Status::invalid_argument(format!("grpc-timeout: {value:?}"));
    let text = value.to_str().map_err(|_| malformed())?;
    let (number, unit) = text.split_at_checked(text.len().wrapping_sub(1)).ok_or_else(malformed)?;
    let unit = match unit {
        "H" => Duration::from_secs(60 * 60),
        "M" => Duration::from_secs(60),
        "S" => Duration::from_secs(1),
        "m" => Duration::from_millis(1),
        "u" => Duration::from_micros(1),
        "n" => Duration::from_nanos(1),
        _ => return Err(malformed()),
    };
    if number.len() > 8 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(malformed());
    }
    let number: u32 = number.parse().map_err(|_| malformed())?;
    // One that the clock cannot reach is none.
    Ok(Instant::now().checked_add(unit * number))
}
