//! Follows what the runtimes do while some watch, and tells them each second.

use crate::hub::Hub;
use crate::observed::Observed;
use crate::pace::Pace;
use crate::tasks::Tasks;
use liten::runtime::Handle;
use liten::time::{Duration, Instant, sleep};
use std::convert::Infallible;
use std::sync::Arc;

const UPDATE_INTERVAL: Duration = Duration::from_secs(1);
/// A walk through very many tasks takes long. So much of the time is left to others, to one part of walking.
const REST_PER_WALK: u32 = 10;

pub(crate) struct Follower {
    hub: Arc<Hub>,
    observed: Vec<Observed>,
}

impl Follower {
    pub(crate) fn new(hub: Arc<Hub>, runtimes: Vec<Handle>) -> Self {
        let observed = runtimes.into_iter().enumerate();
        let observed = observed.map(|(index, runtime)| Observed::new(index, runtime)).collect();
        Self { hub, observed }
    }

    pub(crate) async fn follow(mut self) -> Infallible {
        loop {
            self.hub.watched().await;
            self.follow_while_watched().await;
            self.observed.iter_mut().for_each(Observed::stop);
        }
    }

    async fn follow_while_watched(&mut self) {
        let (mut tasks, mut pace) = (Tasks::new(), Pace::new());
        let (mut next_update, mut next_walk) = (Instant::now(), Instant::now());
        while self.hub.is_watched() {
            let looks = self.observed.iter_mut().map(|observed| observed.look(&mut tasks));
            let (most, lost) =
                looks.fold((0, 0), |(most, all), (events, lost)| (events.max(most), all + lost));
            pace.seen(most, lost);
            if Instant::now() >= next_update && !self.hub.is_paused() {
                let begin = Instant::now();
                if begin >= next_walk {
                    for observed in &mut self.observed {
                        observed.start();
                        observed.walk(&mut tasks).await;
                    }
                    next_walk = Instant::now() + begin.elapsed() * REST_PER_WALK;
                }
                self.publish(&mut tasks);
                next_update = begin + UPDATE_INTERVAL;
            }
            sleep(pace.pause().min(next_update.saturating_duration_since(Instant::now()))).await;
        }
    }

    fn publish(&self, tasks: &mut Tasks) {
        let now = std::time::Instant::now();
        let everything = self.hub.has_newcomers().then(|| tasks.everything(now));
        self.hub.publish(&tasks.changes(now), everything.as_deref());
        self.hub.publish_details(|id| tasks.details(id, now));
        tasks.published();
    }
}
