//! Limits of imports: nesting, size and repetition of a document are limited, and the error names the limit.

mod bodies;
mod documents;
mod slots;
