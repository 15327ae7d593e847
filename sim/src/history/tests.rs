use super::*;
use crate::choices::Draw;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Register(u64);

#[derive(Clone, Copy, Debug)]
enum Operation {
    Read,
    Write(u64),
}

use Operation::{Read, Write};

impl Model for Register {
    type Operation = Operation;
    type Output = Option<u64>;

    fn apply(&mut self, operation: &Operation) -> Option<u64> {
        match operation {
            Read => Some(self.0),
            Write(value) => {
                self.0 = *value;
                None
            }
        }
    }
}

fn register() -> History<Register> {
    History::new("register", Register(0))
}

#[test]
fn an_empty_history_and_open_calls_are_linearizable() {
    let history = register();
    assert_eq!(history.check(), Ok(()));
    let _open = history.call("one", Write(1));
    assert_eq!(history.check(), Ok(()));
}

#[test]
fn what_was_read_once_is_not_unread() {
    let history = register();
    let write = history.call("one", Write(1));
    history.call("two", Read).returned(Some(1));
    history.call("three", Read).returned(Some(0));
    write.returned(None);
    history.call("four", Read).returned(Some(1));
    let error = history.check().unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(
        lines,
        [
            "the history of `register` is not linearizable",
            "no order explains three: Read → Some(0), 0.000000 s to 0.000000 s",
            "before it and beside it:",
            "  one: Write(1), from 0.000000 s, without an answer",
            "  two: Read → Some(1), 0.000000 s to 0.000000 s",
        ]
    );
}

#[test]
fn a_call_without_an_answer_may_be_done_late_or_never() {
    for (seen, is_right) in [(0, true), (1, true), (2, false)] {
        let history = register();
        drop(history.call("one", Write(1)));
        history.call("two", Read).returned(Some(0));
        history.call("two", Read).returned(Some(seen));
        assert_eq!(history.check().is_ok(), is_right, "{seen}");
    }
}

#[test]
fn what_was_not_done_is_seen_by_nobody() {
    let history = register();
    history.call("one", Write(1)).not_done();
    assert!(history.check().is_ok());
    history.call("two", Read).returned(Some(1));
    assert!(history.check().is_err());
}

/// A call that is under way, with its answer when it is done.
type Asked = (Pending<Register>, Operation, Option<Option<u64>>);

/// Several clients use a register, each with one call at a time.
fn random_history(draw: &mut Draw, is_stale: bool) -> History<Register> {
    let history = register();
    let (mut now, mut before) = (Register(0), Register(0));
    let mut calls = [const { None::<Asked> }; 4];
    for number in 0..120 {
        let client = draw.below(4) as usize;
        calls[client] = match calls[client].take() {
            None => {
                let operation = if draw.below(2) == 0 { Read } else { Write(number) };
                Some((history.call(&format!("client {client}"), operation), operation, None))
            }
            Some((pending, operation, None)) => {
                if matches!(operation, Write(_)) {
                    before = now.clone();
                }
                let from = if is_stale && number > 60 { &mut before } else { &mut now };
                let output = match operation {
                    Read => from.apply(&operation),
                    Write(_) => now.apply(&operation),
                };
                Some((pending, operation, Some(output)))
            }
            Some((pending, _, Some(output))) => {
                pending.returned(output);
                None
            }
        };
    }
    history
}

#[test]
fn every_history_of_one_object_is_linearizable() {
    let mut draw = Draw::from_seed(5);
    for _ in 0..100 {
        assert_eq!(random_history(&mut draw, false).check(), Ok(()));
    }
}

#[test]
fn a_register_that_reads_the_value_before_the_last_is_found() {
    let mut draw = Draw::from_seed(6);
    let found = (0..100).filter(|_| random_history(&mut draw, true).check().is_err()).count();
    assert!(found > 50, "{found}");
}
