//! The webhook proxy.

mod settings;

pub use settings::{
    EventIdSource, ForwardTo, ForwardToError, HooksSettings, InFlight, JsonPointer, JsonPointerError, Network,
    NetworkError, OnMissingId, OnUnknownOutcome, PublicUrl, PublicUrlError, RoutePath, RoutePathError, RouteSettings,
    SecretText, SecretTextError, SenderSettings, TlsFiles, Tolerance, ToleranceError,
};
