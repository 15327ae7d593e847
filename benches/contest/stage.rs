//! Criterion's side: each row is a group with one function per runtime.

use crate::row::Row;
use crate::runtimes::{Liten, Runtime, Smol, Tokio};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput};
use std::time::Duration;

/// The settings of all benches: short, because small differences are measured by `versus`, which
/// alternates.
pub(crate) fn criterion() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(600))
        .nresamples(10_000)
        .configure_from_args()
}

pub(crate) fn run(
    criterion: &mut Criterion,
    title: &str,
    workers: usize,
    liten: Vec<Row<Liten>>,
    tokio: Vec<Row<Tokio>>,
    smol: Vec<Row<Smol>>,
) {
    for ((liten, tokio), smol) in liten.iter().zip(&tokio).zip(&smol) {
        let mut group = criterion.benchmark_group(format!("{title}/{}", liten.name));
        group.sampling_mode(SamplingMode::Flat);
        group.throughput(Throughput::Elements(liten.operations));
        measure(&mut group, liten, workers);
        measure(&mut group, tokio, workers);
        measure(&mut group, smol, workers);
        group.finish();
    }
}

fn measure<R: Runtime>(group: &mut BenchmarkGroup<'_, WallTime>, row: &Row<R>, workers: usize) {
    let runtime = R::start(workers);
    group.bench_function(R::NAME, |bencher| {
        bencher.iter_custom(|iterations| (row.run)(&runtime, iterations));
    });
}
