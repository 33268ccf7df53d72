//! What a program remembers of a run that it lets go of, so as not to read it from the steps again when it goes on soon.

use std::any::Any;
use std::fmt;

/// Never more than the steps say: whoever has none reads them.
#[derive(Default)]
pub struct Memo(Option<Box<dyn Any + Send + Sync>>);

impl Memo {
    pub(crate) fn of<T: Any + Send + Sync>(remembered: T) -> Self {
        Self(Some(Box::new(remembered)))
    }

    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn take<T: Any>(&mut self) -> Option<T> {
        self.0.take()?.downcast().ok().map(|remembered| *remembered)
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memo").field("is_none", &self.is_none()).finish()
    }
}
