//! What the list of a record's divergences leaves out.

use std::collections::BTreeSet;

use hsa_replay_contract::Dispatch;
use hsa_replay_contract::record::MAX_DIVERGENCES;
use hsa_replay_contract::text::shorten;

use super::units::counted;

/// Says what is left out of the list of places where passes differ; empty if that is nothing. Passes that differ are known by
/// their hashes, whether they are listed or not.
pub fn remark(dispatch: &Dispatch) -> String {
    let all = dispatch.divergence.as_deref().unwrap_or_default();
    let listed: BTreeSet<u32> = all.iter().map(|entry| entry.pass).collect();
    let first = dispatch.passes.first().and_then(|pass| pass.hash);
    let unlisted: Vec<String> = dispatch
        .passes
        .iter()
        .filter(|pass| pass.hash.is_some() && pass.hash != first && !listed.contains(&pass.index))
        .map(|pass| pass.index.to_string())
        .collect();
    let full = all.len() >= MAX_DIVERGENCES;
    let passes = match u64::try_from(unlisted.len()).unwrap_or(u64::MAX) {
        0 => String::new(),
        1 => format!("pass {} differs too and is not listed", unlisted[0]),
        count => {
            let which = shorten(&unlisted.join(", "), 40);
            format!("{} differ too and are not listed: {which}", counted(count, "more pass"))
        }
    };
    match (full, passes.is_empty()) {
        (true, true) => format!("the list is full with {MAX_DIVERGENCES} places: each pass may have more"),
        (true, false) => format!("the list is full with {MAX_DIVERGENCES} places; {passes}"),
        (false, _) => passes,
    }
}
