//! The running daemon.

mod settings;

pub use settings::ShutdownSettings;
