//! Asking a running daemon.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use clap::Args;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, Response, StatusCode};
use serde_json::Value;

use super::Exit;
use crate::chain::Chain;
use crate::server::{CallError, Endpoint, call};

/// Where a daemon's socket is when nothing is said: the unit's, then that of a daemon on embedded defaults.
const DEFAULT_SOCKETS: [&str; 2] = ["/run/onced/onced.sock", "onced-data/onced.sock"];
/// Where it is when there is no socket.
const DEFAULT_ADDRESS: &str = "127.0.0.1:8601";

/// How to reach the daemon.
#[derive(Debug, Args)]
pub(super) struct ClientArgs {
    /// The daemon: http://HOST:PORT, or the path of its socket
    #[arg(long, env = "ONCED_API", value_name = "URL|SOCKET")]
    api: Option<String>,
    /// A file that holds the bearer token
    #[arg(long, env = "ONCED_TOKEN_FILE", value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Print the daemon's answer as it is
    #[arg(long)]
    pub(super) json: bool,
}

/// An answer of the daemon.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) bytes: Bytes,
    pub(super) text: String,
    pub(super) json: Value,
}

impl Answer {
    /// A field that holds text; empty where it does not.
    pub(super) fn text_of(&self, field: &str) -> &str {
        self.json[field].as_str().unwrap_or_default()
    }
}

impl ClientArgs {
    /// Sends a request and reads the answer; what stands in the way has been printed.
    pub(super) fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer, Exit> {
        let request = self.request(method, path, body)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(&format!("cannot start: {error}"), Exit::Failed))?;
        let response = runtime.block_on(call(&self.endpoint(), request)).map_err(|error| {
            if let CallError::Connect { .. } = error {
                return failed(&format!("{}; is a daemon running there?", Chain(&error)), Exit::Unreachable);
            }
            failed(&Chain(&error).to_string(), Exit::Failed)
        })?;
        Ok(answer(&response))
    }

    fn request(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Request<Bytes>, Exit> {
        let mut request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, "application/json");
        if let Some(file) = &self.token_file {
            request = request.header(AUTHORIZATION, format!("Bearer {}", read_token(file)?));
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        request.body(body.into()).map_err(|error| failed(&error.to_string(), Exit::Usage))
    }

    /// Where the daemon is asked.
    pub(super) fn endpoint(&self) -> Endpoint {
        match &self.api {
            Some(api) => match api.strip_prefix("http://") {
                Some(address) => Endpoint::Tcp(address.trim_end_matches('/').to_owned()),
                // An address is no path, and few people name a socket like one.
                None if api.parse::<SocketAddr>().is_ok() => Endpoint::Tcp(api.clone()),
                None => Endpoint::Unix(api.into()),
            },
            None => {
                let socket = DEFAULT_SOCKETS.into_iter().find(|path| Path::new(path).exists());
                socket.map_or(Endpoint::Tcp(DEFAULT_ADDRESS.to_owned()), |path| Endpoint::Unix(path.into()))
            }
        }
    }
}

fn read_token(file: &Path) -> Result<String, Exit> {
    let text = fs::read_to_string(file)
        .map_err(|error| failed(&format!("cannot read the token file {}: {error}", file.display()), Exit::Usage))?;
    Ok(text.trim_end().to_owned())
}

fn answer(response: &Response<Bytes>) -> Answer {
    let text = String::from_utf8_lossy(response.body()).into_owned();
    let json = serde_json::from_str(&text).unwrap_or(Value::Null);
    Answer { status: response.status(), bytes: response.body().clone(), text, json }
}

/// Prints what a problem says, and hands its exit code back.
pub(super) fn refused(answer: &Answer) -> Exit {
    let detail = answer.text_of("detail");
    let why = if detail.is_empty() { "what answered is no onced daemon" } else { detail };
    let exit = if answer.status == StatusCode::BAD_REQUEST { Exit::Usage } else { Exit::Failed };
    failed(why, exit)
}

/// Prints why, and hands the exit code back.
pub(super) fn failed(why: &str, exit: Exit) -> Exit {
    eprintln!("onced: {why}");
    exit
}
