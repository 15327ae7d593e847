//! A to-do list for curl: axum on liten, without a runtime of tokio's.
//!
//! ```sh
//! cargo run -p real --example axum_todo          # 127.0.0.1:3000, or the address given as the argument
//! curl --no-buffer localhost:3000/changes        # in a terminal of its own: a line per change
//! curl --json '{"text": "water the plants"}' localhost:3000/todos
//! curl --request PUT --json '{"done": true}' localhost:3000/todos/1
//! curl localhost:3000/todos
//! curl --request DELETE localhost:3000/todos/1
//! ```
//!
//! Ctrl-c ends it gracefully, and the streams of changes with it.

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use futures_util::stream::poll_fn;
use liten::future::StreamExt;
use liten::net::TcpListener;
use liten::signal::ctrl_c;
use liten::sync::mpsc::{Receiver, Sender, channel};
use real::serve::serve;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::env;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many changes a listener may be behind. One that is further behind is let go, because keeping
/// everything for a client that does not read would fill our memory.
const BEHIND: usize = 64;

#[derive(Clone, Serialize)]
struct Todo {
    id: u64,
    text: String,
    done: bool,
}

#[derive(Deserialize)]
struct NewTodo {
    text: String,
}

#[derive(Deserialize)]
struct Progress {
    done: bool,
}

/// A line of the stream of changes.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Change<'a> {
    Added(&'a Todo),
    Changed(&'a Todo),
    Removed(&'a Todo),
}

#[derive(Clone, Default)]
struct Todos(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    todos: BTreeMap<u64, Todo>,
    last: u64,
    listeners: Vec<Sender<Bytes>>,
}

impl Todos {
    /// The list, also after a panic of a thread that had it: every change of it is one step.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn tell(&mut self, change: Change<'_>) {
        let mut line = serde_json::to_vec(&change).expect("text and numbers are JSON");
        line.push(b'\n');
        let line = Bytes::from(line);
        self.listeners.retain(|listener| listener.try_send(line.clone()).is_ok());
    }
}

#[liten::main]
async fn main() -> io::Result<()> {
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let todos = Todos::default();
    let interrupted = async {
        if let Err(error) = ctrl_c().await {
            eprintln!("ctrl-c: {error}");
        }
        // Without their senders the streams of changes end, and their connections with them.
        todos.lock().listeners.clear();
    };
    let done = serve(listener, router(todos.clone()), interrupted).await;
    println!("{}", if done { "bye" } else { "bye, although some clients were not done" });
    Ok(())
}

fn router(todos: Todos) -> Router {
    Router::new()
        .route("/todos", get(list).post(add))
        .route("/todos/{id}", get(one).put(progress).delete(remove))
        .route("/changes", get(changes))
        .with_state(todos)
}

async fn list(State(todos): State<Todos>) -> Json<Vec<Todo>> {
    Json(todos.lock().todos.values().cloned().collect())
}

async fn add(State(todos): State<Todos>, Json(new): Json<NewTodo>) -> (StatusCode, Json<Todo>) {
    let mut inner = todos.lock();
    inner.last += 1;
    let todo = Todo { id: inner.last, text: new.text, done: false };
    inner.todos.insert(todo.id, todo.clone());
    inner.tell(Change::Added(&todo));
    (StatusCode::CREATED, Json(todo))
}

async fn one(
    State(todos): State<Todos>,
    Path(id): Path<u64>,
) -> Result<Json<Todo>, (StatusCode, String)> {
    todos.lock().todos.get(&id).cloned().map(Json).ok_or_else(|| missing(id))
}

async fn progress(
    State(todos): State<Todos>,
    Path(id): Path<u64>,
    Json(progress): Json<Progress>,
) -> Result<Json<Todo>, (StatusCode, String)> {
    let mut inner = todos.lock();
    let todo = inner.todos.get_mut(&id).ok_or_else(|| missing(id))?;
    todo.done = progress.done;
    let todo = todo.clone();
    inner.tell(Change::Changed(&todo));
    Ok(Json(todo))
}

async fn remove(
    State(todos): State<Todos>,
    Path(id): Path<u64>,
) -> Result<StatusCode, (StatusCode, String)> {
    let mut inner = todos.lock();
    let todo = inner.todos.remove(&id).ok_or_else(|| missing(id))?;
    inner.tell(Change::Removed(&todo));
    Ok(StatusCode::NO_CONTENT)
}

fn missing(id: u64) -> (StatusCode, String) {
    (StatusCode::NOT_FOUND, format!("there is no {id}\n"))
}

/// Says goodbye when the answer that it is a part of is dropped, whichever side has ended it.
struct Listener;

impl Drop for Listener {
    fn drop(&mut self) {
        println!("a listener has left");
    }
}

/// A body that goes on: a line of JSON per change, until the client leaves or the server ends.
async fn changes(State(todos): State<Todos>) -> Response {
    let (sender, mut receiver): (Sender<Bytes>, Receiver<Bytes>) = channel(BEHIND);
    todos.lock().listeners.push(sender);
    println!("a listener has come");
    let listener = Listener;
    let lines = poll_fn(move |cx| receiver.poll_recv(cx)).map(move |line| {
        let _present = &listener;
        Ok::<_, Infallible>(line)
    });
    ([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response()
}
