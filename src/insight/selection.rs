//! Which tasks the table shows, and in which order: chosen here, from all tasks, so that a page about a
//! million of them is sent some hundred rows.

use super::last_place::LastPlace;
use super::task_info::TaskInfo;
use crate::engine::task::TaskId;
use std::cmp::Ordering;

/// How many rows there are at most.
const MOST_ROWS: usize = super::shown::MOST_TASKS;

/// By what the rows are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Id,
    Name,
    State,
    Place,
    Type,
    Size,
    Wait,
    Polls,
}

/// What the query of a request says: `sort=-size&filter=reader&rows=50`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Selection {
    /// `None`: first those that something happens to.
    sort: Option<(Column, IsDescending)>,
    /// In lower case. Empty: all.
    filter: String,
    rows: usize,
}

type IsDescending = bool;

/// The rows, and how many tasks there are.
pub(super) struct Selected {
    pub(super) rows: Vec<TaskInfo>,
    /// How many tasks the filter lets through.
    pub(super) matching: usize,
    pub(super) all: usize,
}

impl Selection {
    /// `None`: the query says something else. Without one, the first rows of all tasks.
    pub(super) fn parse(query: Option<&str>) -> Option<Self> {
        let mut selection = Self { sort: None, filter: String::new(), rows: MOST_ROWS };
        for part in query.unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
            match part.split_once('=')? {
                ("sort", "") => selection.sort = None,
                ("sort", column) => {
                    let ascending = column.strip_prefix('-');
                    let name = ascending.unwrap_or(column);
                    selection.sort = Some((Column::named(name)?, ascending.is_some()));
                }
                ("filter", text) => selection.filter = decoded(text)?.to_lowercase(),
                ("rows", rows) => selection.rows = rows.parse::<usize>().ok()?.min(MOST_ROWS),
                _ => return None,
            }
        }
        Some(selection)
    }

    /// Whether a dump has the rows already.
    pub(super) fn is_plain(&self) -> bool {
        self.sort.is_none() && self.filter.is_empty()
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Goes through `tasks`; keeps no more than twice the rows. `polls` says how often a task was polled.
    pub(super) fn select(
        &self,
        tasks: impl Iterator<Item = TaskInfo>,
        polls: impl Fn(TaskId) -> Option<u64>,
    ) -> Selected {
        let mut place = LastPlace::new();
        let mut selected = Selected { rows: Vec::new(), matching: 0, all: 0 };
        for task in tasks {
            selected.all += 1;
            if !self.lets_through(&task, &mut place) {
                continue;
            }
            selected.matching += 1;
            selected.rows.push(task);
            if selected.rows.len() >= 2 * self.rows.max(1) {
                self.cut(&mut selected.rows, &polls);
            }
        }
        self.cut(&mut selected.rows, &polls);
        selected
    }

    fn cut(&self, rows: &mut Vec<TaskInfo>, polls: impl Fn(TaskId) -> Option<u64>) {
        rows.sort_by(|a, b| self.compare(a, b, &polls));
        rows.truncate(self.rows);
    }

    fn compare(
        &self,
        a: &TaskInfo,
        b: &TaskInfo,
        polls: impl Fn(TaskId) -> Option<u64>,
    ) -> Ordering {
        let Some((column, is_descending)) = self.sort else {
            return (a.state() as u8, a.id()).cmp(&(b.state() as u8, b.id()));
        };
        let order = match column {
            Column::Id => Ordering::Equal,
            Column::Name => a.name().cmp(&b.name()),
            Column::State => {
                (a.state() as u8, !a.is_stuck()).cmp(&(b.state() as u8, !b.is_stuck()))
            }
            Column::Place => a.spawned_at().cmp(b.spawned_at()),
            Column::Type => a.type_name().cmp(&b.type_name()),
            Column::Size => a.future_size().cmp(&b.future_size()),
            Column::Wait => a.cold_for().cmp(&b.cold_for()),
            Column::Polls => polls(a.id()).cmp(&polls(b.id())),
        };
        let order = order.then_with(|| a.id().cmp(&b.id()));
        let order = if is_descending { order.reverse() } else { order };
        // Tasks without a value to compare come last in both directions.
        column.is_unknown_of(a).cmp(&column.is_unknown_of(b)).then(order)
    }

    fn lets_through(&self, task: &TaskInfo, place: &mut LastPlace<bool>) -> bool {
        let filter = &*self.filter;
        let has = |text: &str| text.to_lowercase().contains(filter);
        filter.is_empty()
            || place.find(task.spawned_at(), || has(&task.spawned_at().to_string()))
            || task.name().is_some_and(has)
            || has(task.state().word())
            || task.is_stuck() && has("stuck")
            || task.type_name().is_some_and(has)
            || task.id().to_string() == filter
    }
}

impl Column {
    fn is_unknown_of(self, task: &TaskInfo) -> bool {
        match self {
            Self::Name => task.name().is_none(),
            Self::Type => task.type_name().is_none(),
            Self::Size => task.future_size().is_none(),
            Self::Wait => task.cold_for().is_none(),
            Self::Id | Self::State | Self::Place | Self::Polls => false,
        }
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "id" => Self::Id,
            "name" => Self::Name,
            "state" => Self::State,
            "place" => Self::Place,
            "type" => Self::Type,
            "size" => Self::Size,
            "wait" => Self::Wait,
            "polls" => Self::Polls,
            _ => return None,
        })
    }
}

/// What stands for the text in an address: `%20` and `+` are blanks.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        rest = more;
        bytes.push(match first {
            b'+' => b' ',
            b'%' => {
                let [high, low, ..] = *rest else { return None };
                rest = &rest[2..];
                let digit = |byte| char::from(byte).to_digit(16);
                (digit(high)? << 4 | digit(low)?) as u8
            }
            other => *other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::{Column, Selection, decoded};

    #[test]
    fn a_query_says_what_is_shown() {
        let of = |query| Selection::parse(Some(query));
        let plain = Selection { sort: None, filter: String::new(), rows: 500 };
        assert_eq!(Selection::parse(None), Some(plain.clone()));
        assert_eq!(of(""), Some(plain.clone()));
        assert_eq!(of("sort=&filter="), Some(plain.clone()));
        let sorted = Selection { sort: Some((Column::Size, true)), ..plain.clone() };
        assert_eq!(of("sort=-size"), Some(sorted));
        let filtered = Selection { filter: "a b/ä&".into(), rows: 7, ..plain.clone() };
        assert_eq!(of("filter=A+b%2f%C3%84%26&rows=7"), Some(filtered));
        assert_eq!(of("rows=1000000"), Some(plain));
        for query in ["x", "sort=colour", "rows=-1", "rows=", "filter=%f", "filter=%ff", "token=1"]
        {
            assert_eq!(of(query), None, "{query}");
        }
    }

    #[test]
    fn what_is_no_text_is_refused() {
        for text in ["%", "%2", "%zz", "%+1", "%c3", "ä%C3"] {
            assert_eq!(decoded(text).as_deref(), None, "{text}");
        }
    }
}
