//! One run: what the process of one seed does.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::env;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::asleep;
use crate::baton;
use crate::choices::Choices;
use crate::interpose;
use crate::network::Nanos;
use crate::real;
use crate::runner::mask::Mask;
use crate::scenario::Sim;
use crate::timeline;
use crate::world::actor::{ActorId, State, Waits, current, set_current};
use crate::world::plan::calm_kinds;
use crate::world::{self, invariants, lock, turn, watch};

/// Whether a panic ends the run.
static PANICS_FAIL: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// What the last panic of this thread said, and where.
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The file for the report, if this process is to make one run.
pub(crate) fn report_path() -> Option<PathBuf> {
    env::var_os("LITEN_SIM_REPORT").map(PathBuf::from)
}

/// The variable with the number of the check that a child belongs to.
pub(crate) const NUMBER_OF_CHECK: &str = "LITEN_SIM_NUMBER_OF_CHECK";

/// The variable with those that failed before it, in the same test.
pub(crate) const FAILED_BEFORE: &str = "LITEN_SIM_FAILED_BEFORE";

/// The variable with the decision at which the run stops, 0 for none.
pub(crate) const STOP_AT: &str = "LITEN_SIM_STOP_AT";

/// The variable that is 1 in a run whose last events are to be told.
pub(crate) const TIMELINE: &str = "LITEN_SIM_TIMELINE";

pub(crate) fn has_failed_before(number: &str) -> bool {
    env::var(FAILED_BEFORE).is_ok_and(|list| list.split(',').any(|failed| failed == number))
}

/// Which check the child belongs to.
pub(crate) fn number_of_check() -> Option<String> {
    env::var(NUMBER_OF_CHECK).ok()
}

/// Makes the run and ends the process.
///
/// The scenario has a thread of its own. The calling one may have taken random numbers of the
/// system already, such as the keys of its hash maps.
pub(crate) fn run(
    report: PathBuf,
    limit: Nanos,
    cpus: Option<usize>,
    panics_fail: bool,
    scenario: impl FnOnce(Sim) + Send,
) -> ! {
    // SAFETY: the calls take no arguments.
    let others = unsafe { [real::getpid(), real::gettid()] };
    PANICS_FAIL.store(panics_fail, Ordering::Relaxed);
    let body = || {
        begin(report, limit, cpus, "scenario", &others);
        let result = catch_unwind(AssertUnwindSafe(|| {
            scenario(Sim::new());
            wait_for_clients();
        }));
        match result {
            // The scenario may have broken one since it got its last turn.
            Ok(()) => invariants::checked(lock()).end_passed(),
            Err(payload) => lock().end_failed(told_by(&*payload)),
        }
    };
    let _: Result<(), _> = thread::scope(|scope| scope.spawn(body).join());
    unreachable!("a run ends with its process")
}

/// Makes this process a run, of which the calling thread is the first, on a host named `host`.
/// `others` are the numbers of its other threads.
pub(crate) fn begin(
    report: PathBuf,
    limit: Nanos,
    cpus: Option<usize>,
    host: &str,
    others: &[i32],
) {
    let seed = env::var("LITEN_SIM_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.expect("liten-sim: LITEN_SIM_SEED is not a number");
    let mask = match env::var_os("LITEN_SIM_WITHOUT") {
        Some(path) => {
            Mask::read_from(Path::new(&path)).unwrap_or_else(|error| panic!("liten-sim: {error}"))
        }
        None => Mask::default(),
    };
    let calm =
        env::var("LITEN_SIM_CALM").map_or_else(|_| BTreeSet::new(), |list| calm_kinds(&list));
    asleep::separate();
    let watching = watch::start(report).expect("liten-sim: start the watching thread");
    interpose::thread::prepare();
    baton::prepare();
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        note_panic(info);
        // The report has what the panic says, once, and its stack.
        let was_on = timeline::is_on();
        note_in_timeline();
        timeline::turn(false);
        usual(info);
        timeline::turn(was_on);
        // Relaxed: it was set before the first thread of the run began.
        if PANICS_FAIL.load(Ordering::Relaxed) && current().is_some() {
            turn::end_if_doomed();
            lock().end_failed(LAST_PANIC.take());
        }
    }));
    asleep::wait_for(others);
    asleep::wait_for(&[watching]);
    world::begin(Choices::new(seed, mask.keys, mask.only, calm), limit);
    if let Some(cpus) = cpus {
        lock().plan.cpus = cpus;
    }
    timeline::turn(env::var(TIMELINE).is_ok_and(|text| text == "1"));
    if let Some(decision) = stop_at() {
        lock().stop_at = decision;
    }
    become_first(host);
}

/// The decision at which the run stops, if it does.
fn stop_at() -> Option<u64> {
    let decision = env::var(STOP_AT).ok()?.parse().ok()?;
    (decision > 0).then_some(decision)
}

/// Makes this thread the first of the run, on a host of its own.
fn become_first(host: &str) {
    let mut world = lock();
    let cpus = world.plan.cpus;
    let host = world.add_host(host, None, false, cpus);
    let id = world.add_actor(host);
    world.name_actor(id, "main");
    world.ready.clear();
    world.actors[id.0].state = State::Running;
    world.running = id;
    world.actors[id.0].baton.begin();
    // What follows is checked at once: whether the linker has taken our functions.
    let before = world.now;
    drop(world);
    set_current(Some(id));
    let _ = std::time::Instant::now();
    let mut world = lock();
    if world.now == before {
        let message = "the C library's functions are not replaced; \
             does the program use them from a shared library?";
        world.end_refused(message.to_owned());
    }
}

fn wait_for_clients() {
    let mut world = lock();
    while !world.clients_ended() {
        (world, _) = turn::sleep(world, ActorId(0), Waits::Clients, None);
    }
    let checks = std::mem::take(&mut world.last_checks);
    drop(world);
    if let Some(why) = checks.into_iter().find_map(|check| check()) {
        lock().end_failed(why);
    }
}

fn note_panic(info: &PanicHookInfo<'_>) {
    let place = info
        .location()
        .map(|place| format!("{}:{}", place.file(), place.line()))
        .unwrap_or_default();
    let said = text_of(info.payload()).unwrap_or("a panic without a text");
    let note = format!("panicked at {place}: {said}");
    // A thread may check an invariant when its variables are gone already.
    let _ = LAST_PANIC.try_with(|last| last.replace(note));
}

fn note_in_timeline() {
    if timeline::is_on() && current().is_some() {
        let world = lock();
        let thread = &world.actors[world.running.0].name;
        timeline::note(world.now, || format!("{thread} panics"));
    }
}

/// What a caught panic said.
pub(crate) fn told_by(payload: &(dyn Any + Send)) -> String {
    let noted = LAST_PANIC.try_with(RefCell::take).unwrap_or_default();
    if !noted.is_empty() {
        return noted;
    }
    // It was thrown by `resume_unwind`, which calls no hook: a task's panic that was handed on.
    format!("panicked: {}", text_of(payload).unwrap_or("without a text"))
}

fn text_of(payload: &(dyn Any + Send)) -> Option<&str> {
    payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied())
}

/// Runs the main function of `host` on a thread of its own.
pub(crate) fn start_host(host: usize) {
    let (name, main) = {
        let mut world = lock();
        world.hosts[host].has_ended = false;
        let running = world.running;
        world.actors[running.0].next_host = Some(host);
        (world.hosts[host].name.clone(), world.hosts[host].main.clone())
    };
    let Some(main) = main else { return };
    let body = move || {
        let ended = catch_unwind(AssertUnwindSafe(|| main()));
        // The host may have crashed meanwhile, and another incarnation have begun.
        turn::end_if_doomed();
        match ended {
            Ok(true) => turn::exit_host(0),
            Ok(false) => {
                lock().end_failed("the main function failed; its error is in the output".to_owned())
            }
            Err(payload) => lock().end_failed(told_by(&*payload)),
        }
    };
    let thread = thread::Builder::new().name("main".to_owned()).spawn(body);
    thread.unwrap_or_else(|error| panic!("liten-sim: start the host {name}: {error}"));
}
