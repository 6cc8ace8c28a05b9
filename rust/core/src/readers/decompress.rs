//! Unpacking on a thread of its own, a few blocks ahead of who reads.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

const BLOCK: usize = 1 << 18;
const BLOCKS: usize = 4;
/// How long to wait for a block before whoever waits may look whether to go on.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// What another thread has read; an empty block is the end. It stops when this is let go.
pub struct DecompressAhead {
    blocks: Receiver<io::Result<Vec<u8>>>,
    emptied: SyncSender<Vec<u8>>,
    block: Vec<u8>,
    at: usize,
}

impl DecompressAhead {
    pub fn new(mut source: impl Read + Send + 'static) -> Self {
        let (sender, blocks) = sync_channel(BLOCKS);
        let (emptied, returned) = sync_channel::<Vec<u8>>(BLOCKS);
        thread::spawn(move || {
            loop {
                let mut block = returned.try_recv().unwrap_or_default();
                block.clear();
                let result = source.by_ref().take(BLOCK as u64).read_to_end(&mut block);
                let (ended, failed) = (block.is_empty(), result.err());
                let last = ended && failed.is_none();
                if (last || !ended) && sender.send(Ok(block)).is_err() {
                    return; // nobody reads any more
                }
                if let Some(error) = failed {
                    let _ = sender.send(Err(error));
                    return;
                }
                if last {
                    return;
                }
            }
        });
        Self { blocks, emptied, block: Vec::new(), at: 0 }
    }
}

impl Read for DecompressAhead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.block.len() {
            let block = self.blocks.recv_timeout(BETWEEN_LOOKS).map_err(|error| match error {
                RecvTimeoutError::Timeout => io::Error::from(io::ErrorKind::Interrupted),
                RecvTimeoutError::Disconnected => io::Error::other("unpacking has stopped"),
            })?;
            let old = std::mem::replace(&mut self.block, block?);
            let _ = self.emptied.try_send(old);
            self.at = 0;
        }
        let count = buffer.len().min(self.block.len() - self.at);
        buffer[..count].copy_from_slice(&self.block[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
