//! The messages of the service between the front and the shelf. Both send values in pieces.

/// Which value is asked for.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Key {
    #[prost(string, tag = "1")]
    pub key: String,
}

/// A part of a value.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Piece {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(bytes = "vec", tag = "2")]
    pub bytes: Vec<u8>,
    /// The length of the whole value.
    #[prost(uint64, tag = "3")]
    pub whole: u64,
}

/// The answer to a value that was put.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Kept {}

tonic::include_proto!("shelf.Shelf");

pub use shelf_client::ShelfClient;
pub use shelf_server::{Shelf, ShelfServer};

const LENGTH: usize = 4_096;

/// The pieces of a value: one without bytes, if it is empty.
#[must_use]
pub fn pieces_of(key: &str, value: &[u8]) -> Vec<Piece> {
    let whole = value.len() as u64;
    let piece = |bytes: &[u8]| Piece { key: key.to_owned(), bytes: bytes.to_owned(), whole };
    if value.is_empty() {
        return vec![piece(&[])];
    }
    value.chunks(LENGTH).map(piece).collect()
}
