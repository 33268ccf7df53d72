//! What an import may cost, whatever its document says: nesting, size and repetition are limited with words.

mod bodies;
mod documents;
mod slots;
