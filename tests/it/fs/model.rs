//! A file beside std's: the same operations on both, in sequences that proptest makes up and shortens. The
//! bytes, the positions and the contents are equal at every step, whichever traits are used, whatever is
//! given up in between, and however little one call moves.

use super::{Folder, pool};
use crate::support::cases::cases;
use crate::support::guard::within;
use crate::support::loopback::poll_once;
use liten::fs::{File, OpenOptions};
use proptest::collection::vec;
use proptest::prelude::*;
use std::future::poll_fn;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::pin::{Pin, pin};
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
enum Face {
    Futures,
    Tokio,
}

#[derive(Debug, Clone)]
enum Step {
    Read(Face, usize),
    Write(Face, Vec<u8>),
    Seek(Face, SeekFrom),
    Flush(Face),
    SetLen(u16),
    SyncAll,
    Metadata,
    SetMaxBufSize(usize),
    /// Takes over at the position of a clone.
    Clone,
    /// Through std and back.
    ThroughStd,
    /// After a flush.
    Reopen,
    GiveUpRead(Face, usize),
    GiveUpWrite(Vec<u8>),
    GiveUpSeek(u16),
    GiveUpMetadata,
}

fn face() -> impl Strategy<Value = Face> {
    prop_oneof![Just(Face::Futures), Just(Face::Tokio)]
}

fn place() -> impl Strategy<Value = SeekFrom> {
    prop_oneof![
        (0u64..700).prop_map(SeekFrom::Start),
        (-400i64..400).prop_map(SeekFrom::Current),
        (-400i64..100).prop_map(SeekFrom::End),
        Just(SeekFrom::Current(0)),
        Just(SeekFrom::Current(i64::MIN)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (face(), 0..300usize).prop_map(|(face, count)| Step::Read(face, count)),
        6 => (face(), vec(any::<u8>(), 0..300)).prop_map(|(face, bytes)| Step::Write(face, bytes)),
        4 => (face(), place()).prop_map(|(face, place)| Step::Seek(face, place)),
        2 => face().prop_map(Step::Flush),
        2 => (0..700u16).prop_map(Step::SetLen),
        1 => Just(Step::SyncAll),
        1 => Just(Step::Metadata),
        1 => (1..400usize).prop_map(Step::SetMaxBufSize),
        1 => Just(Step::Clone),
        1 => Just(Step::ThroughStd),
        1 => Just(Step::Reopen),
        4 => (face(), 0..300usize).prop_map(|(face, count)| Step::GiveUpRead(face, count)),
        2 => vec(any::<u8>(), 0..300).prop_map(Step::GiveUpWrite),
        2 => (0..700u16).prop_map(Step::GiveUpSeek),
        1 => Just(Step::GiveUpMetadata),
    ]
}

struct Pair<'a> {
    folder: &'a Folder,
    append: bool,
    ours: File,
    std: std::fs::File,
}

impl<'a> Pair<'a> {
    async fn open(folder: &'a Folder, append: bool) -> Self {
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).append(append).create(true).truncate(false);
        let ours = OpenOptions::from(options.clone()).open(folder.join("ours")).await.unwrap();
        Self { folder, append, ours, std: options.open(folder.join("std")).unwrap() }
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Read(face, count) => {
                let bytes = read(&mut self.ours, face, count).await;
                self.check_read(&bytes, count);
            }
            Step::GiveUpRead(face, count) => {
                let given = poll_once(&mut pin!(read(&mut self.ours, face, count))).await;
                if let Some(bytes) = given {
                    self.check_read(&bytes, count);
                }
            }
            Step::Write(face, bytes) => {
                let count = write(&mut self.ours, face, &bytes).await;
                assert!(count > 0 || bytes.is_empty());
                self.std.write_all(&bytes[..count]).unwrap();
            }
            Step::GiveUpWrite(bytes) => {
                let written =
                    poll_once(&mut pin!(write(&mut self.ours, Face::Futures, &bytes))).await;
                self.std.write_all(&bytes[..written.unwrap_or(0)]).unwrap();
            }
            Step::Seek(face, place) => {
                let (ours, std) = (seek(&mut self.ours, face, place).await, self.std.seek(place));
                assert_eq!(ours.map_err(|error| error.kind()), std.map_err(|error| error.kind()));
            }
            Step::GiveUpSeek(place) => {
                let place = SeekFrom::Start(place.into());
                drop(poll_once(&mut pin!(seek(&mut self.ours, Face::Futures, place))).await);
                // It may have taken place or not, but nowhere else.
                let old = self.std.stream_position().unwrap();
                let new = seek(&mut self.ours, Face::Futures, SeekFrom::Current(0)).await.unwrap();
                assert!(new == old || SeekFrom::Start(new) == place, "{old} {place:?} {new}");
                self.std.seek(SeekFrom::Start(new)).unwrap();
            }
            Step::Flush(face) => self.flush(face).await,
            Step::SetLen(length) => {
                self.ours.set_len(length.into()).await.unwrap();
                self.std.set_len(length.into()).unwrap();
            }
            Step::SyncAll => self.ours.sync_all().await.unwrap(),
            Step::Metadata => {
                let length = self.ours.metadata().await.unwrap().len();
                assert_eq!(length, self.std.metadata().unwrap().len());
            }
            Step::GiveUpMetadata => drop(poll_once(&mut pin!(self.ours.metadata())).await),
            Step::SetMaxBufSize(size) => self.ours.set_max_buf_size(size),
            Step::Clone => self.ours = self.ours.try_clone().await.unwrap(),
            Step::ThroughStd => {
                let folder = self.folder;
                let open = Self::open(folder, self.append).await.ours;
                self.ours = std::mem::replace(&mut self.ours, open).into_std().await.into();
            }
            Step::Reopen => {
                self.flush(Face::Futures).await;
                *self = Self::open(self.folder, self.append).await;
            }
        }
    }

    /// Fewer bytes than asked for may come, but none only at the end of the file.
    #[track_caller]
    fn check_read(&mut self, bytes: &[u8], asked: usize) {
        let mut expected = vec![0; if bytes.is_empty() { asked } else { bytes.len() }];
        let count = self.std.read(&mut expected).unwrap();
        assert_eq!(bytes, &expected[..count]);
    }

    async fn flush(&mut self, face: Face) {
        let mut file = Pin::new(&mut self.ours);
        poll_fn(|cx| match face {
            Face::Futures => liten::io::AsyncWrite::poll_flush(file.as_mut(), cx),
            Face::Tokio => tokio::io::AsyncWrite::poll_flush(file.as_mut(), cx),
        })
        .await
        .unwrap();
        let read = |name: &Path| std::fs::read(self.folder.join(name)).unwrap();
        assert!(read("ours".as_ref()) == read("std".as_ref()), "the contents differ");
    }
}

async fn read(file: &mut File, face: Face, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    let count = match face {
        Face::Futures => liten::io::AsyncReadExt::read(file, &mut bytes).await,
        Face::Tokio => tokio::io::AsyncReadExt::read(file, &mut bytes).await,
    };
    bytes.truncate(count.unwrap());
    bytes
}

async fn write(file: &mut File, face: Face, bytes: &[u8]) -> usize {
    let count = match face {
        Face::Futures => liten::io::AsyncWriteExt::write(file, bytes).await,
        Face::Tokio => tokio::io::AsyncWriteExt::write(file, bytes).await,
    };
    count.unwrap()
}

async fn seek(file: &mut File, face: Face, place: SeekFrom) -> std::io::Result<u64> {
    match face {
        Face::Futures => liten::io::AsyncSeekExt::seek(file, place).await,
        Face::Tokio => tokio::io::AsyncSeekExt::seek(file, place).await,
    }
}

#[test]
fn a_file_behaves_like_stds_whatever_is_done() {
    within(Duration::from_secs(600), || {
        let runtime = pool(2);
        proptest!(cases(300), |(append: bool, steps in vec(step(), 0..60))| {
            let folder = Folder::new();
            runtime.block_on(async {
                let mut pair = Pair::open(&folder, append).await;
                for step in steps.clone() {
                    pair.step(step).await;
                }
                pair.step(Step::Flush(Face::Futures)).await;
            });
        });
    });
}
