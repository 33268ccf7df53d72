//! The remaining budget of an agent's turn. Agents that it calls draw on the same budget, at any depth.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Remaining calls and tokens.
#[derive(Debug)]
pub struct Allowance {
    calls: AtomicU64,
    tokens: AtomicU64,
    /// The allowance of the calling turn.
    within: Option<Arc<Self>>,
}

/// The allowance that is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExhaustedAllowance {
    Own,
    /// The allowance of a calling turn.
    Outer,
}

impl Allowance {
    pub fn new(calls: u64, tokens: u64, within: Option<Arc<Self>>) -> Self {
        Self { calls: calls.into(), tokens: tokens.into(), within }
    }

    /// Creates an allowance without its own limits, to meter usage. It draws on `within` too.
    pub fn meter(within: Option<Arc<Self>>) -> Self {
        Self::new(u64::MAX, u64::MAX, within)
    }

    /// Returns the calls and tokens that were taken from a meter.
    pub fn metered(&self) -> (u64, u64) {
        let taken = |left: &AtomicU64| u64::MAX - left.load(Ordering::Relaxed);
        (taken(&self.calls), taken(&self.tokens))
    }

    /// Takes one call from this allowance and all outer ones, or from none of them.
    pub fn take_call(&self) -> Result<(), ExhaustedAllowance> {
        let one_less = |calls: u64| calls.checked_sub(1);
        let taken = self.calls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        taken.map_err(|_| ExhaustedAllowance::Own)?;
        let outer = self.within.as_ref().map_or(Ok(()), |outer| outer.take_call());
        outer.map_err(|_| {
            self.calls.fetch_add(1, Ordering::Relaxed);
            ExhaustedAllowance::Outer
        })
    }

    /// Takes the tokens of a response, whose number is known only afterwards.
    pub fn take_tokens(&self, tokens: u64) {
        let less = |left: u64| Some(left.saturating_sub(tokens));
        // The closure always returns `Some`, so this cannot fail.
        let _ = self.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        if let Some(outer) = &self.within {
            outer.take_tokens(tokens);
        }
    }

    /// Returns an error if this allowance or an outer allowance has no tokens left. Takes no tokens: a response may exceed
    /// the allowance, because `take_tokens` is called after it.
    pub fn has_tokens(&self) -> Result<(), ExhaustedAllowance> {
        match (self.tokens.load(Ordering::Relaxed), &self.within) {
            (0, _) => Err(ExhaustedAllowance::Own),
            (_, Some(outer)) => outer.has_tokens().map_err(|_| ExhaustedAllowance::Outer),
            (_, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nested_allowance_draws_on_all_outer_ones() {
        let outer = Arc::new(Allowance::new(3, 100, None));
        let inner = Allowance::new(2, 1_000, Some(outer.clone()));
        assert_eq!([inner.take_call(), inner.take_call()], [Ok(()), Ok(())]);
        assert_eq!(inner.take_call(), Err(ExhaustedAllowance::Own));
        let next = Allowance::new(5, 1_000, Some(outer.clone()));
        assert_eq!([next.take_call(), next.take_call()], [Ok(()), Err(ExhaustedAllowance::Outer)]);
        assert_eq!(
            outer.take_call(),
            Err(ExhaustedAllowance::Own),
            "a call that was refused within took nothing"
        );
        assert_eq!(inner.has_tokens(), Ok(()));
        inner.take_tokens(150);
        assert_eq!(
            (inner.has_tokens(), outer.has_tokens()),
            (Err(ExhaustedAllowance::Outer), Err(ExhaustedAllowance::Own))
        );
        inner.take_tokens(u64::MAX);
        assert_eq!(inner.has_tokens(), Err(ExhaustedAllowance::Own));
        let meter = Arc::new(Allowance::meter(Some(outer)));
        let metered = Allowance::new(5, 1_000, Some(meter.clone()));
        assert_eq!((metered.take_call(), meter.metered()), (Err(ExhaustedAllowance::Outer), (0, 0)));
        metered.take_tokens(7);
        assert_eq!(meter.metered(), (0, 7));
    }
}
