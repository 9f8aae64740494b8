//! The tasks that never end by themselves while the daemon serves, and which of them did.

use std::collections::HashMap;

use tokio::task::{Id, JoinSet};

/// Named tasks; all of them end when this is dropped.
#[derive(Debug, Default)]
pub(super) struct Workers {
    tasks: JoinSet<&'static str>,
    /// A task that panics does not come to say who it was.
    names: HashMap<Id, &'static str>,
}

impl Workers {
    /// Starts a task that says at its end what has ended; `name` is for one that cannot.
    pub(super) fn start(&mut self, name: &'static str, work: impl Future<Output = &'static str> + Send + 'static) {
        let id = self.tasks.spawn(work).id();
        self.names.insert(id, name);
    }

    /// Waits for the first to end; says which. Never comes back if there is none.
    pub(super) async fn ended(&mut self) -> &'static str {
        match self.tasks.join_next().await {
            Some(Ok(name)) => name,
            Some(Err(panicked)) => self.names.get(&panicked.id()).copied().unwrap_or("a worker"),
            None => std::future::pending().await,
        }
    }

    /// Stops those that are left.
    pub(super) async fn stop(&mut self) {
        self.tasks.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_ends_is_named_and_so_is_who_panics() {
        let mut workers = Workers::default();
        workers.start("the sleeper", std::future::pending());
        workers.start("the one that panics", async { panic!("as the test wants it") });
        assert_eq!(workers.ended().await, "the one that panics");
        workers.start("the commits", async { "a commit that hangs" });
        assert_eq!(workers.ended().await, "a commit that hangs");
        workers.stop().await;
    }
}
