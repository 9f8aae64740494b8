//! Lets an enum of byte streams be one, by passing every call on to whatever carries the bytes.

/// Implements reading and writing for an enum all of whose variants hold something that can do both.
macro_rules! carried {
    ($name:ident: $($variant:ident),+) => {
        const _: () = {
            use std::io;
            use std::pin::Pin;
            use std::task::{Context, Poll};

            use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

            impl AsyncRead for $name {
                fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
                    match self.get_mut() {
                        $(Self::$variant(carrier) => Pin::new(carrier).poll_read(cx, to),)+
                    }
                }
            }

            impl AsyncWrite for $name {
                fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
                    match self.get_mut() {
                        $(Self::$variant(carrier) => Pin::new(carrier).poll_write(cx, bytes),)+
                    }
                }

                fn poll_write_vectored(
                    self: Pin<&mut Self>,
                    cx: &mut Context<'_>,
                    pieces: &[io::IoSlice<'_>],
                ) -> Poll<io::Result<usize>> {
                    match self.get_mut() {
                        $(Self::$variant(carrier) => Pin::new(carrier).poll_write_vectored(cx, pieces),)+
                    }
                }

                fn is_write_vectored(&self) -> bool {
                    match self {
                        $(Self::$variant(carrier) => carrier.is_write_vectored(),)+
                    }
                }

                fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                    match self.get_mut() {
                        $(Self::$variant(carrier) => Pin::new(carrier).poll_flush(cx),)+
                    }
                }

                fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                    match self.get_mut() {
                        $(Self::$variant(carrier) => Pin::new(carrier).poll_shutdown(cx),)+
                    }
                }
            }
        };
    };
}

pub(super) use carried;
