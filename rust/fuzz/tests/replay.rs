//! Replays the stored inputs and the seeds of every fuzz target.

use std::fs;
use std::path::Path;

use headwater_fuzz::TARGETS;

#[test]
fn what_was_found_and_what_is_begun_with_keeps_every_promise() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz");
    for target in &TARGETS {
        for seed in (target.seeds)() {
            (target.run)(&seed);
        }
        let Ok(files) = fs::read_dir(kept.join(target.name)) else { continue };
        for file in files {
            let path = file.expect("a file in its folder").path();
            println!("{}", path.display()); // shown if it fails
            (target.run)(&fs::read(&path).expect("a file that can be read"));
        }
    }
}

#[test]
fn every_folder_of_kept_inputs_is_of_a_target() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz");
    for folder in fs::read_dir(kept).expect("the folder of kept inputs") {
        let path = folder.expect("a folder").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let elsewhere = name == "events" || name == "frames"; // of Python: tests/test_fuzz.py
        let ours = headwater_fuzz::target(&name).is_some();
        assert!(!path.is_dir() || name.starts_with('_') || ours || elsewhere, "{name}");
    }
}
