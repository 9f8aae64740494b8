//! Where a sender keeps the event id, when a route says so itself.

/// The place of the id. Its name decides how it is read: headers by name, JSON by pointer, forms by field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventIdSource {
    /// The value of a header.
    Header(http::HeaderName),
    /// A place in a JSON body.
    Pointer(JsonPointer),
    /// A field of a form, or a place in the JSON that the field holds.
    Form {
        /// The field's name, decoded.
        field: Box<str>,
        /// The place in it.
        pointer: Option<JsonPointer>,
    },
}

/// Why a text is no pointer to an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a JSON pointer such as /data/id: '/' before each name, and '~' only as ~0 or ~1")]
pub struct JsonPointerError;

/// A JSON pointer (RFC 6901) of at least one step: the empty one names the whole body, and that is no id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPointer(Box<str>);

impl JsonPointer {
    /// Takes a pointer.
    ///
    /// # Errors
    /// When it does not begin with `/`, or has a `~` that escapes nothing.
    pub fn parse(text: &str) -> Result<Self, JsonPointerError> {
        let escaped = |rest: &str| rest.starts_with('0') || rest.starts_with('1');
        if text.starts_with('/') && text.split('~').skip(1).all(escaped) {
            Ok(Self(text.into()))
        } else {
            Err(JsonPointerError)
        }
    }

    /// The text, escapes and all.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_begins_with_a_slash_and_escapes_what_it_must() {
        for (text, good) in [
            ("/id", true),
            ("/data/object/id", true),
            ("/a~1b/c~0d", true),
            ("/", true),
            ("", false),
            ("id", false),
            ("$.id", false),
            ("/a~", false),
            ("/a~2", false),
        ] {
            assert_eq!(JsonPointer::parse(text).is_ok(), good, "{text:?}");
        }
    }
}
