//! Unpacking on a thread of its own, a few blocks ahead of the reader.

use std::io::{self, Read};
use std::process;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Unpacked bytes per block.
const BLOCK: usize = 1 << 18;
/// The thread is at most this many blocks ahead.
const BLOCKS_AHEAD: usize = 4;
/// How long a read waits for a block before it reports an interruption, so that the caller can look
/// whether to go on.
const LONGEST_WAIT: Duration = Duration::from_millis(50);

/// Reads what another thread has unpacked. The thread stops when this is dropped.
pub struct DecompressAhead {
    /// Blocks in order; an empty one is the end of the source, an error the last thing that comes.
    blocks: Receiver<io::Result<Vec<u8>>>,
    /// Blocks that were read go back, so that their memory is used again.
    emptied: SyncSender<Vec<u8>>,
    block: Vec<u8>,
    /// How much of `block` has been read; never more than its length.
    at: usize,
    /// The process in which the thread runs: a child of it has no such thread.
    process: u32,
}

impl DecompressAhead {
    pub fn new(source: impl Read + Send + 'static) -> Self {
        let (sender, blocks) = sync_channel(BLOCKS_AHEAD);
        let (emptied, returned) = sync_channel(BLOCKS_AHEAD);
        thread::spawn(move || unpack(source, &sender, &returned));
        Self { blocks, emptied, block: Vec::new(), at: 0, process: process::id() }
    }
}

/// Send block after block up to the end, to an error, or until nobody receives them.
fn unpack(
    mut source: impl Read,
    sender: &SyncSender<io::Result<Vec<u8>>>,
    returned: &Receiver<Vec<u8>>,
) {
    loop {
        let mut block = returned.try_recv().unwrap_or_default();
        block.clear();
        let error = source.by_ref().take(BLOCK as u64).read_to_end(&mut block).err();
        let is_end = block.is_empty();
        // What came before an error is sent before it; an empty block would be taken for the end.
        if (error.is_none() || !is_end) && sender.send(Ok(block)).is_err() {
            return;
        }
        if let Some(error) = error {
            let _ = sender.send(Err(error));
            return;
        }
        if is_end {
            return;
        }
    }
}

impl Read for DecompressAhead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.block.len() {
            if process::id() != self.process {
                return Err(io::Error::other(
                    "it was opened before this process was forked; open it again in this process",
                ));
            }
            let block = self.blocks.recv_timeout(LONGEST_WAIT).map_err(|error| match error {
                RecvTimeoutError::Timeout => io::Error::from(io::ErrorKind::Interrupted),
                RecvTimeoutError::Disconnected => io::Error::other("unpacking has stopped"),
            })?;
            let emptied = std::mem::replace(&mut self.block, block?);
            let _ = self.emptied.try_send(emptied);
            self.at = 0;
        }
        let count = buffer.len().min(self.block.len() - self.at);
        buffer[..count].copy_from_slice(&self.block[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// Some bytes and then an error.
    struct Failing(usize);

    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.min(buffer.len());
            self.0 -= count;
            buffer[..count].fill(b'x');
            if count == 0 { Err(io::Error::other("the disk is gone")) } else { Ok(count) }
        }
    }

    #[test]
    fn what_came_before_an_error_is_read_before_it() {
        for length in [0, 1, BLOCK - 1, BLOCK, 3 * BLOCK + 5] {
            let mut all = Vec::new();
            let error = DecompressAhead::new(Failing(length)).read_to_end(&mut all).unwrap_err();
            assert_eq!((all.len(), error.to_string()), (length, "the disk is gone".to_owned()));
        }
    }

    /// Gives bytes without end, and says when it is dropped.
    struct Endless(std::sync::mpsc::Sender<()>);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            Ok(buffer.len())
        }
    }

    impl Drop for Endless {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }

    #[test]
    fn the_thread_stops_when_nobody_reads_any_more() {
        let (stopped, wait) = channel();
        let mut ahead = DecompressAhead::new(Endless(stopped));
        assert_eq!(ahead.read(&mut [0; 9]).unwrap(), 9);
        drop(ahead);
        wait.recv_timeout(Duration::from_secs(60)).unwrap();
    }

    /// Waits for a word before it ends.
    struct Waiting(Receiver<()>);

    impl Read for Waiting {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            Ok(0)
        }
    }

    #[test]
    fn waiting_for_a_slow_source_is_interrupted() {
        let (end, waiting) = channel();
        let mut ahead = DecompressAhead::new(Waiting(waiting));
        let error = ahead.read(&mut [0; 9]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        end.send(()).unwrap();
        let mut all = Vec::new();
        assert_eq!(ahead.read_to_end(&mut all).unwrap(), 0);
    }
}
