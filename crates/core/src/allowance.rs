//! What a turn of an agent may still cost. Agents that it asks spend of the same, however deep they are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Calls and tokens that are left.
#[derive(Debug)]
pub struct Allowance {
    calls: AtomicU64,
    tokens: AtomicU64,
    /// That of the turn that asked.
    within: Option<Arc<Self>>,
}

/// Whose allowance is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Short {
    Own,
    /// That of a turn that asked.
    Outer,
}

impl Allowance {
    pub fn new(calls: u64, tokens: u64, within: Option<Arc<Self>>) -> Self {
        Self { calls: calls.into(), tokens: tokens.into(), within }
    }

    /// One without limits of its own, which tells what was spent by whoever is within it.
    pub fn meter(within: Option<Arc<Self>>) -> Self {
        Self::new(u64::MAX, u64::MAX, within)
    }

    /// So many calls and tokens were taken of a meter.
    pub fn metered(&self) -> (u64, u64) {
        let taken = |left: &AtomicU64| u64::MAX - left.load(Ordering::Relaxed);
        (taken(&self.calls), taken(&self.tokens))
    }

    /// Takes one call, of one's own and of all that one is within; or of nobody.
    pub fn take_call(&self) -> Result<(), Short> {
        let one_less = |calls: u64| calls.checked_sub(1);
        let taken = self.calls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        taken.map_err(|_| Short::Own)?;
        let outer = self.within.as_ref().map_or(Ok(()), |outer| outer.take_call());
        outer.map_err(|_| {
            self.calls.fetch_add(1, Ordering::Relaxed);
            Short::Outer
        })
    }

    /// Takes what an answer cost, which is known only afterwards.
    pub fn take_tokens(&self, tokens: u64) {
        let less = |left: u64| Some(left.saturating_sub(tokens));
        // It never gives nothing.
        let _ = self.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        if let Some(outer) = &self.within {
            outer.take_tokens(tokens);
        }
    }

    /// Whether there are tokens for one more answer.
    pub fn has_tokens(&self) -> Result<(), Short> {
        match (self.tokens.load(Ordering::Relaxed), &self.within) {
            (0, _) => Err(Short::Own),
            (_, Some(outer)) => outer.has_tokens().map_err(|_| Short::Outer),
            (_, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_within_others_spends_of_all() {
        let outer = Arc::new(Allowance::new(3, 100, None));
        let inner = Allowance::new(2, 1_000, Some(outer.clone()));
        assert_eq!([inner.take_call(), inner.take_call()], [Ok(()), Ok(())]);
        assert_eq!(inner.take_call(), Err(Short::Own));
        let next = Allowance::new(5, 1_000, Some(outer.clone()));
        assert_eq!([next.take_call(), next.take_call()], [Ok(()), Err(Short::Outer)]);
        assert_eq!(outer.take_call(), Err(Short::Own), "a call that was refused within took nothing");
        assert_eq!(inner.has_tokens(), Ok(()));
        inner.take_tokens(150);
        assert_eq!((inner.has_tokens(), outer.has_tokens()), (Err(Short::Outer), Err(Short::Own)));
        inner.take_tokens(u64::MAX);
        assert_eq!(inner.has_tokens(), Err(Short::Own));
        let meter = Arc::new(Allowance::meter(Some(outer)));
        let metered = Allowance::new(5, 1_000, Some(meter.clone()));
        assert_eq!((metered.take_call(), meter.metered()), (Err(Short::Outer), (0, 0)));
        metered.take_tokens(7);
        assert_eq!(meter.metered(), (0, 7));
    }
}
