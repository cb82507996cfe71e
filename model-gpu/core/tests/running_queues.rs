//! Queues with their own threads, driven as a program drives them: by stores to rings and doorbells.

mod program;

use model_gpu_core::QueueSpec;
use program::Program;

#[test]
fn a_rung_doorbell_starts_the_packets_before_it() {
    let program = Program::start();
    for index in 0..10 {
        program.barrier(index, 0);
    }
    program.ring(9);
    program.await_zero(9);
    assert!((0..10).all(|n| program.value(n) == 0));
}

#[test]
fn a_barrier_waits_for_a_store_of_the_program() {
    let program = Program::start();
    let dependency = program.signal(60);
    program.barrier(0, 0);
    program.barrier(1, dependency);
    program.ring(1);
    program.await_zero(0);
    assert_eq!(program.value(1), 1);
    program.machine.memory.view(0).store(dependency + 8, 0u64).expect("mapped");
    program.await_zero(1);
}

#[test]
fn a_queue_that_waits_can_be_destroyed() {
    let program = Program::start();
    program.barrier(0, 0);
    program.barrier(1, program.signal(60));
    program.barrier(2, 0);
    program.ring(2);
    program.await_zero(0);
    program.machine.destroy_queue(program.id).expect("exists");
    assert_eq!((program.value(1), program.value(2)), (1, 1));
    assert!(program.machine.queue(program.id).is_none());
}

#[test]
fn doorbells_of_destroyed_queues_are_used_again() {
    let program = Program::start();
    let spec = program.machine.queue(program.id).expect("exists").spec;
    program.machine.destroy_queue(program.id).expect("exists");
    let (id, doorbell) = program.machine.create_queue(spec).expect("sound");
    assert_ne!(id, program.id);
    assert_eq!(doorbell, program.doorbell);
}

#[test]
fn malformed_rings_are_refused() {
    let program = Program::start();
    let spec = program.machine.queue(program.id).expect("exists").spec;
    for ring_bytes in [0, 32, 96] {
        assert!(program.machine.create_queue(QueueSpec { ring_bytes, ..spec }).is_err());
    }
    assert!(program.machine.create_queue(QueueSpec { agent: 1, ..spec }).is_err());
}
