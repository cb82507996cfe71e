//! Libraries that a setting names, looked at before the program starts: the real runtime and the tool.

use hsa_replay_contract::text::name_of;
use std::path::Path;

use hsa_replay_contract::{OptionId, Settings, Source};

use crate::doctor::elf::{self, Elf};

/// Refuses a runtime or a tool that the library could not use in the program; the error is one line that names the place.
pub fn check(settings: &Settings) -> Result<(), String> {
    if let Some(path) = &settings.runtime {
        runtime(path).map_err(|problem| at(settings, OptionId::Runtime, path, &problem))?;
    }
    if let Some(path) = &settings.tool {
        tool(path).map_err(|problem| at(settings, OptionId::Tool, path, &problem))?;
    }
    Ok(())
}

/// Whether the file can be the real runtime; the error completes the sentence "the file …".
pub fn runtime(path: &Path) -> Result<Elf, String> {
    let elf = elf::read(path)?;
    if elf.is_ours {
        return Err("is hsa-replay itself: name the real libhsa-runtime64.so.1".to_owned());
    }
    if !elf.defines("hsa_init") {
        return Err("is not an HSA runtime: it has no hsa_init".to_owned());
    }
    Ok(elf)
}

fn tool(path: &Path) -> Result<(), String> {
    let elf = elf::read(path)?;
    if elf.is_tool {
        Ok(())
    } else {
        Err("is not a tool: it has no hsa_replay_tool_start (see hsa_replay.h)".to_owned())
    }
}

fn at(settings: &Settings, id: OptionId, path: &Path, problem: &str) -> String {
    let spec = id.spec();
    let place = match settings.source_of(id) {
        Some(Source::Environment) => format!("{}={}", spec.variable, name_of(&path)),
        Some(Source::File(file)) => {
            format!("{}: {} = {}", name_of(&file), spec.key.unwrap_or(spec.flag), name_of(&path))
        }
        _ => format!("--{} {}", spec.flag, name_of(&path)),
    };
    format!("{place}: {problem}")
}
