//! A client of the control API on one connection: blocking, and no cleverer than `write` and `read`.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

/// Longer than any answer may take: the commit deadline, with a slow machine in mind.
const PATIENCE: Duration = Duration::from_secs(30);

/// One answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) text: String,
}

impl Answer {
    /// A member of the JSON body; null where there is none.
    pub(crate) fn get(&self, name: &str) -> Value {
        let body: Value = serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text));
        body[name].clone()
    }

    pub(crate) fn text_of(&self, name: &str) -> String {
        self.get(name).as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn number(&self, name: &str) -> u64 {
        self.get(name).as_u64().unwrap_or_else(|| panic!("no {name} in {}", self.text))
    }

    pub(crate) fn outcome(&self) -> String {
        self.text_of("outcome")
    }

    pub(crate) fn is_degraded(&self) -> bool {
        self.get("degraded") == json!(true)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find_map(|(found, value)| found.eq_ignore_ascii_case(name).then(|| value.trim()))
    }
}

/// A connection that stays open.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    address: String,
}

impl Client {
    pub(crate) fn connect(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream: BufReader::new(stream), address: address.to_owned() })
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, body: &str) -> io::Result<Answer> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        self.receive()
    }

    pub(crate) fn receive(&mut self) -> io::Result<Answer> {
        let mut head = String::new();
        loop {
            if self.stream.read_line(&mut head)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if head.ends_with("\r\n\r\n") {
                break;
            }
        }
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut answer = Answer { status: status.ok_or(io::ErrorKind::InvalidData)?, head, text: String::new() };
        let length = answer.header("content-length").and_then(|length| length.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body)?;
        answer.text = String::from_utf8(body).map_err(io::Error::other)?;
        Ok(answer)
    }

    /// Sends a request as it is, and waits for its answer.
    pub(crate) fn exchange(&mut self, request: &[u8]) -> io::Result<Answer> {
        self.stream.get_mut().write_all(request)?;
        self.receive()
    }

    /// Sends bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    pub(crate) fn post(&mut self, verb: &str, body: &Value) -> io::Result<Answer> {
        self.send("POST", &format!("/v1/{verb}"), &body.to_string())
    }

    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, "").unwrap()
    }

    /// Claims a key of a namespace with a token of one's own, for a time like `"2s"`.
    pub(crate) fn claim(&mut self, namespace: &str, key: &str, token: &str, ttl: &str) -> Answer {
        let body = json!({"namespace": namespace, "key": key, "token": token, "processing_ttl": ttl});
        self.post("claim", &body).unwrap()
    }

    pub(crate) fn confirm(&mut self, namespace: &str, key: &str) -> Answer {
        self.post("confirm", &json!({"namespace": namespace, "key": key})).unwrap()
    }

    /// Sends commands in batches; the answers, in order.
    pub(crate) fn batch(&mut self, commands: &[Value]) -> Vec<Value> {
        let mut answers = Vec::new();
        for commands in commands.chunks(500) {
            let answer = self.post("batch", &json!({ "commands": commands })).unwrap();
            assert_eq!(answer.status, 200, "{}", answer.text);
            answers.extend(answer.get("answers").as_array().unwrap().iter().cloned());
        }
        assert_eq!(answers.len(), commands.len());
        answers
    }

    /// The sum of a metric's samples whose labels contain `label`.
    pub(crate) fn metric(&mut self, name: &str, label: &str) -> u64 {
        let text = self.get("/metrics").text;
        text.lines()
            .filter(|line| line.starts_with(name) && line.contains(label))
            .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64)
            .sum()
    }
}

/// A token of a caller's own.
pub(crate) fn token(number: u64) -> String {
    format!("token-of-the-test-{number:020}")
}
