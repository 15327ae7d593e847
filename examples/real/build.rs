//! Writes the client and the server of the service in `src/words.rs`.
//!
//! The usual way begins with a .proto file and wants protoc, which not every system has. This is the same
//! generator, told the same things in Rust.

use tonic_build::manual::{Builder, Method, MethodBuilder, Service};

fn method(name: &str, route: &str, input: &str, output: &str) -> MethodBuilder {
    let builder = Method::builder().name(name).route_name(route);
    builder.input_type(input).output_type(output).codec_path("tonic_prost::ProstCodec")
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let count = method("count", "Count", "super::Text", "super::Total");
    let split = method("split", "Split", "super::Recital", "super::Text");
    let tally = method("tally", "Tally", "super::Text", "super::Total");
    let words = Service::builder()
        .package("words")
        .name("Words")
        .method(count.build())
        .method(split.server_streaming().build())
        .method(tally.client_streaming().server_streaming().build())
        .build();
    // The program that connects brings a connection; the generator's own way to one is tokio's.
    Builder::new().build_transport(false).compile(&[words]);
}
