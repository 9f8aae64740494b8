//! Secrets at load: what is taken off, what is refused, what is never shown.

use super::*;
use crate::provider::{MAX_SECRET_BYTES, SecretFault};
use std::error::Error as _;

fn fault(bytes: &[u8]) -> Option<SecretFault> {
    Secret::from_bytes("/etc/onced/s", bytes).err().map(|error| error.fault)
}

#[test]
fn one_final_newline_is_the_editors() {
    for bytes in [&b"abc"[..], b"abc\n", b"abc\r\n"] {
        assert_eq!(Secret::from_bytes("s", bytes).unwrap().text(), "abc");
    }
    for text in
        ["It's a Secret to Everybody", "\"one mark", "it's'", "a\"b", "päss", "'", &"x".repeat(MAX_SECRET_BYTES)]
    {
        assert_eq!(Secret::from_bytes("s", text.as_bytes()).unwrap().text(), text);
    }
}

#[test]
fn what_nobody_means_is_refused_with_its_place() {
    let invisible = |position, code, name| SecretFault::Invisible { position, code, name };
    let blank = |end, position| SecretFault::Blank { end, position };
    let rows: [(&[u8], SecretFault); 18] = [
        (b"", SecretFault::Empty),
        (b"\n", SecretFault::Empty),
        (b"\r\n", SecretFault::Empty),
        (b" abc", blank("beginning", 1)),
        (b"abc ", blank("end", 4)),
        (b"abc\n\n", blank("end", 4)),
        (b"abc\r", blank("end", 4)),
        ("abc\u{a0}".as_bytes(), blank("end", 4)),
        (b"\"abc\"\n", SecretFault::Quoted { last: 5 }),
        (b"'abc'", SecretFault::Quoted { last: 5 }),
        ("“abc”".as_bytes(), SecretFault::Quoted { last: 5 }),
        (b"\xef\xbb\xbfabc", invisible(1, 0xFEFF, "byte order mark")),
        ("ab\u{200b}c".as_bytes(), invisible(3, 0x200B, "zero-width character")),
        ("abc\u{2060}".as_bytes(), invisible(4, 0x2060, "zero-width character")),
        (b"ab\ncd\n", invisible(3, 0x0A, "control character")),
        (b"ab\0cd", invisible(3, 0, "control character")),
        (b"ab\xffcd", SecretFault::NotText { byte: 3 }),
        (&[b'x'; MAX_SECRET_BYTES + 1], SecretFault::TooLong { bytes: MAX_SECRET_BYTES + 1 }),
    ];
    for (bytes, expected) in rows {
        assert_eq!(fault(bytes), Some(expected), "{}", bytes[..bytes.len().min(40)].escape_ascii());
    }
}

#[test]
fn no_message_and_no_debug_output_shows_a_secret() {
    let marker = "tell-nobody";
    let secret = Secret::from_bytes("secret 1", marker.as_bytes()).unwrap();
    let verifier = with_secrets(&built_in("stripe"), std::slice::from_ref(&secret), None).unwrap();
    let refused = Secret::from_bytes("secret 1", format!(" {marker}").as_bytes()).unwrap_err();
    let undecodable = with_secrets(&built_in("standard-webhooks"), std::slice::from_ref(&secret), None).unwrap_err();
    let texts = [
        format!("{secret:?}"),
        format!("{verifier:?}"),
        format!("{refused:?} {refused} {}", refused.fault),
        format!("{undecodable:?} {undecodable} {}", undecodable.source().unwrap()),
    ];
    for text in texts {
        assert!(!text.contains(marker) && text.contains("secret 1"), "{text}");
    }
}

#[test]
fn a_base64_secret_is_decoded_with_or_without_prefix_and_padding() {
    let standard = built_in("standard-webhooks");
    let signed = [b"msg_1.1700000000.", BODY].concat();
    for (text, key) in [("whsec_AAECAw==", &[0, 1, 2, 3][..]), ("AAECAw", &[0, 1, 2, 3]), ("whsec_+/8=", &[0xFB, 0xFF])]
    {
        let verifier = with_secrets(&standard, &[secret(text)], None).unwrap();
        let digest = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, mac(key, &signed));
        let signature = format!("v1,{digest}");
        let headers =
            lines(&[("webhook-id", "msg_1"), ("webhook-timestamp", "1700000000"), ("webhook-signature", &signature)]);
        assert_eq!(verdict(&verifier, &headers), Ok(()), "{text}");
    }
    for text in ["whsec_", "whsec_AAEC*w==", "whsec_AA-_", "whsk_AAECAw==", "A", "AAECAx"] {
        let error = with_secrets(&standard, &[secret(text)], None).unwrap_err();
        assert!(matches!(error, VerifierError::Secret(refused) if refused.fault == SecretFault::NotBase64), "{text}");
    }
}
