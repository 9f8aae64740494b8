//! The rivals as processes: started on ports of their own with their data in a directory of the bench, stopped when
//! dropped. Each reports its readiness in its log.

use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use thiserror::Error;

use super::connection::Target;

/// Long enough for a recovery of millions of claims on a slow disk.
const READY: Duration = Duration::from_secs(300);
/// Long enough for a last commit; then it is killed.
const STOP: Duration = Duration::from_secs(30);
/// Another process may take the port between the look for a free one and Redis's start.
const PORT_TRIES: usize = 5;

/// When an answered claim is on the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Before the answer.
    Always,
    /// Within about a second.
    Interval,
}

impl Durability {
    /// The setting of each rival, onced's first.
    pub(crate) fn settings(self) -> (&'static str, &'static str) {
        match self {
            Self::Always => ("always", "always"),
            Self::Interval => ("interval", "everysec"),
        }
    }

    /// How long after its load a rival may still write and so disturb the other.
    pub(crate) fn settling(self) -> Duration {
        match self {
            Self::Always => Duration::ZERO,
            Self::Interval => Duration::from_millis(1_200),
        }
    }
}

/// A rival that is running.
pub(crate) struct Server {
    process: Child,
    pub(crate) address: SocketAddr,
    socket: PathBuf,
    /// From the start of the process to its word that it is ready.
    pub(crate) ready_after: Duration,
}

/// Why a rival does not run.
#[derive(Debug, Error)]
pub(crate) enum StartError {
    #[error("{program} could not be started")]
    Spawn { program: &'static str, source: io::Error },
    #[error("{program} ended before it was ready; its last words: {last_line}")]
    Ended { program: &'static str, last_line: String },
    #[error("{program} was not ready within {} s", READY.as_secs())]
    Silent { program: &'static str },
}

impl Server {
    /// Starts the daemon of this very build; `directory` may hold the store of an earlier one. `more` is further tables of its
    /// config, and the load goes to its `listener`.
    pub(crate) fn onced(
        directory: &Path,
        durability: Durability,
        more: &str,
        listener: &str,
    ) -> Result<Self, StartError> {
        let program = "onced";
        let spawn_error = |source| StartError::Spawn { program, source };
        let config = directory.join("onced.toml");
        let socket = directory.join("onced.sock");
        let (sync, _) = durability.settings();
        let text = format!(
            "[api]\nlisten = \"127.0.0.1:0\"\nsocket = {socket:?}\n[hooks]\nlisten = \"127.0.0.1:0\"\n\
             [store]\ndir = {:?}\nsync = \"{sync}\"\n{more}",
            directory.join("store"),
        );
        fs::write(&config, text).map_err(spawn_error)?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_onced"));
        command.arg("serve").arg("--config").arg(config).stderr(Stdio::piped());
        let mut address = None;
        Self::start(program, &mut command, socket, |line| {
            let line: Value = serde_json::from_str(line).ok()?;
            match line["message"].as_str()? {
                "listening" if line["listener"] == listener => {
                    address = line["address"].as_str()?.parse().ok().or(address);
                    None
                }
                "ready" => address,
                _ => None,
            }
        })
    }

    pub(crate) fn redis(directory: &Path, durability: Durability) -> Result<Self, StartError> {
        let program = "redis-server";
        let mut tries = 1;
        loop {
            let address = free_address().map_err(|source| StartError::Spawn { program, source })?;
            let socket = directory.join("redis.sock");
            let mut command = redis_command(directory, address, &socket, durability);
            let ready = |line: &str| line.contains("Ready to accept connections").then_some(address);
            match Self::start(program, &mut command, socket, ready) {
                Err(StartError::Ended { .. }) if tries < PORT_TRIES => tries += 1,
                started => return started,
            }
        }
    }

    /// nginx as a plain proxy to an app: connections kept on both sides, no access log, a worker for each core.
    pub(crate) fn nginx(directory: &Path, app: SocketAddr) -> Result<Self, StartError> {
        let program = "nginx";
        let spawn_error = |source| StartError::Spawn { program, source };
        let mut tries = 1;
        loop {
            let address = free_address().map_err(spawn_error)?;
            let config = directory.join("nginx.conf");
            fs::write(&config, nginx_config(directory, address, app)).map_err(spawn_error)?;
            let mut command = Command::new(program);
            command.arg("-p").arg(directory).arg("-c").arg(config).stderr(Stdio::piped());
            let ready = |line: &str| line.contains("start worker process").then_some(address);
            match Self::start(program, &mut command, directory.join("nginx.sock"), ready) {
                Err(StartError::Ended { .. }) if tries < PORT_TRIES => tries += 1,
                started => return started,
            }
        }
    }

    /// Spawns `command`, which logs to the one pipe it was given, and waits until `ready` finds the address in a line.
    fn start(
        program: &'static str,
        command: &mut Command,
        socket: PathBuf,
        mut ready: impl FnMut(&str) -> Option<SocketAddr>,
    ) -> Result<Self, StartError> {
        let spawned = Instant::now();
        let process = command.stdin(Stdio::null()).spawn();
        let process = process.map_err(|source| StartError::Spawn { program, source })?;
        // Owned from here on, so that an early return stops the process.
        let unknown = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut server = Self { process, address: unknown, socket, ready_after: Duration::ZERO };
        let lines = server.log_lines();
        let mut last_line = String::new();
        loop {
            match lines.recv_timeout(READY.saturating_sub(spawned.elapsed())) {
                Ok(line) => {
                    if let Some(address) = ready(&line) {
                        server.address = address;
                        server.ready_after = spawned.elapsed();
                        return Ok(server);
                    }
                    last_line = line;
                }
                Err(RecvTimeoutError::Disconnected) => return Err(StartError::Ended { program, last_line }),
                Err(RecvTimeoutError::Timeout) => return Err(StartError::Silent { program }),
            }
        }
    }

    /// Reads the log to its end on a thread, so that the process never waits for a reader.
    fn log_lines(&mut self) -> Receiver<String> {
        let (sender, receiver) = channel();
        let stdout = self.process.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
        let stderr = self.process.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
        let pipe = stdout.or(stderr).expect("a command is given one pipe for its log");
        thread::spawn(move || {
            let mut wanted = true;
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                // Nobody listens once the server is ready; the rest is only drained.
                wanted = wanted && sender.send(line).is_ok();
            }
        });
        receiver
    }

    /// Where the load goes.
    pub(crate) fn target(&self, unix: bool) -> Target {
        if unix { Target::Unix(self.socket.clone()) } else { Target::Tcp(self.address) }
    }

    /// What the control API answers on the Unix socket, head and all.
    pub(crate) fn ask(&self, path: &str) -> io::Result<String> {
        let mut stream = UnixStream::connect(&self.socket)?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// SIGTERM, and the end of the process.
    pub(crate) fn stop(mut self) -> io::Result<()> {
        self.terminate()
    }

    /// SIGKILL: the process has no say in how it ends.
    pub(crate) fn kill(mut self) -> io::Result<()> {
        self.process.kill()?;
        self.process.wait().map(drop)
    }

    fn terminate(&mut self) -> io::Result<()> {
        if self.process.try_wait()?.is_some() {
            return Ok(());
        }
        kill_process(Pid::from_child(&self.process), Signal::TERM)?;
        let asked = Instant::now();
        while asked.elapsed() < STOP {
            if self.process.try_wait()?.is_some() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.process.kill()?;
        self.process.wait()?;
        Err(io::Error::new(io::ErrorKind::TimedOut, "the server had to be killed: it did not stop on SIGTERM"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.terminate() {
            eprintln!("stopping process {}: {error}", self.pid());
        }
    }
}

fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// Redis as a durable claim store: an append-only file and no snapshots. It is also spared the rewriting of that file,
/// which would run in its rival's turn; onced is spared nothing.
fn redis_command(directory: &Path, address: SocketAddr, socket: &Path, durability: Durability) -> Command {
    let (_, appendfsync) = durability.settings();
    let mut command = Command::new("redis-server");
    command.args(["--bind", "127.0.0.1", "--port"]).arg(address.port().to_string());
    command.arg("--unixsocket").arg(socket).arg("--dir").arg(directory);
    command.args(["--appendonly", "yes", "--appendfsync", appendfsync, "--auto-aof-rewrite-percentage", "0"]);
    command.args(["--save", "", "--daemonize", "no", "--logfile", ""]).stdout(Stdio::piped());
    command
}

/// `7.0.15`, or `None` where there is no Redis.
pub(crate) fn redis_version() -> Option<String> {
    let output = Command::new("redis-server").arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split_whitespace().find_map(|word| word.strip_prefix("v="));
    Some(version.unwrap_or("of an unknown version").to_owned())
}

fn nginx_config(directory: &Path, address: SocketAddr, app: SocketAddr) -> String {
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|kind| format!("{kind}_temp_path {};\n", directory.join(kind).display()))
        .collect();
    format!(
        "daemon off;\nworker_processes auto;\nerror_log stderr notice;\npid {pid};\n\
         events {{ worker_connections 4096; }}\n\
         http {{\naccess_log off;\nkeepalive_requests 1000000000;\n{temporary}\
         upstream app {{ server {app}; keepalive 512; keepalive_requests 1000000000; }}\n\
         server {{\nlisten {address} backlog=4096;\nclient_body_buffer_size 16k;\n\
         location / {{ proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection \"\"; }}\n}}\n}}\n",
        pid = directory.join("nginx.pid").display(),
    )
}

/// `1.22.1`, or `None` where there is no nginx.
pub(crate) fn nginx_version() -> Option<String> {
    let output = Command::new("nginx").arg("-v").output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let version = text.split_whitespace().find_map(|word| word.strip_prefix("nginx/"));
    Some(version.unwrap_or("of an unknown version").to_owned())
}
