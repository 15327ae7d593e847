//! The whole life of a task against a model: how it ends, when it is aborted, what becomes of its handle, and
//! what panics, each with each, on every kind of executor.
//!
//! Nothing here races. A *stage* holds all threads of its executor while the test wakes, aborts, polls and
//! drops, from outside or on one of those threads, or in the middle of a poll; then it lets them run until
//! nothing is left to run, and everything is compared with the model. Races are for the loom models and
//! `stress/random_calls.rs`.

mod life;
mod memory;
mod model;
mod props;
mod stage;

use crate::support::cases::cases;
use crate::support::guard::{guarded, within};
use life::Witness;
use model::{Model, Plan};
use props::Props;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use stage::{Flavor, Stage};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What may be done to a task.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Deed {
    Wake,
    /// With the waker that the last poll left; there is none until the next one.
    WakeByValue,
    DropWaker,
    /// By the AbortHandle, or else by the JoinHandle.
    Abort,
    PollJoin,
    DropJoin,
    DropAbort,
}

/// By the thread of the test, or by one that runs tasks.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Whence {
    Outside,
    Inside,
}

#[derive(Debug, Clone)]
enum Step {
    /// While nothing runs.
    Do(Deed, Whence),
    /// Lets everything run that is hot. If the task is polled, these are done during its first poll.
    Run(Vec<(Deed, Whence)>),
}

#[derive(Debug, Clone)]
struct Play {
    plan: Plan,
    spawned: Whence,
    has_abort_handle: bool,
    steps: Vec<Step>,
}

/// Plays it and compares after each step. Leaves the stage for the next one, unless only the end of the
/// executor could end the task.
fn perform(place: &mut Option<Stage>, flavor: Flavor, play: &Play) {
    let stage = place.get_or_insert_with(|| flavor.build());
    let witness = Arc::new(Witness::default());
    let mut model = Model::new(play.plan, play.has_abort_handle, stage.has_wakers());
    stage.hold();
    let join = stage.spawn(Box::new(witness.life(play.plan)), play.spawned);
    let props = Arc::new(Props::new(join, play.has_abort_handle, witness.clone()));
    compare(&model, &props);
    for step in &play.steps {
        match step {
            Step::Do(deed, whence) => {
                model.deed(*deed);
                stage.perform(&props, *deed, *whence);
            }
            Step::Run(during) => run(stage, &mut model, &props, during),
        }
        compare(&model, &props);
    }
    run(stage, &mut model, &props, &[]);
    if model.ending.is_none() {
        *place = None;
        model.shut_down();
    }
    compare(&model, &props);
    finish(model, props, witness);
}

fn run(stage: &mut Stage, model: &mut Model, props: &Arc<Props>, during: &[(Deed, Whence)]) {
    let room = (!during.is_empty() && model.will_be_polled()).then(|| props.witness.gate());
    let deeds: Vec<Deed> = during.iter().map(|(deed, _)| *deed).collect();
    model.run(&deeds);
    stage.release();
    if let Some(room) = room {
        room.wait_for_entry();
        for (deed, whence) in during {
            room.perform(props, *deed, *whence);
        }
    }
    props.witness.wait_for(model.polls, model.future_drops);
    stage.hold();
}

#[track_caller]
fn compare(model: &Model, props: &Props) {
    assert_eq!(props.witness.counts(), model.counts());
    assert_eq!(props.is_finished(), model.is_finished());
    assert_eq!(props.joiner_woken(), model.joiner_woken);
    assert_eq!(props.told(), model.told);
    assert_eq!(memory::live(), usize::from(model.has_memory()), "the task's memory");
}

/// The handle tells once how the task ended, and then nothing keeps anything.
fn finish(mut model: Model, props: Arc<Props>, witness: Arc<Witness>) {
    for deed in [Deed::Abort, Deed::Wake, Deed::PollJoin, Deed::DropJoin, Deed::WakeByValue] {
        model.deed(deed);
        props.perform(deed);
        compare(&model, &props);
    }
    assert_eq!(model.made, model.output_drops);
    assert_eq!(model.future_drops, 1);
    let props = Arc::into_inner(props).expect("no other reference is left");
    let joiner = props.into_joiner();
    assert_eq!(Arc::strong_count(&joiner), 1, "the waker of the JoinHandle was kept");
    assert_eq!(Arc::strong_count(&witness), 1, "the future or its output was kept");
}

/// When the task is aborted.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Abort {
    BeforeTheFirstPoll,
    DuringTheFirstPoll,
    Cold,
    QueuedAgain,
    DuringTheLastPoll,
    AfterTheEnd,
    Never,
}

/// What becomes of its JoinHandle.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Join {
    Awaited,
    AskedAtTheEnd,
    DroppedAtOnce,
    DroppedDuringThePoll,
    DroppedAfterThePoll,
    PolledThenDropped,
    DroppedAtTheEnd,
    /// As dropped at once, with an AbortHandle that is kept.
    OnlyAbortHandle,
}

const ABORTS: [Abort; 7] = [
    Abort::BeforeTheFirstPoll,
    Abort::DuringTheFirstPoll,
    Abort::Cold,
    Abort::QueuedAgain,
    Abort::DuringTheLastPoll,
    Abort::AfterTheEnd,
    Abort::Never,
];

const JOINS: [Join; 8] = [
    Join::Awaited,
    Join::AskedAtTheEnd,
    Join::DroppedAtOnce,
    Join::DroppedDuringThePoll,
    Join::DroppedAfterThePoll,
    Join::PolledThenDropped,
    Join::DroppedAtTheEnd,
    Join::OnlyAbortHandle,
];

fn play(plan: Plan, abort: Abort, join: Join, whence: Whence) -> Play {
    // A task that is never ready is woken once, in vain.
    let wakes = plan.wakes.unwrap_or(1);
    let mut steps = Vec::new();
    let mut act = |deed| steps.push(Step::Do(deed, whence));
    match join {
        Join::Awaited | Join::PolledThenDropped => act(Deed::PollJoin),
        Join::DroppedAtOnce | Join::OnlyAbortHandle => act(Deed::DropJoin),
        _ => {}
    }
    if abort == Abort::BeforeTheFirstPoll {
        act(Deed::Abort);
    }
    for poll in 0..=wakes {
        let mut during = Vec::new();
        let (first, last) = (poll == 0, poll == wakes);
        if first && join == Join::DroppedDuringThePoll {
            during.push((Deed::DropJoin, whence));
        }
        if (first && abort == Abort::DuringTheFirstPoll)
            || (last && abort == Abort::DuringTheLastPoll)
        {
            during.push((Deed::Abort, whence));
        }
        steps.push(Step::Run(during));
        if first && matches!(join, Join::DroppedAfterThePoll | Join::PolledThenDropped) {
            steps.push(Step::Do(Deed::DropJoin, whence));
        }
        if first && !last && abort == Abort::Cold {
            steps.push(Step::Do(Deed::Abort, whence));
            steps.push(Step::Run(Vec::new()));
        }
        if !last {
            steps.push(Step::Do(Deed::Wake, whence));
        }
        if first && !last && abort == Abort::QueuedAgain {
            steps.push(Step::Do(Deed::Abort, whence));
        }
    }
    if abort == Abort::AfterTheEnd && plan.wakes.is_some() {
        steps.push(Step::Do(Deed::Abort, whence));
    }
    if join == Join::DroppedAtTheEnd {
        steps.push(Step::Do(Deed::DropJoin, whence));
    }
    let drops_join = !matches!(join, Join::Awaited | Join::AskedAtTheEnd);
    let has_abort_handle = join == Join::OnlyAbortHandle || abort != Abort::Never && drops_join;
    Play { plan, spawned: whence, has_abort_handle, steps }
}

fn each_with_each(flavor: Flavor, plans: &[Plan]) {
    let _alone = memory::alone();
    let limit = Duration::from_secs(if cfg!(miri) { 3_600 } else { 240 });
    within(limit, || play_each(flavor, plans));
}

/// On a machine that is busy with something else there may be no time for all of them. So they come in a
/// random order, and those that are left out are others each time.
fn play_each(flavor: Flavor, plans: &[Plan]) {
    const FEWEST: usize = 300;
    const LONGEST: Duration = Duration::from_secs(if cfg!(miri) { 3_000 } else { 60 });
    let mut all = Vec::new();
    for &plan in plans {
        for (abort, join) in ABORTS.into_iter().flat_map(|abort| JOINS.map(|join| (abort, join))) {
            all.extend([Whence::Outside, Whence::Inside].map(|whence| (plan, abort, join, whence)));
        }
    }
    let all = Just(all).prop_shuffle().new_tree(&mut TestRunner::default()).unwrap().current();
    let (begin, mut stage) = (Instant::now(), None);
    for (number, (plan, abort, join, whence)) in all.into_iter().enumerate() {
        if number >= FEWEST && begin.elapsed() > LONGEST {
            break;
        }
        let play = play(plan, abort, join, whence);
        let perform = AssertUnwindSafe(|| perform(&mut stage, flavor, &play));
        if let Err(failure) = catch_unwind(perform) {
            // Not `eprintln`, which the harness keeps: an executor that is broken may hang now.
            let text = failure.downcast_ref::<String>();
            let place = format!("{flavor:?}, {abort:?}, {join:?}, {whence:?}: {plan:?}");
            let text = text.map_or("", |text| text);
            let _ = writeln!(std::io::stderr(), "\n{place}: {text}");
            resume_unwind(failure);
        }
    }
    stage.into_iter().for_each(Stage::close);
}

/// Ready at once, after wakes, or never; and what panics.
fn plans() -> Vec<Plan> {
    let mut plans = Vec::new();
    for wakes in [Some(0), Some(1), Some(2), None] {
        for panics in 0..8 {
            plans.push(Plan {
                wakes,
                poll_panics: panics & 1 != 0,
                future_panics: panics & 2 != 0,
                output_panics: panics & 4 != 0,
            });
        }
    }
    // Miri takes seconds where others take milliseconds.
    if cfg!(miri) {
        plans.retain(|plan| plan.wakes == Some(1) && !plan.poll_panics && !plan.output_panics);
    }
    plans
}

#[test]
fn every_life_on_one_worker() {
    each_with_each(Flavor::OneWorker, &plans());
}

#[test]
fn every_life_on_two_workers() {
    each_with_each(Flavor::TwoWorkers, &plans());
}

#[test]
fn every_life_in_a_current_thread_runtime() {
    each_with_each(Flavor::CurrentThread, &plans());
}

#[test]
fn every_life_in_a_local_runtime() {
    each_with_each(Flavor::LocalRuntime, &plans());
}

#[test]
fn every_life_in_a_local_executor() {
    each_with_each(Flavor::LocalExecutor, &plans());
}

/// Blocking work is one poll. At most one thing panics: its function, what that owns and what it returns are
/// all on one stack, where a second panic ends the process.
#[test]
fn every_life_in_the_blocking_pool() {
    let single = |plan: &Plan| {
        let panics = [plan.poll_panics, plan.future_panics, plan.output_panics];
        plan.wakes == Some(0) && panics.iter().filter(|panics| **panics).count() <= 1
    };
    let plans: Vec<Plan> = plans().into_iter().filter(single).collect();
    each_with_each(Flavor::Blocking, &plans);
}

fn whence() -> impl Strategy<Value = Whence> {
    prop_oneof![Just(Whence::Outside), Just(Whence::Inside)]
}

fn deed() -> impl Strategy<Value = (Deed, Whence)> {
    let deed = prop_oneof![
        6 => Just(Deed::Wake),
        2 => Just(Deed::WakeByValue),
        1 => Just(Deed::DropWaker),
        1 => Just(Deed::Abort),
        2 => Just(Deed::PollJoin),
        1 => Just(Deed::DropJoin),
        1 => Just(Deed::DropAbort),
    ];
    (deed, whence())
}

fn any_play() -> impl Strategy<Value = Play> {
    let plan = (prop::option::weighted(0.8, 0..6_usize), any::<[bool; 3]>()).prop_map(
        |(wakes, [poll_panics, future_panics, output_panics])| Plan {
            wakes,
            poll_panics,
            future_panics,
            output_panics,
        },
    );
    let step = prop_oneof![
        3 => deed().prop_map(|(deed, whence)| Step::Do(deed, whence)),
        2 => vec(deed(), 0..3).prop_map(Step::Run),
    ];
    (plan, whence(), any::<bool>(), vec(step, 0..25)).prop_map(
        |(plan, spawned, has_abort_handle, steps)| Play { plan, spawned, has_abort_handle, steps },
    )
}

#[test]
fn any_sequence_of_wakes_aborts_polls_and_drops_ends_as_the_model_says() {
    let _alone = memory::alone();
    guarded(|| {
        // A failure is told before the guard's time is over, also if each attempt at a shorter one hangs.
        let config = ProptestConfig { max_shrink_time: 20_000, ..cases(300) };
        let flavor = prop::sample::select(Flavor::OF_FUTURES);
        proptest!(config, |(flavor in flavor, play in any_play())| {
            let mut stage = None;
            perform(&mut stage, flavor, &play);
            stage.into_iter().for_each(Stage::close);
        });
    });
}
