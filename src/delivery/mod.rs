//! Hands queued events over to their apps.

mod settings;

pub use settings::{HistorySettings, LaneSettings, Rate, RateError};
