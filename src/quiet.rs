//! Keeps the log readable: of what anybody on the network can cause, or an app that is down, some lines a minute are
//! enough. A leaf: what the lines are about is known to whoever writes them.
//!
//! Every route has its own count for each kind of line, so that neither hides another. What was left out is told with
//! the next line; the metrics count all of it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Lines of one kind, for one route, in one [`WINDOW`]: enough to see the causes side by side.
const LINES: u64 = 10;
const WINDOW: Duration = Duration::from_secs(60);

/// How much has been said of what; `T` is what there is to say.
#[derive(Debug)]
pub struct Quiet<T>(Mutex<HashMap<(Box<str>, T), Window>>);

#[derive(Debug)]
struct Window {
    end: Instant,
    said: u64,
    left_out: u64,
}

impl<T: Copy + Eq + Hash> Quiet<T> {
    /// Whether a line may be written now, and if so, how many were left out before it. The number of routes bounds what
    /// is kept.
    pub fn permits(&self, route: &str, topic: T) -> Option<u64> {
        let now = Instant::now();
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner); // a count is never half done
        let fresh = || Window { end: now + WINDOW, said: 0, left_out: 0 };
        let window = windows.entry((route.into(), topic)).or_insert_with(fresh);
        if now >= window.end {
            *window = Window { left_out: window.left_out, ..fresh() };
        }
        if window.said >= LINES {
            window.left_out += 1;
            return None;
        }
        window.said += 1;
        Some(std::mem::take(&mut window.left_out))
    }
}

impl<T> Default for Quiet<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    enum Topic {
        Refused,
        Unread,
    }

    #[tokio::test(start_paused = true)]
    async fn of_many_lines_some_are_written_and_the_rest_is_counted() {
        let quiet = Quiet::default();
        let written = |count: usize| (0..count).filter_map(|_| quiet.permits("a", Topic::Refused)).collect::<Vec<_>>();
        assert_eq!(written(100), [0; 10]);
        assert_eq!((quiet.permits("a", Topic::Unread), quiet.permits("b", Topic::Refused)), (Some(0), Some(0)));
        tokio::time::advance(WINDOW - Duration::from_millis(1)).await;
        assert_eq!(written(5), [0; 0]);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(written(2), [95, 0]);
    }
}
