//! One row of the table: both rivals started afresh, then loaded by turns, so that whatever else the machine does hits
//! both alike.

use std::{error::Error, path::PathBuf, thread};

use tempfile::TempDir;
use thiserror::Error;

use crate::{
    CLAIM_TTL_S,
    measure::histogram::Histogram,
    measure::keys::Keys,
    measure::load::{Dialect, Load, LoadError, Round, Tally, Until},
    measure::server::{Durability, Server},
    onced::Onced,
    redis::{self, Redis},
};

/// What all rows have in common.
pub(crate) struct Plan {
    /// Where the data directories go.
    pub(crate) directory: PathBuf,
    pub(crate) unix: bool,
    pub(crate) runs: usize,
    pub(crate) until: Until,
    /// Whether there is a Redis to compare with.
    pub(crate) redis: bool,
}

impl Plan {
    /// A fresh directory, removed when dropped.
    pub(crate) fn fresh_directory(&self) -> std::io::Result<TempDir> {
        tempfile::Builder::new().prefix("versus_redis-").tempdir_in(&self.directory)
    }
}

/// What one row asks of the rivals.
#[derive(Clone, Copy)]
pub(crate) struct Duel {
    pub(crate) round: Round,
    pub(crate) durability: Durability,
    pub(crate) connections: usize,
}

/// What one rival made of it.
pub(crate) struct Figures {
    /// Keys granted a second, by run.
    pub(crate) rates: Vec<f64>,
    pub(crate) latencies: Histogram,
    pub(crate) refused: u64,
    pub(crate) first_refusal: Option<String>,
}

impl Duel {
    /// The figures of onced and, where there is one, of Redis.
    pub(crate) fn run(self, plan: &Plan) -> Result<(Figures, Option<Figures>), Box<dyn Error>> {
        let batch = self.round.keys();
        let directory = plan.fresh_directory()?;
        let server = Server::onced(directory.path(), self.durability, &ttl(&format!("{CLAIM_TTL_S}s")), "api")?;
        let host = if plan.unix { "localhost".to_owned() } else { server.address.to_string() };
        let mut onced = Rival::new("onced", server, Box::new(Onced::new(host, batch)));

        let redis_directory = plan.fresh_directory()?;
        let mut redis = None;
        if plan.redis {
            let server = Server::redis(redis_directory.path(), self.durability)?;
            redis = Some(Rival::new("redis", server, Box::new(Redis::new(batch))));
        }
        for _ in 0..plan.runs {
            onced.run(self, plan)?;
            if let Some(redis) = &mut redis {
                redis.run(self, plan)?;
            }
        }
        if let Some(redis) = &redis {
            redis.check_keys_written()?;
        }
        onced.server.stop()?;
        Ok((onced.figures, redis.map(|redis| redis.figures)))
    }
}

/// How long claims live, as a table of the config.
pub(crate) fn ttl(processing_ttl: &str) -> String {
    format!("[defaults]\nprocessing_ttl = \"{processing_ttl}\"\n")
}

/// A run that came to no figures.
#[derive(Debug, Error)]
#[error("the run against {rival} failed")]
struct RunError {
    rival: &'static str,
    source: LoadError,
}

/// A server with the keys it was asked for.
struct Rival {
    name: &'static str,
    server: Server,
    dialect: Box<dyn Dialect>,
    keys: Keys,
    figures: Figures,
}

impl Rival {
    fn new(name: &'static str, server: Server, dialect: Box<dyn Dialect>) -> Self {
        let figures = Figures { rates: Vec::new(), latencies: Histogram::new(), refused: 0, first_refusal: None };
        Self { name, server, dialect, keys: Keys::new(), figures }
    }

    fn run(&mut self, duel: Duel, plan: &Plan) -> Result<(), Box<dyn Error>> {
        let Duel { round, durability, connections } = duel;
        let target = &self.server.target(plan.unix);
        let load = Load { target, dialect: &*self.dialect, round, connections, until: plan.until };
        let rival = self.name;
        let tally = load.run(&mut self.keys).map_err(|source| RunError { rival, source })?;
        self.figures.add(tally);
        thread::sleep(durability.settling());
        Ok(())
    }

    /// Every key granted must be one more key in Redis; else the generator repeated some and measured something cheaper.
    fn check_keys_written(&self) -> Result<(), Box<dyn Error>> {
        let written = redis::keys_written(self.server.address)?;
        let granted = self.keys.taken() - self.figures.refused;
        if written == granted { Ok(()) } else { Err(format!("redis holds {written} keys of {granted} granted").into()) }
    }
}

impl Figures {
    fn add(&mut self, tally: Tally) {
        self.rates.push(tally.rate());
        self.latencies.merge(&tally.latencies);
        self.refused += tally.refused;
        self.first_refusal = self.first_refusal.take().or(tally.first_refusal);
    }
}
