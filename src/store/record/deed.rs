//! The disk forms of an entry of the audit list and of a redrive, version 1 of both.

use bincode::{BorrowDecode, Encode};

use super::super::events::audit::{Action, Actor, Deed};
use super::super::events::redrive::{Filter, Redrive};
use super::{CODEC, DamagedRecord, MAX_VALUE_BYTES, number_of, sealed, unsealed, word_of};
use crate::claim::{Namespace, Timestamp};
use crate::event::{Cause, EventId};

const VERSION: u8 = 1;
/// Why encoding cannot fail.
const FITS: &str = "memory takes every write, and decoding has the only limit";

#[derive(Encode, BorrowDecode)]
struct DiskDeed<'a> {
    at_ms: u64,
    actor: &'a str,
    action: u8,
    target: &'a str,
    namespace: Option<&'a str>,
}

#[derive(Encode, BorrowDecode)]
struct DiskRedrive<'a> {
    route: Option<&'a str>,
    cause: Option<u8>,
    before_ms: Option<u64>,
    namespaces: Option<Vec<&'a str>>,
    at_ms: u64,
    actor: &'a str,
    after: Option<[u8; 16]>,
    requeued: u64,
}

pub(in crate::store) fn encode_deed(at: Timestamp, deed: &Deed) -> Vec<u8> {
    let disk = DiskDeed {
        at_ms: at.as_millis(),
        actor: deed.actor.as_str(),
        action: number_of(&Action::ALL, deed.action),
        target: &deed.target,
        namespace: deed.namespace.as_ref().map(Namespace::as_str),
    };
    sealed(VERSION, |bytes| {
        bincode::encode_into_std_write(disk, bytes, CODEC).expect(FITS);
    })
}

pub(in crate::store) fn decode_deed(bytes: &[u8]) -> Result<(Timestamp, Deed), DamagedRecord> {
    let body = unsealed(VERSION, bytes)?;
    let (disk, _): (DiskDeed<'_>, _) = bincode::borrow_decode_from_slice(body, CODEC).map_err(DamagedRecord::Decode)?;
    let deed = Deed {
        actor: Actor::new(disk.actor),
        action: word_of(&Action::ALL, disk.action)?,
        target: disk.target.into(),
        namespace: disk.namespace.map(Namespace::parse_any).transpose().map_err(DamagedRecord::Name)?,
    };
    Ok((Timestamp::from_millis(disk.at_ms), deed))
}

/// The value of a redrive; `None` when it names so many namespaces that it is larger than a value may be.
pub(in crate::store) fn encode_redrive(redrive: &Redrive) -> Option<Vec<u8>> {
    let Redrive { filter, at, actor, after, requeued } = redrive;
    let namespaces = filter.namespaces.as_ref();
    let disk = DiskRedrive {
        route: filter.route.as_deref(),
        cause: filter.cause.map(|cause| number_of(&Cause::ALL, cause)),
        before_ms: filter.before.map(Timestamp::as_millis),
        namespaces: namespaces.map(|all| all.iter().map(Namespace::as_str).collect()),
        at_ms: at.as_millis(),
        actor: actor.as_str(),
        after: after.map(|id| *id.as_bytes()),
        requeued: *requeued,
    };
    let bytes = sealed(VERSION, |bytes| {
        bincode::encode_into_std_write(disk, bytes, CODEC).expect(FITS);
    });
    // Decoding has a limit of its own, which counts otherwise than by the bytes.
    (bytes.len() <= MAX_VALUE_BYTES && decode_redrive(&bytes).is_ok()).then_some(bytes)
}

pub(in crate::store) fn decode_redrive(bytes: &[u8]) -> Result<Redrive, DamagedRecord> {
    let body = unsealed(VERSION, bytes)?;
    let (disk, _): (DiskRedrive<'_>, _) =
        bincode::borrow_decode_from_slice(body, CODEC).map_err(DamagedRecord::Decode)?;
    let parse = |names: Vec<&str>| names.into_iter().map(Namespace::parse_any).collect::<Result<_, _>>();
    Ok(Redrive {
        filter: Filter {
            route: disk.route.map(Into::into),
            cause: disk.cause.map(|cause| word_of(&Cause::ALL, cause)).transpose()?,
            before: disk.before_ms.map(Timestamp::from_millis),
            namespaces: disk.namespaces.map(parse).transpose().map_err(DamagedRecord::Name)?,
        },
        at: Timestamp::from_millis(disk.at_ms),
        actor: Actor::new(disk.actor),
        after: disk.after.map(EventId::from_bytes),
        requeued: disk.requeued,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deeds_and_redrives_come_back_as_they_were_and_damage_is_seen() {
        let namespace = Namespace::parse_any("route:github").expect("good");
        let at = Timestamp::from_millis(7);
        for action in Action::ALL {
            for namespace in [None, Some(namespace.clone())] {
                let deed = Deed { actor: Actor::new("ops"), action, target: "00".into(), namespace };
                let bytes = encode_deed(at, &deed);
                assert_eq!(decode_deed(&bytes).expect("sound"), (at, deed));
                assert!((0..bytes.len()).all(|length| decode_deed(&bytes[..length]).is_err()));
            }
        }
        let filters = Cause::ALL.into_iter().map(|cause| Filter {
            route: Some("github".into()),
            cause: Some(cause),
            before: Some(at),
            namespaces: Some(vec![namespace.clone()]),
        });
        for filter in filters.chain([Filter::default()]) {
            let after = filter.cause.map(|_| EventId::from_bytes([9; 16]));
            let redrive = Redrive { filter, at, actor: Actor::new("ops"), after, requeued: 3 };
            let bytes = encode_redrive(&redrive).expect("it fits");
            assert_eq!(decode_redrive(&bytes).expect("sound"), redrive);
            assert!((0..bytes.len()).all(|length| decode_redrive(&bytes[..length]).is_err()));
        }
    }

    /// A token of sixty namespaces began a redrive that nobody could read again, and so was never done.
    #[test]
    fn a_redrive_of_many_namespaces_comes_back_and_one_of_far_too_many_is_not_written() {
        let redrive = |count: usize| {
            let name = |number| Namespace::parse_any(&format!("route:{number:058}")).expect("good");
            let namespaces = Some((0..count).map(name).collect());
            let filter = Filter { namespaces, ..Filter::default() };
            Redrive { filter, at: Timestamp::from_millis(7), actor: Actor::new("ops"), after: None, requeued: 0 }
        };
        let bytes = encode_redrive(&redrive(40)).expect("it fits");
        assert_eq!(decode_redrive(&bytes).expect("sound"), redrive(40));
        assert_eq!(encode_redrive(&redrive(60)), None);
    }
}
