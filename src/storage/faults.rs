//! A disk that fails on command, for crash tests.

use std::fmt;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

/// What is left after the power goes, of the writes that were never synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsynced {
    /// None of them.
    Lost,
    /// All of them.
    Kept,
    /// The 1st, 3rd, 5th ...: the disk reordered them.
    EveryOther,
    /// All but the first half of the last one: it is torn.
    LastTorn,
}

impl Unsynced {
    /// Every way.
    pub const ALL: [Self; 4] = [Self::Lost, Self::Kept, Self::EveryOther, Self::LastTorn];
}

/// A disk in memory that counts its operations and can fail from the nth on.
#[derive(Clone, Default)]
pub struct Disk {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    durable: Vec<u8>,
    current: Vec<u8>,
    unsynced: Vec<Change>,
    operations: u64,
    fail_at: Option<u64>,
    lasting: bool,
}

enum Change {
    Write { offset: usize, data: Vec<u8> },
    SetLen(usize),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>, part: usize) {
        match self {
            Self::Write { offset, data } => {
                let data = data.get(..data.len() / part).unwrap_or_default();
                let end = offset + data.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                if let Some(place) = bytes.get_mut(*offset..end) {
                    place.copy_from_slice(data);
                }
            }
            Self::SetLen(len) => bytes.resize(*len, 0),
        }
    }
}

impl Disk {
    /// An empty disk that never fails.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A disk that holds `bytes`.
    #[must_use]
    pub fn with_bytes(bytes: Vec<u8>) -> Self {
        let state = State { durable: bytes.clone(), current: bytes, ..State::default() };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// From now on, the `nth` write, resize or sync (from 0) fails: that one alone, or, if `lasting`, all after
    /// it too.
    pub fn fail_at(&self, nth: u64, lasting: bool) {
        let mut state = self.state.lock();
        state.operations = 0;
        state.fail_at = Some(nth);
        state.lasting = lasting;
    }

    /// Writes, resizes and syncs since the start or the last [`fail_at`](Self::fail_at).
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.state.lock().operations
    }

    /// What another machine finds on the disk after the power went.
    #[must_use]
    pub fn after_power_loss(&self, unsynced: Unsynced) -> Self {
        let state = self.state.lock();
        let mut bytes = state.durable.clone();
        let last = state.unsynced.len().wrapping_sub(1);
        for (index, change) in state.unsynced.iter().enumerate() {
            match unsynced {
                Unsynced::Lost => break,
                Unsynced::EveryOther if index % 2 == 1 => {}
                Unsynced::LastTorn if index == last => change.apply(&mut bytes, 2),
                _ => change.apply(&mut bytes, 1),
            }
        }
        Self::with_bytes(bytes)
    }

    /// The bytes as the operating system shows them now.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.state.lock().current.clone()
    }

    pub(super) fn backend(&self) -> impl redb::StorageBackend + use<> {
        Backend(self.clone())
    }
}

struct Backend(Disk);

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Disk")
    }
}

impl State {
    fn operation(&mut self) -> io::Result<()> {
        let now = self.operations;
        self.operations += 1;
        match self.fail_at {
            Some(at) if now == at || (self.lasting && now > at) => {
                Err(io::Error::other(format!("the disk was told to fail at operation {at}")))
            }
            _ => Ok(()),
        }
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.current, 1);
        self.unsynced.push(change);
    }
}

fn place(number: u64) -> io::Result<usize> {
    usize::try_from(number).map_err(io::Error::other)
}

impl redb::StorageBackend for Backend {
    fn len(&self) -> Result<u64, io::Error> {
        Ok(self.0.state.lock().current.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        let start = place(offset)?;
        let state = self.0.state.lock();
        let bytes = state.current.get(start..start + out.len());
        out.copy_from_slice(bytes.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        let mut state = self.0.state.lock();
        state.operation()?;
        state.change(Change::SetLen(place(len)?));
        Ok(())
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        let mut state = self.0.state.lock();
        state.operation()?;
        let State { durable, current, unsynced, .. } = &mut *state;
        durable.clone_from(current);
        unsynced.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        let mut state = self.0.state.lock();
        state.operation()?;
        state.change(Change::Write { offset: place(offset)?, data: data.to_vec() });
        Ok(())
    }
}
