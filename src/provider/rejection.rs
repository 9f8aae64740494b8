//! Why a request is not shown to be its sender's.

use super::{Header, MAX_FORM_FIELDS, MAX_LIST_ENTRIES, MAX_SIGNED_ITEMS, Place, Undecodable, Unreadable};

/// Which check failed. For logs: the sender is told the same in every case, or it could feel its way along the checks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// A header that the scheme needs is absent.
    #[error("header {0} is missing")]
    MissingHeader(Header),
    /// Such a header came more than once.
    #[error("header {0} came more than once")]
    DuplicateHeader(Header),
    /// No header whose name begins with what the profile says.
    #[error("there is no header {0}*")]
    MissingFamily(String),
    /// One of those headers came more than once.
    #[error("one of the headers {0}* came more than once")]
    DuplicateInFamily(String),
    /// Another text that the scheme needs is absent.
    #[error("{0} is missing")]
    Missing(Place),
    /// Such a text is there and cannot be used.
    #[error("{0} {1}")]
    Unreadable(Place, Unreadable),
    /// The body is signed as what it decodes to, and does not decode.
    #[error(transparent)]
    Undecodable(#[from] Undecodable),
    /// What carries the signature holds nothing that could be one.
    #[error("the signature is malformed")]
    MalformedSignature,
    /// The list has no entry with the name that the profile asks for; a forger's own choice of scheme.
    #[error("no signature of the expected scheme")]
    NoSignatureOfScheme,
    /// More than [`MAX_LIST_ENTRIES`] entries.
    #[error("more than {MAX_LIST_ENTRIES} entries in the signature header")]
    TooManySignatures,
    /// More signatures than keys are tried on.
    #[error("more signatures than are tried")]
    TooManyCandidates,
    /// The list has no timestamp.
    #[error("the timestamp is missing")]
    MissingTimestamp,
    /// The list has two timestamps.
    #[error("the timestamp came more than once")]
    RepeatedTimestamp,
    /// The timestamp is not of the form that the profile says.
    #[error("the timestamp is malformed")]
    MalformedTimestamp,
    /// A form with more fields than [`MAX_FORM_FIELDS`].
    #[error("more than {MAX_FORM_FIELDS} fields in the form")]
    TooManyFields,
    /// A batch without elements: there would be nothing that was verified.
    #[error("the batch is empty, or is no array")]
    NoItems,
    /// A batch of more than [`MAX_SIGNED_ITEMS`].
    #[error("more than {MAX_SIGNED_ITEMS} elements in the batch")]
    TooManyItems,
    /// The sender's list of signed headers leaves one out that must be among them.
    #[error("the list of signed headers leaves {0} out")]
    UnlistedHeader(Header),
    /// The sender's list of signed headers holds something that is no header name.
    #[error("the list of signed headers is malformed")]
    MalformedHeaderList,
    /// A header that the sender lists as signed is absent, or came more than once. Which one is the sender's text, and
    /// stays out of the log.
    #[error("a header that is listed as signed did not come exactly once")]
    ListedHeader,
    /// The URL has no hash of the body, and needs one.
    #[error("the URL lacks the hash of the body")]
    MissingBodyHash,
    /// The hash of the body in the URL or in the token is that of another body.
    #[error("the body is not the one whose hash is signed")]
    OtherBody,
    /// The request chooses a hash function that the profile does not have.
    #[error("the request asks for a hash function that the profile does not have")]
    UnknownHash,
    /// What should be a signed token is none.
    #[error("the token is malformed")]
    MalformedToken,
    /// The token names another algorithm than the profile's.
    #[error("the token is of another algorithm than the profile's")]
    OtherAlgorithm,
    /// The token has extensions that must be understood (RFC 7515, section 4.1.11).
    #[error("the token has extensions that must be understood")]
    CriticalExtension,
    /// The token lacks a claim.
    #[error("the token lacks the claim {0}")]
    MissingClaim(String),
    /// HTTP Basic that is none.
    #[error("the credentials are malformed")]
    MalformedCredentials,
    /// A text of the route that is signed was not given.
    #[error("parameter {0} is not set")]
    MissingParameter(String),
    /// A text that must be a parameter of the route is another: the event is another customer's of the same sender.
    #[error("{0} is not the parameter {1} of the route")]
    OtherThanParameter(Place, String),
    /// A text that is signed as one line has several.
    #[error("{0} has several lines")]
    SeveralLines(Place),
    /// All is well formed, and no secret made any of the signatures.
    #[error("no secret made this signature")]
    NoMatch,
}

impl Rejection {
    /// A text that could not be read.
    pub(super) fn unreadable(place: &Place, unreadable: Unreadable) -> Self {
        if let (Place::Header(header), Unreadable::Repeated) = (place, unreadable) {
            return Self::DuplicateHeader(header.clone());
        }
        Self::Unreadable(place.clone(), unreadable)
    }

    /// A text that is not there.
    pub(super) fn missing(place: &Place) -> Self {
        match place {
            Place::Header(header) => Self::MissingHeader(header.clone()),
            Place::Pointer(_) | Place::Form(_) | Place::Query(_) => Self::Missing(place.clone()),
        }
    }
}
