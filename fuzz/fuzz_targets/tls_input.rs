//! Arbitrary bytes from a client to a server with TLS, and as the files of its certificate. The first byte
//! chooses how long the pieces are in which they come: that must not change whether the first message is
//! taken.

#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use weir_tls::{
    Accepted, Authorities, Certificate, CertificateStore, Hello, Plain, Preset, Server,
};

const CHAIN: &[u8] = include_bytes!("../../crates/weir-tls/src/certificates/samples/chain.pem");
const KEY: &[u8] = include_bytes!("../../crates/weir-tls/src/certificates/samples/key.pem");

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let store: Arc<CertificateStore> = CertificateStore::new();
    store.replace_files(vec![Certificate::from_pem(CHAIN, KEY).expect("a certificate")]);
    Server::new(&store, Preset::default(), None).expect("a server")
});

/// Whether a first message came, and what followed it in later pieces.
fn first_message(bytes: &[u8], piece: usize) -> Result<Option<(Accepted, &[u8])>, ()> {
    let mut hello = Hello::default();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(piece.min(rest.len()));
        rest = later;
        if let Some(accepted) = hello.receive(now).map_err(drop)? {
            return Ok(Some((accepted, rest)));
        }
    }
    Ok(None)
}

fuzz_target!(|data: &[u8]| {
    let [piece, bytes @ ..] = data else { return };
    let whole = first_message(bytes, bytes.len().max(1));
    let in_pieces = first_message(bytes, usize::from(*piece).max(1));
    if let Ok(Some(_)) = &whole {
        assert!(matches!(in_pieces, Ok(Some(_))), "what is taken at once is taken in pieces");
    }
    if let Ok(Some((accepted, mut rest))) = in_pieces
        && let Ok(mut session) = accepted.answer(&SERVER)
    {
        let mut room = [0; 100];
        while !rest.is_empty() && session.receive(&mut rest).is_ok() && session.process().is_ok() {
            while let Plain::Bytes(_) = session.take(&mut room) {}
        }
        let mut sent = Vec::new();
        while session.has_records() && session.send(&mut sent).is_ok() {}
    }
    let _ = Certificate::from_pem(bytes, KEY);
    let _ = Certificate::from_pem(CHAIN, bytes);
    let _ = Authorities::from_pem(bytes);
});
