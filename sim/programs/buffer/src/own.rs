//! A buffer of the design that tower had for a day: the bound is a semaphore beside a channel without one.

use std::future::{Future, poll_fn};
use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, oneshot};
use tower_service::Service;

use crate::Server;

/// What the worker does with those that wait for room when it ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AtTheEnd {
    /// Wrong: nothing. A handle that waits keeps the semaphore alive, so nothing closes it.
    Leave,
    /// It closes the semaphore.
    Wake,
}

type Waiting = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send>>;
type Answer = Pin<Box<dyn Future<Output = Result<u64, Error>> + Send>>;

struct Message {
    request: u64,
    answer: oneshot::Sender<Answer>,
    _room: OwnedSemaphorePermit,
}

/// A handle to a service that is in a task of its own.
pub struct Buffer {
    queue: UnboundedSender<Message>,
    bound: Arc<Semaphore>,
    waiting: Option<Waiting>,
    room: Option<OwnedSemaphorePermit>,
}

impl Buffer {
    /// Starts the worker. Up to `bound` requests wait for the service.
    pub fn new(service: Server, bound: usize, at_the_end: AtTheEnd) -> Self {
        let (queue, requests) = unbounded_channel();
        let bound = Arc::new(Semaphore::new(bound));
        let closed = bound.clone();
        tokio::spawn(async move {
            work(service, requests).await;
            if at_the_end == AtTheEnd::Wake {
                closed.close();
            }
        });
        Self { queue, bound, waiting: None, room: None }
    }
}

/// Hands one request after the other to the service, until the service fails.
async fn work(mut service: Server, mut requests: UnboundedReceiver<Message>) {
    while let Some(Message { request, answer, _room }) = requests.recv().await {
        if poll_fn(|cx| service.poll_ready(cx)).await.is_err() {
            return;
        }
        let _ = answer.send(service.call(request));
    }
}

fn closed() -> Error {
    ErrorKind::BrokenPipe.into()
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        let (queue, bound) = (self.queue.clone(), self.bound.clone());
        Self { queue, bound, waiting: None, room: None }
    }
}

impl Service<u64> for Buffer {
    type Response = u64;
    type Error = Error;
    type Future = Answer;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.queue.is_closed() {
            return Poll::Ready(Err(closed()));
        }
        if self.room.is_none() {
            let bound = &self.bound;
            let waiting =
                self.waiting.get_or_insert_with(|| Box::pin(bound.clone().acquire_owned()));
            let room = ready!(waiting.as_mut().poll(cx));
            self.waiting = None;
            self.room = Some(room.map_err(|_| closed())?);
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: u64) -> Answer {
        let _room = self.room.take().expect("a call before the service was ready");
        let (answer, answered) = oneshot::channel();
        let sent = self.queue.send(Message { request, answer, _room });
        Box::pin(async move {
            sent.map_err(|_| closed())?;
            answered.await.map_err(|_| closed())?.await
        })
    }
}
