//! Finds the secret that two routes with different providers have in common.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use crate::proxy::RouteSettings;

use super::super::secrets::Found;
use super::super::warning::{self, Oddity, Warning};

/// What stands for a secret while a config is read, so that no copy waits for the routes that follow: a hash under a
/// key that is made up for each load. Two secrets with one hash, at 64 bits, would cost a warning that is not true.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Print(u64);

/// The secrets that were met, each with the route that had it first.
#[derive(Default)]
pub(super) struct Prints {
    key: RandomState,
    first: HashMap<Print, Owner>,
}

struct Owner {
    route: Box<str>,
    provider: Option<Box<str>>,
}

impl Prints {
    pub(super) fn of(&self, secret: &Found) -> Print {
        Print(self.key.hash_one(secret.without_newline()))
    }

    /// Notes the secrets of a route; a warning for each that is another provider's as well.
    pub(super) fn note(&mut self, prints: &[Print], route: &RouteSettings) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for print in prints {
            let owner = self
                .first
                .entry(*print)
                .or_insert_with(|| Owner { route: route.name.clone(), provider: route.sender.provider.clone() });
            if owner.provider != route.sender.provider {
                let with = owner.route.clone();
                warnings.push(warning::about(route, Oddity::SharedSecret { with }));
            }
        }
        warnings
    }
}
