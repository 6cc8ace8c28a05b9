//! Runs libFuzzer on the target that `FUZZ_TARGET` names. First writes the target's seeds into the
//! folder `FUZZ_SEEDS`.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;
use std::{env, fs};

use headwater_fuzz::{FuzzTarget, target};

static TARGET: LazyLock<&FuzzTarget> = LazyLock::new(|| {
    let name = env::var("FUZZ_TARGET").unwrap_or_default();
    target(&name).unwrap_or_else(|| panic!("FUZZ_TARGET: there is no target {name:?}"))
});

fn write_seeds() {
    let Some(folder) = env::var_os("FUZZ_SEEDS").map(PathBuf::from) else { return };
    for (number, seed) in (TARGET.seeds)().iter().enumerate() {
        fs::write(folder.join(format!("seed-{number:03}")), seed).expect("a folder for the seeds");
    }
}

libfuzzer_sys::fuzz_target!(init: write_seeds(), |data: &[u8]| (TARGET.run)(data));
