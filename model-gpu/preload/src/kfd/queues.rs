//! Requests about queues.

use model_gpu_core::{QueueKind, QueueSpec, say};

use super::Errno;
use super::abi::{AllocQueueGws, CreateQueue, Number, SetCuMask, UpdateQueue, read_array};
use crate::session::{COPY_ENGINES, Session};

type Answer = Result<(), Errno>;

const INVALID: Errno = Errno(libc::EINVAL);

/// `KFD_MAX_QUEUE_PERCENTAGE` and `KFD_MAX_QUEUE_PRIORITY`
const MAX_PERCENTAGE: u32 = 100;
const MAX_PRIORITY: u32 = 15;

/// Most compute units that a mask may name.
const MAX_MASK_BITS: u32 = 1024;

/// `KFD_IOC_QUEUE_TYPE_*`
fn kind(queue_type: u32) -> Result<QueueKind, Errno> {
    match queue_type {
        1 | 3 | 4 => Ok(QueueKind::Sdma),
        2 => Ok(QueueKind::Aql),
        0 => {
            say!("a queue of PM4 packets is not supported: EINVAL");
            Err(INVALID)
        }
        other => {
            say!("a queue of unknown type {other} is not supported: EINVAL");
            Err(INVALID)
        }
    }
}

/// `KFD_IOC_QUEUE_TYPE_SDMA_XGMI`
const SDMA_XGMI: u32 = 3;

/// `KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID`
const SDMA_BY_ENGINE: u32 = 4;

/// The copy engine of a new queue: the one asked for, or the one with the fewest queues.
fn engine(session: &Session, agent: usize, args: &CreateQueue) -> u32 {
    if args.queue_type == SDMA_BY_ENGINE {
        return args.sdma_engine_id;
    }
    let queues = session.machine.queues();
    let of = |engine: u32| {
        let on = |q: &&_| {
            let spec: &QueueSpec = q;
            spec.agent == agent && spec.kind == QueueKind::Sdma && spec.engine == engine
        };
        queues.iter().map(|q| &q.spec).filter(on).count()
    };
    (0..COPY_ENGINES).min_by_key(|engine| of(*engine)).unwrap_or(0)
}

pub(super) fn create_queue(session: &Session, args: &mut CreateQueue) -> Answer {
    let agent = session.agent(args.gpu_id).ok_or(INVALID)?;
    if args.queue_percentage & 0xff > MAX_PERCENTAGE || args.queue_priority > MAX_PRIORITY {
        return Err(INVALID);
    }
    if args.queue_type == SDMA_BY_ENGINE && args.sdma_engine_id >= COPY_ENGINES {
        return Err(INVALID);
    }
    let spec = QueueSpec {
        agent,
        kind: kind(args.queue_type)?,
        ring: args.ring_base_address,
        ring_bytes: u64::from(args.ring_size),
        write_pointer: args.write_pointer_address,
        read_pointer: args.read_pointer_address,
        save_area: args.ctx_save_restore_address,
        save_area_bytes: args.ctx_save_restore_size,
        percentage: args.queue_percentage & 0xff,
        priority: args.queue_priority,
        engine: engine(session, agent, args),
        xgmi: args.queue_type == SDMA_XGMI,
    };
    (args.queue_id, args.doorbell_offset) = session.machine.create_queue(spec)?;
    Ok(())
}

pub(super) fn destroy_queue(session: &Session, args: &mut Number) -> Answer {
    Ok(session.debug.destroy_resumed(args.id, || session.machine.destroy_queue(args.id))?)
}

pub(super) fn update_queue(session: &Session, args: &mut UpdateQueue) -> Answer {
    let queue = session.machine.queue(args.queue_id).ok_or(INVALID)?;
    if args.queue_percentage & 0xff > MAX_PERCENTAGE || args.queue_priority > MAX_PRIORITY {
        return Err(INVALID);
    }
    let moved =
        args.ring_base_address != queue.spec.ring || u64::from(args.ring_size) != queue.spec.ring_bytes;
    if moved && args.ring_base_address != 0 {
        say!("queue {}: moving the ring of a living queue is not supported: EINVAL", queue.id);
        return Err(INVALID);
    }
    // A queue without a ring is suspended too.
    let share = if args.ring_base_address == 0 { 0 } else { args.queue_percentage & 0xff };
    queue.update(share, args.queue_priority);
    Ok(())
}

pub(super) fn set_cu_mask(session: &Session, args: &mut SetCuMask) -> Answer {
    let queue = session.machine.queue(args.queue_id).ok_or(INVALID)?;
    if args.num_cu_mask == 0 || !args.num_cu_mask.is_multiple_of(32) || args.num_cu_mask > MAX_MASK_BITS {
        return Err(INVALID);
    }
    // SAFETY: the program says that it has an array of `num_cu_mask` bits there.
    *queue.cu_mask.lock() = unsafe { read_array(args.cu_mask_ptr, args.num_cu_mask as usize / 32) };
    Ok(())
}

/// Global wave sync: the queue may run dispatches whose work-groups wait for each other. All dispatches may here.
pub(super) fn alloc_queue_gws(session: &Session, args: &mut AllocQueueGws) -> Answer {
    session.machine.queue(args.queue_id).ok_or(INVALID)?;
    args.first_gws = 0;
    Ok(())
}
