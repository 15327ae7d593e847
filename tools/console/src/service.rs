//! The calls of the protocol.

use crate::hub::Hub;
use console_api::instrument::instrument_server::Instrument;
use console_api::instrument::{
    InstrumentRequest, PauseRequest, PauseResponse, ResumeRequest, ResumeResponse, State,
    StateRequest, TaskDetailsRequest, Update,
};
use console_api::tasks::TaskDetails;
use futures_core::Stream;
use liten::sync::mpsc::Receiver;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tonic::{Request, Response, Status};

type Answer<T> = Result<Response<T>, Status>;

pub(crate) struct Service {
    hub: Arc<Hub>,
}

impl Service {
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        Self { hub }
    }
}

#[tonic::async_trait]
impl Instrument for Service {
    type WatchUpdatesStream = Messages<Update>;
    type WatchTaskDetailsStream = Messages<TaskDetails>;
    type WatchStateStream = Messages<State>;

    async fn watch_updates(&self, _: Request<InstrumentRequest>) -> Answer<Messages<Update>> {
        Ok(Response::new(Messages(self.hub.watch_updates())))
    }

    async fn watch_task_details(
        &self,
        request: Request<TaskDetailsRequest>,
    ) -> Answer<Messages<TaskDetails>> {
        let Some(id) = request.into_inner().id else {
            return Err(Status::invalid_argument("the request has no task id"));
        };
        Ok(Response::new(Messages(self.hub.watch_details(id.id))))
    }

    async fn watch_state(&self, _: Request<StateRequest>) -> Answer<Messages<State>> {
        Ok(Response::new(Messages(self.hub.watch_state())))
    }

    async fn pause(&self, _: Request<PauseRequest>) -> Answer<PauseResponse> {
        self.hub.pause(true);
        Ok(Response::new(PauseResponse {}))
    }

    async fn resume(&self, _: Request<ResumeRequest>) -> Answer<ResumeResponse> {
        self.hub.pause(false);
        Ok(Response::new(ResumeResponse {}))
    }
}

/// What comes out of a channel, as the stream that tonic sends.
pub(crate) struct Messages<T>(Receiver<T>);

impl<T> Stream for Messages<T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|message| message.map(Ok))
    }
}
