//! `event_id = { … }`: where the id is, when not where the profile says.

use crate::provider::{EventIdSource, Header, MAX_POINTER_STEPS, Pointer, PointerError};

use super::super::section::{Read, Section};

pub(super) fn read(section: &mut Section<'_>) -> Read<EventIdSource> {
    let Some(mut place) = section.table("event_id")? else {
        return Ok(None);
    };
    let header = place.parse("header", header);
    let pointer = place.parse("pointer", pointer);
    let form = place.parse("form", form);
    place.finish(&[]);
    match (header?, form?, pointer?) {
        (Some(header), None, None) => Ok(Some(EventIdSource::Header(header))),
        (None, Some(field), pointer) => Ok(Some(EventIdSource::Form { field, pointer })),
        (None, None, Some(pointer)) => Ok(Some(EventIdSource::Pointer(pointer))),
        _ => Err(place.fault_of_all("needs header, pointer, form, or form with pointer")),
    }
}

// The errors of these types repeat the text, which a fault of the config must not.

fn header(text: &str) -> Result<Header, &'static str> {
    Header::try_from(text.to_owned()).map_err(|_| "must be the name of a header")
}

fn pointer(text: &str) -> Result<Pointer, String> {
    Pointer::try_from(text.to_owned()).map_err(|error| match error {
        PointerError::Syntax(_) => {
            "must be a JSON pointer such as /data/id: '/' before each name, and '~' only as ~0 or ~1".to_owned()
        }
        PointerError::TooDeep(_) => format!("must have at most {MAX_POINTER_STEPS} steps"),
    })
}

fn form(text: &str) -> Result<String, &'static str> {
    if text.is_empty() { Err("must be the name of a form field") } else { Ok(text.to_owned()) }
}
