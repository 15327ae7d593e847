//! The spans of a layer that are open, by their ids.

use crate::parts::Parts;
use crate::span::Span;
use std::collections::HashMap;
use std::sync::Arc;
use tracing_core::span::Id;

#[derive(Debug, Default)]
pub(crate) struct OpenSpans(Parts<HashMap<u64, Arc<Span>>>);

impl OpenSpans {
    pub(crate) fn get(&self, id: &Id) -> Option<Arc<Span>> {
        self.0.of(id.into_u64()).get(&id.into_u64()).cloned()
    }

    pub(crate) fn insert(&self, id: &Id, span: Arc<Span>) {
        self.0.of(id.into_u64()).insert(id.into_u64(), span);
    }

    pub(crate) fn remove(&self, id: &Id) -> Option<Arc<Span>> {
        self.0.of(id.into_u64()).remove(&id.into_u64())
    }

    pub(crate) fn close_all(&self) {
        self.0.each().for_each(|part| part.values().for_each(|span| span.close()));
    }
}
