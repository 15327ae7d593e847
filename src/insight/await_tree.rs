//! Where a task waits: the functions from its future to each place that has its waker.

mod frames;
mod freed_memory;
mod profile;
mod symbols;
mod traced;

pub(super) use self::frames::{Frame, Owner};
pub use self::profile::AwaitProfile;
pub(super) use self::symbols::Symbols;
use self::traced::{Answer, Request, Traced};
use super::task_list::TaskList;
use crate::engine::task::{Polled, TaskId, current};
use crate::impls::impl_error;
use crate::observe::simulation::SimulatedRoot;
use crate::runtime::Handle;
use crate::short::short;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::time::{Duration, Instant};

/// Where one task waits, as a tree of functions. From [`Handle::await_tree`].
///
/// The nodes are `async` functions and futures, each with what it awaits below it. A leaf is a place that has
/// taken the task's waker. `Display` shows the tree with indentation.
///
/// What is known depends on the `debug` of the program's profile, which makes a program larger and not
/// slower:
///
/// | `debug` | functions | lines |
/// |---|---|---|
/// | `"full"` | all, by name | all |
/// | `"line-tables-only"` | all, as `async fn` or `closure` | all |
/// | `false` | those that the compiler has not put in line | none |
///
/// In an optimised program the last row often leaves the leaves, and the type of the task's future. After
/// `strip = true` nothing is known.
#[derive(Debug, Clone)]
pub struct AwaitTree {
    task: TaskId,
    future: &'static str,
    outcome: Polled,
    nodes: Vec<AwaitNode>,
    left_out: usize,
}

/// A function that waits. From [`AwaitTree::nodes`].
#[derive(Debug, Clone)]
pub struct AwaitNode {
    frame: Frame,
    /// How often the waker was taken in this very place.
    wakers: usize,
    children: Vec<AwaitNode>,
}

/// Why there is no [`AwaitTree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AwaitTreeError {
    /// No task of this runtime with that id has ever waited, or it has ended.
    NotFound,
    /// The task has ended before it could be polled.
    Ended,
    /// The task is in a poll that has not ended in time; if it is the caller's own, that was known at once.
    Running,
    /// No worker has come to poll the task in time.
    Queued,
    /// Very many trees are being asked for.
    TooMany,
    /// The program's file has no names of functions, as after `strip = true`.
    NoNames,
}

impl Handle {
    /// Returns where a task waits: the tree of the `async` functions that it is in, down to each place that
    /// it waits in, whichever crate that is of. Nothing has to be prepared for it.
    ///
    /// The task is polled once more, as if it were woken for no reason, with a waker that notes where it is
    /// cloned. All futures must expect such a poll; one that counts its polls would see it. A task that is
    /// ready makes progress, and may end. For each place that it waits in, the poll takes some microseconds
    /// longer. The workers go on meanwhile.
    ///
    /// This blocks the calling thread until the poll is over, `limit` at most, and then looks up the
    /// names in the program's debug information. To read that can take half a second, and some seconds in a
    /// large program whose dependencies are not optimised. It takes tens of megabytes, which are given back
    /// when no tree has been asked for in three seconds. Inside of tasks, call it in
    /// [`spawn_blocking`](crate::spawn_blocking).
    ///
    /// What is not seen: a future between the task and the place that brings a waker of its own, such as
    /// `FuturesUnordered` and [`JoinSet`](crate::task::JoinSet), is a leaf, and what it polls has to be asked
    /// for on its own if it is a task. A future that does not take the new waker is left out, and so is all
    /// that an `async` function waits for in the call of a C library.
    ///
    /// # Errors
    ///
    /// See [`AwaitTreeError`]: mostly the task has ended, or is in a long poll.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::runtime::Runtime;
    /// use std::time::Duration;
    ///
    /// async fn nap() {
    ///     liten::time::sleep(Duration::from_secs(3600)).await;
    /// }
    ///
    /// let runtime = Runtime::new()?;
    /// let task = runtime.spawn(nap());
    /// # while runtime.metrics().num_cold_tasks() == 0 {
    /// #     std::thread::sleep(Duration::from_millis(1));
    /// # }
    /// let tree = runtime.handle().await_tree(task.id(), Duration::from_secs(30))?;
    /// assert!(tree.to_string().contains("nap"), "{tree}");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn await_tree(&self, task: TaskId, limit: Duration) -> Result<AwaitTree, AwaitTreeError> {
        self.await_tree_unless(task, limit, || false)
    }

    /// Returns what [`Handle::await_tree`] does for each task of the runtime that has waited and has not
    /// ended; `None` where it is not known in time. All of them are waited for for `limit` at most.
    ///
    /// As by tokio's dumps, each worker that sleeps is woken: functions that the builder was given for the
    /// sleep of threads are called.
    #[doc(hidden)]
    pub fn await_trees(
        &self,
        limit: Duration,
        is_unwanted: impl Fn() -> bool,
    ) -> Vec<(TaskId, Option<AwaitTree>)> {
        self.scheduler().into_iter().for_each(|scheduler| scheduler.wake_sleeping());
        let mut tasks = Vec::new();
        TaskList::new(self).trace(&mut |id| {
            tasks.push(id);
            false
        });
        trees(self, &tasks, limit, is_unwanted)
    }

    /// Returns whether this is called in a poll that one of these functions has asked for.
    #[doc(hidden)]
    pub fn is_traced() -> bool {
        traced::is_here()
    }

    /// As [`Handle::await_tree`]. Gives up soon after `is_unwanted`, as if the time were over.
    pub(super) fn await_tree_unless(
        &self,
        task: TaskId,
        limit: Duration,
        is_unwanted: impl Fn() -> bool,
    ) -> Result<AwaitTree, AwaitTreeError> {
        if current::id() == Some(task) {
            return Err(AwaitTreeError::Running);
        }
        let request = Request::new(task).ok_or(AwaitTreeError::TooMany)?;
        let list = TaskList::new(self);
        // Nothing is read for a task that is not there.
        if !list.has(task) {
            return Err(AwaitTreeError::NotFound);
        }
        let symbols = Symbols::load();
        let mut is_found = false;
        list.trace(&mut |id| {
            is_found |= id == task;
            id == task
        });
        if !is_found {
            return Err(AwaitTreeError::NotFound);
        }
        match wait(&request, limit, &is_unwanted) {
            Some(Answer::Traced(traced)) => AwaitTree::of(task, &traced, &symbols),
            Some(Answer::Ended) => Err(AwaitTreeError::Ended),
            None if is_polled(&list, task) => Err(AwaitTreeError::Running),
            None => Err(AwaitTreeError::Queued),
        }
    }
}

/// How often a thread that waits for a poll asks whether its answer is still wanted.
const PAUSE: Duration = Duration::from_millis(20);

fn wait(request: &Request, limit: Duration, is_unwanted: &impl Fn() -> bool) -> Option<Answer> {
    let end = Instant::now().checked_add(limit);
    loop {
        let left = end.map_or(PAUSE, |end| end.saturating_duration_since(Instant::now()));
        let answer = request.wait(left.min(PAUSE));
        if answer.is_some() || left.is_zero() || is_unwanted() {
            return answer;
        }
    }
}

/// How many tasks are asked at one time, so that none is refused: see [`AwaitTreeError::TooMany`].
const AT_ONCE: usize = 256;

/// How long they are waited for before the next ones are asked. Some may be in long polls.
const GRACE: Duration = Duration::from_millis(50);

/// The trees of `tasks` without those that have ended; `None` for one that is not known in time. All of them
/// are waited for for `limit` at most. Gives up soon after `is_unwanted`.
pub(super) fn trees(
    handle: &Handle,
    tasks: &[TaskId],
    limit: Duration,
    is_unwanted: impl Fn() -> bool,
) -> Vec<(TaskId, Option<AwaitTree>)> {
    let (symbols, list) = (Symbols::load(), TaskList::new(handle));
    let (mut trees, mut late) = (Vec::new(), Vec::new());
    let tree = |task, answer| match answer {
        Answer::Traced(traced) => Some((task, AwaitTree::of(task, &traced, &symbols).ok())),
        Answer::Ended => None,
    };
    for tasks in tasks.chunks(AT_ONCE) {
        if late.len() >= AT_ONCE || is_unwanted() {
            // Nothing polls them, it seems.
            trees.extend(tasks.iter().map(|&task| (task, None)));
            continue;
        }
        let (requests, begin) = (ask(&list, tasks, &mut trees), Instant::now());
        for (task, request) in requests {
            let left = GRACE.min(limit).saturating_sub(begin.elapsed());
            match wait(&request, left, &is_unwanted) {
                Some(answer) => trees.extend(tree(task, answer)),
                None => late.push((task, request)),
            }
        }
    }
    let begin = Instant::now();
    for (task, request) in late {
        let left = limit.saturating_sub(GRACE).saturating_sub(begin.elapsed());
        match wait(&request, left, &is_unwanted) {
            Some(answer) => trees.extend(tree(task, answer)),
            None => trees.push((task, None)),
        }
    }
    trees
}

/// Asks those of `tasks` for a traced poll that are there. One that cannot be asked is among `trees` then.
fn ask(
    list: &TaskList,
    tasks: &[TaskId],
    trees: &mut Vec<(TaskId, Option<AwaitTree>)>,
) -> Vec<(TaskId, Request)> {
    let own = current::id();
    let request = |&task: &TaskId| Request::new(task).filter(|_| own != Some(task));
    let mut requests: HashMap<_, _> = tasks.iter().map(|task| (*task, request(task))).collect();
    let mut met = Vec::new();
    list.trace(&mut |id| {
        let asked = requests.get(&id);
        met.extend(asked.map(|_| id));
        asked.is_some_and(Option::is_some)
    });
    let mut asked = Vec::new();
    for task in met {
        match requests.remove(&task) {
            Some(Some(request)) => asked.push((task, request)),
            Some(None) => trees.push((task, None)),
            None => {}
        }
    }
    asked
}

/// Where the future of a `block_on` waits in a simulation, as a tree of a task is written. `may_go_on`: it
/// was woken, or a waker of it was somewhere, before this poll.
pub(super) fn words_of_root(root: &SimulatedRoot, may_go_on: bool, limit: Duration) -> String {
    let id = TaskId::next();
    let symbols = Symbols::load();
    let mut words = String::from("root, the future of block_on, ");
    let traced = Request::new(id).and_then(|request| {
        root.trace(id);
        request.wait(limit)
    });
    let tree = match traced {
        Some(Answer::Traced(traced)) => AwaitTree::of(id, &traced, &symbols).ok(),
        _ => None,
    };
    let Some(tree) = tree else { return words + "was not polled in time" };
    words.push_str(match (tree.outcome, may_go_on) {
        (Polled::Pending, false) => {
            "waits, and nothing held a waker of it: it could never be woken"
        }
        (_, false) => {
            "has gone on in one more poll, but nothing held a waker of it: it could never be woken"
        }
        _ => tree.what(),
    });
    words.push('\n');
    for node in &tree.nodes {
        _ = node.fmt_at(1, &mut words);
    }
    words
}

fn is_polled(list: &TaskList, task: TaskId) -> bool {
    list.polled().into_iter().any(|(polled, _)| polled.id() == task)
}

impl AwaitTree {
    fn of(task: TaskId, traced: &Traced, symbols: &Symbols) -> Result<Self, AwaitTreeError> {
        let &Traced { ref stacks, left_out, outcome, future } = traced;
        let mut nodes = Vec::new();
        let mut named = 0;
        for stack in stacks {
            if let Some(frames) = frames::of_task(symbols.frames(stack)) {
                AwaitNode::insert(&mut nodes, frames);
                named += 1;
            }
        }
        if named == 0 && !stacks.is_empty() {
            return Err(AwaitTreeError::NoNames);
        }
        let left_out = left_out + (stacks.len() - named);
        Ok(Self { task, future, outcome, nodes, left_out })
    }

    fn what(&self) -> &'static str {
        match self.outcome {
            Polled::Pending if self.nodes.is_empty() => "waits, and has left its waker nowhere",
            Polled::Pending => "waits in",
            Polled::Yielded => "goes on, and was in",
            Polled::Ready => "has just ended, and was in",
        }
    }

    /// Returns the task's id.
    pub fn task(&self) -> TaskId {
        self.task
    }

    /// Returns the name of the type of the task's future, as [`std::any::type_name`] gives it.
    pub fn type_name(&self) -> &'static str {
        self.future
    }

    /// Returns whether the task waits now, as far as the poll has seen: it has not ended in it, nor asked for
    /// another poll.
    pub fn is_waiting(&self) -> bool {
        self.outcome == Polled::Pending
    }

    /// Returns the outermost functions: mostly one, the task's own future. None if the task has left its
    /// waker nowhere.
    pub fn nodes(&self) -> &[AwaitNode] {
        &self.nodes
    }

    /// Returns how many places are left out, of a task that waits in more than 64.
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

impl AwaitNode {
    /// Adds the way along `frames` to the tree.
    fn insert(nodes: &mut Vec<Self>, frames: Vec<Frame>) {
        let mut nodes = nodes;
        let mut frames = frames.into_iter().peekable();
        while let Some(frame) = frames.next() {
            let known = nodes.iter().position(|node| node.frame == frame);
            let place = known.unwrap_or_else(|| {
                nodes.push(Self { frame, wakers: 0, children: Vec::new() });
                nodes.len() - 1
            });
            let node = &mut nodes[place];
            node.wakers += usize::from(frames.peek().is_none());
            nodes = &mut node.children;
        }
    }

    /// Returns the name of the function, as the compiler gives it. Of more than 256 functions that lead to
    /// one place, "`…`" stands for those in the middle.
    pub fn function(&self) -> &str {
        &self.frame.function
    }

    /// Returns the file that it waits in, if the program has line tables.
    pub fn file(&self) -> Option<&str> {
        self.frame.file.as_deref()
    }

    /// Returns the line that it waits in, if the program has line tables.
    pub fn line(&self) -> Option<u32> {
        self.frame.line
    }

    /// Returns what it awaits. Empty: it has taken the waker itself.
    pub fn children(&self) -> &[AwaitNode] {
        &self.children
    }

    fn fmt_at(&self, depth: usize, f: &mut impl fmt::Write) -> fmt::Result {
        write!(f, "{:1$}{2}", "", 2 * depth, self.frame)?;
        match self.wakers {
            0 | 1 => writeln!(f)?,
            wakers => writeln!(f, " ({wakers} times)")?,
        }
        self.children.iter().try_for_each(|child| child.fmt_at(depth + 1, f))
    }
}

impl fmt::Display for AwaitTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "task {}, {}, {}", self.task, short(self.future), self.what())?;
        self.nodes.iter().try_for_each(|node| node.fmt_at(1, f))?;
        match self.left_out {
            0 => Ok(()),
            left_out => writeln!(f, "  and {left_out} places more"),
        }
    }
}

impl fmt::Display for AwaitNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_at(0, f)
    }
}

impl_error!([] AwaitTreeError, this => match this {
    Self::NotFound => "no task with this id has waited here, or it has ended",
    Self::Ended => "the task has ended before it could be polled",
    Self::Running => "the task is in a poll that has not ended",
    Self::Queued => "no thread has come to poll the task",
    Self::TooMany => "too many await trees are being asked for",
    Self::NoNames => "the program has no names of functions: do not strip it",
});

impl From<AwaitTreeError> for io::Error {
    fn from(error: AwaitTreeError) -> Self {
        io::Error::other(error)
    }
}
