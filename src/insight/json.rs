//! A picture of all runtimes as JSON, for the page's script and for programs.
//!
//! Written by hand: it is objects, lists, numbers and strings, and a crate for it would be one that reads it,
//! too, for every program that has the default features.

use super::blocked_call::BlockedCall;
use super::dump::Dump;
use super::finding::Finding;
use super::pool_info::{JobInfo, PoolInfo};
use super::quantile::Quantile;
use super::selection::Selected;
use super::server::picture::{Cost, Picture, Seen};
use super::shown::{self, program};
use super::slow_poll_info::SlowPollInfo;
use super::task_group::TaskGroup;
use super::task_info::TaskInfo;
use super::task_state::TaskState;
use super::wait_graph::WaitGraph;
use super::worker_info::WorkerInfo;
use crate::engine::scheduler::WorkerCounts;
use crate::engine::task::{RunningTask, TaskId};
use crate::observe::histogram::HistogramCounts;
use crate::runtime::{Id, RuntimeFlavor, ThreadActivity};
use crate::short::{Place, cut, short};
use std::fmt::{Display, Write};
use std::panic::Location;

/// What is not in the dumps.
pub(super) struct Extra<'a> {
    pub(super) cost: Cost,
    /// How often a task was polled at least, if that is known.
    pub(super) polls: &'a dyn Fn(Id, TaskId) -> Option<u64>,
}

/// `tables` has the rows of each runtime whose tasks are not shown in the order of the dump.
pub(super) fn json(
    picture: &Picture,
    rows: usize,
    tables: &[(Id, Selected)],
    extra: &Extra<'_>,
) -> String {
    let mut text = String::new();
    Object::write(&mut text, |all| {
        all.text("program", program());
        all.number("process", std::process::id());
        all.text("liten", env!("CARGO_PKG_VERSION"));
        all.object("cost", |object| write_cost(extra.cost, object));
        all.list("runtimes", &picture.runtimes, |seen, object| {
            runtime(seen, object);
            let table = tables.iter().find(|(id, _)| *id == seen.id);
            let row = |task: &TaskInfo, object: &mut Object<'_>| {
                write_task(task, (extra.polls)(seen.id, task.id()), object);
            };
            task_table(&seen.dump, rows, table.map(|(_, table)| table), row, object);
        });
        all.list("memory", picture.memory.iter().take(shown::MOST_GROUPS), |memory, object| {
            let place = memory.spawned_at().map(|place| Place(place).to_string());
            object.optional_text("spawned_at", place.as_deref());
            object.number("bytes", memory.bytes());
        });
        all.number("memory_left_out", picture.memory.len().saturating_sub(shown::MOST_GROUPS));
        all.number("runtimes_left_out", picture.left_out);
        all.number("runtimes_ended", picture.ended);
    });
    text
}

pub(super) fn write_cost(cost: Cost, object: &mut Object<'_>) {
    object.optional_number("processor_us", cost.processor.map(|time| time.as_micros()));
    object.number("open_us", cost.open_for.as_micros());
    object.number("lost_events", cost.lost_events);
}

fn runtime(seen: &Seen, object: &mut Object<'_>) {
    let dump = &seen.dump;
    object.number("id", seen.id);
    object.optional_text("name", dump.name());
    object.text(
        "flavor",
        match dump.flavor {
            RuntimeFlavor::CurrentThread => "current_thread",
            RuntimeFlavor::MultiThread => "multi_thread",
        },
    );
    let findings = dump.findings();
    object.list("findings", findings.iter().take(shown::MOST_FINDINGS), finding);
    object.number("findings_left_out", findings.len().saturating_sub(shown::MOST_FINDINGS));
    object.sentence("not_looked_at", &dump.not_looked_at());
    match dump.lately() {
        Some(lately) => object.sentence("lately", &lately.to_string()),
        None => object.number("lately", "null"),
    }
    object.list("look_at", &dump.notable, |text, object| object.sentence("text", text));
    let workers = dump.workers().iter().zip(&seen.counts).take(shown::MOST_WORKERS);
    object.list("workers", workers, |(info, counts), object| {
        worker(info, counts, object);
        object.number("is_slow", info.poll_duration() >= dump.slow_after);
    });
    object.number("workers_left_out", dump.workers().len().saturating_sub(shown::MOST_WORKERS));
    let elsewhere = dump.polled_elsewhere();
    object.list("polled_elsewhere", elsewhere.iter().take(shown::MOST_JOBS), running);
    object.number("polled_elsewhere_left_out", elsewhere.len().saturating_sub(shown::MOST_JOBS));
    tasks(dump, object);
    object.object("wait_graph", |object| wait_graph(&WaitGraph::of(dump), object));
    object.object("pool", |object| pool(dump.pool(), object));
    queues(dump, object);
    object.number("timers", dump.timers());
    object.number("sources", dump.sources());
    sockets(dump, object);
    object.number("injected_tasks", seen.injected_tasks);
    // A threshold that no poll reaches may be larger than what a reader takes for a number.
    let slow_after = u64::try_from(dump.slow_after.as_micros()).ok();
    object.optional_number("slow_poll_threshold_us", slow_after);
    object.number("slow_polls", dump.slow_polls);
    object.list("last_slow_polls", dump.slow_polls(), slow_poll);
    object.number("blocked_polls", dump.blocked_polls);
    for (name, histogram) in dump.histograms() {
        object.object(name, |object| times(histogram, object));
    }
}

/// What was counted since the start, in microseconds. A bound that is not known, because nothing longer than
/// 17 s is told apart, is null.
fn times(histogram: &HistogramCounts, object: &mut Object<'_>) {
    object.number("count", histogram.total());
    object.number("sum_us", histogram.sum.as_micros());
    for (name, share) in [("p50_us", 0.5), ("p99_us", 0.99), ("p999_us", 0.999), ("max_us", 1.0)] {
        let time = match histogram.quantile(share) {
            Quantile::About(time) => Some(shown::micros(time)),
            Quantile::From(_) => None,
        };
        object.optional_number(name, time);
    }
}

fn finding(finding: &Finding, object: &mut Object<'_>) {
    object.text("kind", finding.kind());
    object.sentence("text", &finding.to_string());
}

fn worker(worker: &WorkerInfo, counts: &WorkerCounts, object: &mut Object<'_>) {
    object.number("index", worker.index());
    object.text("state", &worker.state().to_string());
    object.number("polls", worker.polls());
    object.number("stolen", counts.stolen);
    object.number("injected", counts.injected);
    object.number("parks", counts.parks);
    object.number("busy_ms", counts.busy.as_millis());
    object.optional("task", worker.task().as_ref(), running);
    object.optional_text("task_name", worker.task_name());
    object.number("poll_ms", worker.poll_duration().as_millis());
    doing(worker.activity(), worker.call(), object);
}

/// What a thread does, and in which function of the program.
fn doing(activity: Option<&ThreadActivity>, call: Option<BlockedCall>, object: &mut Object<'_>) {
    object.optional_text("activity", activity.map(ToString::to_string).as_deref());
    object.optional_text("call", call.map(|call| call.to_string()).as_deref());
}

fn slow_poll(slow: &SlowPollInfo, object: &mut Object<'_>) {
    object.number("worker", slow.worker());
    object.optional("task", slow.task().as_ref(), running);
    object.optional_text("task_name", slow.task_name());
    object.number("duration_ms", slow.duration().as_millis());
    object.optional_number("ended_ms_ago", slow.ended_ago().map(|ago| ago.as_millis()));
    doing(Some(slow.activity()), slow.call(), object);
}

fn running(task: &RunningTask, object: &mut Object<'_>) {
    object.number("id", task.id());
    object.place("spawned_at", task.spawned_at());
}

fn tasks(dump: &Dump, object: &mut Object<'_>) {
    object.object("tasks", |object| {
        object.number("alive", dump.alive_tasks());
        object.number("never_waited", dump.new_tasks());
        for state in TaskState::ALL {
            object.number(state.word(), dump.count(state));
        }
    });
    object.list("places", dump.groups().iter().take(shown::MOST_GROUPS), group);
    object.number("places_left_out", dump.groups().len().saturating_sub(shown::MOST_GROUPS));
}

/// The rows, how many tasks the filter lets through, and how many of those have no row.
fn task_table(
    dump: &Dump,
    rows: usize,
    table: Option<&Selected>,
    row: impl Fn(&TaskInfo, &mut Object<'_>),
    object: &mut Object<'_>,
) {
    let matching = match table {
        Some(table) => {
            object.list("task_list", &table.rows, row);
            object.number("task_list_left_out", table.matching - table.rows.len());
            table.matching
        }
        None => {
            object.list("task_list", shown::tasks(dump).take(rows), row);
            object.number("task_list_left_out", shown::tasks_left_out(dump, rows));
            dump.listed_tasks()
        }
    };
    object.number("task_list_matching", matching);
}

fn group(group: &TaskGroup, object: &mut Object<'_>) {
    object.place("spawned_at", group.spawned_at());
    object.optional_text("type_name", group.type_name());
    object.optional_number("future_size", group.future_size());
    object.optional_number("bytes", group.bytes());
    object.number("tasks", group.tasks());
    for state in TaskState::ALL {
        object.number(state.word(), group.count(state));
    }
    object.number("stuck", group.stuck());
}

fn queues(dump: &Dump, object: &mut Object<'_>) {
    let groups = &dump.queues;
    object.list("queues", groups.iter().take(shown::MOST_QUEUES), |group, object| {
        object.text("kind", group.kind());
        object.place("made_at", group.made_at);
        object.text("what", &group.what());
        object.text("holds", &group.holds());
        object.number("count", group.count);
        object.optional_number("capacity", group.capacity);
        object.number("length", group.length);
        object.number("longest", group.longest);
        object.number("lost", group.lost);
    });
    object.number("queues_left_out", groups.len().saturating_sub(shown::MOST_QUEUES));
}

fn write_task(task: &TaskInfo, polls: Option<u64>, object: &mut Object<'_>) {
    object.number("id", task.id());
    object.optional_text("name", task.name());
    object.optional_text("description", task.description().as_deref());
    object.text("state", task.state().word());
    object.number("is_stuck", task.is_stuck());
    object.number("is_deadlocked", task.is_deadlocked());
    object.number("is_unless_given", task.is_unless_given());
    object.list("waits_for", task.waits(), |wait, object| {
        object.text("kind", wait.kind());
        object.text("text", &wait.to_string());
        object.optional_number("task", wait.other_task());
    });
    object.optional_number("cold_ms", task.cold_for().map(|time| time.as_millis()));
    object.optional_number("polls", polls);
    object.place("spawned_at", task.spawned_at());
    object.optional_text("type_name", task.type_name());
    object.optional_number("future_size", task.future_size());
}

fn sockets(dump: &Dump, object: &mut Object<'_>) {
    let shown = dump.sockets().iter().take(shown::MOST_SOCKETS);
    object.number("sockets_left_out", dump.sources().saturating_sub(shown.len()));
    object.optional_text("sockets_trouble", dump.sockets_trouble.as_deref());
    object.list("sockets", shown, |socket, object| {
        object.optional_number("descriptor", socket.descriptor());
        object.optional_text("kind", socket.kind());
        object.optional_text("local", socket.local().as_deref());
        object.optional_text("peer", socket.peer().as_deref());
        object.optional_text("state", socket.state());
        object.optional_number("received", socket.received());
        object.optional_number("unsent", socket.unsent());
        object.optional_number("quiet_ms", socket.quiet_for().map(|time| time.as_millis()));
        object.list("tasks", socket.tasks(), |(task, event), object| {
            object.number("id", task);
            object.text("event", event);
        });
        object.number("tasks_left_out", socket.tasks_left_out());
    });
}

fn wait_graph(graph: &WaitGraph<'_>, object: &mut Object<'_>) {
    object.list("tasks", &graph.tasks, |task, object| {
        running(&task.task(), object);
        object.optional_text("name", task.name());
        object.text("state", task.state().word());
        object.number("is_stuck", task.is_stuck());
        object.number("is_deadlocked", task.is_deadlocked());
        object.number("is_unless_given", task.is_unless_given());
    });
    object.list("waits", &graph.waits, |(task, wait, other), object| {
        object.number("task", task);
        object.number("for_task", other);
        object.text("text", &wait.to_string());
    });
    object.number("waits_left_out", graph.left_out);
}

fn pool(pool: &PoolInfo, object: &mut Object<'_>) {
    object.number("max_threads", pool.max_threads());
    object.number("threads", pool.threads());
    object.number("idle_threads", pool.idle_threads());
    object.number("queued", pool.queued());
    object.optional_number("longest_wait_ms", pool.longest_wait().map(|wait| wait.as_millis()));
    object.list("jobs", pool.jobs().iter().take(shown::MOST_JOBS), job);
    object.number("jobs_left_out", pool.jobs().len().saturating_sub(shown::MOST_JOBS));
}

fn job(job: &JobInfo, object: &mut Object<'_>) {
    running(&job.task(), object);
    object.optional_text("name", job.name());
    object.number("age_ms", job.age().as_millis());
    doing(job.activity(), job.call(), object);
}

/// The fields of an object that is being written: into a `String`, where nothing can fail, or into something
/// that remembers its first error.
pub(super) struct Object<'a> {
    text: &'a mut dyn Write,
    is_empty: bool,
}

impl Object<'_> {
    pub(super) fn write(text: &mut dyn Write, fill: impl FnOnce(&mut Object<'_>)) {
        _ = text.write_char('{');
        fill(&mut Object { text, is_empty: true });
        _ = text.write_char('}');
    }

    fn key(&mut self, key: &str) {
        let comma = if self.is_empty { "" } else { "," };
        self.is_empty = false;
        self.raw(format_args!("{comma}\"{key}\":"));
    }

    fn raw(&mut self, value: impl Display) {
        _ = write!(self.text, "{value}");
    }

    pub(super) fn number(&mut self, key: &str, number: impl Display) {
        self.key(key);
        self.raw(number);
    }

    pub(super) fn text(&mut self, key: &str, text: &str) {
        self.key(key);
        quote(self.text, &short(text));
    }

    pub(super) fn place(&mut self, key: &str, place: &'static Location<'static>) {
        self.key(key);
        quote(self.text, &Place(place).to_string());
    }

    /// Several words, with names in them.
    pub(super) fn sentence(&mut self, key: &str, sentence: &str) {
        self.key(key);
        quote(self.text, &cut(sentence, shown::LONGEST_SENTENCE));
    }

    pub(super) fn optional_number(&mut self, key: &str, number: Option<impl Display>) {
        match number {
            Some(number) => self.number(key, number),
            None => self.number(key, "null"),
        }
    }

    fn optional_text(&mut self, key: &str, text: Option<&str>) {
        match text {
            Some(text) => self.text(key, text),
            None => self.number(key, "null"),
        }
    }

    pub(super) fn object(&mut self, key: &str, fill: impl FnOnce(&mut Object<'_>)) {
        self.key(key);
        Object::write(self.text, fill);
    }

    fn optional<T>(&mut self, key: &str, item: Option<T>, fill: fn(T, &mut Object<'_>)) {
        match item {
            Some(item) => self.object(key, |object| fill(item, object)),
            None => self.number(key, "null"),
        }
    }

    pub(super) fn numbers(&mut self, key: &str, numbers: impl IntoIterator<Item = u64>) {
        self.items(key, numbers, |text, number| _ = write!(text, "{number}"));
    }

    pub(super) fn places(
        &mut self,
        key: &str,
        places: impl IntoIterator<Item = &'static Location<'static>>,
    ) {
        self.items(key, places, |text, place| quote(text, &Place(place).to_string()));
    }

    fn items<T>(
        &mut self,
        key: &str,
        items: impl IntoIterator<Item = T>,
        write: impl Fn(&mut dyn Write, T),
    ) {
        self.key(key);
        _ = self.text.write_char('[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                _ = self.text.write_char(',');
            }
            write(self.text, item);
        }
        _ = self.text.write_char(']');
    }

    pub(super) fn list<T>(
        &mut self,
        key: &str,
        items: impl IntoIterator<Item = T>,
        fill: impl Fn(T, &mut Object<'_>),
    ) {
        self.items(key, items, |text, item| Object::write(text, |object| fill(item, object)));
    }
}

fn quote(out: &mut dyn Write, text: &str) {
    _ = out.write_char('"');
    for character in text.chars() {
        _ = match character {
            '"' => out.write_str("\\\""),
            '\\' => out.write_str("\\\\"),
            '\n' => out.write_str("\\n"),
            // The others that JSON forbids; and those of which some readers of JavaScript make ends of lines.
            '\0'..='\x1f' | '\u{2028}' | '\u{2029}' => {
                write!(out, "\\u{:04x}", u32::from(character))
            }
            _ => out.write_char(character),
        };
    }
    _ = out.write_char('"');
}

#[cfg(test)]
mod tests {
    use super::{Object, quote};

    #[test]
    fn whatever_a_string_has_it_stays_one_string() {
        let mut out = String::new();
        quote(&mut out, "a\"b\\c\n\0\x1f\u{2028}ä</script>");
        assert_eq!(out, "\"a\\\"b\\\\c\\n\\u0000\\u001f\\u2028ä</script>\"");
    }

    #[test]
    fn fields_and_items_have_commas_between_them() {
        let mut out = String::new();
        Object::write(&mut out, |object| {
            object.number("a", 1);
            object.optional_text("b", None);
            object.list("c", [1, 2], |item, object| object.number("d", item));
            object.list("e", [0; 0], |_, _| {});
            object.object("f", |_| {});
            object.numbers("g", [1, 2]);
        });
        let whole = r#"{"a":1,"b":null,"c":[{"d":1},{"d":2}],"e":[],"f":{},"g":[1,2]}"#;
        assert_eq!(out, whole);
    }
}
