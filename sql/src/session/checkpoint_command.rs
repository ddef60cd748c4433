//! CHECKPOINT: requests a checkpoint and waits for it. It belongs to no transaction: the checkpoint holds
//! whatever any transaction has committed when it begins.

use hyades_engine::db::{CheckpointRequest, Flow, Interrupt};

use super::running::Running;
use super::transaction::tag;
use super::{Completion, Session};

impl Session {
    pub(super) fn checkpoint_command(&mut self) -> Flow<Completion> {
        self.check_checkpoints()?;
        let request = self.view.engine.request_checkpoint()?;
        self.wait_for_checkpoint(request)
    }

    pub(super) fn wait_for_checkpoint(&mut self, request: CheckpointRequest) -> Flow<Completion> {
        match request.outcome() {
            Some(outcome) => {
                outcome?;
                tag("CHECKPOINT")
            }
            None => {
                let ticket = request.ticket();
                self.running = Some(Running::Checkpoint(request));
                Err(Interrupt::Wait(ticket))
            }
        }
    }
}
