//! Memory that a thread's searches use again and again.

use std::cell::RefCell;

use super::segment::WINDOW;
use super::segment::Words;
use crate::kernels::Candidate;
use crate::kernels::VALUES;
use crate::kernels::Values;

/// Memory of one search.
pub struct Room {
    /// All 0 between windows.
    pub sums: Box<[u16; WINDOW]>,
    pub padded: Box<[u8; WINDOW]>,
    pub rows: Vec<u8>,
    pub words: Box<Words>,
    pub candidates: Vec<Candidate>,
    pub pool: Vec<Candidate>,
    pub lowers: Vec<u32>,
}

/// Tables of values kept for the next search.
const SPARE_TABLES: usize = 32;

/// Candidates that may be kept room for.
const SPARE_CANDIDATES: usize = 1 << 16;

thread_local! {
    static ROOM: RefCell<Option<Box<Room>>> = const { RefCell::new(None) };
    static TABLES: RefCell<Vec<Box<Values>>> = const { RefCell::new(Vec::new()) };
}

impl Room {
    /// That of the search before, or a new one.
    pub fn take() -> Box<Self> {
        let kept = ROOM.try_with(RefCell::take).ok().flatten();
        kept.unwrap_or_else(|| {
            Box::new(Self {
                sums: Box::new([0; WINDOW]),
                padded: Box::new([0; WINDOW]),
                rows: Vec::new(),
                words: Box::new([0; WINDOW / 64]),
                candidates: Vec::new(),
                pool: Vec::new(),
                lowers: Vec::new(),
            })
        })
    }

    /// Keeps it for the next search. After an error it is not given back: its sums may be in use.
    pub fn give_back(mut self: Box<Self>) {
        self.pool.clear();
        self.pool.shrink_to(SPARE_CANDIDATES);
        self.candidates.clear();
        self.candidates.shrink_to(SPARE_CANDIDATES);
        self.lowers.shrink_to(SPARE_CANDIDATES);
        // At the end of a thread there is nobody to keep it for.
        let _ = ROOM.try_with(|room| room.replace(Some(self)));
    }
}

/// A table of values, all 0 at first.
pub struct Table(Option<Box<Values>>);

impl Table {
    pub fn new() -> Self {
        let kept = TABLES.try_with(|tables| tables.borrow_mut().pop()).ok().flatten();
        Self(Some(kept.map_or_else(
            || Box::new([0; VALUES]),
            |mut values| {
                values.fill(0);
                values
            },
        )))
    }

    pub fn values(&self) -> Option<&Values> {
        self.0.as_deref()
    }

    pub fn values_mut(&mut self) -> Option<&mut Values> {
        self.0.as_deref_mut()
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        if let Some(values) = self.0.take() {
            let _ = TABLES.try_with(|tables| {
                let mut tables = tables.borrow_mut();
                if tables.len() < SPARE_TABLES {
                    tables.push(values);
                }
            });
        }
    }
}
