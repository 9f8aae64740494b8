//! HTTP as both sides read it: a head and as many bytes as it says.

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// One message with a Content-Length; none when the other side is done.
pub(super) async fn read_message(socket: &mut TcpStream) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.ok()?);
    }
    let length = field(&head, "content-length").map_or(0, |value| text(value).parse().unwrap());
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.ok()?;
    Some((head, body))
}

pub(super) fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\r")).filter(|line| !line.is_empty())
}

pub(super) fn fields(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    lines(head).skip(1).map(|line| {
        let colon = line.iter().position(|byte| *byte == b':').unwrap();
        (&line[..colon], line[colon + 1..].trim_ascii())
    })
}

pub(super) fn field<'h>(head: &'h [u8], name: &str) -> Option<&'h [u8]> {
    fields(head).find(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value)
}

pub(super) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}
