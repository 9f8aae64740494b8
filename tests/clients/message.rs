//! A request as bytes on a socket, how it can be forged, and what is answered to it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Ends a test that waits for what does not come.
const PATIENCE: Duration = Duration::from_secs(30);
/// In every row's body, in a place that its signature covers.
const WORD: &str = "paid";
/// What a request says about itself alone: a copy that is sent on gets its own.
const OWN: [&str; 3] = ["host", "connection", "content-length"];

/// A POST.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Message {
    #[serde(default)]
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Message {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Sends it on a connection of its own and waits for the answer.
    pub(crate) fn post(&self, address: &str) -> Answer {
        let mut head = format!("POST {} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n", self.target);
        for (name, value) in
            self.headers.iter().filter(|(name, _)| !OWN.iter().any(|own| name.eq_ignore_ascii_case(own)))
        {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", self.body.len()));
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.write_all((head + &self.body).as_bytes()).unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        Answer::parse(&self.target, &text)
    }

    /// This with another body, and with each of the headers that seal it altered and left out; each with its name.
    pub(crate) fn forgeries(&self, sealed: &[String]) -> Vec<(String, Self)> {
        assert!(self.body.contains(WORD), "{} has nothing to alter", self.target);
        let body = self.body.replacen(WORD, "free", 1);
        let mut forgeries = vec![("another body".to_owned(), Self { body, ..self.clone() })];
        for name in sealed {
            let is_it = |found: &str| found.eq_ignore_ascii_case(name);
            assert!(self.header(name).is_some(), "{name} is not there");
            let (mut altered, mut without) = (self.clone(), self.clone());
            altered.headers.iter_mut().filter(|(found, _)| is_it(found)).for_each(|(_, value)| *value = alter(value));
            without.headers.retain(|(found, _)| !is_it(found));
            forgeries.push((format!("another {name}"), altered));
            forgeries.push((format!("no {name}"), without));
        }
        forgeries
    }
}

/// Another character of the same kind in the middle, so that what was hex, base64 or a number still is.
fn alter(value: &str) -> String {
    let middle = value.len() / 2;
    let at = middle + value[middle..].find(|character: char| character.is_ascii_alphanumeric()).unwrap();
    let (one, another) = match value.as_bytes()[at] {
        b'0'..=b'9' => ("1", "2"),
        b'a'..=b'z' => ("a", "b"),
        _ => ("A", "B"),
    };
    let other = if value[at..].starts_with(one) { another } else { one };
    format!("{}{other}{}", &value[..at], &value[at + 1..])
}

/// What came back, from onced or from the app itself.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    outcome: Option<String>,
    target: String,
    body: String,
}

impl Answer {
    fn parse(target: &str, text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let outcome = lines.find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("onced-outcome").then(|| value.to_owned())
        });
        Self { status, outcome, target: target.to_owned(), body: body.to_owned() }
    }

    /// Status and outcome.
    pub(crate) fn told(&self) -> (u16, Option<&str>) {
        (self.status, self.outcome.as_deref())
    }

    /// The request as it arrived at the app, which says so in its answer.
    pub(crate) fn copy(&self) -> Message {
        #[derive(Deserialize)]
        struct Judgement {
            copy: Message,
        }
        let Judgement { copy } = self.read();
        Message { target: self.target.clone(), ..copy }
    }

    pub(crate) fn read<T: DeserializeOwned>(&self) -> T {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}
