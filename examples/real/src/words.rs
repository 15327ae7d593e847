//! A gRPC service that counts words, for its server and its client. As a .proto file it would be
//!
//! ```proto
//! package words;
//!
//! service Words {
//!   rpc Count(Text) returns (Total);
//!   rpc Split(Recital) returns (stream Text);
//!   rpc Tally(stream Text) returns (stream Total);
//! }
//! ```
//!
//! with the messages below. `build.rs` describes the same service for the generator of its code.

/// Some text.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Text {
    /// Words with white space between them.
    #[prost(string, tag = "1")]
    pub text: String,
}

/// A text that is to be given back word by word.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Recital {
    /// Words with white space between them.
    #[prost(string, tag = "1")]
    pub text: String,
    /// How many milliseconds to wait before each word.
    #[prost(uint32, tag = "2")]
    pub pause: u32,
}

/// What has been counted.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Total {
    /// How many words.
    #[prost(uint64, tag = "1")]
    pub words: u64,
    /// How many bytes in UTF-8, with the white space.
    #[prost(uint64, tag = "2")]
    pub bytes: u64,
}

impl Total {
    /// Counts `text` in.
    pub fn add(&mut self, text: &str) {
        self.words += text.split_whitespace().count() as u64;
        self.bytes += text.len() as u64;
    }
}

include!(concat!(env!("OUT_DIR"), "/words.Words.rs"));
