//! The grid: how many work-groups there are, where each lies, and how large it is.

use super::LARGEST_WORKGROUP;
use crate::queues::{Dispatch, QueueError};

/// Lanes of a wave.
const LANES: u32 = 64;

/// A checked grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    grid: [u32; 3],
    workgroup: [u32; 3],
    groups: [u32; 3],
}

/// One work-group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Its identifier by dimension.
    pub(super) id: [u32; 3],
    /// Its work-items by dimension: fewer than usual at the grid's upper edge.
    pub(super) size: [u32; 3],
}

impl Grid {
    /// Checks the sizes of a dispatch.
    pub(super) fn of(packet: &Dispatch) -> Result<Self, (QueueError, String)> {
        let (grid, group) = (packet.grid, packet.workgroup);
        if packet.dimensions == 0 {
            return Err((QueueError::DispatchDimension, "a dispatch with no dimensions".to_owned()));
        }
        let mut workgroup = [1; 3];
        for (i, size) in workgroup.iter_mut().enumerate() {
            if i < usize::from(packet.dimensions) {
                *size = u32::from(group[i]);
            } else if grid[i] > 1 || group[i] > 1 {
                let text = format!("{} dimensions, but a grid of {grid:?}", packet.dimensions);
                return Err((QueueError::DispatchDimension, text));
            }
        }
        let used = usize::from(packet.dimensions);
        if grid[..used].contains(&0) {
            return Err((QueueError::DispatchDimension, format!("an empty grid of {grid:?}")));
        }
        let items: u64 = workgroup.iter().map(|n| u64::from(*n)).product();
        if items == 0 || items > u64::from(LARGEST_WORKGROUP) {
            let text =
                format!("work-groups of {group:?}: the device takes 1 to {LARGEST_WORKGROUP} work-items");
            return Err((QueueError::DispatchWorkGroup, text));
        }
        let grid = [grid[0], grid[1].max(1), grid[2].max(1)];
        let groups = [0, 1, 2].map(|i| grid[i].div_ceil(workgroup[i]));
        Ok(Self { grid, workgroup, groups })
    }

    /// Number of work-groups.
    pub(super) fn groups(&self) -> u64 {
        // Grids beyond 2^64 work-groups cannot be counted, nor end.
        self.groups.iter().fold(1u64, |n, groups| n.saturating_mul(u64::from(*groups)))
    }

    /// Work-group number `n`, in the order x, y, z.
    pub(super) fn place(&self, n: u64) -> Place {
        let [x, y, _] = self.groups.map(u64::from);
        let id = [n % x, n / x % y, n / x / y].map(|i| u32::try_from(i).unwrap_or(u32::MAX));
        let size = [0, 1, 2].map(|i| {
            let rest = u64::from(self.grid[i]) - u64::from(id[i]) * u64::from(self.workgroup[i]);
            u32::try_from(rest.min(u64::from(self.workgroup[i]))).unwrap_or(1)
        });
        Place { id, size }
    }

    /// Waves of a work-group of full size.
    pub(super) fn waves_in_full_group(&self) -> u32 {
        self.workgroup.iter().product::<u32>().div_ceil(LANES)
    }
}

impl Place {
    /// Work-items in the group.
    pub(super) fn items(&self) -> u32 {
        self.size.iter().product()
    }

    /// Waves of the group.
    pub(super) fn waves(&self) -> u32 {
        self.items().div_ceil(LANES)
    }

    /// The lanes of wave `wave` that have a work-item.
    pub(super) fn exec(&self, wave: u32) -> u64 {
        let lanes = (self.items() - wave * LANES).min(LANES);
        if lanes == LANES { u64::MAX } else { (1 << lanes) - 1 }
    }

    /// v0 of wave `wave`: the work-item's position, x in bits 9:0, y in 19:10, z in 29:20, as far as
    /// `dimensions` (1 to 3) of them are wanted.
    pub(super) fn packed_ids(&self, wave: u32, dimensions: u8) -> [u32; LANES as usize] {
        let [sx, sy, _] = self.size;
        let mut ids = [0; LANES as usize];
        for (lane, id) in (0..).zip(ids.iter_mut()) {
            let item = wave * LANES + lane;
            if item >= self.items() {
                break;
            }
            *id = item % sx;
            if dimensions > 1 {
                *id |= (item / sx % sy) << 10;
            }
            if dimensions > 2 {
                *id |= (item / sx / sy) << 20;
            }
        }
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::Signal;

    fn packet(dimensions: u16, grid: [u32; 3], workgroup: [u16; 3]) -> Dispatch {
        Dispatch {
            dimensions,
            workgroup,
            grid,
            private_bytes: 0,
            group_bytes: 0,
            kernel_object: 0,
            kernarg: 0,
            completion_signal: Signal(0),
        }
    }

    #[test]
    fn the_last_group_of_a_dimension_is_cut() {
        let grid = Grid::of(&packet(2, [100, 5, 1], [32, 4, 1])).expect("sound");
        assert_eq!(grid.groups(), 8);
        assert_eq!(grid.place(0), Place { id: [0, 0, 0], size: [32, 4, 1] });
        assert_eq!(grid.place(3), Place { id: [3, 0, 0], size: [4, 4, 1] });
        assert_eq!(grid.place(7), Place { id: [3, 1, 0], size: [4, 1, 1] });
        assert_eq!(grid.waves_in_full_group(), 2);
    }

    #[test]
    fn lanes_without_a_work_item_are_off() {
        let place = Place { id: [0; 3], size: [10, 7, 1] };
        assert_eq!(place.waves(), 2);
        assert_eq!(place.exec(0), u64::MAX);
        assert_eq!(place.exec(1), 0x3f);
        let ids = place.packed_ids(1, 3);
        assert_eq!(ids[0], 4 | 6 << 10);
        assert_eq!(ids[5], 9 | 6 << 10);
        assert_eq!(ids[6], 0);
    }

    #[test]
    fn only_wanted_dimensions_are_packed() {
        let place = Place { id: [0; 3], size: [2, 2, 2] };
        assert_eq!(place.packed_ids(0, 1)[7], 1);
        assert_eq!(place.packed_ids(0, 2)[7], 1 | 1 << 10);
        assert_eq!(place.packed_ids(0, 3)[7], 1 | 1 << 10 | 1 << 20);
    }

    #[test]
    fn senseless_sizes_name_their_error() {
        let error = |dims, grid, group| Grid::of(&packet(dims, grid, group)).expect_err("senseless").0;
        assert_eq!(error(0, [1, 1, 1], [1, 1, 1]), QueueError::DispatchDimension);
        assert_eq!(error(1, [1, 2, 1], [1, 1, 1]), QueueError::DispatchDimension);
        assert_eq!(error(1, [0, 1, 1], [64, 1, 1]), QueueError::DispatchDimension);
        assert_eq!(error(1, [64, 1, 1], [0, 1, 1]), QueueError::DispatchWorkGroup);
        assert_eq!(error(3, [64, 64, 64], [64, 64, 1]), QueueError::DispatchWorkGroup);
    }

    #[test]
    fn the_largest_grid_does_not_overflow() {
        let grid = Grid::of(&packet(3, [u32::MAX; 3], [1, 1, 1])).expect("sound");
        assert_eq!(grid.groups(), u64::MAX);
        let grid = Grid::of(&packet(1, [u32::MAX, 1, 1], [1024, 1, 1])).expect("sound");
        assert_eq!(grid.place(grid.groups() - 1).size, [1023, 1, 1]);
    }
}
