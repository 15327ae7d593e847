//! The kinds of markers: what is known of a poll, of a wake or a spawn, of a sleep, of a round of events.

use fxprof_processed_profile::{
    CategoryHandle, MarkerFieldFlags, MarkerFieldFormat, Profile, StaticSchemaMarker,
    StaticSchemaMarkerField, StringHandle,
};
use liten::insight::PollOutcome;
use liten::task::RunningTask;

const fn text(key: &'static str, label: &'static str) -> StaticSchemaMarkerField {
    let (format, flags) = (MarkerFieldFormat::String, MarkerFieldFlags::SEARCHABLE);
    StaticSchemaMarkerField { key, label, format, flags }
}

const fn number(key: &'static str, label: &'static str) -> StaticSchemaMarkerField {
    let (format, flags) = (MarkerFieldFormat::Integer, MarkerFieldFlags::empty());
    StaticSchemaMarkerField { key, label, format, flags }
}

/// Its name is the place of the spawn: the viewer has a row for each name.
pub(crate) struct Poll {
    category: CategoryHandle,
    place: StringHandle,
    task: StringHandle,
    outcome: StringHandle,
}

impl Poll {
    pub(crate) fn new(
        profile: &mut Profile,
        category: CategoryHandle,
        task: RunningTask,
        outcome: PollOutcome,
    ) -> Self {
        Self {
            category,
            place: profile.intern_string(&task.spawned_at().to_string()),
            task: profile.intern_string(&format!("task {}", task.id())),
            outcome: profile.intern_string(&outcome.to_string()),
        }
    }
}

impl StaticSchemaMarker for Poll {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "Poll";
    const DESCRIPTION: Option<&'static str> = Some("A worker polled a task.");
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.task}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.data.task}: {marker.data.outcome}");
    const FIELDS: &'static [StaticSchemaMarkerField] =
        &[text("task", "Task"), text("outcome", "How it ended")];

    fn name(&self, _: &mut Profile) -> StringHandle {
        self.place
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, field: u32) -> StringHandle {
        [self.task, self.outcome][field as usize]
    }

    fn number_field_value(&self, field: u32) -> f64 {
        unreachable!("field {field} is a text")
    }
}

/// A wake or a spawn.
pub(crate) struct Cause {
    category: CategoryHandle,
    name: &'static str,
    task: StringHandle,
    place: StringHandle,
}

impl Cause {
    pub(crate) fn new(
        profile: &mut Profile,
        category: CategoryHandle,
        name: &'static str,
        task: RunningTask,
    ) -> Self {
        let place = profile.intern_string(&task.spawned_at().to_string());
        Self { category, name, task: profile.intern_string(&format!("task {}", task.id())), place }
    }
}

impl StaticSchemaMarker for Cause {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "Cause";
    const DESCRIPTION: Option<&'static str> = Some("A thread made a task ready.");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.data.task}, {marker.data.place}");
    const FIELDS: &'static [StaticSchemaMarkerField] =
        &[text("task", "Task"), text("place", "Spawned at")];

    fn name(&self, profile: &mut Profile) -> StringHandle {
        profile.intern_string(self.name)
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, field: u32) -> StringHandle {
        [self.task, self.place][field as usize]
    }

    fn number_field_value(&self, field: u32) -> f64 {
        unreachable!("field {field} is a text")
    }
}

pub(crate) struct Sleep {
    pub(crate) category: CategoryHandle,
}

impl StaticSchemaMarker for Sleep {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "Sleep";
    const DESCRIPTION: Option<&'static str> = Some("The worker slept.");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[];

    fn name(&self, profile: &mut Profile) -> StringHandle {
        profile.intern_string("parked")
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, field: u32) -> StringHandle {
        unreachable!("there is no field {field}")
    }

    fn number_field_value(&self, field: u32) -> f64 {
        unreachable!("there is no field {field}")
    }
}

/// A round of events.
pub(crate) struct Turn {
    pub(crate) category: CategoryHandle,
    pub(crate) wakers: u32,
    pub(crate) of_timers: u32,
}

impl StaticSchemaMarker for Turn {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "Turn";
    const DESCRIPTION: Option<&'static str> = Some("The worker called the wakers of events.");
    const TABLE_LABEL: Option<&'static str> =
        Some("{marker.data.wakers} wakers, {marker.data.of_timers} of timers");
    const FIELDS: &'static [StaticSchemaMarkerField] =
        &[number("wakers", "Wakers"), number("of_timers", "Of timers")];

    fn name(&self, profile: &mut Profile) -> StringHandle {
        profile.intern_string("events")
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, field: u32) -> StringHandle {
        unreachable!("field {field} is a number")
    }

    fn number_field_value(&self, field: u32) -> f64 {
        [self.wakers, self.of_timers][field as usize].into()
    }
}
