//! Where tasks wait, of what the runtimes of liten print when a run has stopped.

use std::collections::BTreeMap;

use crate::place::is_runtime;

/// Where the functions are that find out where a future waits, or call the root's.
const NOTING: [&str; 3] =
    ["backtrace::", "liten::observe::simulation::", "liten::runtime::block_on::"];

/// How many functions of others in a row are shown, below one of the program.
const FOREIGN: usize = 4;

/// How many lines of trees the report shows.
const MOST: usize = 60;

/// What the line before the dumps of a runtime says, before the name of its host.
const RUNTIME: &str = "liten-sim: a runtime of ";

/// How the line of a tree ends whose future has come to its end in the poll that made the tree.
const ENDED: &str = "has just ended, and was in";

/// The same in a run that does not go on: nothing had woken that future.
pub(super) const UNWOKEN: &str = "ends when it is polled, and nothing had woken it";

/// The trees in `output`, each below the name of its host. Of what the runtime itself does below a
/// function of the program, the first line is left. `is_stuck`: nothing in the run could go on.
pub(super) fn trees<'a>(output: impl IntoIterator<Item = &'a str>, is_stuck: bool) -> Vec<String> {
    let mut trees = Vec::new();
    for part in parts(output) {
        if let Part::Tree(tree) = part {
            trees.extend(tree);
        }
    }
    if is_stuck {
        let mut hosts = Vec::new();
        for line in &mut trees {
            let Some(start) = line.strip_suffix(ENDED) else { continue };
            let host = start.split(':').next().unwrap_or_default().to_owned();
            // The end of one may have woken the next.
            let end = if hosts.contains(&host) { "then ends too" } else { UNWOKEN };
            *line = format!("{start}{end}");
            hosts.push(host);
        }
    }
    let more = trees.len().saturating_sub(MOST);
    if more > 0 {
        trees.truncate(MOST);
        trees.push(format!("and {more} lines more"));
    }
    trees
}

/// All of `output`, with trees as [`trees`] has them.
pub(super) fn dump(output: &str) -> String {
    let mut text = String::new();
    for part in parts(output.lines()) {
        let lines = match part {
            Part::Line(line) => vec![line.to_owned()],
            Part::Tree(lines) => lines,
        };
        lines.iter().for_each(|line| text.extend([line, "\n"]));
    }
    text
}

enum Part<'a> {
    Line(&'a str),
    Tree(Vec<String>),
}

/// The lines of an output, and the trees in it.
fn parts<'a>(output: impl IntoIterator<Item = &'a str>) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    let (mut host, mut tree, mut tasks) = ("", Vec::new(), Tasks::new());
    for line in output {
        if (line.is_empty() || is_head(line)) && !tree.is_empty() {
            parts.push(Part::Tree(shortened(host, &tree, &tasks)));
            tree.clear();
        }
        if is_head(line) || !tree.is_empty() && line.starts_with("  ") {
            tree.push(line);
            continue;
        }
        // Libtest leaves the name of the test in front of the first one.
        let start = line.find(RUNTIME).unwrap_or(0);
        if let Some(name) = line[start..].strip_prefix(RUNTIME) {
            host = name.trim_end_matches(':');
            tasks.clear();
        }
        tasks.extend(listed(line));
        parts.push(Part::Line(&line[start..]));
    }
    if !tree.is_empty() {
        parts.push(Part::Tree(shortened(host, &tree, &tasks)));
    }
    parts
}

/// What a runtime's list says of its tasks: what each waits for, and where it was spawned.
type Tasks<'a> = BTreeMap<&'a str, (&'a str, &'a str)>;

/// A line of that list.
fn listed(line: &str) -> Option<(&str, (&str, &str))> {
    let (task, rest) = line.strip_prefix("  task ")?.split_once(", ")?;
    let (state, rest) = rest.split_once(", spawned at ")?;
    let (place, _) = rest.split_once(", ")?;
    Some((task, (state, place)))
}

/// The first line of a tree, with what the list says of that task.
fn head(host: &str, line: &str, tasks: &Tasks) -> String {
    let number = line.strip_prefix("task ").and_then(|rest| rest.split_once(", "));
    let listed = number.and_then(|(number, _)| tasks.get(number));
    let ends = ["waits in", ENDED];
    let end = ends.into_iter().find(|end| line.ends_with(end));
    let (Some((state, place)), Some(end)) = (listed, end) else {
        return format!("{host}: {line}");
    };
    let what = line.trim_end_matches(end);
    let end = if end == ENDED { ENDED } else { "in" };
    format!("{host}: {what}spawned at {place}, {state}, {end}")
}

/// The first line of a tree: the task and its future.
fn is_head(line: &str) -> bool {
    let ends = ["waits in", "nowhere", "was in", "could never be woken", "in time"];
    (line.starts_with("task ") || line.starts_with("root, "))
        && ends.iter().any(|end| line.ends_with(end))
}

fn shortened(host: &str, tree: &[&str], tasks: &Tasks) -> Vec<String> {
    let mut lines = vec![head(host, tree[0], tasks)];
    let is_noted = |line: &&str| NOTING.iter().any(|start| line.trim_start().starts_with(start));
    let tree: Vec<&str> = tree.iter().copied().filter(|line| !is_noted(line)).collect();
    // How deep the runtime's function is whose callees are left out.
    let mut hidden: Option<usize> = None;
    // How deep the program's own functions are that lead to the line.
    let mut own: Vec<usize> = Vec::new();
    for (i, line) in tree.iter().enumerate().skip(1) {
        let is_bottom = |at: &usize| *at >= depth(line);
        while own.last().is_some_and(is_bottom) {
            own.pop();
        }
        let above = own.last().copied().unwrap_or_default();
        if depth(line) > above + 2 * FOREIGN && !leads_to_own(&tree[i..]) {
            continue;
        }
        if !is_runtime(line.trim_start()) && !is_of_dependency(line) {
            own.push(depth(line));
        }
        let depth = depth(line);
        if hidden.is_some_and(|hidden| depth > hidden) && !leads_to_program(&tree[i..]) {
            continue;
        }
        hidden = (is_runtime(line.trim_start()) && !leads_to_program(&tree[i..])).then_some(depth);
        lines.push((*line).to_owned());
    }
    lines
}

/// Whether the function of the first line, or one below it, is the program's.
fn leads_to_program(lines: &[&str]) -> bool {
    let first = depth(lines[0]);
    let below = lines[1..].iter().take_while(|line| depth(line) > first);
    [&lines[0]].into_iter().chain(below).any(|line| !is_runtime(line.trim_start()))
}

/// Whether the function is that of a package from a registry, whose folder is named by its version.
fn is_of_dependency(line: &str) -> bool {
    let place = line.rsplit_once(" at ").map_or("", |(_, place)| place);
    let folder = place.split('/').next().unwrap_or_default();
    let version = folder.rsplit_once('-').map_or("", |(_, version)| version);
    version.starts_with(|c: char| c.is_ascii_digit()) && version.contains('.')
}

/// Whether the function of the first line, or one below it, is of the program's own package.
fn leads_to_own(lines: &[&str]) -> bool {
    let first = depth(lines[0]);
    let below = lines[1..].iter().take_while(|line| depth(line) > first);
    [&lines[0]]
        .into_iter()
        .chain(below)
        .any(|line| !is_runtime(line.trim_start()) && !is_of_dependency(line))
}

fn depth(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::{dump, trees};

    #[test]
    fn what_the_runtime_does_below_the_program_is_one_line() {
        let output = "test a ... liten-sim: a runtime of shop:\n1 tasks alive\n\ntask 7, shop::serve, waits in\n  \
            tokio::time::timeout::Timeout<T> at timeout.rs:1\n    shop::serve at src/lib.rs:9\n      \
            tokio::net::TcpStream::read at stream.rs:2\n        liten::io::poll at io.rs:3\n      \
            shop::other at src/lib.rs:10\n        backtrace::trace at mod.rs:1\n\ntask 8, shop::idle, waits, and has left its waker nowhere\n";
        assert_eq!(
            trees(output.lines(), false),
            [
                "shop: task 7, shop::serve, waits in",
                "  tokio::time::timeout::Timeout<T> at timeout.rs:1",
                "    shop::serve at src/lib.rs:9",
                "      tokio::net::TcpStream::read at stream.rs:2",
                "      shop::other at src/lib.rs:10",
                "shop: task 8, shop::idle, waits, and has left its waker nowhere",
            ]
        );
    }

    const LOST: &str = "liten-sim: a runtime of shop:\n1 tasks alive\n  task 6, waiting for a Semaphore (#5) whose 1 \
        permits are out, spawned at src/lib.rs:119:48, shop::buy, 168 bytes\n\ntask 6, shop::buy, has just ended, and \
        was in\n\nroot, the future of block_on, has just ended, and was in\n\n";

    #[test]
    fn a_task_that_only_missed_its_wake_is_named_with_what_it_waited_for() {
        let buys = "shop: task 6, shop::buy, spawned at src/lib.rs:119:48, waiting for a Semaphore (#5) whose 1 permits \
            are out, ";
        assert_eq!(
            trees(LOST.lines(), true),
            [
                format!("{buys}ends when it is polled, and nothing had woken it"),
                "shop: root, the future of block_on, then ends too".to_owned(),
            ]
        );
        assert_eq!(trees(LOST.lines(), false)[0], format!("{buys}has just ended, and was in"));
    }

    #[test]
    fn the_dump_of_a_stop_has_no_frames_of_the_runtime() {
        let output = "test a ... liten-sim: a runtime of shop:\n1 tasks alive\n  task 6, waiting for readable, fd 3 → \
            socket:[connections to port 80], spawned at src/lib.rs:1:1, shop::sell, 168 bytes\n\ntask 6, shop::sell, \
            waits in\n  shop::sell at src/lib.rs:9\n    tokio::net::accept at tcp.rs:2\n      liten::io::poll at \
            io.rs:3\n        backtrace::trace at mod.rs:1\n\nthe end\n";
        assert_eq!(
            dump(output).lines().collect::<Vec<_>>(),
            [
                "liten-sim: a runtime of shop:",
                "1 tasks alive",
                "  task 6, waiting for readable, fd 3 → socket:[connections to port 80], spawned at src/lib.rs:1:1, \
                 shop::sell, 168 bytes",
                "",
                "shop: task 6, shop::sell, spawned at src/lib.rs:1:1, waiting for readable, fd 3 → socket:[connections to \
                 port 80], in",
                "  shop::sell at src/lib.rs:9",
                "    tokio::net::accept at tcp.rs:2",
                "",
                "the end",
            ]
        );
    }
}
