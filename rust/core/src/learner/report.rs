//! What a replica tells its owner, also as bytes.
//!
//! The bytes are `HWREPORT`, a version (4 bytes), the fields as MessagePack, and a CRC-32 of all before.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::learner::open_questions::{OpenQuestions, OpenQuestionsState};
use crate::rules::query::QueryState;
use crate::scaling::shown::{Shown, ShownState};

const MAGIC: &[u8; 8] = b"HWREPORT";
const VERSION: u32 = 1;
const START: usize = 12;
const END: usize = 4;

/// What a replica did since its last report.
pub struct Report {
    /// The identities of the owner and of the replica.
    pub owner: u64,
    pub replica: u64,
    /// The number of the last event before, and of the last one.
    pub after: u64,
    pub seen: u64,
    /// Questions asked.
    pub asked: u64,
    /// The questions that are open.
    pub open: OpenQuestionsState,
    pub query: QueryState,
    /// What its scaler was shown, under names; none without a scaler.
    pub shown: Option<Shown>,
}

#[derive(Serialize, Deserialize)]
struct ReportState<'a> {
    owner: u64,
    replica: u64,
    after: u64,
    seen: u64,
    asked: u64,
    open: OpenQuestionsState,
    query: QueryState,
    #[serde(borrow)]
    shown: Option<ShownState<'a>>,
}

impl Report {
    pub fn write(&self) -> Result<Vec<u8>, Error> {
        let state = ReportState {
            owner: self.owner,
            replica: self.replica,
            after: self.after,
            seen: self.seen,
            asked: self.asked,
            open: self.open.clone(),
            query: self.query,
            shown: self.shown.as_ref().map(Shown::state),
        };
        let fields = rmp_serde::to_vec_named(&state)
            .map_err(|error| Error::State(format!("report: cannot be written: {error}.")))?;
        let mut bytes = Vec::with_capacity(fields.len() + START + END);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&fields);
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        Ok(bytes)
    }

    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let damaged = |what: &str| Error::State(format!("report: {what}."));
        if !bytes.starts_with(MAGIC) {
            return Err(damaged(
                "expected the bytes that a replica's report() returned, got others",
            ));
        }
        let body = bytes.len().checked_sub(END).filter(|&body| body >= START);
        let (all, checksum) = bytes
            .split_at_checked(body.unwrap_or(usize::MAX))
            .ok_or_else(|| damaged("it ends too early; it was cut off"))?;
        if checksum != crc32fast::hash(all).to_le_bytes() {
            return Err(damaged("its checksum is wrong; it was altered or cut off"));
        }
        if all[MAGIC.len()..START] != VERSION.to_le_bytes() {
            return Err(damaged(&format!(
                "its format has another version, this program reads version {VERSION}"
            )));
        }
        let state: ReportState<'_> = rmp_serde::from_slice(&all[START..])
            .map_err(|_| damaged("it is not as this program would have written it"))?;
        state.checked().map_err(damaged)
    }
}

impl ReportState<'_> {
    fn checked(self) -> Result<Report, &'static str> {
        let events = self.seen.checked_sub(self.after);
        let Some(events) = events.filter(|_| self.seen <= u64::MAX / 4) else {
            return Err("its numbers of events are impossible");
        };
        OpenQuestions::default().adopt(&self.open, self.seen)?;
        let early = self.open.first().is_some_and(|first| first <= self.after);
        if early || self.asked > events || self.open.pairs().count() as u64 > self.asked {
            return Err("its questions are impossible");
        }
        self.query.check()?;
        let shown = self.shown.as_ref().map(|state| Shown::restored(state, 0)).transpose()?;
        if shown.as_ref().is_some_and(|shown| shown.rounds() > events) {
            return Err("it was shown more events than it decided on");
        }
        let Self { owner, replica, after, seen, asked, open, query, .. } = self;
        Ok(Report { owner, replica, after, seen, asked, open, query, shown })
    }
}
