//! Whether there is an order: the search of Wing, Gong and Lowe, as `todc-utils` has it.

use std::marker::PhantomData;

use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::{Action, History};
use todc_utils::specifications::Specification;

use super::{Call, Model};

/// The model in the form that the checker takes.
struct Checked<M>(PhantomData<M>);

#[derive(Clone, Debug)]
enum Step<M: Model> {
    /// The first, which makes the object: the checker takes no initial value.
    Begin(M),
    /// With what the client was told, if it was told anything.
    Do(M::Operation, Option<M::Output>),
}

impl<M: Model> Specification for Checked<M> {
    type State = Option<M>;
    type Operation = Step<M>;

    fn init() -> Option<M> {
        None
    }

    fn apply(step: &Step<M>, state: &Option<M>) -> (bool, Option<M>) {
        match (step, state) {
            (Step::Begin(initial), None) => (true, Some(initial.clone())),
            (Step::Do(operation, told), Some(before)) => {
                let mut after = before.clone();
                let output = after.apply(operation);
                let is_right = told.as_ref().is_none_or(|told| *told == output);
                (is_right, Some(if is_right { after } else { before.clone() }))
            }
            _ => (false, state.clone()),
        }
    }
}

/// Looks for an order. If there is none, the error is the shortest beginning without one. Its last
/// event is the answer that has no place.
pub(super) fn check<M: Model>(initial: &M, calls: Vec<Call<M>>) -> Result<(), Vec<Call<M>>> {
    if is_linearizable(initial, &calls) {
        return Ok(());
    }
    let ends = |call: &Call<M>| call.ended.as_ref().map(|(ended, _)| ended.event);
    let mut answers: Vec<usize> = calls.iter().filter_map(ends).collect();
    answers.sort_unstable();
    // An order of all is also one of each beginning, so one bound divides the answers.
    let bad = answers.partition_point(|last| is_linearizable(initial, &beginning(&calls, *last)));
    // The whole history is the last of the beginnings.
    let last = answers.get(bad).or(answers.last()).copied().unwrap_or(0);
    Err(beginning(&calls, last))
}

/// The calls as they were known after the event `last`.
fn beginning<M: Model>(calls: &[Call<M>], last: usize) -> Vec<Call<M>> {
    let known = calls.iter().filter(|call| call.begun.event <= last).cloned();
    let known = known.map(|mut call| {
        call.ended = call.ended.filter(|(ended, _)| ended.event <= last);
        call
    });
    known.collect()
}

fn is_linearizable<M: Model>(initial: &M, calls: &[Call<M>]) -> bool {
    let mut events = Vec::new();
    for (number, call) in calls.iter().enumerate() {
        let told = call.ended.as_ref().map(|(_, output)| output.clone());
        let step = Step::Do(call.operation.clone(), told);
        // An operation without an answer ends after everything else: it may be done last of all.
        let ended = call.ended.as_ref().map_or(usize::MAX, |(ended, _)| ended.event);
        // Each operation as a process of its own: a client may have several under way.
        events.push((call.begun.event, number + 1, Action::Call(step.clone())));
        events.push((ended, number + 1, Action::Response(step)));
    }
    events.sort_by_key(|(event, ..)| *event);
    let begin = Step::Begin(initial.clone());
    let mut actions = vec![(0, Action::Call(begin.clone())), (0, Action::Response(begin))];
    actions.extend(events.into_iter().map(|(_, process, action)| (process, action)));
    WGLChecker::<Checked<M>>::is_linearizable(History::from_actions(actions))
}
