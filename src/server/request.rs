//! A request as a handler gets it: the head parsed, the body still on the wire, and who is asking.

use std::net::SocketAddr;

use super::RequestBody;

/// Who is at the other end of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// Somebody whom the mode of the socket file let in.
    Unix,
    /// An address as the kernel saw it; an IPv4 address mapped into IPv6 is given as IPv4, so that a test for
    /// loopback holds on a dual-stack listener too.
    Tcp(SocketAddr),
}

/// One request. Its framing has been checked: the body ends where every parser that follows RFC 9112 says it ends.
#[derive(Debug)]
pub struct Request {
    /// Method, target, headers. The extensions carry the letters of the header names as they were sent, in a form
    /// private to the transport: move them into the request that goes on to the app, and the names keep their letters.
    pub head: http::request::Parts,
    /// The body, not yet read. Dropping it unread is allowed: the transport then drains or closes the connection.
    pub body: RequestBody,
    /// The other end of the connection.
    pub peer: Peer,
}
