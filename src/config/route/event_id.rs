//! `event_id = { … }`: where the id is, when not where the profile says.

use crate::provider::{
    EventIdSource, EventIdSourceError, Header, IdPart, MAX_ID_PARTS, MAX_POINTER_STEPS, Place, Pointer, PointerError,
};

use super::super::faults::Reported;
use super::super::item::all;
use super::super::section::{Read, Section};

pub(super) fn read(section: &mut Section<'_>) -> Read<EventIdSource> {
    let Some(mut keys) = section.table("event_id")? else {
        return Ok(None);
    };
    let one = part_keys(&mut keys);
    let several = parts(&mut keys, "parts");
    let array = keys.parse("batch", array);
    let item = parts(&mut keys, "item");
    keys.finish();
    let set = (one?, several?, array?, item?);
    let source = match set {
        ([None, None, None, None], Some(parts), None, None) => EventIdSource::of_parts(parts),
        ([None, None, None, None], None, Some(array), Some(item)) => EventIdSource::of_batch(array.to_owned(), item),
        (one, None, None, None) => match part(one) {
            Some(part) => Ok(EventIdSource::One(part)),
            None => Err(EventIdSourceError::Combination),
        },
        _ => Err(EventIdSourceError::Combination),
    };
    source.map(Some).map_err(|error| keys.fault_of_all(reason(&error)))
}

/// What names one text, in the order header, pointer, form, query.
type PartKeys<'a> = [Option<&'a str>; 4];

fn part_keys<'a>(keys: &mut Section<'a>) -> Result<PartKeys<'a>, Reported> {
    let header = keys.parse("header", header);
    let pointer = keys.parse("pointer", pointer);
    let form = keys.parse("form", name);
    let query = keys.parse("query", name);
    Ok([header?, pointer?, form?, query?])
}

fn part(keys: PartKeys<'_>) -> Option<IdPart> {
    let header = |text: &str| Header::try_from(text.to_owned()).ok();
    let pointer = |text: &str| Pointer::try_from(text.to_owned()).ok();
    Some(match keys {
        [Some(text), None, None, None] => IdPart::Text(Place::Header(header(text)?)),
        [None, Some(text), None, None] => IdPart::Text(Place::Pointer(pointer(text)?)),
        [None, None, Some(field), None] => IdPart::Text(Place::Form(field.to_owned())),
        [None, Some(text), Some(field), None] => IdPart::InForm { field: field.to_owned(), pointer: pointer(text)? },
        [None, None, None, Some(name)] => IdPart::Text(Place::Query(name.to_owned())),
        _ => return None,
    })
}

fn parts(keys: &mut Section<'_>, key: &'static str) -> Read<Vec<IdPart>> {
    let sections = keys.tables(key)?;
    if sections.is_empty() {
        return Ok(None);
    }
    let read = |mut section: Section<'_>| {
        let keys = part_keys(&mut section);
        section.finish();
        part(keys?).ok_or_else(|| section.fault_of_all("needs header, pointer, form, form with pointer, or query"))
    };
    all(sections.into_iter().map(read)).map(Some)
}

// The errors of these types repeat the text, which a fault of the config must not.

fn header(text: &str) -> Result<&str, &'static str> {
    Header::try_from(text.to_owned()).map(|_| text).map_err(|_| "must be the name of a header")
}

fn pointer(text: &str) -> Result<&str, String> {
    Pointer::try_from(text.to_owned()).map(|_| text).map_err(|error| match error {
        PointerError::Syntax(_) => {
            "must be a JSON pointer such as /data/id: '/' before each name, and '~' only as ~0 or ~1".to_owned()
        }
        PointerError::TooDeep(_) => format!("must have at most {MAX_POINTER_STEPS} steps"),
    })
}

/// A pointer, or `""` for the whole body.
fn array(text: &str) -> Result<&str, String> {
    if text.is_empty() { Ok(text) } else { pointer(text) }
}

fn name(text: &str) -> Result<&str, &'static str> {
    if text.is_empty() { Err("must be a name") } else { Ok(text) }
}

fn reason(error: &EventIdSourceError) -> String {
    match error {
        EventIdSourceError::Parts => format!("must have 1 to {MAX_ID_PARTS} parts"),
        EventIdSourceError::ItemPlace => "must have pointers alone in item, relative to it".to_owned(),
        EventIdSourceError::Combination | EventIdSourceError::Part(_) | EventIdSourceError::Batch(_) => {
            "needs header, pointer, form, form with pointer, query, parts, or batch with item".to_owned()
        }
    }
}
