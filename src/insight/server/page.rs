//! Which request gets what.

use super::access::Access;
use super::answer::{Answer, Status, TEXT};
use super::observed::Observed;
use super::picture::{Album, Picture};
use super::request::Request;
use crate::insight::{json, prometheus, report};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

const HTML: &str = include_str!("../page/index.html");
const SCRIPT: &str = include_str!("../page/page.js");
const STYLE: &str = include_str!("../page/page.css");
const ICON: &str = include_str!("../page/icon.svg");

/// The version that a scraper of Prometheus asks for.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) struct Page {
    access: Access,
    observed: Arc<Observed>,
    album: RefCell<Album>,
}

impl Page {
    pub(super) fn new(access: Access, observed: Arc<Observed>) -> Self {
        Self { access, observed, album: RefCell::default() }
    }

    /// The answer to the request whose head is `head`.
    pub(super) fn answer(&self, head: &[u8]) -> Answer {
        let request = match Request::parse(head) {
            Ok(request) => request,
            Err(status) => return Answer::refusal(status),
        };
        match self.refuse(&request).map_or_else(|| self.show(&request), Answer::refusal) {
            answer if request.method == "HEAD" => answer.without_body(),
            answer => answer,
        }
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
            "/text" => Answer::ok(TEXT, report::text(&self.picture())),
            "/json" => Answer::ok("application/json", json::json(&self.picture())),
            "/metrics" => Answer::ok(METRICS, prometheus::metrics(&self.picture())),
            _ => Answer::refusal(Status::NotFound),
        };
        answer.trusted()
    }

    fn picture(&self) -> Rc<Picture> {
        self.album.borrow_mut().picture(&self.observed)
    }
}
