//! The list of what fails on liten, each with its reason. A reason that begins with "sometimes" is that of a
//! test which may pass as well.

use crate::table::Table;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const SOMETIMES: &str = "sometimes";

/// Tests that fail on liten, and files that do not compile, with the reason.
pub(crate) struct Expected {
    reasons: BTreeMap<String, String>,
}

impl Expected {
    /// Reads lines of a name, a space, `#` and the reason.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text =
            fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(&text).map_err(|line| format!("{}: no name and reason: {line}", path.display()))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let reasons = lines.map(|line| match line.split_once(" # ") {
            Some((name, reason)) if !reason.trim().is_empty() => {
                Ok((name.trim().to_owned(), reason.trim().to_owned()))
            }
            _ => Err(line.to_owned()),
        });
        Ok(Self { reasons: reasons.collect::<Result<_, String>>()? })
    }

    /// Adds the lines of another list.
    pub(crate) fn add(&mut self, other: Self) {
        self.reasons.extend(other.reasons);
    }

    /// Returns the list for another release, such as `1.47.5` or `newest-1.47`: the lines of `others` that
    /// begin with `1.47`, and all of this one, none of which has to fail there.
    pub(crate) fn of_release(self, release: &str, others: Self) -> Self {
        let all = |(test, reason)| (test, format!("{SOMETIMES}: {reason}"));
        let mut reasons: BTreeMap<String, String> = self.reasons.into_iter().map(all).collect();
        reasons.extend(others.reasons.into_iter().filter_map(|(name, reason)| {
            let (minor, test) = name.split_once("::")?;
            let rest = release.trim_start_matches("newest-").strip_prefix(minor)?;
            (rest.is_empty() || rest.starts_with('.')).then(|| (test.to_owned(), reason))
        }));
        Self { reasons }
    }

    /// Says what is not as the list says. With a choice of files, only those are looked at.
    pub(crate) fn surprises(&self, table: &Table, wanted: &[String]) -> Vec<String> {
        let mut surprises = Vec::new();
        for (test, end) in &table.failures {
            if !self.reasons.contains_key(test) {
                surprises.push(format!("NOT EXPECTED: {test} {end:?}"));
            }
        }
        for file in &table.broken {
            if !self.reasons.contains_key(file) {
                surprises.push(format!("NOT EXPECTED: {file} does not compile"));
            }
        }
        for (name, reason) in &self.reasons {
            let file = name.split("::").next().expect("it has a name");
            let is_looked_at = wanted.is_empty() || wanted.iter().any(|wanted| wanted == file);
            let still = table.failures.contains_key(name) || table.broken.contains(name);
            if is_looked_at && !still && !reason.starts_with(SOMETIMES) {
                surprises.push(format!("NO LONGER FAILS, take it out of `expected`: {name}"));
            }
        }
        surprises
    }
}

#[cfg(test)]
mod tests {
    use super::Expected;
    use crate::round::{End, Round};
    use crate::table::Table;
    use std::collections::{BTreeMap, BTreeSet};

    fn round(ends: &[(&str, End)]) -> Round {
        let ends = ends.iter().map(|(test, end)| ((*test).to_owned(), *end));
        Round { ends: ends.collect::<BTreeMap<_, _>>(), broken: BTreeSet::new() }
    }

    fn surprises(list: &str, ours: End) -> Vec<String> {
        let real = round(&[("a::b", End::Passed), ("a::c", End::Failed)]);
        let table = Table::new(&real, &round(&[("a::b", ours), ("a::c", End::Failed)]));
        Expected::parse(list).expect("the list can be read").surprises(&table, &[])
    }

    #[test]
    fn a_failure_has_to_be_in_the_list() {
        assert_eq!(surprises("", End::Passed), [""; 0]);
        assert_eq!(surprises("", End::Failed).len(), 1);
        assert_eq!(surprises("a::b # because\n", End::Hung), [""; 0]);
    }

    #[test]
    fn the_list_can_only_shrink() {
        assert_eq!(surprises("a::b # because\n", End::Passed).len(), 1);
        assert_eq!(surprises("a::c # real tokio fails, too\n", End::Passed).len(), 1);
        assert_eq!(surprises("a::b # sometimes: timing\n", End::Passed), [""; 0]);
    }

    /// What newly fails is mended, and not added to a list. With a line that goes, its number here falls.
    #[test]
    fn the_lists_are_no_longer_than_they_were() {
        for (name, text, lines) in [
            ("expected", include_str!("../expected"), 4),
            ("expected-of-libraries", include_str!("../expected-of-libraries"), 1),
            ("expected-of-documentation", include_str!("../expected-of-documentation"), 0),
            ("expected-of-releases", include_str!("../expected-of-releases"), 31),
            ("expected-unstable", include_str!("../expected-unstable"), 6),
        ] {
            let list = Expected::parse(text).expect("the list can be read");
            assert_eq!(
                list.reasons.len(),
                lines,
                "{name} may only shrink, and this number with it"
            );
        }
    }

    #[test]
    fn another_release_has_its_own_lines_and_need_not_fail_where_this_one_does() {
        let others =
            Expected::parse("1.47::a::b # once\n1.49::a::c # twice\n1.4::c # no\n").expect("read");
        let list = Expected::parse("a::d # because\n").expect("read").of_release("1.47.5", others);
        let lines: Vec<(&str, &str)> =
            list.reasons.iter().map(|(name, reason)| (&**name, &**reason)).collect();
        assert_eq!(lines, [("a::b", "once"), ("a::d", "sometimes: because")]);
    }

    #[test]
    fn a_file_that_does_not_compile_has_to_be_in_the_list() {
        let broken = |files: &[&str]| {
            let broken = files.iter().map(|&file| file.to_owned()).collect();
            Round { ends: BTreeMap::new(), broken }
        };
        let table = Table::new(&broken(&["a::real", "a::both"]), &broken(&["a::both", "a::ours"]));
        let expected = Expected::parse("a::both # because\n").expect("it can be read");
        let surprises = expected.surprises(&table, &[]);
        let unexpected =
            ["a::ours", "a::real"].map(|file| format!("NOT EXPECTED: {file} does not compile"));
        assert_eq!(surprises, unexpected);
    }

    #[test]
    fn a_line_without_a_reason_is_refused() {
        assert!(Expected::parse("a::b\n").is_err());
        assert!(Expected::parse("a::b # \n").is_err());
    }
}
