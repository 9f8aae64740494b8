//! Sees work on an event break off.
//!
//! A task that panics tells whoever waits for it, and the sender may have gone by then. An attempt that ends like that
//! leaves its claim held until it expires, so an operator hears of it either way.

/// Lives as long as the work on an event of this route.
#[derive(Debug)]
pub(super) struct Watch(pub(super) Box<str>);

impl Drop for Watch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!(route = %self.0, "work on an event broke off; if it has a claim, that is held until it expires");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex, PoisonError};

    use super::*;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// An attempt whose sender had gone panicked, and the log said nothing of whose event it was.
    #[tokio::test]
    async fn work_that_breaks_off_is_told_of_with_its_route_and_work_that_ends_is_not() {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        let _default = tracing::subscriber::set_default(subscriber);
        for (route, breaks) in [("whole", false), ("broken", true)] {
            let watch = Watch(route.into());
            let work = tokio::spawn(async move {
                let _watch = watch;
                assert!(!breaks, "it breaks");
            });
            assert_eq!(work.await.is_err(), breaks);
        }
        let said = log.0.lock().unwrap_or_else(PoisonError::into_inner);
        let said = String::from_utf8_lossy(&said);
        let lines: Vec<_> = said.lines().collect();
        assert!(matches!(lines[..], [line] if line.contains("ERROR") && line.contains("route=broken")), "{said}");
    }
}
