//! Where tasks wait, of what the runtimes of liten print when a run has stopped.

use crate::place::is_runtime;

/// How many lines of trees the report shows.
const MOST: usize = 60;

/// The trees in `output`, each below the name of its host. Of what the runtime itself does below a
/// function of the program, the first line is left.
pub(super) fn trees<'a>(output: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut trees = Vec::new();
    let (mut host, mut tree) = ("", Vec::new());
    for line in output {
        // Libtest leaves the name of the test in front of the first one.
        if let Some((_, name)) = line.split_once("liten-sim: a runtime of ") {
            host = name.trim_end_matches(':');
        } else if is_head(line) || !tree.is_empty() && line.starts_with("  ") {
            tree.push(line);
        }
        let ends = line.is_empty() || is_head(line) && tree.len() > 1;
        if ends && !tree.is_empty() {
            let next = if is_head(line) { tree.pop() } else { None };
            trees.extend(shortened(host, &tree));
            tree = next.into_iter().collect();
        }
    }
    if !tree.is_empty() {
        trees.extend(shortened(host, &tree));
    }
    let more = trees.len().saturating_sub(MOST);
    if more > 0 {
        trees.truncate(MOST);
        trees.push(format!("and {more} lines more"));
    }
    trees
}

/// The first line of a tree: the task and its future.
fn is_head(line: &str) -> bool {
    line.starts_with("task ")
        && ["waits in", "nowhere", "was in"].iter().any(|end| line.ends_with(end))
}

fn shortened(host: &str, tree: &[&str]) -> Vec<String> {
    let mut lines = vec![format!("{host}: {}", tree[0])];
    // How deep the runtime's function is whose callees are left out.
    let mut hidden: Option<usize> = None;
    for (i, line) in tree.iter().enumerate().skip(1) {
        if line.trim_start().starts_with("backtrace::") {
            continue;
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

fn depth(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::trees;

    #[test]
    fn what_the_runtime_does_below_the_program_is_one_line() {
        let output = "test a ... liten-sim: a runtime of shop:\n1 tasks alive\n\ntask 7, shop::serve, waits in\n  \
            tokio::time::timeout::Timeout<T> at timeout.rs:1\n    shop::serve at src/lib.rs:9\n      \
            tokio::net::TcpStream::read at stream.rs:2\n        liten::io::poll at io.rs:3\n      \
            shop::other at src/lib.rs:10\n        backtrace::trace at mod.rs:1\n\ntask 8, shop::idle, waits, and has left its waker nowhere\n";
        assert_eq!(
            trees(output.lines()),
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
}
