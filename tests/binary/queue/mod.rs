//! Queue routes of the real binary: nothing that was acknowledged is lost, whatever ends the process or the disk's goodwill.

mod app;
mod backlog;
mod broken;
mod contention;
mod disk;
mod event;
mod kill;
mod place;
mod redrive;
mod restart;
mod space;
mod steps;
mod synced;
