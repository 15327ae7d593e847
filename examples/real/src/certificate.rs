//! A certificate that an example makes for itself when it starts.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig, crypto};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Returns the provider of ciphers, by name: rustls chooses by itself only if no other one has been compiled
/// in, and any library in the tree may bring one.
fn provider() -> Arc<crypto::CryptoProvider> {
    Arc::new(crypto::ring::default_provider())
}

/// Makes a certificate for `localhost` and 127.0.0.1, writes it to `file` for the clients, and returns the
/// configuration of a server that has the key. The key is written nowhere.
///
/// # Errors
///
/// Returns an error if the file cannot be written.
pub fn server(file: &Path) -> io::Result<ServerConfig> {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
    fs::write(file, made.cert.pem())?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key)
        })
        .map_err(io::Error::other)
}

/// Returns the configuration of a client that trusts the certificates in `file` and no others.
///
/// # Errors
///
/// Returns an error if the file cannot be read or is not made of certificates.
pub fn client(file: &Path) -> io::Result<ClientConfig> {
    let text = fs::read(file)?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(io::Error::other)?;
        roots.add(certificate).map_err(io::Error::other)?;
    }
    if roots.is_empty() {
        return Err(io::Error::other(format!("no certificate in {}", file.display())));
    }
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
