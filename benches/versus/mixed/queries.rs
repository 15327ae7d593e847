//! Queries that compute, beside a service that answers: in one runtime, and in two, as databases that are
//! built on tokio are advised to do (tokio#8085). In one runtime, liten's are declared as bulk.

use super::lane::{Echo, Mixed};
use crate::contest::{Start, boxed};
use crate::runtimes::{Liten, Tokio};

/// The load in one runtime of liten's, and beside it: without queries, in two runtimes, and on tokio.
pub(super) fn lanes(of: Echo) -> Vec<(&'static str, Start)> {
    let (alone, apart) = (Echo { burners: 0, ..of }, Echo { apart: true, ..of });
    vec![
        ("liten", boxed(move || Mixed::<Liten>::start(of))),
        ("no queries", boxed(move || Mixed::<Liten>::start(alone))),
        ("two of liten", boxed(move || Mixed::<Liten>::start(apart))),
        ("tokio", boxed(move || Mixed::<Tokio>::start(of))),
        ("two of tokio", boxed(move || Mixed::<Tokio>::start(apart))),
    ]
}
