//! The app.

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

use super::message::{field, fields, lines, read_message, text};
use super::soon;

/// What the app does once it has read a request.
#[derive(Debug)]
pub(crate) enum Reply {
    /// Says this and reads on.
    Keep(Vec<u8>),
    /// Says this and closes.
    Close(Vec<u8>),
    /// Says this and resets.
    Reset(Vec<u8>),
    /// Says this, and when the test lets it, closes (or resets).
    Later(Vec<u8>, oneshot::Receiver<()>, End),
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Close,
    Reset,
}

impl Reply {
    pub(crate) fn ok() -> Self {
        Self::status(200)
    }

    pub(crate) fn status(status: u16) -> Self {
        Self::Keep(format!("HTTP/1.1 {status} Said\r\nContent-Length: 2\r\n\r\nok").into_bytes())
    }

    pub(crate) fn keep(text: &str) -> Self {
        Self::Keep(text.into())
    }
}

/// An app that records what comes, and does what the test says.
pub(crate) struct App {
    address: String,
    hits: mpsc::UnboundedReceiver<Hit>,
    ends: mpsc::UnboundedReceiver<usize>,
}

/// A request that the app has read.
#[derive(Debug)]
pub(crate) struct Hit {
    /// The number of the connection on which it came, from 1.
    pub(crate) connection: usize,
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
    reply: oneshot::Sender<Reply>,
}

impl App {
    pub(crate) async fn start() -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    pub(crate) fn on(listener: TcpListener) -> Self {
        let address = listener.local_addr().unwrap().to_string();
        let (tell, hits) = mpsc::unbounded_channel();
        let (ended, ends) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            for connection in 1.. {
                let (socket, _) = listener.accept().await.unwrap();
                let (tell, ended) = (tell.clone(), ended.clone());
                tokio::spawn(async move {
                    serve(socket, connection, tell).await;
                    // A test that has ended wants to know nothing.
                    let _ = ended.send(connection);
                });
            }
        });
        Self { address, hits, ends }
    }

    /// An address where nobody listens.
    pub(crate) async fn absent() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (_, hits) = mpsc::unbounded_channel();
        let (_, ends) = mpsc::unbounded_channel();
        Self { address, hits, ends }
    }

    /// An app at an address where there was none.
    pub(crate) async fn appear(self) -> Self {
        Self::on(TcpListener::bind(&self.address).await.unwrap())
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The next request.
    pub(crate) async fn hit(&mut self) -> Hit {
        soon("a request at the app", self.hits.recv()).await.unwrap()
    }

    /// A request that is here by now.
    pub(crate) fn hit_by_now(&mut self) -> Option<Hit> {
        self.hits.try_recv().ok()
    }

    /// The next request, answered like this.
    pub(crate) async fn answers(&mut self, reply: Reply) -> Seen {
        self.hit().await.answer(reply)
    }

    /// The number of the next connection that has ended.
    pub(crate) async fn ended(&mut self) -> usize {
        soon("the end of a connection", self.ends.recv()).await.unwrap()
    }

    /// That nothing else has come. What is handed over is so before its sender has an answer.
    pub(crate) fn assert_quiet(&mut self) {
        assert!(self.hit_by_now().is_none(), "the app got more than it should");
    }
}

async fn serve(mut socket: TcpStream, connection: usize, tell: mpsc::UnboundedSender<Hit>) {
    while let Some((head, body)) = read_message(&mut socket).await {
        let (reply, said) = oneshot::channel();
        let hit = Hit { connection, head, body, reply };
        if tell.send(hit).is_err() {
            return;
        }
        // A test that drops the hit lets the app close without a word.
        let reply = said.await.unwrap_or(Reply::Close(Vec::new()));
        let (Reply::Keep(bytes) | Reply::Close(bytes) | Reply::Reset(bytes) | Reply::Later(bytes, ..)) = &reply;
        if socket.write_all(bytes).await.is_err() {
            return; // the daemon has let go
        }
        let end = match reply {
            Reply::Keep(_) => continue,
            Reply::Close(_) => End::Close,
            Reply::Reset(_) => End::Reset,
            Reply::Later(_, let_go, end) => {
                let_go.await.unwrap();
                end
            }
        };
        if end == End::Reset {
            socket.set_zero_linger().unwrap();
        }
        return;
    }
}

impl Hit {
    /// Lets the app do this.
    pub(crate) fn answer(self, reply: Reply) -> Seen {
        let Self { connection, head, body, reply: to } = self;
        to.send(reply).unwrap();
        Seen { connection, head, body }
    }
}

/// A request that was answered.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) connection: usize,
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        field(&self.head, name).map(text)
    }

    /// The bytes of each value of a header, in order.
    pub(crate) fn values(&self, name: &str) -> Vec<&[u8]> {
        fields(&self.head)
            .filter(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
            .collect()
    }

    pub(crate) fn has_line(&self, line: &[u8]) -> bool {
        lines(&self.head).any(|found| found == line)
    }

    /// What stands between method and version.
    pub(crate) fn target(&self) -> &[u8] {
        let line = lines(&self.head).next().unwrap();
        line.strip_prefix(b"POST ").unwrap().strip_suffix(b" HTTP/1.1").unwrap()
    }

    pub(crate) fn attempt(&self) -> &str {
        self.header("onced-attempt").unwrap()
    }
}
