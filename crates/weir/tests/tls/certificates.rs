//! Certificates that cannot be used keep the server from starting, and it says which, why, and what to
//! do.

use std::fs;
use std::path::Path;

use crate::authority::{Authority, Files, Kind};
use crate::support::{end_of, weir};

/// What `weir` says, which ends with an error.
fn refusal(flags: &[&str]) -> String {
    let mut said = Vec::new();
    for check in [false, true] {
        let mut command = weir();
        command.arg("serve").args(flags).args(["--listen", "127.0.0.1:0"]);
        if check {
            command.arg("--check");
        }
        let output = end_of(command);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        said.push(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    assert_eq!(said[0], said[1], "the check says the same");
    said.remove(0)
}

fn cut(file: &Path) {
    let text = fs::read(file).expect("a file");
    fs::write(file, &text[..text.len() / 2]).expect("a file");
}

#[test]
fn what_cannot_be_used_is_named_with_its_remedy() {
    let authority = Authority::new();
    let good = authority.files(Kind::P256, &["good.test"]);
    let other = authority.files(Kind::P256, &["other.test"]);
    let expired = authority.files(Kind::Expired, &["expired.test"]);
    let cut_chain = authority.files(Kind::P256, &["cut-chain.test"]);
    cut(&cut_chain.chain);
    let cut_key = authority.files(Kind::P256, &["cut-key.test"]);
    cut(&cut_key.key);
    let encrypted = authority.files(Kind::P256, &["encrypted.test"]);
    let text = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIF\n-----END ENCRYPTED PRIVATE KEY-----\n";
    fs::write(&encrypted.key, text).unwrap();
    let mismatched = Files { key: other.key.clone(), ..good.clone() };
    let missing = Files { key: authority.directory.path().join("missing.pem"), ..good.clone() };
    for (files, parts) in [
        (&expired, ["expired.test-chain.pem", "it has expired, on Thu, 02 Jan 2020", "renew it"]),
        (&cut_chain, ["cut-chain.test-chain.pem", "it is cut off", "copy it anew"]),
        (&cut_key, ["cut-key.test-key.pem", "it is cut off", "copy it anew"]),
        (&encrypted, ["encrypted.test-key.pem", "is encrypted", "openssl pkey"]),
        (&mismatched, ["good.test-chain.pem", "belongs to another certificate", "name the key"]),
        (&missing, ["missing.pem", "cannot be read", "No such file"]),
    ] {
        let said = refusal(&files.flags());
        for part in parts {
            assert!(said.contains(part), "{part:?} is not in {said}");
        }
        // One that is good does not hide it.
        assert_eq!(refusal(&[good.flags(), files.flags()].concat()), said);
    }
    let key = good.key.to_str().unwrap();
    let said = refusal(&[&good.flags()[..], &["--tls-client-ca", key]].concat());
    assert!(said.contains("good.test-key.pem: there is no certificate in it"), "{said}");
}

#[test]
fn each_certificate_needs_its_key() {
    let authority = Authority::new();
    let good = authority.files(Kind::P256, &["good.test"]);
    let mut command = weir();
    command.arg("serve").args(good.flags()).arg("--tls").arg(&good.chain);
    let output = end_of(command);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("`tls` names 2 and `tls_key` 1"), "{said}");
}
