//! What windows of an agent capture, kept from one to the next while nothing of it changes.
//!
//! Listing, sorting and laying out ten thousand allocations costs as much as copying some MiB. Most windows of a program see
//! the memory of the window before.

use crate::inventory::{Inventory, Region};
use crate::store::Layout;
use crate::sync::Arc;

/// One list: of the regions that a window captured last, so it is bounded by what was there then.
#[derive(Debug, Default)]
pub(super) struct Listed(Option<Of>);

#[derive(Debug)]
struct Of {
    /// Of the inventory, from before it was asked.
    version: u64,
    /// Compared by identity: a segment that is loaded again is another region.
    modules: Vec<Arc<Region>>,
    layout: Arc<Layout>,
}

impl Listed {
    /// The layout, if it is of this version of the inventory and these modules.
    pub(super) fn get(&self, version: u64, modules: &[Arc<Region>]) -> Option<&Arc<Layout>> {
        let same = |of: &&Of| {
            of.version == version
                && of.modules.len() == modules.len()
                && of.modules.iter().zip(modules).all(|(one, other)| Arc::ptr_eq(one, other))
        };
        self.0.as_ref().filter(same).map(|of| &of.layout)
    }

    pub(super) fn put(&mut self, version: u64, modules: Vec<Arc<Region>>, layout: &Arc<Layout>) {
        self.0 = Some(Of { version, modules, layout: Arc::clone(layout) });
    }

    /// Something of it is gone.
    pub(super) fn forget(&mut self) {
        self.0 = None;
    }

    /// A window has ended: what is listed no more need not stay in memory until the next.
    pub(super) fn rest(&mut self, inventory: &Inventory) {
        if self.0.as_ref().is_some_and(|of| of.version != inventory.version()) {
            self.0 = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handles::Agent;
    use crate::inventory::RegionKind;

    fn module() -> Arc<Region> {
        Arc::new(Region::new(RegionKind::Allocation, 0x1000, 0x100, Agent(1)))
    }

    #[test]
    fn a_list_is_of_its_version_and_its_modules() {
        let (module, loaded_again) = (module(), module());
        let layout = Arc::new(Layout::new(vec![Arc::clone(&module)]));
        let mut listed = Listed::default();
        assert!(listed.get(1, &[]).is_none());
        listed.put(1, vec![Arc::clone(&module)], &layout);
        assert!(listed.get(1, &[Arc::clone(&module)]).is_some_and(|kept| Arc::ptr_eq(kept, &layout)));
        assert!(listed.get(2, &[Arc::clone(&module)]).is_none());
        assert!(listed.get(1, &[]).is_none());
        assert!(listed.get(1, &[loaded_again]).is_none(), "at the same address, but another");
    }
}
