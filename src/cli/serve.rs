//! `serve` and `check`.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, umask};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{ConfigArgs, DEFAULT_CONFIG, Exit, logging, say};
use crate::chain::Chain;
use crate::clock::Source;
use crate::config::{self, Config, ConfigFaults, Environment};
use crate::daemon::{Daemon, ListenFault, Load, ReloadDoor, StartError, Surroundings};
use crate::store;

#[derive(Debug, Clone, Args)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Without a config: one route for this provider, at /hooks/PROVIDER
    #[arg(long, requires_all = ["secret_file", "forward"], conflicts_with = "config")]
    provider: Option<String>,
    /// The file that holds the provider's secret
    #[arg(long, value_name = "FILE", requires = "provider")]
    secret_file: Option<PathBuf>,
    /// The app, as in http://127.0.0.1:3000/hook
    #[arg(long, value_name = "URL", requires = "provider")]
    forward: Option<String>,
    /// Answer senders with the app's answer (sync), or when the event is stored (queue)
    #[arg(long, requires = "provider", value_parser = ["sync", "queue"], default_value = "sync")]
    mode: String,
}

/// Runs the daemon until it is told to stop.
pub(super) fn serve(args: &ServeArgs) -> Exit {
    // Before there are threads, since it is the process's: what customers have sent is nobody else's to read.
    umask(Mode::RWXG | Mode::RWXO);
    logging::start();
    let config = match config_of(args) {
        Ok(config) => config,
        Err(faults) => {
            eprintln!("{faults}");
            return Exit::Config;
        }
    };
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    raise_descriptor_limit();
    // Before the runtime: the filter holds for the threads that are started after it.
    let real_sync = match store::force_real_sync() {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(error = %Chain(&error), "the store syncs through a handle of its own");
            false
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(error = %error, "cannot start the threads");
            return Exit::Failed;
        }
    };
    let again = args.clone();
    let load: Load = Box::new(move || config_of(&again));
    let exit = runtime.block_on(run(config, load, Surroundings { source: Source::machine(), real_sync }));
    // A thread that is stuck in the disk must not keep the process.
    runtime.shutdown_background();
    exit
}

async fn run(config: Config, load: Load, surroundings: Surroundings) -> Exit {
    // Before the start, which may take a while: a signal that nobody listens for ends the process with an error.
    let mut signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => {
            tracing::error!(error = %error, "cannot listen for signals");
            return Exit::Failed;
        }
    };
    let started = tokio::select! {
        started = Daemon::start(config, surroundings) => started,
        () = signals.stop() => {
            // Like a kill, which the store takes at any point; nobody was answered yet.
            tracing::info!("told to stop before it was ready");
            return Exit::Well;
        }
    };
    let daemon = match started {
        Ok(daemon) => daemon.reloading(load),
        Err(error) => {
            tracing::error!(error = %Chain(&error), "cannot start");
            // What stands in the files that the config names will be the same at the next start.
            return match error {
                StartError::Listen(ListenFault::Tls(_)) => Exit::Config,
                StartError::Listen(_) | StartError::Store(_) | StartError::Thread(_) => Exit::Failed,
            };
        }
    };
    tell_service_manager(&[sd_notify::NotifyState::Ready]);
    let stop = signals.stop_or_reload(daemon.reloads().clone());
    match daemon.run(stop).await {
        Ok(()) => Exit::Well,
        Err(_) => Exit::Failed,
    }
}

/// What the process listens for.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        let [terminate, interrupt, hangup] =
            [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
        Ok(Self { terminate: terminate?, interrupt: interrupt?, hangup: hangup? })
    }

    /// Waits for SIGTERM or SIGINT. A hangup that comes meanwhile waits for [`Signals::stop_or_reload`].
    async fn stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Waits for SIGTERM or SIGINT. A SIGHUP asks for a reload, and does not wait for it: the log has what came of it.
    async fn stop_or_reload(mut self, reloads: ReloadDoor) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => break,
                _ = self.interrupt.recv() => break,
                _ = self.hangup.recv() => {
                    let reloads = reloads.clone();
                    tokio::spawn(async move { reloads.ask().await });
                }
            }
        }
        tell_service_manager(&[sd_notify::NotifyState::Stopping]);
    }
}

/// Says it where there is a service manager that listens.
fn tell_service_manager(states: &[sd_notify::NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(error = %error, "the service manager cannot be told");
    }
}

/// Checks a config and prints every fault, or what holds.
pub(super) fn check(args: &ConfigArgs) -> Exit {
    match load(args) {
        Ok(config) => {
            let file = source_of(args).map_or("none, embedded defaults".to_owned(), |path| path.display().to_string());
            say(&format!("config: {file}"));
            for line in config::explain(&config) {
                say(&line);
            }
            for warning in &config.warnings {
                say(&format!("warning: {warning}"));
            }
            Exit::Well
        }
        Err(faults) => {
            eprintln!("{faults}");
            Exit::Config
        }
    }
}

fn config_of(args: &ServeArgs) -> Result<Config, ConfigFaults> {
    match (&args.provider, &args.secret_file, &args.forward) {
        (Some(provider), Some(secret_file), Some(forward)) => {
            config::quick_route(provider, secret_file, forward, &args.mode, &Environment::new(std::env::vars_os()))
        }
        _ => load(&args.config),
    }
}

/// Connections need descriptors, and the usual soft limit of 1,024 is for programs that still use select(2).
fn raise_descriptor_limit() {
    let limits = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limits.maximum, ..limits };
    if let Err(error) = rustix::process::setrlimit(Resource::Nofile, raised) {
        tracing::warn!(error = %error, "the limit of open files stays as it is");
    }
}

/// The file that the config comes from, if it comes from one.
fn source_of(args: &ConfigArgs) -> Option<&Path> {
    let default = Some(Path::new(DEFAULT_CONFIG)).filter(|path| path.exists());
    args.config.as_deref().or(default)
}

fn load(args: &ConfigArgs) -> Result<Config, ConfigFaults> {
    let mut environment = Environment::new(std::env::vars_os());
    if args.allow_inline_secrets {
        environment = environment.with_inline_secrets();
    }
    match source_of(args) {
        Some(path) => config::load(path, &environment),
        None => Ok(config::embedded(&environment)),
    }
}
