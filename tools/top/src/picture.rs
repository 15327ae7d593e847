//! The lines of a picture: for each runtime its sentences, its workers, and the places that its tasks come
//! from, those with most tasks first.

use crate::screen::clean;
use serde_json::Value;
use std::time::Duration;

const MOST_SENTENCES: usize = 10;
const MOST_WORKERS: usize = 32;
const MOST_PLACES: usize = 15;
const MOST_QUEUES: usize = 8;
const MOST_SLOW_POLLS: usize = 5;

/// What `now` says, with rates since `before`, which was `elapsed` ago.
pub(crate) fn lines(before: &Value, now: &Value, elapsed: Duration) -> Vec<String> {
    let processor = number(&now["cost"], "processor_us") - number(&before["cost"], "processor_us");
    let share = 100.0 * processor / elapsed.as_micros() as f64;
    let mut lines = vec![format!(
        "{} (process {}, liten {}); its page takes {share:.1} % of a processor",
        text(now, "program"),
        number(now, "process"),
        text(now, "liten"),
    )];
    for runtime in list(now, "runtimes") {
        lines.push(String::new());
        runtime_lines(&mut lines, same(before, "runtimes", "id", runtime), runtime, elapsed);
    }
    left(&mut lines, "runtimes", number(now, "runtimes_left_out"));
    lines
}

fn runtime_lines(lines: &mut Vec<String>, before: &Value, now: &Value, elapsed: Duration) {
    let tasks = &now["tasks"];
    let name = match text(now, "name") {
        name if name.is_empty() => String::new(),
        name => format!(" \"{name}\""),
    };
    lines.push(format!(
        "runtime {}{name}, {}: {} ({} running, {} ready, {} waiting), {}, {}",
        number(now, "id"),
        text(now, "flavor"),
        counted(number(tasks, "alive"), "task"),
        number(tasks, "running"),
        number(tasks, "ready"),
        number(tasks, "waiting"),
        counted(number(now, "timers"), "timer"),
        counted(number(now, "sources"), "source"),
    ));
    sentences(lines, now);
    workers(lines, before, now, elapsed);
    slow_polls(lines, now);
    pool(lines, now);
    places(lines, now);
    queues(lines, now);
}

fn sentences(lines: &mut Vec<String>, now: &Value) {
    let (findings, more) = first(now, "findings", MOST_SENTENCES);
    for finding in findings {
        lines.push(format!("! {}", text(finding, "text")));
    }
    left(lines, "findings", more);
    let mut notable = vec![text(now, "lately")];
    notable.retain(|lately| !lately.is_empty());
    let (look_at, _) = first(now, "look_at", MOST_SENTENCES);
    notable.extend(look_at.iter().map(|notable| text(notable, "text")));
    if findings.is_empty() {
        let calm = match notable.is_empty() {
            true => "nothing is wrong that a picture shows",
            false => "no finding",
        };
        lines.push(format!("{calm}; {}", text(now, "not_looked_at")));
    }
    lines.extend(notable);
}

fn workers(lines: &mut Vec<String>, before: &Value, now: &Value, elapsed: Duration) {
    let (workers, more) = first(now, "workers", MOST_WORKERS);
    if workers.is_empty() {
        return;
    }
    lines.push(format!("  {:<6} {:>5} {:>10}  {}", "worker", "busy", "polls/s", "does"));
    for worker in workers {
        let earlier = same(before, "workers", "index", worker);
        let since = |key| (number(worker, key) - number(earlier, key)).max(0.0);
        let busy = (100.0 * since("busy_ms") / elapsed.as_millis().max(1) as f64).min(100.0);
        let does = match (&worker["task"], text(worker, "activity")) {
            (Value::Null, _) => text(worker, "state"),
            (task, activity) => {
                let activity = if activity.is_empty() { activity } else { format!(", {activity}") };
                let (place, time) = (text(task, "spawned_at"), number(worker, "poll_ms"));
                format!("polls {place} for {time} ms{activity}")
            }
        };
        lines.push(format!(
            "  {:<6} {:>3.0} % {:>10.0}  {does}",
            number(worker, "index"),
            busy,
            since("polls") / elapsed.as_secs_f64(),
        ));
    }
    left(lines, "workers", more);
}

fn slow_polls(lines: &mut Vec<String>, now: &Value) {
    let count = number(now, "slow_polls");
    if count == 0.0 {
        return;
    }
    lines.push(format!("  {} since the start; the last of them", counted(count, "slow poll")));
    for slow in list(now, "last_slow_polls").iter().take(MOST_SLOW_POLLS) {
        let (place, time) = (text(&slow["task"], "spawned_at"), number(slow, "duration_ms"));
        lines.push(format!("    {time} ms at {place}: {}", text(slow, "activity")));
    }
}

fn pool(lines: &mut Vec<String>, now: &Value) {
    let pool = &now["pool"];
    if number(pool, "threads") + number(pool, "queued") > 0.0 {
        lines.push(format!(
            "  blocking pool: {}, {} of them idle, {} at most; {} in the queue",
            counted(number(pool, "threads"), "thread"),
            number(pool, "idle_threads"),
            number(pool, "max_threads"),
            counted(number(pool, "queued"), "job"),
        ));
    }
}

fn places(lines: &mut Vec<String>, now: &Value) {
    let mut places: Vec<&Value> = list(now, "places").iter().collect();
    if places.is_empty() {
        return;
    }
    places.sort_by(|one, other| number(other, "tasks").total_cmp(&number(one, "tasks")));
    let head = ["tasks", "running", "ready", "waiting", "stuck"];
    let [a, b, c, d, e] = head;
    lines.push(format!("  {a:>8} {b:>8} {c:>8} {d:>8} {e:>8}  spawned at"));
    for place in places.iter().take(MOST_PLACES) {
        let [a, b, c, d, e] = head.map(|key| number(place, key));
        let at = text(place, "spawned_at");
        lines.push(format!("  {a:>8} {b:>8} {c:>8} {d:>8} {e:>8}  {at}"));
    }
    left(lines, "places", first(now, "places", MOST_PLACES).1);
}

fn queues(lines: &mut Vec<String>, now: &Value) {
    let (queues, more) = first(now, "queues", MOST_QUEUES);
    for queue in queues {
        lines.push(format!(
            "  {} of {}: {} in {} of them, {} in the longest",
            text(queue, "what"),
            text(queue, "made_at"),
            number(queue, "length"),
            number(queue, "count"),
            number(queue, "longest"),
        ));
    }
    left(lines, "channels and sets", more);
}

/// The first `most` of a list, and how many more there are, with those that the page has left out.
fn first<'a>(of: &'a Value, key: &str, most: usize) -> (&'a [Value], f64) {
    let all = list(of, key);
    let (shown, more) = all.split_at(most.min(all.len()));
    (shown, more.len() as f64 + number(of, &format!("{key}_left_out")))
}

/// What an earlier answer says of the same thing. Nothing, if it was not there.
fn same<'a>(before: &'a Value, key: &str, name: &str, now: &Value) -> &'a Value {
    let is_same = |other: &&Value| other[name] == now[name];
    list(before, key).iter().find(is_same).unwrap_or(&Value::Null)
}

fn counted(count: f64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1.0 { "" } else { "s" })
}

fn left(lines: &mut Vec<String>, what: &str, count: f64) {
    if count > 0.0 {
        lines.push(format!("  and {count} {what} more"));
    }
}

/// 0 where there is none. Numbers of the page are whole and far below what a float can tell apart.
fn number(of: &Value, key: &str) -> f64 {
    of[key].as_f64().unwrap_or(0.0)
}

/// Empty where there is none.
fn text(of: &Value, key: &str) -> String {
    clean(of[key].as_str().unwrap_or_default())
}

/// Empty where there is none.
fn list<'a>(of: &'a Value, key: &str) -> &'a [Value] {
    of[key].as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::lines;
    use serde_json::{Value, json};
    use std::time::Duration;

    const SECOND: Duration = Duration::from_secs(1);

    fn sample(polls: u64, busy: u64) -> Value {
        json!({
            "program": "shop", "process": 7, "liten": "0.1.0", "cost": { "processor_us": 100 * polls },
            "runtimes": [{
                "id": 3, "flavor": "multi_thread", "tasks": { "alive": 4, "running": 1, "waiting": 3 },
                "findings": [{ "text": "3 tasks wait\u{1b}[2J" }],
                "workers": [{
                    "index": 0, "polls": polls, "busy_ms": busy, "poll_ms": 12, "activity": "in read",
                    "task": { "spawned_at": "src/main.rs:9:5" },
                }],
                "places": [
                    { "spawned_at": "src/few.rs:1:1", "tasks": 1 },
                    { "spawned_at": "src/many.rs:1:1", "tasks": 3, "waiting": 3 },
                ],
            }],
        })
    }

    #[test]
    fn rates_are_those_between_two_samples() {
        let lines = lines(&sample(100, 1_000), &sample(350, 1_500), SECOND);
        assert_eq!(lines[0], "shop (process 7, liten 0.1.0); its page takes 2.5 % of a processor");
        let worker = "  0       50 %        250  polls src/main.rs:9:5 for 12 ms, in read";
        assert!(lines.iter().any(|line| line == worker), "{lines:#?}");
    }

    #[test]
    fn places_with_most_tasks_come_first_and_a_terminal_is_told_nothing() {
        let lines = lines(&Value::Null, &sample(1, 1), SECOND);
        let at = |text: &str| lines.iter().position(|line| line.contains(text)).expect(text);
        assert!(at("src/many.rs") < at("src/few.rs"));
        assert!(at("! 3 tasks wait?[2J") < at("src/main.rs:9:5"));
    }

    #[test]
    fn what_is_missing_is_no_reason_to_fail() {
        for answer in [json!({}), json!([]), json!({ "runtimes": [{}, 5] })] {
            assert!(!lines(&answer, &answer, SECOND).is_empty());
        }
    }
}
