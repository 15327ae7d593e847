//! Which request gets what.

use super::access::Access;
use super::answer::{Answer, Status, TEXT};
use super::lives::{Lives, PAUSE};
use super::observed::Observed;
use super::picture::MOST_RUNTIMES;
use super::place::Place;
use super::request::Request;
use super::watch::Watch;
use super::{trace, tree};
use crate::insight::json::Extra;
use crate::insight::selection::{Selected, Selection};
use crate::insight::{Recording, cold, json, prometheus, report};
use crate::runtime::Id;
use crate::task::CancellationToken;
use crate::task::spawn_local;
use crate::time::{Duration, sleep};
use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

const HTML: &str = include_str!("../page/index.html");
const SCRIPT: &str = include_str!("../page/page.js");
const LANES: &str = include_str!("../page/lanes.js");
const WAITS: &str = include_str!("../page/waits.js");
const STYLE: &str = include_str!("../page/page.css");
const ICON: &str = include_str!("../page/icon.svg");

/// The version that a scraper of Prometheus asks for.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How long a trace lasts unless the request says so, and at most.
const TRACE: Duration = Duration::from_secs(1);
const LONGEST_TRACE: Duration = Duration::from_secs(10);

pub(super) enum Reply {
    Now(Answer),
    /// To a request that has brought the token.
    Later(Later),
}

type Later = Pin<Box<dyn Future<Output = Answer>>>;

pub(super) struct Page {
    access: Access,
    watch: Rc<Watch>,
    lives: RefCell<Lives>,
    trace: Place,
    /// Is cancelled when the page is to end.
    end: CancellationToken,
}

impl Page {
    pub(super) fn new(access: Access, observed: Arc<Observed>, end: CancellationToken) -> Self {
        let lives = RefCell::new(Lives::new());
        let watch = Rc::new(Watch::new(observed));
        Self { access, watch, lives, trace: Place::default(), end }
    }

    /// Looks at the runtimes now and then, while no request comes.
    pub(super) async fn patrol(&self) {
        self.watch.clone().patrol().await;
    }

    /// Whether the request asks what is wrong, and may.
    pub(super) fn asks_what_is_wrong(&self, head: &[u8]) -> bool {
        let Ok(request) = Request::parse(head) else { return false };
        let asks = ["/text", "/json"].contains(&request.path) && self.refuse(&request).is_none();
        asks && self.access.is_authorized(request.authorization)
    }

    /// Waits until there is something to answer such a request by, if it is the first one after a pause.
    pub(super) async fn prepare(&self) {
        self.watch.begin().await;
    }

    /// The answer to the request whose head is `head`.
    pub(super) fn answer(self: &Rc<Self>, head: &[u8]) -> Reply {
        let request = match Request::parse(head) {
            Ok(request) => request,
            Err(status) => return Reply::Now(Answer::refusal(status)),
        };
        let is_head = request.method == "HEAD";
        let as_asked = move |answer: Answer| if is_head { answer.without_body() } else { answer };
        let later = match (self.refuse(&request), request.path) {
            (Some(status), _) => return Reply::Now(as_asked(Answer::refusal(status))),
            (None, "/trace" | "/tree" | "/trees")
                if !self.access.is_authorized(request.authorization) =>
            {
                return Reply::Now(as_asked(Answer::refusal(Status::Unauthorized)));
            }
            (None, "/trace") => self.trace(&request),
            (None, "/tree") => self.tree(&request),
            (None, "/trees") => Ok(self.trees()),
            (None, _) => return Reply::Now(as_asked(self.show(&request))),
        };
        match later {
            Ok(later) => Reply::Later(Box::pin(async move { as_asked(later.await) })),
            Err(status) => Reply::Now(as_asked(Answer::refusal(status).trusted())),
        }
    }

    /// Begins to record all runtimes that can be recorded.
    fn trace(&self, request: &Request<'_>) -> Result<Later, Status> {
        let time = recording_time(request.query).ok_or(Status::BadRequest)?;
        let place = self.trace.take().ok_or(Status::OtherTrace)?;
        let living = self.watch.observed().living().0.into_iter().take(MOST_RUNTIMES);
        let recordings: Vec<Recording> = living.filter_map(|handle| handle.record()).collect();
        if recordings.is_empty() {
            return Err(Status::NoTrace);
        }
        Ok(Box::pin(trace::answer(recordings, time, place)))
    }

    /// Finds out what to make a tree of.
    fn tree(&self, request: &Request<'_>) -> Result<Later, Status> {
        let task = tree::task(request.query).ok_or(Status::BadRequest)?;
        let runtimes = self.watch.observed().living().0;
        Ok(Box::pin(tree::answer(runtimes, task, self.end.clone())))
    }

    fn trees(&self) -> Later {
        let runtimes = self.watch.observed().living().0.into_iter().take(MOST_RUNTIMES).collect();
        Box::pin(tree::profile(runtimes, self.end.clone()))
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

    fn show(self: &Rc<Self>, request: &Request<'_>) -> Answer {
        // The same in all programs: they tell nothing of this one.
        match request.path {
            "/" => return Answer::ok("text/html; charset=utf-8", HTML),
            "/page.js" => return Answer::ok("text/javascript; charset=utf-8", SCRIPT),
            "/lanes.js" => return Answer::ok("text/javascript; charset=utf-8", LANES),
            "/waits.js" => return Answer::ok("text/javascript; charset=utf-8", WAITS),
            "/page.css" => return Answer::ok("text/css; charset=utf-8", STYLE),
            "/icon.svg" => return Answer::ok("image/svg+xml", ICON),
            _ => {}
        }
        if !self.access.is_authorized(request.authorization) {
            return Answer::refusal(Status::Unauthorized);
        }
        let answer = match request.path {
            "/text" => {
                let cost = self.lives.borrow().cost();
                Answer::ok(TEXT, report::text(&self.watch.picture(), cost))
            }
            "/json" => self.json(request.query),
            "/live" => self.live(request.query),
            "/metrics" => {
                let cost = self.lives.borrow().cost();
                Answer::ok(METRICS, prometheus::metrics(&self.watch.look(), cost))
            }
            _ => Answer::refusal(Status::NotFound),
        };
        answer.trusted()
    }

    /// The dumps; the query says which tasks are in the table.
    fn json(self: &Rc<Self>, query: Option<&str>) -> Answer {
        let Some(selection) = Selection::parse(query) else {
            return Answer::refusal(Status::BadRequest);
        };
        let picture = self.watch.picture();
        let handles = match selection.is_plain() {
            true => Vec::new(),
            false => self.watch.observed().living().0,
        };
        let lives = self.lives.borrow();
        let shown = handles.iter().take(MOST_RUNTIMES);
        let tables = shown.map(|handle| {
            let mut selected =
                selection.select(cold::told(handle), |task| lives.polls(handle.id(), task));
            if let Some(seen) = picture.runtimes.iter().find(|seen| seen.id == handle.id()) {
                seen.dump.complete(handle, &mut selected.rows);
            }
            (handle.id(), selected)
        });
        let tables: Vec<(Id, Selected)> = tables.collect();
        let extra =
            Extra { cost: lives.cost(), polls: &|runtime, task| lives.polls(runtime, task) };
        Answer::ok("application/json", json::json(&picture, selection.rows(), &tables, &extra))
    }

    /// What the workers have done since the reader's last request.
    fn live(self: &Rc<Self>, query: Option<&str>) -> Answer {
        let Some(after) = positions(query) else {
            return Answer::refusal(Status::BadRequest);
        };
        let mut lives = self.lives.borrow_mut();
        if lives.ask(self.watch.observed()) {
            // Ended by itself, or with the page.
            drop(spawn_local(self.clone().follow()));
        }
        let of = |id: Id| {
            let id = id.to_string();
            after.iter().find(|(other, _)| *other == id).map_or((0, 0), |(_, after)| *after)
        };
        Answer::ok("application/json", lives.json(of))
    }

    /// Empties the rings for as long as the page is looked at.
    async fn follow(self: Rc<Self>) {
        while self.lives.borrow_mut().go_on() {
            sleep(PAUSE).await;
        }
    }
}

/// What `after=ID.BIN.SPAN,…` says: what the reader has of each runtime. `None` if it is something else.
fn positions(query: Option<&str>) -> Option<Vec<(String, (u64, u64))>> {
    let Some(query) = query else { return Some(Vec::new()) };
    let list = query.strip_prefix("after=")?.split(',').filter(|one| !one.is_empty());
    let position = |one: &str| {
        let (id, rest) = one.split_once('.')?;
        let (bin, span) = rest.split_once('.')?;
        Some((id.to_owned(), (bin.parse().ok()?, span.parse().ok()?)))
    };
    list.take(MOST_RUNTIMES).map(position).collect()
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
    use super::{Duration, positions, recording_time};

    #[test]
    fn what_the_reader_has_is_numbers_by_runtime() {
        assert_eq!(positions(None), Some(vec![]));
        assert_eq!(positions(Some("after=")), Some(vec![]));
        let two = vec![("1".to_owned(), (2, 3)), ("45".to_owned(), (0, 6))];
        assert_eq!(positions(Some("after=1.2.3,45.0.6")), Some(two));
        for query in
            ["", "x", "after=1", "after=1.2", "after=1.2.x", "after=1.-2.3", "before=1.2.3"]
        {
            assert_eq!(positions(Some(query)), None, "{query}");
        }
    }

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
