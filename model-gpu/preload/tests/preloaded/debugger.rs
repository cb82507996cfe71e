//! What a program asks of itself as a debugger does.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use super::{GPU, open, request};

/// `KFD_IOC_QUEUE_TYPE_*` of copy queues.
const SDMA: u64 = 1;
const SDMA_XGMI: u64 = 3;

/// A copy queue whose ring and indices lie in memory of the device at `at`; its number.
fn copy_queue(kfd: &OwnedFd, kind: u64, at: u64) -> u64 {
    let (gtt, writable) = (1u64 << 1, 1u64 << 31);
    let mut allocation = [at, 0x2000, 0, 0, GPU | (gtt | writable) << 32];
    assert_eq!(request(kfd, 0x16, &mut allocation), 0);
    let gpus = [u32::try_from(GPU).expect("a number")];
    assert_eq!(request(kfd, 0x18, &mut [allocation[2], gpus.as_ptr() as u64, 1]), 0);
    let (share, priority) = (100u64, 7u64);
    let ring = [at, at + 0x1000, at + 0x1008, 0, 0x1000 | GPU << 32, kind | share << 32, priority];
    let mut queue = [0; 12];
    queue[..7].copy_from_slice(&ring);
    assert_eq!(request(kfd, 0x02, &mut queue), 0);
    queue[6] >> 32
}

/// `KFD_IOC_DBG_TRAP_*`
const ENABLE: u64 = 0;
const DISABLE: u64 = 1;
const SUSPEND: u64 = 6;
const RESUME: u64 = 7;
const QUEUES: u64 = 13;
const DEVICES: u64 = 14;

/// `KFD_EC_MASK(EC_QUEUE_NEW)`
const QUEUE_NEW: u64 = 1 << 30;

/// Calls an operation on this process itself with the words of its structure.
fn debug(kfd: &OwnedFd, op: u64, arguments: &mut [u64; 3]) -> i32 {
    let mut words = [u64::from(std::process::id()) | op << 32, arguments[0], arguments[1], arguments[2]];
    let result = request(kfd, 0x26, &mut words);
    arguments.copy_from_slice(&words[1..]);
    result
}

/// As the thunk asks for a core dump's note.
pub(super) fn snapshots() {
    let kfd = open("/dev/kfd");
    let debug = |op: u64, arguments: &mut [u64; 3]| debug(&kfd, op, arguments);
    let id = copy_queue(&kfd, SDMA, 0x7a00_0000_0000);
    let second = copy_queue(&kfd, SDMA_XGMI, 0x7a00_0001_0000);
    assert_eq!(request(&kfd, 0x25, &mut [0x1234, 3]), 0, "the runtime announces itself");
    assert_eq!(debug(DEVICES, &mut [0; 3]), -1, "debugging is off");
    let mut info = [0u64; 2];
    let mut arguments =
        [0, info.as_mut_ptr() as u64, 16 | u64::try_from(kfd.as_raw_fd()).expect("positive") << 32];
    assert_eq!(debug(ENABLE, &mut arguments), 0);
    assert_eq!(info, [0x1234, 1 | 1 << 32], "its structures, enabled, with trap registers");
    let mut device = [0u64; 15];
    let mut arguments = [0, device.as_mut_ptr() as u64, u64::from(u32::MAX) | 120 << 32];
    assert_eq!(debug(DEVICES, &mut arguments), 0);
    assert_eq!(arguments[2], 1 | 120 << 32, "one device");
    assert_eq!((device[0], device[7] & 0xffff_ffff, device[8] & 0xffff_ffff), (1 << 35, GPU, 0x1002));
    let mut arguments = [QUEUE_NEW, 0, 64 << 32];
    assert_eq!(debug(QUEUES, &mut arguments), 0);
    assert_eq!(arguments[2], 2 | 64 << 32, "how many there are");
    let invalid = 1u32 << 31;
    let [first, other] = [id, second].map(|id| u32::try_from(id).expect("a number"));
    let queued = |op: u64, ids: &mut [u32]| {
        let (array, count) = (ids.as_mut_ptr() as u64, ids.len() as u64);
        debug(op, &mut if op == SUSPEND { [QUEUE_NEW, array, count] } else { [array, count, 0] })
    };
    let mut ids = [first];
    assert_eq!((queued(SUSPEND, &mut ids), ids), (0, [first | invalid]), "a queue that was not seen");
    let mut queue = [0u64; 16];
    assert_eq!(debug(QUEUES, &mut [0, queue.as_mut_ptr() as u64, 2 | 64 << 32]), 0);
    assert_eq!((queue[0], queue[5], queue[6]), (QUEUE_NEW, id | GPU << 32, 0x1000 | SDMA << 32));
    assert_eq!((queue[8], queue[13], queue[14]), (QUEUE_NEW, second | GPU << 32, 0x1000 | SDMA_XGMI << 32));
    // Shows the first one, and clears of it that it is new.
    assert_eq!(debug(QUEUES, &mut [QUEUE_NEW, queue.as_mut_ptr() as u64, 1 | 64 << 32]), 0);
    assert_eq!((queued(SUSPEND, &mut ids), ids), (1, [first]), "marks from before do not count");
    assert_eq!((queued(SUSPEND, &mut ids), ids), (1, [first]), "suspended already is a success");
    let mut ids = [other, first, 999, first];
    assert_eq!(queued(SUSPEND, &mut ids), 1, "one is new, one unknown, one is there twice");
    assert_eq!(ids, [other | invalid, first, 999 | invalid, first | invalid]);
    let mut ids = [other];
    assert_eq!((queued(SUSPEND, &mut ids), ids), (1, [other]), "it was named beside one that is suspended");
    let mut ids = [other, 999];
    assert_eq!((queued(RESUME, &mut ids), ids), (1, [other, 999 | invalid]));
    assert_eq!((queued(RESUME, &mut ids), ids), (1, [other, 999 | invalid]), "running already is a success");
    assert_eq!(debug(RESUME, &mut [0; 3]), 2, "without numbers: all of them");
    let errno = || std::io::Error::last_os_error().raw_os_error();
    assert_eq!((debug(SUSPEND, &mut [0, 0, 1]), errno()), (-1, Some(libc::EFAULT)));
    assert_eq!(request(&kfd, 0x25, &mut [0, 0]), 0, "the runtime takes its structures back");
    assert_eq!((debug(SUSPEND, &mut [0; 3]), errno()), (-1, Some(libc::EPERM)));
    assert_eq!(debug(DISABLE, &mut [0; 3]), 0);
    assert_eq!(debug(QUEUES, &mut [0; 3]), -1, "debugging is off again");
    assert!([id, second].into_iter().all(|id| request(&kfd, 0x03, &mut [id]) == 0));
}

/// A queue's saved state is the debugger's until it lets go.
pub(super) fn destroy_while_suspended() {
    for end in [RESUME, DISABLE] {
        let kfd = open("/dev/kfd");
        let id = copy_queue(&kfd, SDMA, 0x7a00_0000_0000 + end * 0x1_0000);
        assert_eq!(request(&kfd, 0x25, &mut [0x1234, 3]), 0);
        assert_eq!(debug(&kfd, ENABLE, &mut [0; 3]), 0);
        let mut snapshot = [0u64; 8];
        assert_eq!(debug(&kfd, QUEUES, &mut [QUEUE_NEW, snapshot.as_mut_ptr() as u64, 1 | 64 << 32]), 0);
        let mut ids = [u32::try_from(id).expect("a number")];
        assert_eq!(debug(&kfd, SUSPEND, &mut [0, ids.as_mut_ptr() as u64, 1]), 1);
        let gone = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let destroyer = scope.spawn(|| {
                let result = request(&kfd, 0x03, &mut [id]);
                gone.store(true, Ordering::SeqCst);
                result
            });
            // Plenty of time for one that does not wait.
            for _ in 0..100_000 {
                std::thread::yield_now();
            }
            let early = gone.load(Ordering::SeqCst);
            assert_ne!(debug(&kfd, end, &mut [0; 3]), -1);
            assert_eq!(destroyer.join().expect("no panic"), 0);
            assert!(!early, "it was destroyed while it was suspended");
        });
        if end == RESUME {
            assert_eq!(debug(&kfd, DISABLE, &mut [0; 3]), 0);
        }
        assert_eq!(request(&kfd, 0x03, &mut [id]), -1, "it is gone");
    }
}
