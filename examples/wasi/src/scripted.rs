//! A host that does what a test tells it to, on the thread that asks, in no time.
//!
//! Its clock moves only when it blocks: then what the test has prepared happens, or the next deadline
//! comes. It counts what it is asked and which of its pollables are alive.

use liten::wasi::Host;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;

type Step = Box<dyn FnOnce()>;

/// The host. Clones are the same one.
#[derive(Clone, Default)]
pub struct ScriptedHost {
    shared: Rc<Shared>,
}

#[derive(Default)]
struct Shared {
    now: Cell<Duration>,
    /// What happens at the next blocks, one at each.
    steps: RefCell<VecDeque<Step>>,
    /// What the next polls answer, whatever is ready.
    answers: RefCell<VecDeque<Vec<u32>>>,
    /// How long the list was at each poll.
    lists: RefCell<Vec<usize>>,
    looks: Cell<usize>,
    alive: Cell<usize>,
}

impl ScriptedHost {
    /// Returns a host at time zero, without a script.
    pub fn new() -> Self {
        Self::default()
    }

    /// A pollable that is ready when its signal has been set.
    pub fn signal(&self) -> (ScriptedPollable, Signal) {
        let signal = Signal { set: Rc::default() };
        (self.pollable(Kind::Signal(signal.clone())), signal)
    }

    /// As [`ScriptedHost::signal`], and `f` runs when the pollable is dropped.
    pub fn signal_with_drop(&self, f: impl FnOnce() + 'static) -> (ScriptedPollable, Signal) {
        let (pollable, signal) = self.signal();
        pollable.dropped.replace(Some(Box::new(f)));
        (pollable, signal)
    }

    /// `step` happens while the host blocks, one at a time, in this order.
    pub fn while_blocked(&self, step: impl FnOnce() + 'static) {
        self.shared.steps.borrow_mut().push_back(Box::new(step));
    }

    /// The next poll returns this, true or not.
    pub fn answer(&self, positions: &[u32]) {
        self.shared.answers.borrow_mut().push_back(positions.to_vec());
    }

    /// How long the list was at each poll so far.
    pub fn lists(&self) -> Vec<usize> {
        self.shared.lists.borrow().clone()
    }

    /// How often it was asked about one pollable.
    pub fn looks(&self) -> usize {
        self.shared.looks.get()
    }

    /// How many of its pollables have not been dropped.
    pub fn alive(&self) -> usize {
        self.shared.alive.get()
    }

    /// The time that has passed.
    pub fn now(&self) -> Duration {
        self.shared.now.get()
    }

    fn pollable(&self, kind: Kind) -> ScriptedPollable {
        self.shared.alive.set(self.shared.alive.get() + 1);
        ScriptedPollable { kind, shared: self.shared.clone(), dropped: RefCell::default() }
    }
}

impl Host for ScriptedHost {
    type Pollable = ScriptedPollable;

    fn ready(&self, pollable: &ScriptedPollable) -> bool {
        self.shared.looks.set(self.shared.looks.get() + 1);
        pollable.is_ready()
    }

    /// # Panics
    ///
    /// As WASI traps: if the list is empty. And if nothing will ever become ready.
    fn poll(&self, pollables: &[&ScriptedPollable]) -> Vec<u32> {
        assert!(!pollables.is_empty(), "the host traps: it was asked to poll an empty list");
        self.shared.lists.borrow_mut().push(pollables.len());
        let answer = self.shared.answers.borrow_mut().pop_front();
        if let Some(answer) = answer {
            return answer;
        }
        loop {
            let ready: Vec<u32> =
                (0..).zip(pollables).filter(|(_, p)| p.is_ready()).map(|(i, _)| i).collect();
            if !ready.is_empty() {
                return ready;
            }
            // The borrow ends here: the step may ask this host for anything.
            let step = self.shared.steps.borrow_mut().pop_front();
            match (step, pollables.iter().filter_map(|p| p.deadline()).min()) {
                (Some(step), _) => step(),
                (None, Some(deadline)) => self.shared.now.set(deadline),
                (None, None) => panic!("the host blocks for ever"),
            }
        }
    }

    fn clock(&self, duration: Duration) -> ScriptedPollable {
        self.pollable(Kind::Clock(self.now().checked_add(duration)))
    }

    fn interrupter(&self) -> Option<Waker> {
        None
    }
}

impl fmt::Debug for ScriptedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedHost").field("alive", &self.alive()).finish_non_exhaustive()
    }
}

/// What a [`ScriptedHost`] can wait for.
pub struct ScriptedPollable {
    kind: Kind,
    shared: Rc<Shared>,
    dropped: RefCell<Option<Step>>,
}

enum Kind {
    Clock(Option<Duration>),
    Signal(Signal),
}

impl ScriptedPollable {
    fn is_ready(&self) -> bool {
        match &self.kind {
            Kind::Clock(deadline) => deadline.is_some_and(|d| d <= self.shared.now.get()),
            Kind::Signal(signal) => signal.set.get(),
        }
    }

    fn deadline(&self) -> Option<Duration> {
        match &self.kind {
            Kind::Clock(deadline) => *deadline,
            Kind::Signal(_) => None,
        }
    }
}

impl Drop for ScriptedPollable {
    fn drop(&mut self) {
        self.shared.alive.set(self.shared.alive.get() - 1);
        if let Some(step) = self.dropped.take() {
            step();
        }
    }
}

impl fmt::Debug for ScriptedPollable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedPollable").field("ready", &self.is_ready()).finish_non_exhaustive()
    }
}

/// Makes a pollable ready.
#[derive(Clone, Debug)]
pub struct Signal {
    set: Rc<Cell<bool>>,
}

impl Signal {
    /// The pollable is ready from now on.
    pub fn set(&self) {
        self.set.set(true);
    }
}
