//! Public keys as people have them: hexadecimal digits, base64, PEM, a certificate.

use super::key::{PublicKey, RsaKey};
use crate::provider::{Encoding, Secret, SecretFault};
use pki_types::pem::PemObject as _;
use pki_types::{CertificateDer, SubjectPublicKeyInfoDer};
use spki::der::asn1::UintRef;
use spki::der::{Decode as _, Reader as _, SliceReader};
use spki::{ObjectIdentifier, SubjectPublicKeyInfoRef};
use webpki::EndEntityCert;

const ID_ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
const ID_EC_PUBLIC_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const ID_P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const ID_RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");

/// Bytes of an Ed25519 key (RFC 8032, section 5.1.5).
const ED25519_BYTES: usize = 32;
/// Bytes of a coordinate on P-256.
pub(in crate::provider) const P256_COORDINATE_BYTES: usize = 32;
/// What `ring` verifies with; below, a modulus is within reach of those who factor.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2_048..=8_192;
/// How Standard Webhooks marks a public key.
const STANDARD_WEBHOOKS_PREFIX: &str = "whpk_";

/// The kind of a key that a profile asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::provider) enum Kind {
    Ed25519,
    EcdsaP256 { fixed: bool },
    Rsa,
}

impl Kind {
    /// The name for faults.
    fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "an Ed25519 public key: 32 bytes as hexadecimal digits or base64, or PEM",
            Self::EcdsaP256 { .. } => "a P-256 public key: base64 of a SubjectPublicKeyInfo, or PEM",
            Self::Rsa => "an RSA public key: a certificate or a public key as PEM, or base64 of a SubjectPublicKeyInfo",
        }
    }

    fn fault(self) -> SecretFault {
        SecretFault::NotPublicKey { wanted: self.name() }
    }
}

impl PublicKey {
    /// Reads a key, and refuses one of another kind: what the profile says is what is verified.
    pub(in crate::provider) fn read(secret: &Secret, kind: Kind) -> Result<Self, SecretFault> {
        let text = secret.text();
        if text.contains("PRIVATE KEY-----") {
            return Err(SecretFault::PrivateKey);
        }
        if text.contains("-----BEGIN ") {
            return Self::from_info(&from_pem(text).ok_or(kind.fault())?, kind);
        }
        let digits = text.strip_prefix(STANDARD_WEBHOOKS_PREFIX).unwrap_or(text).as_bytes();
        let bare = match kind {
            // 64 hexadecimal digits are base64 as well, but of 48 bytes.
            Kind::Ed25519 => [Encoding::Hex, Encoding::Base64]
                .iter()
                .find_map(|encoding| encoding.decode(digits).filter(|bytes| bytes.len() == ED25519_BYTES)),
            Kind::EcdsaP256 { .. } | Kind::Rsa => None,
        };
        match bare {
            Some(bytes) => Ok(Self::Ed25519 { bytes }),
            None => Self::from_info(&Encoding::Base64.decode(digits).ok_or(kind.fault())?, kind),
        }
    }

    /// Reads a SubjectPublicKeyInfo (RFC 5280, section 4.1.2.7).
    fn from_info(der: &[u8], kind: Kind) -> Result<Self, SecretFault> {
        let info = SubjectPublicKeyInfoRef::from_der(der).map_err(|_| kind.fault())?;
        let bytes = info.subject_public_key.as_bytes().ok_or(kind.fault())?;
        match (info.algorithm.oid, kind) {
            (ID_ED25519, Kind::Ed25519) if bytes.len() == ED25519_BYTES => Ok(Self::Ed25519 { bytes: bytes.to_vec() }),
            (ID_EC_PUBLIC_KEY, Kind::EcdsaP256 { fixed }) if info.algorithm.parameters_oid() == Ok(ID_P256) => {
                Self::on_p256(bytes.to_vec(), fixed)
            }
            (ID_RSA, Kind::Rsa) => RsaKey::from_pkcs1(bytes).map(Self::Rsa),
            _ => Err(kind.fault()),
        }
    }

    /// A point in its uncompressed form (SEC 1, section 2.3.3), the only one that `ring` takes.
    pub(in crate::provider) fn on_p256(point: Vec<u8>, fixed: bool) -> Result<Self, SecretFault> {
        match point.first() {
            Some(4) if point.len() == 1 + 2 * P256_COORDINATE_BYTES => Ok(Self::EcdsaP256 { point, fixed }),
            _ => Err(Kind::EcdsaP256 { fixed }.fault()),
        }
    }
}

impl RsaKey {
    /// Reads an RSAPublicKey (RFC 8017, appendix A.1.1).
    fn from_pkcs1(der: &[u8]) -> Result<Self, SecretFault> {
        let numbers = SliceReader::new(der).and_then(|mut reader| {
            reader.sequence(|inner| Ok::<_, spki::der::Error>((UintRef::decode(inner)?, UintRef::decode(inner)?)))
        });
        let (modulus, exponent) = numbers.map_err(|_| Kind::Rsa.fault())?;
        Self::new(modulus.as_bytes().to_vec(), exponent.as_bytes().to_vec())
    }

    /// Takes a modulus of a size that can be verified with.
    pub(in crate::provider) fn new(modulus: Vec<u8>, exponent: Vec<u8>) -> Result<Self, SecretFault> {
        let unused = modulus.first().map_or(0, |byte| byte.leading_zeros() as usize);
        let bits = (modulus.len() * 8).saturating_sub(unused);
        match RSA_BITS.contains(&bits) && !exponent.is_empty() {
            true => Ok(Self { modulus, exponent }),
            false => Err(SecretFault::RsaSize { bits }),
        }
    }
}

/// The SubjectPublicKeyInfo of the first certificate, which is the signer's own in a chain, or of the first public key.
fn from_pem(text: &str) -> Option<Vec<u8>> {
    if let Ok(certificate) = CertificateDer::from_pem_slice(text.as_bytes()) {
        let certificate = EndEntityCert::try_from(&certificate).ok()?;
        return Some(certificate.subject_public_key_info().as_ref().to_vec());
    }
    SubjectPublicKeyInfoDer::from_pem_slice(text.as_bytes()).ok().map(|info| info.as_ref().to_vec())
}
