//! A process with the library preloaded: what it sees of the device, and that everything else is as before.
//!
//! Each test starts this same program again with `LD_PRELOAD` and a scenario to play; the scenario's assertions run
//! there.

#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "plain C library calls with valid arguments, as programs make them"
)]

mod debugger;

use std::ffi::{CStr, CString};
use std::fs;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Command, Output};

const SCENARIO: &str = "PRELOADED_SCENARIO";

const GET_VERSION: libc::c_ulong = 0x8008_4b01;
const GET_CLOCK_COUNTERS: libc::c_ulong = 0xc028_4b05;
const CROSS_MEMORY_COPY: libc::c_ulong = 0xc040_4b83;

/// Plays `scenario` in a process of its own; answers its output.
fn play(scenario: &str) -> Output {
    play_with(scenario, &[])
}

/// As [`play`], with variables.
fn play_with(scenario: &str, variables: &[(&str, &str)]) -> Output {
    let program = std::env::current_exe().expect("a path");
    // Cargo puts the library beside the test when it builds it for the test.
    let library = program.with_file_name("libmodel_gpu.so");
    assert!(library.exists(), "{} is missing", library.display());
    let output = Command::new(&program)
        .args(["scenario", "--exact", "--nocapture", "--test-threads=1"])
        .env("LD_PRELOAD", library)
        .env(SCENARIO, scenario)
        .envs(variables.iter().copied())
        .output()
        .expect("the program starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{scenario}: {}\n{text}", String::from_utf8_lossy(&output.stdout));
    output
}

/// The other side of [`play`]; an ordinary run of the tests passes it by.
#[test]
fn scenario() {
    match std::env::var(SCENARIO).as_deref() {
        Ok("version") => version(),
        Ok("duplicates") => duplicates(),
        Ok("many descriptors") => many_descriptors(),
        Ok("fork") => fork(),
        Ok("files") => files(),
        Ok("directories") => directories(),
        Ok("others") => others(),
        Ok("unknown") => unknown(),
        Ok("notes") => notes(),
        Ok("snapshots") => debugger::snapshots(),
        Ok("destroy while suspended") => debugger::destroy_while_suspended(),
        Ok("threads") => threads(),
        Ok("counters") => drop(open("/dev/kfd")),
        Ok(other) => panic!("no scenario {other}"),
        Err(_) => {}
    }
}

fn open(path: &str) -> OwnedFd {
    let path = CString::new(path).expect("no zero byte");
    let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
    assert!(fd >= 0, "open {path:?}: {}", std::io::Error::last_os_error());
    unsafe { OwnedFd::from_raw_fd(fd) }
}

fn get_version(fd: i32) -> Result<[u32; 2], i32> {
    let mut version = [0u32; 2];
    let result = unsafe { libc::ioctl(fd, GET_VERSION, version.as_mut_ptr()) };
    if result == 0 {
        Ok(version)
    } else {
        Err(std::io::Error::last_os_error().raw_os_error().expect("an error"))
    }
}

fn version() {
    let kfd = open("/dev/kfd");
    assert_eq!(get_version(kfd.as_raw_fd()), Ok([1, 17]));
    let mut counters = [0u64; 5];
    assert_eq!(unsafe { libc::ioctl(kfd.as_raw_fd(), GET_CLOCK_COUNTERS, counters.as_mut_ptr()) }, 0);
    assert_eq!(counters[3], 1_000_000_000);
}

fn duplicates() {
    let kfd = open("/dev/kfd");
    let copy = unsafe { libc::dup(kfd.as_raw_fd()) };
    drop(kfd);
    assert_eq!(get_version(copy), Ok([1, 17]));
    let moved = unsafe { libc::dup2(copy, 777) };
    assert_eq!(get_version(moved), Ok([1, 17]));
    unsafe { libc::close(moved) };
    let plain = fs::File::open("/proc/self/exe").expect("a file");
    assert_eq!(unsafe { libc::dup2(plain.as_raw_fd(), 777) }, 777);
    assert_eq!(get_version(777), Err(libc::ENOTTY), "the number belongs to another file now");
}

fn many_descriptors() {
    let kfd = open("/dev/kfd");
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    limit.rlim_cur = limit.rlim_max;
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    let high = i32::try_from(limit.rlim_max - 1).unwrap_or(i32::MAX).min(200_000);
    assert!(unsafe { libc::dup2(kfd.as_raw_fd(), high) } == high || high > 1023, "dup2 to {high}");
    assert_eq!(get_version(high), Ok([1, 17]));
}

fn fork() {
    let kfd = open("/dev/kfd");
    let child = unsafe { libc::fork() };
    if child == 0 {
        let inherited = get_version(kfd.as_raw_fd()) == Err(libc::EBADF);
        let fresh = get_version(open("/dev/kfd").as_raw_fd()) == Ok([1, 17]);
        unsafe { libc::_exit(i32::from(!(inherited && fresh))) };
    }
    let mut status = 0;
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the parent's descriptor is refused, a new one works");
    assert_eq!(get_version(kfd.as_raw_fd()), Ok([1, 17]), "the parent is unharmed");
}

fn files() {
    let topology = "/sys/devices/virtual/kfd/kfd/topology";
    let properties = fs::read_to_string(format!("{topology}/nodes/1/properties")).expect("a file");
    assert!(properties.contains("gfx_target_version 90402\n"), "{properties}");
    assert_eq!(fs::read_to_string("/sys/module/amdgpu/initstate").expect("a file"), "live\n");
    let stream = unsafe { libc::fopen(c"/sys/class/kfd/kfd/topology/generation_id".as_ptr(), c"r".as_ptr()) };
    assert!(!stream.is_null());
    let mut line = [0; 8];
    let read = unsafe { libc::fgets(line.as_mut_ptr(), 8, stream) };
    assert!(!read.is_null());
    assert_eq!(unsafe { CStr::from_ptr(line.as_ptr()) }, c"1\n");
    unsafe { libc::fclose(stream) };
    assert!(fs::write(format!("{topology}/generation_id"), "2").is_err(), "the files are read-only");
    assert!(fs::read_to_string(format!("{topology}/nodes/9/name")).is_err());
    let status = fs::metadata("/dev/dri/renderD128").expect("a node");
    assert!(std::os::unix::fs::FileTypeExt::is_char_device(&status.file_type()));
    assert_eq!(unsafe { libc::access(c"/dev/kfd".as_ptr(), libc::R_OK | libc::W_OK) }, 0);
}

fn names(path: &str) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(path)
        .expect(path)
        .map(|e| e.expect("entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn directories() {
    assert_eq!(names("/sys/devices/virtual/kfd/kfd/topology/nodes"), ["0", "1"]);
    assert_eq!(names("/sys/devices/virtual/kfd/kfd/topology/nodes/1/mem_banks"), ["0"]);
    assert_eq!(names("/sys/module/amdgpu"), ["holders", "initstate", "refcnt"]);
    assert_eq!(names("/sys/module/amdgpu/holders"), [""; 0]);
    assert!(names("/proc/self").contains(&"maps".to_owned()), "other directories are read as before");
}

fn others() {
    let mut text = String::new();
    fs::File::open("/proc/self/status").expect("a file").read_to_string(&mut text).expect("text");
    assert!(text.starts_with("Name:"));
    assert!(fs::metadata("/dev/dri/renderD129").is_err() || fs::metadata("/dev/dri").is_ok());
    assert_eq!(get_version(0), Err(libc::ENOTTY));
    let page = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            4096,
            libc::PROT_READ,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    assert_ne!(page, libc::MAP_FAILED);
    assert_eq!(unsafe { libc::munmap(page, 4096) }, 0);
}

fn unknown() {
    let kfd = open("/dev/kfd");
    let mut argument = [0u32; 16];
    assert_eq!(unsafe { libc::ioctl(kfd.as_raw_fd(), CROSS_MEMORY_COPY, argument.as_mut_ptr()) }, -1);
    assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EINVAL));
}

/// Calls a request of `/dev/kfd` with a structure of words of 64 bits.
fn request<const N: usize>(fd: &OwnedFd, number: libc::c_ulong, words: &mut [u64; N]) -> i32 {
    let code = 0xc000_4b00 | (N as libc::c_ulong * 8) << 16 | number;
    unsafe { libc::ioctl(fd.as_raw_fd(), code, words.as_mut_ptr()) }
}

const GPU: u64 = 0x5001;

fn notes() {
    let kfd = open("/dev/kfd");
    let mut smi = [GPU];
    assert_eq!(request(&kfd, 0x1f, &mut smi), 0);
    let fd = i32::try_from(smi[0] >> 32).expect("a descriptor");
    assert_eq!(unsafe { libc::fcntl(fd, libc::F_GETFD) }, 0, "a program that is executed has it too");
    let mut notes = fs::File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    let unmapped = 1u64 << (11 - 1);
    std::io::Write::write_all(&mut notes, &unmapped.to_le_bytes()).expect("a mask");
    let page = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        libc::mmap(core::ptr::null_mut(), 4096, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
    };
    assert_ne!(page, libc::MAP_FAILED);
    // Set one attribute: the agent may use the page.
    let address = page as u64;
    assert_eq!(request(&kfd, 0x20, &mut [address, 4096, 1 << 32, GPU << 32 | 2]), 0);
    assert_eq!(unsafe { libc::munmap(page, 4096) }, 0);
    let mut line = [0u8; 96];
    let read = notes.read(&mut line).expect("a note");
    let line = String::from_utf8_lossy(&line[..read]);
    let expected = format!(" -{} @{:x}(1) {GPU:x} 2\n", std::process::id(), address >> 12);
    assert!(line.starts_with("b ") && line.ends_with(&expected), "{line} is not b TIME{expected}");
}

fn threads() {
    let threads: Vec<_> = (0..16)
        .map(|_| {
            std::thread::spawn(|| {
                for _ in 0..50 {
                    let kfd = open("/dev/kfd");
                    assert_eq!(get_version(kfd.as_raw_fd()), Ok([1, 17]));
                    assert_eq!(names("/sys/devices/virtual/kfd/kfd/topology/nodes"), ["0", "1"]);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
}

#[test]
fn the_driver_answers_on_its_node() {
    play("version");
}

#[test]
fn duplicates_of_a_node_are_the_node_and_closed_numbers_are_not() {
    play("duplicates");
}

#[test]
fn a_high_descriptor_number_works() {
    play("many descriptors");
}

#[test]
fn a_forked_child_has_lost_the_device_and_can_open_a_new_one() {
    play("fork");
}

#[test]
fn topology_and_module_are_files() {
    play("files");
}

#[test]
fn topology_is_a_tree_of_directories() {
    play("directories");
}

#[test]
fn what_is_not_the_devices_passes_through() {
    play("others");
}

#[test]
fn many_threads_open_the_device_at_once() {
    play("threads");
}

#[test]
fn an_unknown_request_is_refused_and_named() {
    let output = play("unknown");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("model-gpu: ioctl 0x83 (CROSS_MEMORY_COPY) on /dev/kfd is not supported: EINVAL"),
        "{text}"
    );
}

#[test]
fn a_reader_of_the_drivers_notes_hears_that_shared_pages_are_gone() {
    play("notes");
}

#[test]
fn a_program_that_debugs_itself_gets_snapshots_of_its_devices_and_queues() {
    play("snapshots");
}

#[test]
fn a_suspended_queue_is_destroyed_when_it_is_resumed() {
    play("destroy while suspended");
}

#[test]
fn nothing_is_printed_without_need() {
    let output = play("counters");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn an_unknown_variable_and_a_value_that_makes_no_sense_are_named_and_the_device_works() {
    let output = play_with("version", &[("MODEL_GPU_AGENT", "2"), ("MODEL_GPU_VRAM", "lots")]);
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(
        lines.contains(
            &"model-gpu: MODEL_GPU_AGENT: unknown variable, ignored; the nearest is MODEL_GPU_AGENTS"
        )
    );
    assert!(lines.contains(&"model-gpu: MODEL_GPU_VRAM=lots: expected 256M to 1T, such as 16G; using 4G"));
}
