//! OpenTelemetry: a span for each task, and the runtime's metrics, sent to a collector.
//!
//! ```sh
//! cargo run -p real --example opentelemetry -- 127.0.0.1:4318   # where a collector takes OTLP over HTTP
//! ```
//!
//! The program handles three orders, each in a task that spawns one more, and ends. The spans of the tasks
//! form trees as the tasks have spawned each other, and what the program traces itself, here `pack`, lies in
//! the span of its task. The runtime has no code for OpenTelemetry: this uses the hooks of [`Builder`] and
//! [`Handle::metrics`], and a program without it pays nothing. The hooks take one lock twice in each poll: a
//! service with very short polls divides it.

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Request, Response};
use liten::hyper::LitenIo;
use liten::net::TcpStream;
use liten::runtime::{Builder, Handle, Runtime, TaskMeta};
use liten::task::{self, AbortOnDropHandle, TaskId};
use liten::time::{Duration, sleep, timeout};
use opentelemetry::metrics::MeterProvider;
use opentelemetry::trace::{Span, SpanKind, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, ContextGuard, KeyValue};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use std::cell::RefCell;
use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use std::{env, io};

/// How long the collector may take for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most bytes of an answer that are read.
const LONGEST_ANSWER: usize = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let collector = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:4318".to_owned());
    // A runtime of its own sends: its tasks are not to be traced, and it also sends while the workers of the
    // other one are blocked.
    let sender = Builder::new_multi_thread().worker_threads(1).name("telemetry").build()?;
    let client = Client(sender.handle().clone());
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(client.clone())
        .with_endpoint(format!("http://{collector}/v1/traces"))
        .build()?;
    let tracers = SdkTracerProvider::builder().with_batch_exporter(exporter).build();
    let exporter = MetricExporter::builder()
        .with_http()
        .with_http_client(client)
        .with_endpoint(format!("http://{collector}/v1/metrics"))
        .build()?;
    let meters = SdkMeterProvider::builder().with_periodic_exporter(exporter).build();

    let tracer = tracers.tracer("orders");
    let runtime = traced(tracer.clone())?;
    measured(&meters, runtime.handle());
    runtime.block_on(orders(tracer));
    said("metrics", meters.shutdown());
    // All tasks have ended with it, and so have their spans.
    drop(runtime);
    said("spans", tracers.shutdown());
    Ok(())
}

/// A collector that is away is no reason to call the work a failure.
fn said(what: &str, sent: OTelSdkResult) {
    if let Err(error) = sent {
        eprintln!("{what} were not sent: {error}");
    }
}

async fn orders(tracer: SdkTracer) {
    let order = |number: u64| {
        let tracer = tracer.clone();
        async move {
            let stock = task::Builder::new().name("stock").spawn(sleep(Duration::from_millis(2)));
            let mut span = tracer.start("pack");
            span.set_attribute(KeyValue::new("order", number as i64));
            sleep(Duration::from_millis(1)).await;
            Span::end(&mut span);
            _ = stock.expect("a runtime is here").await;
        }
    };
    let orders: Vec<_> = (1..=3)
        .map(|number| task::Builder::new().name(&format!("order {number}")).spawn(order(number)))
        .collect();
    for order in orders {
        _ = order.expect("a runtime is here").await;
    }
}

/// Returns a runtime with a span for each of its tasks, from its spawn to its end. Blocking work has none.
fn traced(tracer: SdkTracer) -> io::Result<Runtime> {
    let tasks = Arc::new(Tasks::default());
    let (spawned, polled, stopped, ended) =
        (Arc::clone(&tasks), Arc::clone(&tasks), Arc::clone(&tasks), tasks);
    Builder::new_multi_thread()
        .on_task_spawn(move |task| spawned.begin(task, &tracer))
        .on_before_task_poll(move |task| polled.enter(task.id()))
        .on_after_task_poll(move |task| stopped.leave(task.id()))
        .on_task_terminate(move |task| ended.end(task.id()))
        .build()
}

/// The spans of the tasks that are alive.
#[derive(Default)]
struct Tasks(Mutex<HashMap<TaskId, Traced>>);

struct Traced {
    /// With the task's span in it.
    context: Context,
    polls: i64,
    busy: Duration,
    began: Option<Instant>,
}

thread_local! {
    /// The contexts of the tasks that this thread polls: several, if a poll runs another task.
    static ENTERED: RefCell<Vec<ContextGuard>> = const { RefCell::new(Vec::new()) };
}

impl Tasks {
    fn with<T>(&self, task: TaskId, change: impl FnOnce(&mut Traced) -> T) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&task).map(change)
    }

    fn begin(&self, task: &TaskMeta<'_>, tracer: &SdkTracer) {
        let place = task.spawned_at();
        let name = task.name().map_or_else(|| place.to_string(), str::to_owned);
        let span = tracer.span_builder(name).with_kind(SpanKind::Internal).with_attributes([
            KeyValue::new("code.file.path", place.file()),
            KeyValue::new("code.line.number", i64::from(place.line())),
            KeyValue::new("liten.task.id", u64::from(task.id()) as i64),
        ]);
        // The task that spawns is in its context, so its span is the parent.
        let context = Context::current_with_span(span.start(tracer));
        let traced = Traced { context, polls: 0, busy: Duration::ZERO, began: None };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(task.id(), traced);
    }

    fn enter(&self, task: TaskId) {
        let context = self.with(task, |traced| {
            traced.began = Some(Instant::now());
            traced.context.clone()
        });
        let guard = context.unwrap_or_default().attach();
        ENTERED.with_borrow_mut(|entered| entered.push(guard));
    }

    fn leave(&self, task: TaskId) {
        drop(ENTERED.with_borrow_mut(Vec::pop));
        self.with(task, |traced| {
            traced.polls += 1;
            traced.busy += traced.began.take().map(|began| began.elapsed()).unwrap_or_default();
        });
    }

    fn end(&self, task: TaskId) {
        let traced = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&task);
        if let Some(Traced { context, polls, busy, .. }) = traced {
            let span = context.span();
            span.set_attribute(KeyValue::new("liten.task.polls", polls));
            span.set_attribute(KeyValue::new("liten.task.busy", busy.as_secs_f64()));
            span.end();
        }
    }
}

/// Has the runtime's metrics read each time when metrics are sent.
fn measured(meters: &SdkMeterProvider, handle: &Handle) {
    let meter = meters.meter("liten");
    let alive = handle.clone();
    let gauge = meter.u64_observable_gauge("liten.tasks.alive").with_callback(move |observer| {
        observer.observe(alive.metrics().num_alive_tasks() as u64, &[]);
    });
    _ = gauge.build();
    let of_workers = |name: &'static str, unit: &'static str, read: fn(&Handle, usize) -> f64| {
        let handle = handle.clone();
        let counter =
            meter.f64_observable_counter(name).with_unit(unit).with_callback(move |observer| {
                for worker in 0..handle.metrics().num_workers() {
                    observer
                        .observe(read(&handle, worker), &[KeyValue::new("worker", worker as i64)]);
                }
            });
        _ = counter.build();
    };
    of_workers("liten.worker.polls", "{poll}", |handle, worker| {
        handle.metrics().worker_poll_count(worker) as f64
    });
    of_workers("liten.worker.busy", "s", |handle, worker| {
        handle.metrics().worker_total_busy_duration(worker).as_secs_f64()
    });
}

/// The HTTP client of the exporters, which wait on threads of their own. It runs in that runtime.
#[derive(Debug, Clone)]
struct Client(Handle);

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        self.0.spawn(async { timeout(PATIENCE, send(request)).await? }).await?
    }
}

async fn send(request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let authority = request.uri().authority().ok_or("an address without a host")?;
    let host = authority.to_string();
    let stream = TcpStream::connect((
        authority.host().trim_matches(['[', ']']),
        authority.port_u16().unwrap_or(80),
    ))
    .await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(LitenIo::new(stream)).await?;
    let connection = AbortOnDropHandle::new(liten::spawn(connection));
    let (mut head, body) = request.into_parts();
    head.headers.insert(hyper::header::HOST, host.parse()?);
    head.uri = head.uri.path().parse()?;
    let answer = sender.send_request(Request::from_parts(head, Full::new(body))).await?;
    let (head, body) = answer.into_parts();
    let body = Limited::new(body, LONGEST_ANSWER).collect().await?.to_bytes();
    drop(connection);
    Ok(Response::from_parts(head, body))
}
