//! Where tasks wait, of what the runtimes of liten print when a run has stopped.

use crate::place::is_runtime;

/// Where the functions are that find out where a future waits, or call the root's.
const NOTING: [&str; 3] =
    ["backtrace::", "liten::observe::simulation::", "liten::runtime::root_future::"];

/// How many functions of others in a row are shown, below one of the program.
const FOREIGN: usize = 4;

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
    let ends = ["waits in", "nowhere", "was in", "could never be woken", "in time"];
    (line.starts_with("task ") || line.starts_with("root, "))
        && ends.iter().any(|end| line.ends_with(end))
}

fn shortened(host: &str, tree: &[&str]) -> Vec<String> {
    let mut lines = vec![format!("{host}: {}", tree[0])];
    // How deep the runtime's function is whose callees are left out.
    let mut hidden: Option<usize> = None;
    // How deep the program's own functions are that lead to the line.
    let mut own: Vec<usize> = Vec::new();
    for (i, line) in tree.iter().enumerate().skip(1) {
        if NOTING.iter().any(|start| line.trim_start().starts_with(start)) {
            continue;
        }
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
