//! A poll that notes where its task waits: at each place where the waker is cloned, or called.
//!
//! A future that waits leaves a clone of its waker wherever it waits, whatever runtime it was written for. At
//! that moment the stack has the whole way from the task's poll to that place, through each `async` function
//! in between. So the task is polled once more, with a waker of another table. Places that have its waker
//! already find that [`will_wake`](std::task::Waker::will_wake) is false, and clone the new one; and the
//! clone is an ordinary waker, so that afterwards all is as before. The task may make progress in that poll,
//! as in any.
//!
//! # How a request reaches the poll, and the answer the request
//!
//! | step | by | with |
//! |---|---|---|
//! | 1. the request is in the list | the observer | the list's lock |
//! | 2. TRACED is set in the task's word, with a wake | the observer | the lock of the task's registry |
//! | 3. TRACED is cleared | the thread that polls next | the word |
//! | 4. all requests for the task are taken | the same | the list's lock |
//! | 5. the poll; the answers | the same | |
//!
//! Nothing is lost: a request whose bit step 3 has cleared is in the list by then. One whose bit comes later
//! leads to another poll, though step 4 may have answered it already; such a poll finds no request. A task
//! that ends leaves its registry first. After that no bit is set any more (the same lock), and one that is
//! still set then is answered with [`Answer::Ended`] ([`ended`]). Models: traced/loom.rs.
//!
//! A request that its observer has given up stays in the list until the observer takes it out, which its
//! drop does.
//!
//! # What is noted
//!
//! The return addresses alone: their names are looked up later, on the observer's thread. A future may clone
//! the waker under a lock of its own, so what happens here must be short and call no code that could come
//! back to it: it takes some microseconds, an allocation, and the lock that the crate `backtrace` has around
//! everything that unwinds.
//!
//! Rejected: a mode in which the leaves of this crate note where they are and return `Pending`, as tokio's
//! task dumps do: others' leaves are not seen, and what is ready is not taken. And to stop the other
//! workers, which nothing here needs.

pub(super) mod stack;

use self::stack::Stack;
use crate::engine::scoped::Scoped;
use crate::engine::sync_shim::{StaticMutex, thread_local};
use crate::engine::task::traced::{Traces, trace_by};
use crate::engine::task::{Polled, TaskId};
use std::cell::{Cell, RefCell};
use std::mem;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// How many stacks of one poll are kept. A task that waits in more places is one with a set of futures, whose
/// stacks are alike.
const MOST_STACKS: usize = 64;

/// How many requests may be open at one time; a further one is refused.
const MOST_REQUESTS: usize = 1024;

/// The function of the frame below those of the task, in each of the stacks.
pub(super) const BASE: &str = concat!(module_path!(), "::poll");
/// The functions of these modules are not the task's.
pub(super) const NOTING: &str = module_path!();
/// The file that [`BASE`] is in, below the folder that all sources of this crate are in.
pub(super) const BASE_FILE: &str = "insight/await_tree/traced.rs";
/// What the paths of the files of [`NOTING`] begin with there.
pub(super) const NOTING_FILES: &str = "insight/await_tree/traced";

static REQUESTS: StaticMutex<Requests> = StaticMutex::new(Requests { made: 0, open: Vec::new() });

struct Requests {
    /// How many there have been.
    made: u64,
    /// Each with the number that tells it from others for the same task.
    open: Vec<(u64, TaskId, SyncSender<Answer>)>,
}

thread_local! {
    static SINK: Scoped<Sink> = const { Scoped::new() };
}

/// What a request for a trace gets.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    Traced(Arc<Traced>),
    /// The task has ended without a traced poll.
    Ended,
}

/// What was noted during one poll.
#[derive(Debug)]
pub(super) struct Traced {
    pub(super) stacks: Vec<Stack>,
    /// How many more there were.
    pub(super) left_out: usize,
    pub(super) outcome: Polled,
    /// The name of the future's type.
    pub(super) future: &'static str,
}

/// A place in the list, until it is dropped.
#[derive(Debug)]
pub(super) struct Request {
    number: u64,
    answer: Receiver<Answer>,
}

impl Request {
    /// A request for a traced poll of `task`, whose word does not know of it yet. `None` if there are too
    /// many.
    pub(super) fn new(task: TaskId) -> Option<Self> {
        trace_by(Traces { poll, note, ended });
        // Room for the one answer, so that the answering thread does not wait.
        let (sender, answer) = sync_channel(1);
        let mut requests = REQUESTS.lock();
        if requests.open.len() == MOST_REQUESTS {
            return None;
        }
        requests.made += 1;
        let number = requests.made;
        requests.open.push((number, task, sender));
        Some(Self { number, answer })
    }

    /// Waits for the answer, for `limit` at most.
    pub(super) fn wait(&self, limit: Duration) -> Option<Answer> {
        // The sender is in the list, or has sent before it was dropped.
        self.answer.recv_timeout(limit).ok()
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let mut requests = REQUESTS.lock();
        let place = requests.open.iter().position(|(number, ..)| *number == self.number);
        // Dropped after the lock.
        let _own = place.map(|place| requests.open.swap_remove(place));
        drop(requests);
    }
}

/// Takes the requests for `task` out of the list.
fn take_requests(task: TaskId) -> Vec<SyncSender<Answer>> {
    let mut requests = REQUESTS.lock();
    let (theirs, open) =
        mem::take(&mut requests.open).into_iter().partition(|(_, of, _)| *of == task);
    requests.open = open;
    drop(requests);
    let theirs: Vec<_> = theirs;
    theirs.into_iter().map(|(.., sender)| sender).collect()
}

/// `task` has ended with an unanswered request, and has left its registry.
fn ended(task: TaskId) {
    answer(take_requests(task), &Answer::Ended);
}

fn answer(requests: Vec<SyncSender<Answer>>, answer: &Answer) {
    // An observer that has given up in this moment has no receiver any more.
    requests.into_iter().for_each(|request| _ = request.try_send(answer.clone()));
}

/// What a traced poll collects.
struct Sink {
    /// The data pointer of the task's wakers: compared, never followed.
    data: *const (),
    stacks: RefCell<Vec<Stack>>,
    left_out: Cell<usize>,
}

/// Calls `poll`, which polls the task `id` with a waker that carries `data` and calls [`note`], and answers
/// the requests for that task. Its future is called `future`.
///
/// It is called by a pointer, and so not in line, and what it calls returns to it: [`BASE`] is found in the
/// stacks.
#[inline(never)]
fn poll(
    id: TaskId,
    data: *const (),
    future: &'static str,
    poll: &mut dyn FnMut() -> Polled,
) -> Polled {
    let requests = take_requests(id);
    if requests.is_empty() {
        // Given up, or answered by the poll before.
        return poll();
    }
    let sink = Sink { data, stacks: RefCell::default(), left_out: Cell::new(0) };
    let polled = Scoped::set(&SINK, &sink, poll);
    let Sink { stacks, left_out, .. } = sink;
    let (stacks, left_out) = (stacks.into_inner(), left_out.get());
    let traced = Traced { stacks, left_out, outcome: polled, future };
    answer(requests, &Answer::Traced(Arc::new(traced)));
    polled
}

/// The waker of the task with this data pointer is cloned or called. Notes from where, if the task is in a
/// traced poll on this thread: an inner executor, or another thread that was lent the waker, has another one,
/// or none.
#[inline(never)]
fn note(data: *const ()) {
    Scoped::with(&SINK, |sink| {
        let Some(sink) = sink.filter(|sink| std::ptr::eq(sink.data, data)) else { return };
        // Borrowed only if an allocator polls this task: there is nothing to be noted then.
        let Ok(mut stacks) = sink.stacks.try_borrow_mut() else { return };
        if stacks.len() < MOST_STACKS {
            stacks.push(Stack::capture());
        } else {
            sink.left_out.set(sink.left_out.get() + 1);
        }
    });
}

/// Whether this thread is in a traced poll.
pub(super) fn is_here() -> bool {
    Scoped::with(&SINK, |sink| sink.is_some())
}

#[cfg(all(test, liten_loom))]
mod loom;
