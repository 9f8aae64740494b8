//! The sender, and what it is told.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::message::{field, lines, read_message, text};
use super::soon;

/// A connection to the daemon on which bytes are written.
pub(crate) struct Sender(pub(crate) TcpStream);

impl Sender {
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).await.unwrap();
    }

    pub(crate) async fn answer(&mut self) -> Answer {
        let (head, body) =
            soon("an answer to the sender", read_message(&mut self.0)).await.expect("closed without an answer");
        Answer { head, body }
    }

    /// That the daemon asks for the body.
    pub(crate) async fn assert_continue(&mut self) {
        let mut interim = [0; 25];
        soon("leave to send the body", self.0.read_exact(&mut interim)).await.unwrap();
        assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    }

    /// The head of an answer, whatever follows it.
    pub(crate) async fn head(&mut self) -> Vec<u8> {
        let mut head = Vec::new();
        soon("the head of an answer", async {
            while !head.ends_with(b"\r\n\r\n") {
                head.push(self.0.read_u8().await.unwrap());
            }
        })
        .await;
        head
    }

    /// That the daemon closes, without another byte.
    pub(crate) async fn assert_closed(&mut self) {
        let mut rest = Vec::new();
        soon("the end", self.0.read_to_end(&mut rest)).await.unwrap();
        assert!(rest.is_empty(), "{}", String::from_utf8_lossy(&rest));
    }

    /// Goes away without reading.
    pub(crate) fn reset(self) {
        self.0.set_zero_linger().unwrap();
    }
}

/// What the sender is told.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        text(&self.head[9..12]).parse().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        field(&self.head, name).map(text)
    }

    pub(crate) fn has_line(&self, line: &[u8]) -> bool {
        lines(&self.head).any(|found| found == line)
    }

    /// The status and `Onced-Outcome`.
    #[track_caller]
    pub(crate) fn assert(&self, status: u16, outcome: &str) {
        let head = String::from_utf8_lossy(&self.head);
        let found = (self.status(), self.header("onced-outcome"));
        assert_eq!(found, (status, Some(outcome)), "{head}");
        let asks_for_time = self.status() == 503;
        assert!(!asks_for_time || self.header("retry-after").is_some(), "{head}");
    }
}
