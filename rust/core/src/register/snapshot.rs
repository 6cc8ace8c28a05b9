//! The register as bytes: versioned, checksummed, not executable.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::{Name, UNKNOWN};
use crate::register::entry::Entry;
use crate::register::finding::FindingLog;
use crate::register::newborns::Newborns;
use crate::register::{Register, RegisterConfig};

const MAGIC: &[u8; 8] = b"HEADREGI";
const VERSION: u32 = 2;

#[derive(Serialize)]
struct Written<'a> {
    cycle: f64,
    most: Option<u32>,
    events: u64,
    timed: Option<bool>,
    start: f64,
    time: f64,
    evicted: u64,
    names: Vec<Name<'a>>,
    entries: &'a [Entry],
    newborns: Newborns,
    log: &'a FindingLog,
}

#[derive(Deserialize)]
struct Read<'a> {
    cycle: f64,
    most: Option<u32>,
    events: u64,
    timed: Option<bool>,
    start: f64,
    time: f64,
    evicted: u64,
    #[serde(borrow)]
    names: Vec<Name<'a>>,
    entries: Vec<Entry>,
    newborns: Newborns,
    log: FindingLog,
}

fn refused(what: &str) -> Error {
    Error::State(format!("register: {what}."))
}

impl Register {
    /// The whole state. Equal configuration and events: equal bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let written = Written {
            cycle: self.config.cycle,
            most: self.config.most,
            events: self.events,
            timed: self.timed,
            start: self.start,
            time: self.time,
            evicted: self.evicted,
            names: self.table.names().collect(),
            entries: &self.entries,
            newborns: self.newborns.sorted(),
            log: &self.log,
        };
        let mut bytes = [&MAGIC[..], &VERSION.to_le_bytes()].concat();
        rmp_serde::encode::write(&mut bytes, &written)
            .map_err(|error| refused(&format!("it cannot be written: {error}")))?;
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        Ok(bytes)
    }

    /// The register with this state.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let Some((body, checksum)) = bytes.split_last_chunk::<4>() else {
            return Err(refused("its bytes end too early; they were cut off"));
        };
        let Some(state) = body.strip_prefix(MAGIC) else {
            return Err(refused("these are not the bytes of a register"));
        };
        let Some((version, state)) = state.split_first_chunk::<4>() else {
            return Err(refused("its bytes end too early; they were cut off"));
        };
        let version = u32::from_le_bytes(*version);
        if version != VERSION {
            return Err(refused(&format!(
                "its format has version {version}, this program reads version {VERSION}"
            )));
        }
        if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
            return Err(refused("its checksum is wrong; it was altered or cut off"));
        }
        let read: Read<'_> = rmp_serde::from_slice(state)
            .map_err(|_| refused("its state cannot be read; it was altered"))?;
        let register = Self::adopt(read)
            .map_err(|what| refused(&format!("its state does not fit: {what}")))?;
        if register.to_bytes()? != bytes {
            return Err(refused("its state is not as this program would have written it"));
        }
        Ok(register)
    }

    fn adopt(read: Read<'_>) -> Result<Self, &'static str> {
        let config = RegisterConfig { cycle: read.cycle, most: read.most };
        let mut register = Self::new(config);
        let moments = [read.cycle, read.start, read.time];
        if moments.iter().any(|moment| !moment.is_finite()) || read.cycle < 0.0 {
            return Err("a time is no number");
        }
        if [read.events, read.evicted].iter().any(|&count| count > u64::MAX / 16) {
            return Err("a counter is too large");
        }
        if read.timed.is_none() != (read.events == 0) || read.names.len() != read.entries.len() {
            return Err("it has not as many events or features as it should");
        }
        if read.names.len() >= UNKNOWN as usize
            || read.most.is_some_and(|most| read.names.len() > most as usize)
        {
            return Err("it has too many names");
        }
        for &name in &read.names {
            if name.check_length().is_err() || register.table.id(name) != UNKNOWN {
                return Err("a name is too long or appears twice");
            }
            register.table.insert(name);
        }
        for entry in &read.entries {
            entry.check(read.events)?;
        }
        read.newborns.check(read.names.len(), read.events)?;
        read.log.check(read.events)?;
        let is_watched = |entry: &&Entry| entry.life.as_deref().is_some_and(|life| life.watched);
        register.watched = read.entries.iter().filter(is_watched).count() as u64;
        (register.events, register.timed, register.evicted) =
            (read.events, read.timed, read.evicted);
        (register.start, register.time) = (read.start, read.time);
        (register.entries, register.newborns, register.log) =
            (read.entries, read.newborns, read.log);
        register.place_newborns();
        register.set_alarms();
        Ok(register)
    }
}
