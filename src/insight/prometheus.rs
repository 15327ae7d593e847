//! A picture of all runtimes in the text format of Prometheus: a family of samples after the other, each with
//! its help and its type.
//!
//! Labels are few: the runtime by id and name, workers by index, tasks by state, findings by kind. A series
//! per task, or one per place in a program that has many, would cost the reader more than it tells.

use super::finding::Finding;
use super::process_usage::ProcessUsage;
use super::queues::QueueGroup;
use super::server::picture::{Cost, Picture, Seen};
use super::shown;
use super::task_group::TaskGroup;
use super::task_state::TaskState;
use super::waits;
use crate::engine::scheduler::WorkerCounts;
use crate::observe::histogram;
use crate::runtime::gauges::Measured;
use crate::short::{Place, short};
use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::panic::Location;
use std::time::Duration;

/// The places of which the numbers of tasks are told: those with the most.
const MOST_PLACES: usize = 20;

/// The end of the first bucket of a histogram.
const SHORTEST: Duration = Duration::from_nanos(1_024);

pub(super) fn metrics(picture: &Picture, cost: Cost) -> String {
    let mut out = Exposition { text: String::new(), runtimes: &picture.runtimes };
    out.whole(picture);
    out.cost(cost);
    out.process(&ProcessUsage::read());
    out.workers();
    out.times();
    out.tasks();
    out.queues();
    out.pool();
    out.findings();
    out.panics();
    out.text
}

/// A name, what it means, and where it is read.
type Number<T> = (&'static str, &'static str, fn(&T) -> f64);

#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

struct Exposition<'a> {
    text: String,
    runtimes: &'a [Seen],
}

impl Exposition<'_> {
    fn whole(&mut self, picture: &Picture) {
        self.begin("liten_runtimes", Kind::Gauge, "Runtimes that are observed and have not ended.");
        let living = picture.runtimes.len() + picture.left_out;
        self.line(format_args!("liten_runtimes {living}"));
        self.begin(
            "liten_runtimes_ended_total",
            Kind::Counter,
            "Observed runtimes that have ended.",
        );
        self.line(format_args!("liten_runtimes_ended_total {}", picture.ended));
    }

    fn cost(&mut self, cost: Cost) {
        let name = "liten_insight_lost_events_total";
        let help = "Recorded events that were overwritten before the page has read them.";
        self.begin(name, Kind::Counter, help);
        self.line(format_args!("{name} {}", cost.lost_events));
        if let Some(time) = cost.processor {
            let name = "liten_insight_cpu_seconds_total";
            self.begin(name, Kind::Counter, "Time of a processor that the page's thread has used.");
            self.line(format_args!("{name} {}", time.as_secs_f64()));
        }
    }

    /// Under the names that exporters of other languages have for it.
    fn process(&mut self, usage: &ProcessUsage) {
        if let Some(time) = usage.processor {
            let name = "process_cpu_seconds_total";
            self.begin(name, Kind::Counter, "Time of processors that the process has used.");
            self.line(format_args!("{name} {}", time.as_secs_f64()));
        }
        if let Some(bytes) = usage.resident {
            let name = "process_resident_memory_bytes";
            self.begin(name, Kind::Gauge, "Memory of the process that is resident.");
            self.line(format_args!("{name} {bytes}"));
        }
    }

    fn panics(&mut self) {
        let name = "liten_task_panics_total";
        let help = "Panics of tasks since the page is there; of those from 64 places at most.";
        self.begin(name, Kind::Counter, help);
        for seen in self.runtimes {
            let count: u64 = seen.dump.panics.iter().map(|(_, count, _)| count).sum();
            self.line(format_args!("{name}{{{}}} {count}", labels(seen, &[])));
        }
    }

    /// One bucket for each doubling: those in between would be eight times as many series.
    fn times(&mut self) {
        let families = [
            (
                "liten_poll_duration_seconds",
                "How long polls took: a sample if there are many; from 17 ms on each is counted.",
            ),
            (
                "liten_schedule_latency_seconds",
                "How long tasks were ready before they were polled: a sample if there are many.",
            ),
        ];
        for (index, (name, help)) in families.into_iter().enumerate() {
            self.begin(name, Kind::Histogram, help);
            for seen in self.runtimes {
                let Some(times) = &seen.dump.times else { continue };
                let times = &times[index];
                let mut below = 0;
                for (bucket, count) in times.buckets.iter().enumerate() {
                    below += count;
                    let end = histogram::bounds(bucket).end;
                    if end.as_nanos().is_power_of_two() && end >= SHORTEST {
                        let labels = labels(seen, &[("le", &end.as_secs_f64())]);
                        self.line(format_args!("{name}_bucket{{{labels}}} {below}"));
                    }
                }
                let infinite = labels(seen, &[("le", &"+Inf")]);
                self.line(format_args!("{name}_bucket{{{infinite}}} {below}"));
                let labels = labels(seen, &[]);
                self.line(format_args!("{name}_sum{{{labels}}} {}", times.sum.as_secs_f64()));
                self.line(format_args!("{name}_count{{{labels}}} {below}"));
            }
        }
    }

    fn workers(&mut self) {
        let per_worker: [Number<WorkerCounts>; 5] = [
            ("polls", "Polls of tasks that the worker has begun.", |counts| counts.polls as f64),
            ("stolen_tasks", "Tasks stolen from other workers.", |counts| counts.stolen as f64),
            ("injected_tasks", "Tasks taken from the injector.", |counts| counts.injected as f64),
            ("parks", "Times that the worker has gone to sleep.", |counts| counts.parks as f64),
            ("busy_seconds", "Time that the worker was awake.", |counts| counts.busy.as_secs_f64()),
        ];
        for (name, help, value) in per_worker {
            let name = format!("liten_worker_{name}_total");
            self.family(&name, Kind::Counter, help, |seen, add| {
                for (index, counts) in seen.counts.iter().take(shown::MOST_WORKERS).enumerate() {
                    add(&[("worker", &index)], value(counts));
                }
            });
        }
        let help =
            "How long the worker has been in its poll, if it has been for some milliseconds.";
        self.family("liten_worker_poll_seconds", Kind::Gauge, help, |seen, add| {
            for worker in seen.dump.workers().iter().take(shown::MOST_WORKERS) {
                add(&[("worker", &worker.index())], worker.poll_duration().as_secs_f64());
            }
        });
        self.number("liten_spare_workers", Kind::Gauge, "Spare workers that run.", |seen| {
            seen.spare_workers as f64
        });
        let help = "Threads of workers that rest until they are needed again.";
        self.number("liten_resting_workers", Kind::Gauge, help, |seen| seen.resting_workers as f64);
        let help = "Polls that have held up their worker for long.";
        self.number("liten_slow_polls_total", Kind::Counter, help, |seen| {
            seen.dump.slow_polls as f64
        });
        let help = "Polls that have blocked the last free worker.";
        self.number("liten_blocked_polls_total", Kind::Counter, help, |seen| {
            seen.dump.blocked_polls as f64
        });
    }

    fn tasks(&mut self) {
        self.number("liten_alive_tasks", Kind::Gauge, "Tasks that have not ended.", |seen| {
            seen.dump.alive_tasks() as f64
        });
        let help = "Tasks that have not ended, by what they do; new: in a queue, and never waited.";
        self.family("liten_tasks", Kind::Gauge, help, |seen, add| {
            for state in TaskState::ALL {
                add(&[("state", &state.word())], seen.dump.count(state) as f64);
            }
            add(&[("state", &"new")], seen.dump.new_tasks() as f64);
        });
        let help = "Tasks that are proven never to go on, by why; of deadlocks, those with locks are \
                    proven unless a guard was given to another task.";
        self.family("liten_stuck_tasks", Kind::Gauge, help, |seen, add| {
            let stuck: usize = seen.dump.groups().iter().map(|group| group.stuck()).sum();
            add(&[("why", &"no_waker")], stuck as f64);
            add(&[("why", &"deadlock")], seen.dump.deadlocks.tasks.len() as f64);
        });
        let help = "Tasks that wait, by what for, of those that are listed.";
        self.family("liten_waiting_tasks", Kind::Gauge, help, |seen, add| {
            for (kind, tasks) in waits::by_kind(seen.dump.tasks()) {
                add(&[("waits_for", &kind)], tasks as f64);
            }
        });
        let help = "Tasks that have not ended, by the place of their spawn, where there are most.";
        self.family("liten_tasks_spawned_at", Kind::Gauge, help, |seen, add| {
            for (place, tasks) in
                places(seen.dump.groups().iter().map(|group| (group.spawned_at(), group.tasks())))
            {
                add(&[("place", &place)], tasks as f64);
            }
        });
        let help = "Bytes of the futures that are alive, by the place of their spawn, where there are most.";
        self.family("liten_future_bytes_spawned_at", Kind::Gauge, help, |seen, add| {
            let bytes = |group: &TaskGroup| Some((group.spawned_at(), group.bytes()?));
            for (place, bytes) in places(seen.dump.groups().iter().filter_map(bytes)) {
                add(&[("place", &place)], bytes as f64);
            }
        });
        self.number("liten_injector_tasks", Kind::Gauge, "Tasks in the injector.", |seen| {
            seen.injected_tasks as f64
        });
        self.number("liten_timers", Kind::Gauge, "Timers that wait.", |seen| {
            seen.dump.timers() as f64
        });
        self.number("liten_sources", Kind::Gauge, "Sources of events, such as sockets.", |seen| {
            seen.dump.sources() as f64
        });
    }

    fn queues(&mut self) {
        let is_broadcast = |group: &&QueueGroup| group.measured == Measured::Broadcast;
        let help = "Messages in mpsc channels, about, and tasks in JoinSets, with those that have ended, by \
                    the place where they are made, where there are most.";
        self.family("liten_queue_length", Kind::Gauge, help, |seen, add| {
            let groups = seen.dump.queues.iter().filter(|group| !is_broadcast(group));
            for group in groups.take(MOST_PLACES) {
                let labels: [(_, &dyn Display); 2] =
                    [("kind", &group.kind()), ("place", &Place(group.made_at))];
                add(&labels, group.length as f64);
            }
        });
        let help =
            "Values that receivers have lost of broadcast channels that are there, by place.";
        self.family("liten_broadcast_lost_values", Kind::Gauge, help, |seen, add| {
            for group in seen.dump.queues.iter().filter(is_broadcast).take(MOST_PLACES) {
                add(&[("place", &Place(group.made_at))], group.lost as f64);
            }
        });
    }

    fn pool(&mut self) {
        let per_pool: [Number<Seen>; 6] = [
            ("threads", "Threads of the blocking pool.", |seen| seen.dump.pool().threads() as f64),
            ("idle_threads", "Those that have nothing to do.", |seen| {
                seen.dump.pool().idle_threads() as f64
            }),
            ("max_threads", "How many there may be.", |seen| seen.dump.pool().max_threads() as f64),
            ("queued_jobs", "Jobs that wait for a thread.", |seen| {
                seen.dump.pool().queued() as f64
            }),
            ("longest_wait_seconds", "How long the first of them has waited.", |seen| {
                seen.dump.pool().longest_wait().unwrap_or_default().as_secs_f64()
            }),
            ("oldest_job_seconds", "How long the oldest job has been under way.", |seen| {
                seen.dump.pool().jobs().first().map_or(0.0, |job| job.age().as_secs_f64())
            }),
        ];
        for (name, help, value) in per_pool {
            self.number(&format!("liten_blocking_{name}"), Kind::Gauge, help, value);
        }
    }

    fn findings(&mut self) {
        let help = "What the page says is wrong, by kind.";
        self.family("liten_findings", Kind::Gauge, help, |seen, add| {
            let findings = seen.dump.findings();
            for kind in Finding::KINDS {
                let count = findings.iter().filter(|finding| finding.kind() == kind).count();
                add(&[("kind", &kind)], count as f64);
            }
        });
    }

    /// One sample for each runtime.
    fn number(&mut self, name: &str, kind: Kind, help: &str, value: impl Fn(&Seen) -> f64) {
        self.family(name, kind, help, |seen, add| add(&[], value(seen)));
    }

    /// What `samples` adds for each runtime, with the labels that say which one it is.
    fn family(
        &mut self,
        name: &str,
        kind: Kind,
        help: &str,
        samples: impl Fn(&Seen, &mut dyn FnMut(&[(&str, &dyn Display)], f64)),
    ) {
        self.begin(name, kind, help);
        for seen in self.runtimes {
            samples(seen, &mut |more, value| {
                let labels = labels(seen, more);
                self.line(format_args!("{name}{{{labels}}} {value}"));
            });
        }
    }

    fn begin(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }

    fn line(&mut self, line: impl Display) {
        // Into a String nothing can fail.
        _ = writeln!(self.text, "{line}");
    }
}

/// The labels that say which runtime it is, and `more`.
fn labels(seen: &Seen, more: &[(&str, &dyn Display)]) -> String {
    let runtime = short(seen.dump.name().unwrap_or_default());
    let more = more.iter().map(|(label, value)| (*label, value.to_string()));
    let whose = [("id", seen.id.to_string()), ("runtime", runtime.into_owned())];
    whose.into_iter().chain(more).map(quoted).collect::<Vec<_>>().join(",")
}

/// The sums by place, the largest: futures of several types may come from one.
fn places(
    numbers: impl Iterator<Item = (&'static Location<'static>, usize)>,
) -> Vec<(String, usize)> {
    let mut places = BTreeMap::new();
    for (place, number) in numbers {
        *places.entry(place).or_insert(0) += number;
    }
    let mut places: Vec<_> = places.into_iter().collect();
    places.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    places
        .into_iter()
        .take(MOST_PLACES)
        .map(|(place, number)| (Place(place).to_string(), number))
        .collect()
}

fn quoted((label, value): (&str, String)) -> String {
    let value = value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    format!("{label}=\"{value}\"")
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn values_of_labels_stay_on_their_line_and_in_their_quotes() {
        assert_eq!(quoted(("a", "b\"c\\d\ne".into())), r#"a="b\"c\\d\ne""#);
    }
}
