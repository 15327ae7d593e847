//! The reactor beside a model of it: the same operations on both, in sequences that proptest makes up and
//! shortens.

use component::scripted::{ScriptedHost, Signal};
use component::witness::Witness;
use liten::wasi::{Reactor, Registration, WaitFor};
use proptest::collection::vec;
use proptest::prelude::*;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

/// Numbers choose among what there is, modulo its count.
#[derive(Clone, Copy, Debug)]
enum Step {
    Register,
    Unregister(usize),
    Wait(usize),
    Poll(usize),
    /// With another waker than before.
    Move(usize),
    Drop(usize),
    Ready(usize),
    Turn,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Register),
        1 => any::<usize>().prop_map(Step::Unregister),
        3 => any::<usize>().prop_map(Step::Wait),
        4 => any::<usize>().prop_map(Step::Poll),
        1 => any::<usize>().prop_map(Step::Move),
        2 => any::<usize>().prop_map(Step::Drop),
        2 => any::<usize>().prop_map(Step::Ready),
        2 => Just(Step::Turn),
    ]
}

struct Source {
    registration: Option<Registration<ScriptedHost>>,
    signal: Signal,
    ready: bool,
}

/// What the table in the header of the reactor says.
#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    New,
    Waiting,
    Ready,
    Done,
}

struct Waiter {
    wait: WaitFor<ScriptedHost>,
    source: usize,
    state: State,
    witness: Arc<Witness>,
    waker: Waker,
    wakes: usize,
}

struct Pair {
    host: ScriptedHost,
    reactor: Reactor<ScriptedHost>,
    sources: Vec<Source>,
    waiters: Vec<Waiter>,
    /// The reactor has looked at more than two at once, and keeps the clock that this takes while a task
    /// waits.
    looked: bool,
}

/// One of `list`, or nothing if it is empty.
fn pick<T>(list: &[T], number: usize) -> Option<usize> {
    (!list.is_empty()).then(|| number % list.len())
}

impl Pair {
    fn new() -> Self {
        let host = ScriptedHost::new();
        let reactor = Reactor::with_host(host.clone());
        Self { host, reactor, sources: Vec::new(), waiters: Vec::new(), looked: false }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Register => {
                let (pollable, signal) = self.host.signal();
                let registration = Some(self.reactor.register(pollable));
                self.sources.push(Source { registration, signal, ready: false });
            }
            Step::Unregister(n) => {
                if let Some(i) = pick(&self.sources, n) {
                    self.sources[i].registration = None;
                }
            }
            Step::Wait(n) => {
                let Some(source) = pick(&self.sources, n) else { return };
                let Some(registration) = &self.sources[source].registration else { return };
                let (witness, waker) = Witness::new();
                let wait = registration.wait();
                self.waiters.push(Waiter {
                    wait,
                    source,
                    state: State::New,
                    witness,
                    waker,
                    wakes: 0,
                });
            }
            Step::Poll(n) => {
                if let Some(i) = pick(&self.waiters, n) {
                    self.waiters[i].poll();
                }
            }
            Step::Move(n) => {
                if let Some(i) = pick(&self.waiters, n) {
                    let waiter = &mut self.waiters[i];
                    (waiter.witness, waiter.waker) = Witness::new();
                    waiter.wakes = 0;
                    waiter.poll();
                }
            }
            Step::Drop(n) => {
                if let Some(i) = pick(&self.waiters, n) {
                    let waiter = self.waiters.swap_remove(i);
                    drop(waiter.wait);
                    assert_eq!(waiter.witness.wakers(), 1, "ours");
                    assert_eq!(waiter.witness.wakes(), waiter.wakes);
                }
            }
            Step::Ready(n) => {
                if let Some(i) = pick(&self.sources, n) {
                    self.sources[i].signal.set();
                    self.sources[i].ready = true;
                }
            }
            Step::Turn => self.turn(),
        }
    }

    fn turn(&mut self) {
        self.looked |= self.waiting() > 2;
        let mut expected = 0;
        for waiter in &mut self.waiters {
            if waiter.state == State::Waiting && self.sources[waiter.source].ready {
                waiter.state = State::Ready;
                waiter.wakes += 1;
                expected += 1;
            }
        }
        assert_eq!(self.reactor.turn(Some(Duration::ZERO)), expected);
    }

    fn waiting(&self) -> usize {
        self.waiters.iter().filter(|w| w.state == State::Waiting).count()
    }

    fn check(&mut self) {
        let waiting = self.waiting();
        assert_eq!(self.reactor.len(), waiting);
        self.looked &= waiting != 0;
        let owned = |i| self.waiters.iter().any(|w| w.source == i && w.state != State::Done);
        let sources = self.sources.iter().enumerate();
        let alive = sources.filter(|(i, s)| s.registration.is_some() || owned(*i)).count();
        assert_eq!(self.host.alive(), alive + usize::from(self.looked));
        for waiter in &self.waiters {
            assert_eq!(waiter.witness.wakes(), waiter.wakes);
            let kept = usize::from(waiter.state == State::Waiting);
            assert_eq!(waiter.witness.wakers(), 1 + kept);
        }
    }
}

impl Waiter {
    fn poll(&mut self) {
        let ready = Pin::new(&mut self.wait).poll(&mut Context::from_waker(&self.waker)).is_ready();
        match self.state {
            State::New => self.state = State::Waiting,
            State::Ready => self.state = State::Done,
            State::Waiting | State::Done => {}
        }
        assert_eq!(ready, self.state == State::Done);
    }
}

#[test]
fn the_reactor_does_what_its_model_does() {
    // No file of failures: a case that failed becomes a test of its own.
    let config =
        ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(steps in vec(step(), 0..100))| {
        let mut pair = Pair::new();
        for step in steps {
            pair.step(step);
            pair.check();
        }
        pair.sources.clear();
        pair.waiters.clear();
        prop_assert_eq!((pair.reactor.len(), pair.host.alive()), (0, 0));
    });
}
