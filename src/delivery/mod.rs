//! Hands queued events over to their apps.

mod bodies;
mod breaker;
mod bucket;
mod retry_after;
mod settings;
mod slots;
mod window;

pub use settings::{HistorySettings, LaneSettings, Rate, RateError};
