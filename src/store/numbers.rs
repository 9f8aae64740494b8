//! The numbers of commits, which are the fencing numbers of claims: each given once, and rising.

use std::sync::atomic::{AtomicU64, Ordering};

/// The last number that was given. The commit thread draws them, and whoever answers while it hangs.
#[derive(Debug)]
pub(super) struct Numbers {
    last: AtomicU64,
}

impl Numbers {
    pub(super) fn after(last: u64) -> Self {
        Self { last: AtomicU64::new(last) }
    }

    /// The last that was given.
    pub(super) fn last(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }

    /// The next one.
    pub(super) fn draw(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Takes back a number that was drawn and told to nobody. If another was drawn since, it is left out.
    ///
    /// For the commit thread alone: what it has once seen as the last number must never come again, because commits are
    /// numbered with it, and a commit with the number of the one before would count as no commit.
    pub(super) fn give_back(&self, number: u64) {
        let _left_out = self.last.compare_exchange(number, number - 1, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Goes on above `number`.
    pub(super) fn pass(&self, number: u64) {
        self.last.fetch_max(number, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of claims that were answered while a commit hung were all zero.
    #[test]
    fn a_number_is_given_once_whoever_draws_and_gives_back_meanwhile() {
        let numbers = Numbers::after(7);
        let first = numbers.draw();
        numbers.give_back(first);
        assert_eq!(numbers.last(), 7);
        let (unused, told) = (numbers.draw(), numbers.draw());
        numbers.give_back(unused);
        assert!(numbers.draw() > told);
        numbers.pass(20);
        numbers.pass(10);
        assert_eq!(numbers.draw(), 21);
    }
}
