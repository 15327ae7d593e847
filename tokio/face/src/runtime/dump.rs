//! What the tasks of a runtime wait for: liten's await trees, in tokio's types.
//!
//! tokio stops its workers and polls each task in a mode in which its own futures say where they are. liten
//! polls each task as if it were woken, and sees where it leaves its waker, whichever crate that is in. So
//! the workers go on, and there is no such mode that a program could enter by itself: `trace_with`,
//! `Trace::capture`, `Trace::root` and `Handle::is_tracing` are not there.

use super::Handle;
use crate::task::Id;
use liten::insight::{AwaitNode, AwaitTree};
use liten::sync::oneshot;
use std::ffi::c_void;
use std::fmt;
use std::path::Path;
use std::ptr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

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
    tree: Option<AwaitTree>,
}

/// The functions from a place where a task waits to its future.
#[derive(Clone, Debug)]
pub struct Backtrace {
    frames: Box<[BacktraceFrame]>,
}

/// A function on the way to where a task waits.
#[derive(Clone, Debug)]
pub struct BacktraceFrame {
    symbols: [BacktraceSymbol; 1],
}

/// What is known of a function.
#[derive(Clone, Debug)]
pub struct BacktraceSymbol {
    name: Box<str>,
    file: Option<Box<Path>>,
    line: Option<u32>,
}

impl Handle {
    /// Returns what the tasks of the runtime wait for. Tasks that have never waited are not among them.
    ///
    /// Each is polled once more for it. The workers go on meanwhile. A thread of its own waits for these
    /// polls, until this is dropped.
    pub async fn dump(&self) -> Dump {
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
        let tasks = trees.into_iter().map(|(id, tree)| Task { id, trace: Trace { tree } });
        Dump { tasks: Tasks { tasks: tasks.collect() } }
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
    fn nodes(&self) -> &[AwaitNode] {
        self.tree.as_ref().map_or(&[], AwaitTree::nodes)
    }

    /// Returns the way to each place where the task waits, innermost function first.
    pub fn resolve_backtraces(&self) -> Vec<Backtrace> {
        let mut backtraces = Vec::new();
        walk(self.nodes(), &mut Vec::new(), &mut backtraces);
        backtraces
    }
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
        self.nodes().iter().try_for_each(|node| show(node, "", "╼\u{a0}", "\u{a0}\u{a0}", f))
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
        let (name, file) = (node.function().into(), node.file().map(|file| Path::new(file).into()));
        Self { symbols: [BacktraceSymbol { name, file, line: node.line() }] }
    }

    /// Returns null: addresses are not kept.
    pub fn ip(&self) -> *mut c_void {
        ptr::null_mut()
    }

    /// Returns null: addresses are not kept.
    pub fn symbol_address(&self) -> *mut c_void {
        ptr::null_mut()
    }

    /// Returns what is known of the function: one.
    pub fn symbols(&self) -> impl Iterator<Item = &BacktraceSymbol> {
        self.symbols.iter()
    }
}

impl BacktraceSymbol {
    /// Returns the name of the function, demangled.
    pub fn name_raw(&self) -> Option<&[u8]> {
        Some(self.name.as_bytes())
    }

    /// Returns the name of the function.
    pub fn name_demangled(&self) -> Option<&str> {
        Some(&self.name)
    }

    /// Returns nothing: addresses are not kept.
    pub fn addr(&self) -> Option<*mut c_void> {
        None
    }

    /// Returns the file of the function.
    pub fn filename(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the line that it waits in.
    pub fn lineno(&self) -> Option<u32> {
        self.line
    }

    /// Returns nothing: columns are not kept.
    pub fn colno(&self) -> Option<u32> {
        None
    }
}
