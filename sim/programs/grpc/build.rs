//! Writes the client and the server of the service that `src/messages.rs` has the messages of.

use tonic_build::manual::{Builder, Method, MethodBuilder, Service};

fn method(name: &str, route: &str, input: &str, output: &str) -> MethodBuilder {
    let builder = Method::builder().name(name).route_name(route);
    builder.input_type(input).output_type(output).codec_path("tonic_prost::ProstCodec")
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let put = method("put", "Put", "super::Piece", "super::Kept").client_streaming();
    let get = method("get", "Get", "super::Key", "super::Piece").server_streaming();
    let shelf = Service::builder().package("shelf").name("Shelf");
    Builder::new().compile(&[shelf.method(put.build()).method(get.build()).build()]);
}
