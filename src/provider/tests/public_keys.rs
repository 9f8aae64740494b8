//! Public keys at load: in which spellings they are taken, and that a wrong one is refused where a person is looking.

use super::*;
use crate::provider::SecretFault;
use std::error::Error as _;

const ED25519_HEX: &str = "ccbaa755bcf59d45dc82d45d6dfd8a0f5649bd4c69ca6754ba56a78e1202533e";
const ED25519_PEM: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAzLqnVbz1nUXcgtRdbf2KD1ZJvUxpymdUulanjhICUz4=
-----END PUBLIC KEY-----";
const P256_PEM: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEGsbhRxnJxuKWVgvcqSn0luHZA8of
jYa9Ur5c4IAmrEdc+7J05BLzd/8Vy1GFgbIhjt+bIpi1M+nBaLyOGQhGLg==
-----END PUBLIC KEY-----";
/// A point of another curve.
const P384_PEM: &str = "-----BEGIN PUBLIC KEY-----
MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEFJ70olJtNXpueAF4li2177NGzAemJ4b/
b06hEnBjZuK7uPFEE8t2mmO8liEh7R0ZLRDvRe7rJ775QpQye6X4BDSZOHd908Jx
Wjpd3Q3in0Kl09r4AjyJrw/3ew/KVxg7
-----END PUBLIC KEY-----";
const RSA_PEM: &str = "-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAxY+k1/k4AzT7fq1/SVfB
xxKujLwGk6RH0A/XLWkhERbssU0Oa4KdDVj2r9tNiNtNk02QIivJvKJ5fzVmCF0t
FDWq91nsbrOCQLIev37DXYwj0ILYPwDFJsdp7HrfX8jFdt4aHBMPmqiBhjze8rpg
G5/pgR9HgMRP7gk+7YRDMf0xuY+whDZy2qCetzcEP8fxRoEul7p6qkH4wLIHAx0R
Xo2DFOQkv6bXBBrcDlS+AWgnsCqUOKKT5EXZQGBsWAx+/qTZrV//u9BxiJv+bt9S
IrBzOwnR4hphqEVSLr3486S5T4P2n/+tFkaitE2NsiTVG25H0KVxViMIZNtnaPKK
VwIDAQAB
-----END PUBLIC KEY-----";
const RSA_CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----
MIICtzCCAZ+gAwIBAgIBBzANBgkqhkiG9w0BAQsFADAWMRQwEgYDVQQDDAtzbnMu
ZXhhbXBsZTAeFw0yMzAxMDEwMDAwMDBaFw0yNDAxMDEwMDAwMDBaMBYxFDASBgNV
BAMMC3Nucy5leGFtcGxlMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA
xY+k1/k4AzT7fq1/SVfBxxKujLwGk6RH0A/XLWkhERbssU0Oa4KdDVj2r9tNiNtN
k02QIivJvKJ5fzVmCF0tFDWq91nsbrOCQLIev37DXYwj0ILYPwDFJsdp7HrfX8jF
dt4aHBMPmqiBhjze8rpgG5/pgR9HgMRP7gk+7YRDMf0xuY+whDZy2qCetzcEP8fx
RoEul7p6qkH4wLIHAx0RXo2DFOQkv6bXBBrcDlS+AWgnsCqUOKKT5EXZQGBsWAx+
/qTZrV//u9BxiJv+bt9SIrBzOwnR4hphqEVSLr3486S5T4P2n/+tFkaitE2NsiTV
G25H0KVxViMIZNtnaPKKVwIDAQABoxAwDjAMBgNVHRMBAf8EAjAAMA0GCSqGSIb3
DQEBCwUAA4IBAQCT9tS1Yz92nDG2gBN4wuIY90F97YrMY3xMzxSeFDiPGX/XdGUN
Tq0SjPOXbmmlZHGrkPE8aZ7zcD7NtdZZFV1DAWEo3Sf8gJARhg29j6oUvSv5OTix
3yP1a55c1Um1FT/Jn5nOuAFjpMh+9e6RVdC9nCB7FahxWUcYqLjnkiCx0rod3+vO
4C3OiaPN0x3UMPgZ5eyF8N6UC2cOB8iUnp3Y2kINJrLVFjbD34rTKeDfDAqis3rL
uxlX6uihZ1J6ZePktcosZiP+GpsLMkhbpfCiEpen5bXXnlyVAzZxV4IHd1aODsnD
UaVmwHZjVb18nEhO3jOCjJwIU2TZrsvZhIHg
-----END CERTIFICATE-----";
/// Within reach of those who factor.
const RSA_1024_PEM: &str = "-----BEGIN PUBLIC KEY-----
MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDCeqkVdhYqyEi3CXUMTZ3Y5x1V
LWthCVvY7q957t/IWZpe0w9jPxjqR9Ez4Huf4lOSQ/+umDqZGBgOUfEmUpS+TfZG
k6BghNJy2BBx1LDp1K6+RCQzSOiZd6NcNzwKf46b4Hxxe5GerUOIAsS0aBpwaKYy
1OMo5hUeTuQVkrjL8wIDAQAB
-----END PUBLIC KEY-----";
const P256_JWK: &str = r#"{
  "kty": "EC", "crv": "P-256", "kid": "k",
  "x": "GsbhRxnJxuKWVgvcqSn0luHZA8ofjYa9Ur5c4IAmrEc",
  "y": "XPuydOQS83f_FctRhYGyIY7fmyKYtTPpwWi8jhkIRi4"
}"#;

const ED25519: &str = r#"ed25519 = { header = "X", encoding = "hex", signed_string = "{body}" }"#;
const P256: &str = r#"ecdsa-p256 = { header = "X", encoding = "hex", signed_string = "{body}" }"#;
const RSA: &str = r#"rsa = { hash = "sha256", header = "X", encoding = "hex", signed_string = "{body}" }"#;
const ES256: &str = r#"jwt = { header = "X", algorithm = "es256", body_claim = "b" }"#;
const RS256: &str = r#"jwt = { header = "X", algorithm = "rs256", body_claim = "b" }"#;
const BASIC: &str = "basic = {}";
const HEX: &str =
    r#"hmac = { algorithm = "sha256", header = "X", encoding = "hex", signed_string = "{body}", key = "hex" }"#;

/// What a scheme says of a secret.
fn fault(scheme: &str, bytes: &[u8]) -> Option<SecretFault> {
    let profile = signing_with(&format!("{{ {scheme} }}"));
    let secret = Secret::from_bytes("s", bytes);
    secret.and_then(|secret| Verifier::try_secret(&profile, &secret)).err().map(|error| error.fault)
}

/// The base64 of a PEM text.
fn bare(pem: &str) -> String {
    pem.lines().filter(|line| !line.starts_with("-----")).collect()
}

#[test]
fn a_public_key_is_taken_in_the_spellings_that_senders_use() {
    let crlf = P256_PEM.replace('\n', "\r\n");
    let chain = format!("{RSA_CERTIFICATE}\n{RSA_CERTIFICATE}\n");
    let rows = [
        (ED25519, ED25519_HEX.to_owned()),
        (ED25519, ED25519_HEX.to_uppercase()),
        (ED25519, bare(ED25519_PEM)),
        (ED25519, ED25519_PEM.to_owned()),
        (ED25519, "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".to_owned()),
        (ED25519, "whpk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8".to_owned()),
        (P256, P256_PEM.to_owned()),
        (P256, format!("{P256_PEM}\n")),
        (P256, format!("{crlf}\r\n")),
        (P256, bare(P256_PEM)),
        (RSA, RSA_PEM.to_owned()),
        (RSA, bare(RSA_PEM)),
        (RSA, RSA_CERTIFICATE.to_owned()),
        (RSA, chain),
        (ES256, P256_JWK.to_owned()),
        (ES256, P256_JWK.replace('\n', "")),
        (ES256, P256_PEM.to_owned()),
        (RS256, RSA_PEM.to_owned()),
        (BASIC, "user:".to_owned()),
        (HEX, "00fF".to_owned()),
    ];
    for (scheme, secret) in rows {
        assert_eq!(fault(scheme, secret.as_bytes()), None, "{scheme}: {secret}");
    }
}

/// A key that came to be cut short, or of the wrong kind, refuses every event with a word about the signature.
#[test]
fn a_key_that_cannot_be_used_is_refused_with_the_reason() {
    let cut = |text: &str| text[..text.len() - 60].to_owned();
    let wanted = |name: &'static str| SecretFault::NotPublicKey { wanted: name };
    let ed25519 = wanted("an Ed25519 public key: 32 bytes as hexadecimal digits or base64, or PEM");
    let p256 = wanted("a P-256 public key: base64 of a SubjectPublicKeyInfo, or PEM");
    let rsa = wanted("an RSA public key: a certificate or a public key as PEM, or base64 of a SubjectPublicKeyInfo");
    let jwk = wanted("a public key as JSON (JWK) of the kind that the algorithm needs");
    let rows = [
        (ED25519, ED25519_HEX[2..].to_owned(), ed25519.clone()),
        (ED25519, format!("{ED25519_HEX}00"), ed25519.clone()),
        (ED25519, "onced-test-secret".to_owned(), ed25519.clone()),
        (ED25519, P256_PEM.to_owned(), ed25519),
        (P256, cut(P256_PEM), p256.clone()),
        (P256, bare(P256_PEM)[..88].to_owned(), p256.clone()),
        (P256, P384_PEM.to_owned(), p256.clone()),
        (P256, RSA_PEM.to_owned(), p256.clone()),
        (P256, P256_PEM.replace("PUBLIC KEY", "CERTIFICATE"), p256.clone()),
        (RSA, P256_PEM.to_owned(), rsa.clone()),
        (RSA, cut(RSA_CERTIFICATE), rsa.clone()),
        (RSA, RSA_CERTIFICATE.replace("CERTIFICATE", "PUBLIC KEY"), rsa.clone()),
        (RSA, "hidden".to_owned(), rsa.clone()),
        (RSA, RSA_1024_PEM.to_owned(), SecretFault::RsaSize { bits: 1_024 }),
        (RSA, RSA_PEM.replace("PUBLIC", "PRIVATE"), SecretFault::PrivateKey),
        (RSA, RSA_PEM.replace("PUBLIC", "RSA PRIVATE"), SecretFault::PrivateKey),
        (ES256, P256_JWK.replace("P-256", "P-384"), jwk.clone()),
        (ES256, P256_JWK.replace("\"y\": \"", "\"y\": \"A"), jwk.clone()),
        (ES256, P256_JWK.replace("\"x\"", "\"z\""), jwk.clone()),
        (ES256, P256_JWK.replace("EC", "RSA"), jwk.clone()),
        (ES256, P256_JWK.replace("\"kid\"", "\"d\""), SecretFault::PrivateKey),
        (ES256, "{}".to_owned(), jwk.clone()),
        (RS256, P256_JWK.to_owned(), jwk),
        (RS256, P256_PEM.to_owned(), rsa),
        (ES256, RSA_PEM.to_owned(), p256),
        (BASIC, "user".to_owned(), SecretFault::NoUser),
        (HEX, "00f".to_owned(), SecretFault::NotHex),
        (HEX, "0x00".to_owned(), SecretFault::NotHex),
    ];
    for (scheme, secret, expected) in rows {
        assert_eq!(fault(scheme, secret.as_bytes()), Some(expected), "{scheme}: {secret}");
    }
}

#[test]
fn only_keys_that_have_lines_may_have_them() {
    let invisible = |position, code, name| Some(SecretFault::Invisible { position, code, name });
    assert_eq!(
        fault(P256, P256_PEM.replace("MFk", "\u{200b}MFk").as_bytes()),
        invisible(28, 0x200B, "zero-width character")
    );
    assert_eq!(fault(P256, P256_PEM.replace("MFk", "\tMFk").as_bytes()), invisible(28, 9, "control character"));
    let preamble = format!("Subject: x\n{P256_PEM}");
    assert_eq!(fault(P256, preamble.as_bytes()), invisible(11, 10, "control character"));
    assert_eq!(fault(HEX, b"00\n11"), invisible(3, 10, "control character"));
}

/// A secret of another sender, pasted into the wrong route, is still a secret.
#[test]
fn a_refused_key_is_not_shown() {
    for scheme in [ED25519, P256, RSA, ES256, RS256, BASIC, HEX] {
        let fault = fault(scheme, b"tell-nobody").unwrap();
        let text = format!("{fault} {fault:?} {:?}", fault.source());
        assert!(!text.contains("tell-nobody"), "{text}");
    }
}
