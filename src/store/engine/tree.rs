//! A tree of the database beside the records: names and values that mean nothing here.
//!
//! What is written is not settled, as records are ([`super::Engine::write`]): nobody reads these trees in a database that has
//! failed. Who does says so ([`Tree::settle`]).

use std::panic::{self, AssertUnwindSafe};

use super::{EngineError, text_of};

/// A tree. What is written is synced by the next [`super::Engine::flush`].
#[derive(Debug)]
pub(in crate::store) struct Tree {
    tree: sled::Tree,
    #[cfg(test)]
    pub(super) writes_left: super::WritesLeft,
}

impl Tree {
    /// Opens it, or makes it: the first start that knows of it does.
    pub(super) fn open(db: &sled::Db, name: &[u8]) -> Result<Self, EngineError> {
        let opened = panic::catch_unwind(AssertUnwindSafe(|| db.open_tree(name)));
        let opened = opened.map_err(|panic| EngineError::Panicked(text_of(&*panic)))?;
        let tree = opened.map_err(EngineError::Database)?;
        Ok(Self {
            tree,
            #[cfg(test)]
            writes_left: super::WritesLeft::default(),
        })
    }

    pub(in crate::store) fn read(&self, name: &[u8]) -> Result<Option<impl AsRef<[u8]> + use<>>, EngineError> {
        self.tree.get(name).map_err(EngineError::Database)
    }

    pub(in crate::store) fn write(&self, name: &[u8], value: &[u8]) -> Result<(), EngineError> {
        #[cfg(test)]
        self.writes_left.take()?;
        self.tree.insert(name, value).map(drop).map_err(EngineError::Database)
    }

    pub(in crate::store) fn remove(&self, name: &[u8]) -> Result<(), EngineError> {
        #[cfg(test)]
        self.writes_left.take()?;
        self.tree.remove(name).map(drop).map_err(EngineError::Database)
    }

    /// What is there from a name on, in the order of the names, and backwards from its end.
    pub(in crate::store) fn scan(
        &self,
        from: &[u8],
    ) -> impl DoubleEndedIterator<Item = Result<(impl AsRef<[u8]> + use<>, impl AsRef<[u8]> + use<>), EngineError>> + use<>
    {
        self.tree.range(from..).map(|item| item.map_err(EngineError::Database))
    }

    /// What is there before a name, backwards.
    pub(in crate::store) fn scan_back(
        &self,
        before: &[u8],
    ) -> impl Iterator<Item = Result<(impl AsRef<[u8]> + use<>, impl AsRef<[u8]> + use<>), EngineError>> + use<> {
        self.tree.range(..before).rev().map(|item| item.map_err(EngineError::Database))
    }

    /// Walks to a name that was just written, so that it can be read whatever comes.
    pub(super) fn settle(&self, name: &[u8]) -> Result<(), EngineError> {
        self.tree.get(name).map(drop).map_err(EngineError::Database)
    }
}
