//! Where the tasks of a runtime wait, summed up: how many of them are in each function.

use super::frames::Frame;
use super::{AwaitNode, AwaitTree, trees};
use crate::engine::task::TaskId;
use crate::insight::task_list::TaskList;
use crate::runtime::Handle;
use crate::short::counted;
use std::fmt;
use std::time::Duration;

/// At most so many tasks are polled for one profile: of a million, which takes long, a part says enough.
const MOST: usize = 4096;

/// Where the tasks of a runtime wait: the functions that they are in, and how many are in each. From
/// [`Handle::await_profile`].
///
/// It is the sum of their [`AwaitTree`]s. `Display` shows it with indentation, the most frequent first. A
/// task that waits in several places, as in `select!`, counts in each of them.
#[derive(Debug, Clone)]
pub struct AwaitProfile {
    nodes: Vec<Node>,
    waiting: usize,
    /// Tasks that did not wait when they were polled, or were not polled in time.
    others: usize,
    not_asked: usize,
}

#[derive(Debug, Clone)]
struct Node {
    frame: Frame,
    tasks: usize,
    children: Vec<Node>,
}

impl Handle {
    /// Returns where the tasks of the runtime wait, summed up by function.
    ///
    /// Each task that has waited is polled once more, as by [`Handle::await_tree`], which says what that
    /// means and what is not seen. Of more than 4,096 tasks the rest is only counted. The calling thread
    /// waits for the polls for `limit` at most, and then looks up the names.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::runtime::Runtime;
    /// use std::time::Duration;
    ///
    /// async fn nap() {
    ///     liten::time::sleep(Duration::from_secs(3600)).await;
    /// }
    ///
    /// let runtime = Runtime::new()?;
    /// for _ in 0..3 {
    ///     runtime.spawn(nap());
    /// }
    /// # while runtime.metrics().num_cold_tasks() < 3 {
    /// #     std::thread::sleep(Duration::from_millis(1));
    /// # }
    /// let profile = runtime.handle().await_profile(Duration::from_secs(30));
    /// assert!(profile.to_string().starts_with("3 tasks wait here"), "{profile}");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn await_profile(&self, limit: Duration) -> AwaitProfile {
        self.await_profile_unless(limit, || false)
    }

    /// As [`Handle::await_profile`]. Gives up soon after `is_unwanted`, as if the time were over.
    pub(in crate::insight) fn await_profile_unless(
        &self,
        limit: Duration,
        is_unwanted: impl Fn() -> bool,
    ) -> AwaitProfile {
        let (mut tasks, mut not_asked) = (Vec::<TaskId>::new(), 0);
        TaskList::new(self).trace(&mut |id| {
            match tasks.len() < MOST {
                true => tasks.push(id),
                false => not_asked += 1,
            }
            false
        });
        let mut profile = AwaitProfile { nodes: Vec::new(), waiting: 0, others: 0, not_asked };
        for (_, tree) in trees(self, &tasks, limit, is_unwanted) {
            profile.add(tree.as_ref());
        }
        sort(&mut profile.nodes);
        profile
    }
}

impl AwaitProfile {
    fn add(&mut self, tree: Option<&AwaitTree>) {
        match tree.filter(|tree| tree.is_waiting()) {
            Some(tree) => {
                self.waiting += 1;
                add(&mut self.nodes, &tree.nodes);
            }
            None => self.others += 1,
        }
    }
}

/// Counts one task, which is in each function of `tree`.
fn add(nodes: &mut Vec<Node>, tree: &[AwaitNode]) {
    for part in tree {
        let known = nodes.iter().position(|node| node.frame == part.frame);
        let place = known.unwrap_or_else(|| {
            nodes.push(Node { frame: part.frame.clone(), tasks: 0, children: Vec::new() });
            nodes.len() - 1
        });
        nodes[place].tasks += 1;
        add(&mut nodes[place].children, &part.children);
    }
}

fn sort(nodes: &mut [Node]) {
    nodes.sort_by_key(|node| std::cmp::Reverse(node.tasks));
    nodes.iter_mut().for_each(|node| sort(&mut node.children));
}

impl Node {
    fn fmt_at(&self, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:7}  {:2$}{3}", self.tasks, "", 2 * depth, self.frame)?;
        self.children.iter().try_for_each(|child| child.fmt_at(depth + 1, f))
    }
}

impl fmt::Display for AwaitProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} wait here:", counted(self.waiting, "task"))?;
        self.nodes.iter().try_for_each(|node| node.fmt_at(0, f))?;
        if self.others > 0 {
            writeln!(
                f,
                "{} did not wait, or could not be asked in time",
                counted(self.others, "task")
            )?;
        }
        if self.not_asked > 0 {
            writeln!(f, "{} more were not asked", counted(self.not_asked, "task"))?;
        }
        Ok(())
    }
}
