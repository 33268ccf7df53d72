//! The journal in memory fulfills the contract.

use std::sync::Arc;

use haft_core::{SpaceId, UserId};
use uuid::Uuid;

use super::{CONTRACT, ContractJournal, MemoryJournal};

#[tokio::test(start_paused = true)]
async fn journal_in_memory_fulfills_the_contract() {
    for (name, case) in CONTRACT {
        println!("{name}");
        let journal = Arc::new(MemoryJournal::default());
        let (space, user) = (SpaceId::from(Uuid::now_v7()), UserId::from(Uuid::now_v7()));
        case(ContractJournal { journal, space, user }).await;
    }
}
