//! The webhook proxy.

mod settings;

pub use settings::{
    ForwardTo, ForwardToError, HooksSettings, InFlight, Network, NetworkError, OnMissingId, OnUnknownOutcome,
    PublicUrl, PublicUrlError, RoutePath, RoutePathError, RouteSettings, SenderSettings,
};
