//! What the tasks of a runtime wait for: liten's await trees, in tokio's types.
//!
//! tokio stops its workers and polls each task in a mode in which its own futures say where they are. liten
//! polls each task as if it were woken, and sees where it leaves its waker, whichever crate that is in. So
//! the workers go on. A program enters tokio's mode by itself with `trace_with` and `Trace::capture`: these
//! are tokio's, and its futures and liten's say there where they are.

use super::task::trace;
use super::Handle;
use crate::task::Id;
use liten::insight::{AwaitNode, AwaitTree};
use liten::sync::oneshot;
use std::ffi::c_void;
use std::fmt;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

pub use super::task::trace::{trace_with, Root, TraceMeta};

/// How long the tasks are waited for that are in long polls.
const LONGEST: Duration = Duration::from_secs(1);

/// What the tasks of a runtime wait for, from [`Handle::dump`].
#[derive(Debug)]
pub struct Dump {
    tasks: Tasks,
}

/// The tasks in a dump.
#[derive(Debug)]
pub struct Tasks {
    tasks: Vec<Task>,
}

/// A task in a dump.
#[derive(Debug)]
pub struct Task {
    id: Id,
    trace: Trace,
}

/// Where a task waits. Empty if it was in a poll, or has left its waker nowhere.
#[derive(Debug)]
pub struct Trace {
    origin: Origin,
}

/// How a trace was made.
#[derive(Debug)]
enum Origin {
    Dump(Option<AwaitTree>),
    Capture(trace::Trace),
}

/// The functions from a place where a task waits to its future.
#[derive(Clone, Debug)]
pub struct Backtrace {
    frames: Box<[BacktraceFrame]>,
}

/// A function on the way to where a task waits.
#[derive(Clone, Debug)]
pub struct BacktraceFrame {
    ip: usize,
    symbol_address: usize,
    symbols: Box<[BacktraceSymbol]>,
}

/// What is known of a function.
#[derive(Clone, Debug)]
pub struct BacktraceSymbol {
    name: Option<Box<str>>,
    file: Option<Box<Path>>,
    line: Option<u32>,
    column: Option<u32>,
    address: Option<usize>,
}

impl Handle {
    /// Returns what the tasks of the runtime wait for. Tasks that have never been polled are not among them.
    ///
    /// Each is polled once more for it. The workers go on meanwhile. A thread of its own waits for these
    /// polls, until this is dropped.
    pub async fn dump(&self) -> Dump {
        // Of a runtime without workers, the tasks that are ready are polled now.
        crate::task::yield_now().await;
        let handle = self.inner().clone();
        let (sender, receiver) = oneshot::channel();
        let wanted = Arc::new(());
        let is_unwanted = Arc::downgrade(&wanted);
        let look = move || {
            let trees = handle.await_trees(LONGEST, || is_unwanted.strong_count() == 0);
            // The receiver is gone if the dump is not wanted.
            _ = sender.send(trees);
        };
        let trees = match thread::Builder::new().name("liten-dump".to_owned()).spawn(look) {
            Ok(_) => receiver.await.unwrap_or_default(),
            // The system has no thread left.
            Err(_) => Vec::new(),
        };
        drop(wanted);
        let trace = |tree| Trace { origin: Origin::Dump(tree) };
        let tasks = trees.into_iter().map(|(id, tree)| Task { id, trace: trace(tree) });
        Dump { tasks: Tasks { tasks: tasks.collect() } }
    }

    /// Returns whether this is called in a poll that a dump or a trace has asked for.
    pub fn is_tracing() -> bool {
        trace::Context::is_tracing() || liten::runtime::Handle::is_traced()
    }
}

impl Dump {
    /// Returns the tasks.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }
}

impl Tasks {
    /// Returns the tasks one by one.
    pub fn iter(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter()
    }
}

impl Task {
    /// Returns the task's id.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns where it waits.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }
}

impl Trace {
    /// Calls `f`, in which each of tokio's and liten's futures that is polled says where it is, and returns
    /// `Pending`. They are woken after the poll that this is called in.
    pub fn capture<F, R>(f: F) -> (R, Self)
    where
        F: FnOnce() -> R,
    {
        let (output, trace) = trace::Trace::capture(f);
        (output, Self { origin: Origin::Capture(trace) })
    }

    /// Wraps `future` so that traces begin at it.
    pub fn root<F>(future: F) -> Root<F>
    where
        F: Future,
    {
        trace::Trace::root(future)
    }

    /// Returns the way to each place where the task waits, innermost function first.
    pub fn resolve_backtraces(&self) -> Vec<Backtrace> {
        let mut backtraces = Vec::new();
        match &self.origin {
            Origin::Dump(tree) => walk(nodes(tree), &mut Vec::new(), &mut backtraces),
            Origin::Capture(trace) => backtraces.extend(trace.backtraces().iter().map(|stack| {
                let mut stack = backtrace::Backtrace::from(stack.clone());
                stack.resolve();
                Backtrace { frames: stack.frames().iter().map(BacktraceFrame::captured).collect() }
            })),
        }
        backtraces
    }
}

fn nodes(tree: &Option<AwaitTree>) -> &[AwaitNode] {
    tree.as_ref().map_or(&[], AwaitTree::nodes)
}

fn walk<'a>(nodes: &'a [AwaitNode], above: &mut Vec<&'a AwaitNode>, found: &mut Vec<Backtrace>) {
    for node in nodes {
        above.push(node);
        if node.children().is_empty() {
            let frames = above.iter().rev().map(|node| BacktraceFrame::of(node)).collect();
            found.push(Backtrace { frames });
        }
        walk(node.children(), above, found);
        above.pop();
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Dump(tree) => {
                nodes(tree).iter().try_for_each(|node| show(node, "", "╼\u{a0}", "\u{a0}\u{a0}", f))
            }
            Origin::Capture(trace) => trace.fmt(f),
        }
    }
}

/// A line for a node, and those of what it waits for below it.
fn show(
    node: &AwaitNode,
    above: &str,
    before: &str,
    below: &str,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    write!(f, "{above}{before}{}", node.function())?;
    if let Some(file) = node.file() {
        write!(f, " at {file}")?;
    }
    if let Some(line) = node.line() {
        write!(f, ":{line}")?;
    }
    writeln!(f)?;
    let above = format!("{above}{below}");
    let last = node.children().len().saturating_sub(1);
    node.children().iter().enumerate().try_for_each(|(number, child)| {
        let (before, below) = match number == last {
            true => ("└╼\u{a0}", "\u{a0}\u{a0}\u{a0}"),
            false => ("├╼\u{a0}", "│\u{a0}\u{a0}"),
        };
        show(child, &above, before, below, f)
    })
}

impl Backtrace {
    /// Returns the functions, innermost first.
    pub fn frames(&self) -> impl Iterator<Item = &BacktraceFrame> {
        self.frames.iter()
    }
}

impl BacktraceFrame {
    fn of(node: &AwaitNode) -> Self {
        let symbol = BacktraceSymbol {
            name: Some(node.function().into()),
            file: node.file().map(|file| Path::new(file).into()),
            line: node.line(),
            column: None,
            address: None,
        };
        Self { ip: 0, symbol_address: 0, symbols: Box::new([symbol]) }
    }

    fn captured(frame: &backtrace::BacktraceFrame) -> Self {
        let symbol = |symbol: &backtrace::BacktraceSymbol| BacktraceSymbol {
            name: symbol.name().map(|name| name.to_string().into()),
            file: symbol.filename().map(Into::into),
            line: symbol.lineno(),
            column: symbol.colno(),
            address: symbol.addr().map(|address| address as usize),
        };
        let (ip, symbol_address) = (frame.ip() as usize, frame.symbol_address() as usize);
        Self { ip, symbol_address, symbols: frame.symbols().iter().map(symbol).collect() }
    }

    /// Returns where it goes on. Null in a dump, which keeps no addresses.
    pub fn ip(&self) -> *mut c_void {
        self.ip as *mut c_void
    }

    /// Returns where the function is. Null in a dump, which keeps no addresses.
    pub fn symbol_address(&self) -> *mut c_void {
        self.symbol_address as *mut c_void
    }

    /// Returns what is known of the function, and of those that are in line in it.
    pub fn symbols(&self) -> impl Iterator<Item = &BacktraceSymbol> {
        self.symbols.iter()
    }
}

impl BacktraceSymbol {
    /// Returns the name of the function, demangled.
    pub fn name_raw(&self) -> Option<&[u8]> {
        self.name.as_deref().map(str::as_bytes)
    }

    /// Returns the name of the function.
    pub fn name_demangled(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns where the function is. Nothing in a dump, which keeps no addresses.
    pub fn addr(&self) -> Option<*mut c_void> {
        self.address.map(|address| address as *mut c_void)
    }

    /// Returns the file of the function.
    pub fn filename(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the line that it waits in.
    pub fn lineno(&self) -> Option<u32> {
        self.line
    }

    /// Returns the column that it waits in. Nothing in a dump, which keeps no columns.
    pub fn colno(&self) -> Option<u32> {
        self.column
    }
}
