//! Both rounds side by side, a line per file of tests.

use crate::round::{End, Round};
use std::collections::{BTreeMap, BTreeSet};

/// What one file has to show.
#[derive(Default, Clone, Copy)]
struct Line {
    /// Tests that pass on real tokio.
    counted: usize,
    /// Those of them that pass on liten, too.
    passed: usize,
    failed: usize,
    hung: usize,
    /// Those of them that are not there, because the file does not compile.
    missing: usize,
}

/// Both rounds, compared.
pub(crate) struct Table {
    lines: BTreeMap<String, Line>,
    /// Passes on real tokio, and how it ends on liten if not likewise.
    pub(crate) failures: BTreeMap<String, End>,
    pub(crate) passed: BTreeSet<String>,
    /// Files that do not compile on liten or on real tokio: either takes tests out of the comparison.
    pub(crate) broken: BTreeSet<String>,
}

impl Table {
    pub(crate) fn new(real: &Round, ours: &Round) -> Self {
        let mut table = Self {
            lines: BTreeMap::new(),
            failures: BTreeMap::new(),
            passed: BTreeSet::new(),
            broken: ours.broken.union(&real.broken).cloned().collect(),
        };
        let passing = real.ends.iter().filter(|(_, end)| **end == End::Passed);
        for (test, _) in passing {
            let file = test.split("::").next().expect("each name has a beginning");
            let line = table.lines.entry(file.to_owned()).or_default();
            line.counted += 1;
            match ours.ends.get(test) {
                Some(End::Passed) => line.passed += 1,
                Some(End::Failed) => line.failed += 1,
                Some(End::Hung) => line.hung += 1,
                None => line.missing += 1,
            }
            match ours.ends.get(test) {
                Some(End::Passed) => _ = table.passed.insert(test.clone()),
                Some(&end) => _ = table.failures.insert(test.clone(), end),
                None => {}
            }
        }
        table
    }

    /// Prints it. `what` is the heading of the first column.
    pub(crate) fn print(&self, what: &str) {
        println!("| {what} | pass on tokio | pass on liten | fail | hang | do not compile |");
        println!("|---|---|---|---|---|---|");
        let mut all = Line::default();
        for (file, line) in &self.lines {
            print(file, line);
            all.counted += line.counted;
            all.passed += line.passed;
            all.failed += line.failed;
            all.hung += line.hung;
            all.missing += line.missing;
        }
        print("all", &all);
        let share = 100.0 * all.passed as f64 / all.counted.max(1) as f64;
        println!("\n{share:.1} % of what real tokio passes.");
    }
}

fn print(name: &str, line: &Line) {
    let Line { counted, passed, failed, hung, missing } = line;
    println!("| {name} | {counted} | {passed} | {failed} | {hung} | {missing} |");
}
