//! For tests: a journal in memory with a virtual clock, and the contract that every journal fulfills.

mod contract;
mod memory;
mod memory_state;
#[cfg(test)]
mod tests;

pub use contract::{CONTRACT, ContractJournal};
pub use memory::{MemoryJournal, WriteFault};
