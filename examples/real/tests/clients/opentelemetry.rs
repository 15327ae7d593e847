//! `opentelemetry` with a collector that reads the messages of the protocol.

use crate::process::{self, Example};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread::{self, JoinHandle};

/// What the collector was sent.
#[derive(Default)]
struct Received {
    spans: Vec<Span>,
    /// The names, with how many points each had at last.
    metrics: HashMap<String, usize>,
}

/// Serves until the listener's first connection after `/end`.
fn collector(listener: TcpListener) -> JoinHandle<Received> {
    thread::spawn(move || {
        let mut received = Received::default();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (path, body) = request(&mut stream);
            match &path[..] {
                "/v1/traces" => {
                    let message = ExportTraceServiceRequest::decode(&body[..]).unwrap();
                    let scopes = message.resource_spans.into_iter().flat_map(|of| of.scope_spans);
                    received.spans.extend(scopes.flat_map(|scope| scope.spans));
                }
                "/v1/metrics" => {
                    let message = ExportMetricsServiceRequest::decode(&body[..]).unwrap();
                    let scopes =
                        message.resource_metrics.into_iter().flat_map(|of| of.scope_metrics);
                    for metric in scopes.flat_map(|scope| scope.metrics) {
                        let points = match metric.data {
                            Some(Data::Gauge(gauge)) => gauge.data_points.len(),
                            Some(Data::Sum(sum)) => sum.data_points.len(),
                            _ => 0,
                        };
                        received.metrics.insert(metric.name, points);
                    }
                }
                _ => break,
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        }
        received
    })
}

fn request(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    while line != "\r\n" && !line.is_empty() {
        line.clear();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (path, body)
}

fn number(span: &Span, key: &str) -> i64 {
    let attribute = span.attributes.iter().find(|attribute| attribute.key == key);
    match attribute.and_then(|attribute| attribute.value.as_ref()?.value.as_ref()) {
        Some(Value::IntValue(number)) => *number,
        other => panic!("{key} of {} is {other:?}", span.name),
    }
}

#[test]
fn a_collector_gets_a_span_for_each_task_and_the_metrics() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let collector = collector(listener);
    let mut command = Command::new(process::path("opentelemetry"));
    Example::start("opentelemetry", command.arg(address.to_string())).success();
    TcpStream::connect(address).unwrap().write_all(b"GET /end HTTP/1.1\r\n\r\n").unwrap();
    let received = collector.join().unwrap();

    let spans = |name: &str| -> Vec<&Span> {
        received.spans.iter().filter(|span| span.name == name).collect()
    };
    for order in 1..=3 {
        let [order] = spans(&format!("order {order}"))[..] else {
            panic!("{order}: {:?}", received.spans);
        };
        assert!(order.parent_span_id.is_empty(), "the future of block_on is no task: {order:?}");
        assert!(number(order, "liten.task.polls") >= 2, "{order:?}");
        let within = |name: &str| {
            spans(name).into_iter().filter(|span| span.parent_span_id == order.span_id).count()
        };
        assert_eq!((within("stock"), within("pack")), (1, 1), "{:?}", received.spans);
    }
    assert_eq!(received.spans.len(), 9, "{:?}", received.spans);
    for span in &received.spans {
        assert!(span.end_time_unix_nano > span.start_time_unix_nano, "{span:?}");
    }
    let metrics = &received.metrics;
    assert_eq!(metrics.get("liten.tasks.alive"), Some(&1), "{metrics:?}");
    assert!(metrics.get("liten.worker.polls").is_some_and(|&workers| workers > 0), "{metrics:?}");
    assert!(metrics.get("liten.worker.busy").is_some_and(|&workers| workers > 0), "{metrics:?}");
}

/// Telemetry is no reason for a program to fail.
#[test]
fn without_a_collector_the_program_says_so_and_does_its_work() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut command = Command::new(process::path("opentelemetry"));
    let mut program = Example::start("opentelemetry", command.arg(address.to_string()));
    let (is_success, _) = program.end();
    let said = program.said();
    assert!(is_success && said.iter().any(|line| line.contains("were not sent: ")), "{said:?}");
}
