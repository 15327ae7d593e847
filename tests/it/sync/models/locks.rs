//! `RwLock` and `Mutex`. A mutex is a lock that is only ever locked for changing.

use super::crowd::{self, Crowd};
use crate::support::cases::cases;
use liten::sync::{
    Mutex, OwnedMappedMutexGuard, OwnedMutexGuard, OwnedRwLockMappedWriteGuard,
    OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Read,
    Write,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Wait(Kind),
    Poll(usize),
    /// A future, or a guard.
    Drop(usize),
    Try(Kind),
    /// A guard that writes becomes one that reads.
    Downgrade(usize),
    /// A guard becomes one for a part of the data.
    Map(usize),
    Change(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = || prop_oneof![Just(Kind::Read), Just(Kind::Write)];
    let step = prop_oneof![
        6 => kind().prop_map(Step::Wait),
        8 => any::<usize>().prop_map(Step::Poll),
        5 => any::<usize>().prop_map(Step::Drop),
        2 => kind().prop_map(Step::Try),
        2 => any::<usize>().prop_map(Step::Downgrade),
        1 => any::<usize>().prop_map(Step::Map),
        2 => any::<usize>().prop_map(Step::Change),
    ];
    vec(step, 1..80)
}

enum Guard {
    Read(OwnedRwLockReadGuard<u32>),
    Write(OwnedRwLockWriteGuard<u32>),
    WritePart(OwnedRwLockMappedWriteGuard<u32>),
    Alone(OwnedMutexGuard<u32>),
    AlonePart(OwnedMappedMutexGuard<u32>),
}

impl Guard {
    fn read(&self) -> u32 {
        match self {
            Self::Read(guard) => **guard,
            Self::Write(guard) => **guard,
            Self::WritePart(guard) => **guard,
            Self::Alone(guard) => **guard,
            Self::AlonePart(guard) => **guard,
        }
    }

    /// The data, if the guard may change it.
    fn write(&mut self) -> Option<&mut u32> {
        match self {
            Self::Read(_) => None,
            Self::Write(guard) => Some(guard),
            Self::WritePart(guard) => Some(guard),
            Self::Alone(guard) => Some(guard),
            Self::AlonePart(guard) => Some(guard),
        }
    }

    fn map(self) -> Self {
        match self {
            Self::Read(guard) => Self::Read(OwnedRwLockReadGuard::map(guard, |data| data)),
            Self::Write(guard) => Self::WritePart(OwnedRwLockWriteGuard::map(guard, |data| data)),
            Self::Alone(guard) => Self::AlonePart(OwnedMutexGuard::map(guard, |data| data)),
            part => part,
        }
    }
}

#[derive(Clone)]
enum Lock {
    RwLock(Arc<RwLock<u32>>),
    Mutex(Arc<Mutex<u32>>),
}

impl Lock {
    /// As a lock of which no more than `readers` are to be in it; for a mutex that is none.
    fn new(readers: u32) -> Self {
        match readers {
            0 => Self::Mutex(Arc::new(Mutex::new(0))),
            _ => Self::RwLock(Arc::new(RwLock::with_max_readers(0, readers))),
        }
    }

    /// What this lock can be locked for.
    fn kind(&self, wanted: Kind) -> Kind {
        if matches!(self, Self::Mutex(_)) { Kind::Write } else { wanted }
    }

    fn wait(self, kind: Kind) -> Pin<Box<dyn Future<Output = Guard>>> {
        Box::pin(async move {
            match (self, kind) {
                (Self::RwLock(lock), Kind::Read) => Guard::Read(lock.read_owned().await),
                (Self::RwLock(lock), Kind::Write) => Guard::Write(lock.write_owned().await),
                (Self::Mutex(lock), _) => Guard::Alone(lock.lock_owned().await),
            }
        })
    }

    fn attempt(self, kind: Kind) -> Option<Guard> {
        match (self, kind) {
            (Self::RwLock(lock), Kind::Read) => lock.try_read_owned().ok().map(Guard::Read),
            (Self::RwLock(lock), Kind::Write) => lock.try_write_owned().ok().map(Guard::Write),
            (Self::Mutex(lock), _) => lock.try_lock_owned().ok().map(Guard::Alone),
        }
    }
}

/// Which tasks are in the lock, and which stand in line, in the order of the first polls.
struct Model {
    most_readers: usize,
    readers: usize,
    writer: bool,
    line: VecDeque<usize>,
    /// What each future wants, or each guard is.
    kinds: Vec<Kind>,
    value: u32,
}

impl Model {
    fn has_room(&self, kind: Kind) -> bool {
        !self.writer
            && match kind {
                Kind::Read => self.readers < self.most_readers,
                Kind::Write => self.readers == 0,
            }
    }

    fn enter(&mut self, kind: Kind) {
        match kind {
            Kind::Read => self.readers += 1,
            Kind::Write => self.writer = true,
        }
    }

    fn leave(&mut self, at: usize) {
        match self.kinds[at] {
            Kind::Read => self.readers -= 1,
            Kind::Write => self.writer = false,
        }
        self.settle();
    }

    /// Lets in as many as there is room for, and no one past another.
    fn settle(&mut self) {
        while let Some(&first) = self.line.front() {
            if !self.has_room(self.kinds[first]) {
                return;
            }
            self.line.pop_front();
            self.enter(self.kinds[first]);
        }
    }
}

impl crowd::Model for Model {
    fn poll(&mut self, at: usize, first: bool) -> bool {
        if first {
            self.line.push_back(at);
            self.settle();
        }
        !self.line.contains(&at)
    }

    fn is_woken(&self, at: usize) -> bool {
        !self.line.contains(&at)
    }

    fn give_up(&mut self, at: usize) {
        if self.line.contains(&at) {
            self.line.retain(|&other| other != at);
            self.settle();
        } else {
            self.leave(at);
        }
    }
}

fn play(lock: &Lock, crowd: &mut Crowd<Guard>, model: &mut Model, step: Step) {
    match step {
        Step::Wait(kind) => {
            let kind = lock.kind(kind);
            crowd.add(lock.clone().wait(kind));
            model.kinds.push(kind);
        }
        Step::Poll(pick) => drop(crowd.poll(pick, model).map(|(at, _)| at)),
        Step::Drop(pick) => {
            if let Some((at, guard)) = crowd.remove(pick, model) {
                drop(guard);
                model.leave(at);
            }
        }
        Step::Try(kind) => {
            let kind = lock.kind(kind);
            let guard = lock.clone().attempt(kind);
            assert_eq!(guard.is_some(), model.line.is_empty() && model.has_room(kind));
            if let Some(guard) = guard {
                crowd.add_ready(guard);
                model.kinds.push(kind);
                model.enter(kind);
            }
        }
        Step::Downgrade(pick) => match crowd.remove_ready(pick) {
            Some((at, Guard::Write(guard))) => {
                crowd.put_back(at, Guard::Read(guard.downgrade()));
                (model.writer, model.kinds[at]) = (false, Kind::Read);
                model.enter(Kind::Read);
                model.settle();
            }
            Some((at, other)) => crowd.put_back(at, other),
            None => {}
        },
        Step::Map(pick) => {
            if let Some((at, guard)) = crowd.remove_ready(pick) {
                crowd.put_back(at, guard.map());
            }
        }
        Step::Change(pick) => {
            if let Some((at, mut guard)) = crowd.remove_ready(pick) {
                if let Some(value) = guard.write() {
                    *value += 1;
                    model.value += 1;
                }
                crowd.put_back(at, guard);
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn a_lock_does_what_its_model_does(readers in 0..4_u32, steps in steps()) {
        let lock = Lock::new(readers);
        let mut crowd = Crowd::new();
        let mut model = Model {
            most_readers: readers as usize,
            readers: 0,
            writer: false,
            line: VecDeque::new(),
            kinds: Vec::new(),
            value: 0,
        };
        for step in steps {
            play(&lock, &mut crowd, &mut model, step);
            crowd.check(&model);
            prop_assert!(crowd.values().all(|guard| guard.read() == model.value));
        }
    }
}
