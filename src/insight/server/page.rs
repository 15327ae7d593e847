//! Which request gets what.

use super::access::Access;
use super::answer::{Answer, Status, TEXT};
use super::observed::Observed;
use super::picture::MOST_RUNTIMES;
use super::request::Request;
use super::tree;
use super::watch::Watch;
use crate::engine::task::TaskId;
use crate::insight::{Recording, Trace, chrome, json, prometheus, report};
use crate::runtime::Handle;
use crate::time::Duration;
use std::rc::Rc;
use std::sync::Arc;

const HTML: &str = include_str!("../page/index.html");
const SCRIPT: &str = include_str!("../page/page.js");
const STYLE: &str = include_str!("../page/page.css");
const ICON: &str = include_str!("../page/icon.svg");

/// The version that a scraper of Prometheus asks for.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How long a trace lasts unless the request says so, and at the most.
const TRACE: Duration = Duration::from_secs(1);
const LONGEST_TRACE: Duration = Duration::from_secs(10);

pub(super) enum Reply {
    Now(Answer),
    /// [`Page::trace`], when so much time has passed.
    Later {
        recordings: Vec<Recording>,
        time: Duration,
        has_body: bool,
    },
    /// [`tree::answer`].
    Tree {
        runtimes: Vec<Handle>,
        task: TaskId,
        has_body: bool,
    },
}

pub(super) struct Page {
    access: Access,
    watch: Rc<Watch>,
}

impl Page {
    pub(super) fn new(access: Access, observed: Arc<Observed>) -> Self {
        Self { access, watch: Rc::new(Watch::new(observed)) }
    }

    /// The answer to the request whose head is `head`.
    pub(super) fn answer(&self, head: &[u8]) -> Reply {
        let request = match Request::parse(head) {
            Ok(request) => request,
            Err(status) => return Reply::Now(Answer::refusal(status)),
        };
        let refused = self.refuse(&request).map(Answer::refusal);
        if refused.is_none() && request.path == "/trace" {
            return self.record(&request);
        }
        if refused.is_none() && request.path == "/tree" {
            return self.tree(&request);
        }
        Reply::Now(match refused.unwrap_or_else(|| self.show(&request)) {
            answer if request.method == "HEAD" => answer.without_body(),
            answer => answer,
        })
    }

    /// Begins to record all runtimes that can be recorded.
    fn record(&self, request: &Request<'_>) -> Reply {
        if !self.access.is_authorized(request.authorization) {
            return Reply::Now(Answer::refusal(Status::Unauthorized));
        }
        let Some(time) = recording_time(request.query) else {
            return Reply::Now(Answer::refusal(Status::BadRequest).trusted());
        };
        let living = self.watch.observed().living().0.into_iter().take(MOST_RUNTIMES);
        let recordings: Vec<Recording> = living.filter_map(|handle| handle.record()).collect();
        if recordings.is_empty() {
            return Reply::Now(Answer::refusal(Status::NoTrace).trusted());
        }
        Reply::Later { recordings, time, has_body: request.method == "GET" }
    }

    /// Finds out what to make a tree of.
    fn tree(&self, request: &Request<'_>) -> Reply {
        if !self.access.is_authorized(request.authorization) {
            return Reply::Now(Answer::refusal(Status::Unauthorized));
        }
        let Some(task) = tree::task(request.query) else {
            return Reply::Now(Answer::refusal(Status::BadRequest).trusted());
        };
        let runtimes = self.watch.observed().living().0;
        Reply::Tree { runtimes, task, has_body: request.method == "GET" }
    }

    /// What was recorded.
    pub(super) fn trace(recordings: Vec<Recording>) -> Answer {
        let traces: Vec<Trace> = recordings.into_iter().map(Recording::stop).collect();
        let traces: Vec<&Trace> = traces.iter().collect();
        Answer::ok("application/json", chrome::json(&traces)).trusted()
    }

    /// What is wrong with the request, whatever it asks for.
    fn refuse(&self, request: &Request<'_>) -> Option<Status> {
        let Request { method, host, origin, .. } = request;
        if !self.access.is_our_host(host) {
            Some(Status::ForeignHost)
        } else if origin.is_some_and(|origin| !Access::is_same_origin(origin, host)) {
            Some(Status::ForeignOrigin)
        } else if !["GET", "HEAD"].contains(method) {
            Some(Status::MethodNotAllowed)
        } else {
            None
        }
    }

    fn show(&self, request: &Request<'_>) -> Answer {
        // The same in all programs: they tell nothing of this one.
        match request.path {
            "/" => return Answer::ok("text/html; charset=utf-8", HTML),
            "/page.js" => return Answer::ok("text/javascript; charset=utf-8", SCRIPT),
            "/page.css" => return Answer::ok("text/css; charset=utf-8", STYLE),
            "/icon.svg" => return Answer::ok("image/svg+xml", ICON),
            _ => {}
        }
        if !self.access.is_authorized(request.authorization) {
            return Answer::refusal(Status::Unauthorized);
        }
        let answer = match request.path {
            "/text" => Answer::ok(TEXT, report::text(&self.watch.picture())),
            "/json" => Answer::ok("application/json", json::json(&self.watch.picture())),
            "/metrics" => Answer::ok(METRICS, prometheus::metrics(&self.watch.look())),
            _ => Answer::refusal(Status::NotFound),
        };
        answer.trusted()
    }
}

/// What `seconds=…` says; `None` if it is not what it should be.
fn recording_time(query: Option<&str>) -> Option<Duration> {
    let Some(query) = query else { return Some(TRACE) };
    let seconds = query.strip_prefix("seconds=")?.parse::<f64>().ok()?;
    let time = Duration::try_from_secs_f64(seconds).ok()?;
    (time <= LONGEST_TRACE).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::{Duration, recording_time};

    #[test]
    fn the_time_of_a_trace_is_bounded() {
        let millis = |millis| Some(Duration::from_millis(millis));
        for (query, time) in [
            (None, millis(1_000)),
            (Some("seconds=0.25"), millis(250)),
            (Some("seconds=10"), millis(10_000)),
            (Some("seconds=10.1"), None),
            (Some("seconds=-1"), None),
            (Some("seconds=NaN"), None),
            (Some("seconds="), None),
            (Some("minutes=1"), None),
            (Some(""), None),
        ] {
            assert_eq!(recording_time(query), time, "{query:?}");
        }
    }
}
