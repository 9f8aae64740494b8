//! A server on a free port and a client that writes raw bytes.

use std::time::Duration;

use http::StatusCode;
use onced::server::{BodyLimits, Limits, Listener, Request, Response, Shutdown, close, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// A running server; the listener closes when `shutdown` begins.
pub(crate) struct Server {
    pub(crate) address: String,
    pub(crate) shutdown: Shutdown,
}

impl Server {
    pub(crate) async fn start<S, F>(service: S) -> Self
    where
        S: Fn(Request) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Response> + Send + 'static,
    {
        Self::with_limits(Limits::default(), service).await
    }

    pub(crate) async fn with_limits<S, F>(limits: Limits, service: S) -> Self
    where
        S: Fn(Request) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Response> + Send + 'static,
    {
        let listener = Listener::bind_tcp("127.0.0.1:0", None).await.unwrap();
        Self::on(listener, limits, service)
    }

    pub(crate) fn on<S, F>(listener: Listener, limits: Limits, service: S) -> Self
    where
        S: Fn(Request) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Response> + Send + 'static,
    {
        let (address, shutdown) = (listener.local_address(), Shutdown::new());
        tokio::spawn(serve(listener, limits, service, shutdown.clone()));
        Self { address, shutdown }
    }

    pub(crate) async fn connect(&self) -> Raw<TcpStream> {
        Raw(TcpStream::connect(&self.address).await.unwrap())
    }
}

/// The bodies that [`echo`] takes.
pub(crate) fn body_limits() -> BodyLimits {
    BodyLimits { max_bytes: 100_000, whole: Duration::from_secs(60), min_rate: 1000 }
}

/// Answers with the body, or with the body's error.
pub(crate) async fn echo(request: Request) -> Response {
    match request.body.read(&body_limits()).await {
        Ok(body) => Response::new(body.into()),
        Err(error) => {
            let mut response = Response::new(error.to_string().into_bytes().into());
            *response.status_mut() = error.status();
            close(&mut response);
            response
        }
    }
}

/// Answers `ok` without looking.
pub(crate) async fn ok(_: Request) -> Response {
    Response::new("ok".into())
}

/// A client that knows no HTTP.
pub(crate) struct Raw<I>(pub(crate) I);

impl<I: AsyncReadExt + AsyncWriteExt + Unpin> Raw<I> {
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Everything until the server closes; an answer and then a reset is a failure.
    pub(crate) async fn read_to_end(&mut self) -> Answer {
        let mut bytes = Vec::new();
        self.0.read_to_end(&mut bytes).await.unwrap();
        Answer(String::from_utf8(bytes).unwrap())
    }

    /// One answer, by its Content-Length.
    pub(crate) async fn answer(&mut self) -> Answer {
        let mut bytes = Vec::new();
        loop {
            let byte = self.0.read_u8().await.unwrap();
            bytes.push(byte);
            if bytes.ends_with(b"\r\n\r\n") {
                break;
            }
        }
        let head = Answer(String::from_utf8(bytes).unwrap());
        let length = head.header("content-length").map_or(0, |value| value.parse().unwrap());
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await.unwrap();
        Answer(head.0 + &String::from_utf8(body).unwrap())
    }

    /// Waits for the server to close without another byte.
    pub(crate) async fn assert_closed(&mut self) {
        assert_eq!(self.read_to_end().await.0, "");
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer(pub(crate) String);

impl Answer {
    pub(crate) fn status(&self) -> StatusCode {
        self.0.split(' ').nth(1).unwrap_or_else(|| panic!("no status in {:?}", self.0)).parse().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let head = self.0.split("\r\n\r\n").next().unwrap();
        let mut fields = head.lines().skip(1).filter_map(|line| line.split_once(": "));
        fields.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn body(&self) -> &str {
        self.0.split_once("\r\n\r\n").unwrap().1
    }
}

/// A point in time that tests with a real clock do not reach.
pub(crate) fn far() -> Instant {
    Instant::now() + Duration::from_secs(60)
}
