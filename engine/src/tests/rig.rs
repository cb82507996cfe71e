//! An application on the engine on the simulated runtime.

use crate::fake::{Fake, GPU, KERNARG_POOL, RealQueue, VRAM_POOL, argument};
use crate::handles::{Executable, Signal};
use crate::runtime::{LoadedCodeObject, Runtime};
use crate::shared_memory::signal_value;
use crate::tool::Tool;
use crate::{Access, Allocation, Attachments, Engine, SignalWrite, Source};
use hsa_replay_contract::report::{Reader, Writer};
use hsa_replay_contract::{Dispatch, Record, Settings, Summary};
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Two kernels and five variables, made by the real compiler.
const IMAGE: &[u8] = include_bytes!("../../../code-object/tests/data/variables-v5.co");
/// Where its writable segment begins, and its size.
const SEGMENT: (u64, u64) = (0x42e8, 0x114);
const IMAGE_BYTES: u64 = 0x5000;

/// `count(int* out, Pair pair)`; here: adds one to `*out` and to the variable `counter`.
pub(super) const COUNT: &str = "_Z5countPi4Pair";
/// `scale(float* data, const float* input, float by, int n)`; tests give it a meaning of their own.
pub(super) const SCALE: &str = "_Z5scaleIfEvPT_PKS0_S0_i";

/// The application's world.
pub(super) struct Rig {
    pub(super) fake: Arc<Fake>,
    pub(super) engine: Engine,
    folder: tempfile::TempDir,
    queues: AtomicU64,
    /// Device address of the variable `counter`.
    pub(super) counter: u64,
    load_base: u64,
}

/// A queue as the application uses it.
pub(super) struct AppQueue<'a> {
    rig: &'a Rig,
    pub(super) object: u64,
    doorbell: Signal,
    ring: u64,
    slots: u64,
    pub(super) real: RealQueue,
}

impl Rig {
    /// Three passes, everything selected.
    pub(super) fn new() -> Self {
        Self::with(&[])
    }

    /// With more options, by their variables without the prefix.
    pub(super) fn with(options: &[(&str, &str)]) -> Self {
        Self::attached(options, Attachments::default())
    }

    /// With a tool.
    pub(super) fn with_tool(tool: impl Tool + 'static) -> Self {
        Self::attached(&[], Attachments { tool: Some(Box::new(tool)), ..Attachments::default() })
    }

    /// With a folder for the disk tier.
    pub(super) fn spilling(options: &[(&str, &str)], spill: Option<std::path::PathBuf>) -> Self {
        Self::attached(options, Attachments { spill, ..Attachments::default() })
    }

    /// With another GPU, listed first.
    pub(super) fn beside_another_gpu(options: &[(&str, &str)]) -> Self {
        let fake = Fake::new();
        fake.add_peer();
        Self::on(fake, options, Attachments::default())
    }

    /// With more options and these attachments.
    pub(super) fn attached(options: &[(&str, &str)], attachments: Attachments) -> Self {
        Self::on(Fake::new(), options, attachments)
    }

    fn on(fake: Arc<Fake>, options: &[(&str, &str)], attachments: Attachments) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let base = [("PASSES", "3"), ("TIMEOUT", "30"), ("BUDGET", "1G")];
        let variables = base
            .iter()
            .chain(options)
            .map(|(name, value)| (OsString::from(format!("HSA_REPLAY_{name}")), OsString::from(value)));
        let variables: std::collections::BTreeMap<_, _> = variables.collect();
        let settings = Settings::from_environment(variables, |_| Ok(Vec::new())).expect("good settings");
        let report = Writer::open(&folder.path().join("report.jsonl"), std::process::id()).expect("a report");
        let runtime: Arc<dyn Runtime> = Arc::<Fake>::clone(&fake);
        let engine = Engine::start(runtime, settings, report, attachments).expect("starts");
        let load_base = fake.machine(|machine| machine.allocate(IMAGE_BYTES));
        let counter = load_base + SEGMENT.0;
        let rig = Self { fake, engine, folder, queues: AtomicU64::new(0), counter, load_base };
        rig.load(Executable(1), load_base);
        rig.fake.kernel(rig.kernel(COUNT), move |machine, words| {
            machine.add_u32(argument(words, 0), 1);
            machine.add_u32(counter, 1);
        });
        rig
    }

    /// Loads the image once more.
    pub(super) fn load(&self, executable: Executable, load_base: u64) {
        self.load_image(executable, load_base, IMAGE.to_vec());
    }

    /// Loads the image with `scale` under another name of the same length, and gives that kernel's object.
    pub(super) fn load_renamed(&self, executable: Executable, name: &str) -> u64 {
        self.load_changed(executable, SCALE, name)
    }

    /// Loads the image with a text replaced by another of the same length, and gives the object of `scale`.
    pub(super) fn load_changed(&self, executable: Executable, before: &str, after: &str) -> u64 {
        self.load_with_bytes(executable, before.as_bytes(), after.as_bytes())
    }

    /// Loads the image with all buffers among the kernels' arguments as arguments of another kind, whose name has five letters.
    pub(super) fn load_with_kind(&self, executable: Executable, kind: &str) -> u64 {
        let before = b"\xab.value_kind\xadglobal_buffer";
        // The same text with wider lengths, which takes as many bytes.
        let after = [&b"\xdb\0\0\0\x0b.value_kind\xdb\0\0\0\x05"[..], kind.as_bytes()].concat();
        self.load_with_bytes(executable, before, &after)
    }

    fn load_with_bytes(&self, executable: Executable, before: &[u8], after: &[u8]) -> u64 {
        assert_eq!(before.len(), after.len());
        let mut image = IMAGE.to_vec();
        let mut at = 0;
        while at + before.len() <= image.len() {
            if image[at..].starts_with(before) {
                image[at..at + before.len()].copy_from_slice(after);
            }
            at += 1;
        }
        let load_base = self.fake.machine(|machine| machine.allocate(IMAGE_BYTES));
        self.load_image(executable, load_base, image);
        self.kernel(SCALE) - self.load_base + load_base
    }

    /// Loads another image of the same size or less, which has one kernel; gives that kernel and its object.
    pub(super) fn load_other(&self, executable: Executable, image: &[u8]) -> (code_object::Kernel, u64) {
        let load_base = self.fake.machine(|machine| machine.allocate(IMAGE_BYTES));
        self.load_image(executable, load_base, image.to_vec());
        let kernels = code_object::CodeObject::parse(image).expect("a code object").into_kernels();
        let kernel = kernels.into_iter().next().expect("a kernel");
        let object = load_base + kernel.descriptor_address();
        (kernel, object)
    }

    /// Loads the image with a writable segment of this many bytes, which lies nowhere.
    pub(super) fn load_oversized(&self, executable: Executable, bytes: u64) {
        const HEADER: usize = 56;
        let mut image = IMAGE.to_vec();
        let is_segment = |at: &usize| image[*at] == 1 && image[at + 16..at + 24] == SEGMENT.0.to_le_bytes();
        let at = (64..64 + 9 * HEADER).step_by(HEADER).find(is_segment).expect("has its header");
        image[at + 40..at + 48].copy_from_slice(&bytes.to_le_bytes());
        let load_base = 0x0f00_0000_0000;
        let loaded = LoadedCodeObject {
            agent: Some(GPU),
            load_base,
            load_size: 2 * bytes,
            load_delta: load_base.cast_signed(),
            image,
        };
        self.fake.load(executable, loaded);
        self.engine.executable_frozen(executable);
    }

    fn load_image(&self, executable: Executable, load_base: u64, image: Vec<u8>) {
        let loaded = LoadedCodeObject {
            agent: Some(GPU),
            load_base,
            load_size: IMAGE_BYTES,
            load_delta: load_base.cast_signed(),
            image,
        };
        self.fake.load(executable, loaded);
        self.engine.executable_frozen(executable);
    }

    /// Kernel object of a kernel of the image.
    pub(super) fn kernel(&self, symbol: &str) -> u64 {
        let object = code_object::CodeObject::parse(IMAGE).expect("a code object");
        let kernel = object.kernels().iter().find(|kernel| kernel.mangled() == symbol).expect("is there");
        self.load_base + kernel.descriptor_address()
    }

    /// Device memory of the application.
    pub(super) fn allocate(&self, bytes: u64) -> u64 {
        let address = self.fake.machine(|machine| machine.allocate(bytes));
        self.track(address, bytes);
        address
    }

    /// What the hook does after an allocation.
    pub(super) fn track(&self, address: u64, bytes: u64) {
        let source = Source::Pool { pool: VRAM_POOL, flags: 0 };
        self.engine.memory_allocated(&Allocation { address, bytes, source });
    }

    /// Physical memory of the application, mapped and open to the agent; the simulation has no two addresses of one memory.
    pub(super) fn map(&self, physical: u64) -> u64 {
        const BYTES: u64 = 4096;
        let address = self.fake.machine(|machine| machine.allocate(BYTES));
        let source = Source::VirtualMemory { pool: Some(VRAM_POOL), physical, offset: 0 };
        self.engine.memory_allocated(&Allocation { address, bytes: BYTES, source });
        let access = Access { agent: GPU, writes: true };
        self.engine.memory_access(address, BYTES, access, true);
        address
    }

    /// What the hook does around a free.
    pub(super) fn free(&self, address: u64) {
        let freeing = self.engine.memory_freeing(address, true);
        self.fake.machine(|machine| machine.free(address));
        self.engine.memory_freed(freeing, true);
    }

    /// A block of kernel arguments in host memory.
    pub(super) fn arguments(&self, words: &[u64]) -> u64 {
        let bytes = 4096;
        let address = self.fake.allocate_host(bytes).expect("host memory");
        let source = Source::Pool { pool: KERNARG_POOL, flags: 0 };
        self.engine.memory_allocated(&Allocation { address, bytes, source });
        for (at, word) in (address..).step_by(8).zip(words) {
            self.fake.store_word(at, *word);
        }
        address
    }

    /// The same in host memory that no hook has seen.
    pub(super) fn unseen_arguments(&self, words: &[u64]) -> u64 {
        let address = self.fake.allocate_host(4096).expect("host memory");
        for (at, word) in (address..).step_by(8).zip(words) {
            self.fake.store_word(at, *word);
        }
        address
    }

    pub(super) fn u32(&self, address: u64) -> u32 {
        self.fake.machine(|machine| machine.read_u32(address))
    }

    pub(super) fn queue(&self, slots: u64) -> AppQueue<'_> {
        self.queue_of_kind(slots, false)
    }

    /// The same, for cooperative launches or not.
    pub(super) fn queue_of_kind(&self, slots: u64, cooperative: bool) -> AppQueue<'_> {
        let real = self.fake.create_queue(slots, self.queues.fetch_add(1, Ordering::SeqCst));
        let object = self.engine.wrap_queue(GPU, real.handle(), cooperative).expect("a software queue");
        let word = |offset: usize| self.fake.load_word(object + offset as u64);
        AppQueue {
            rig: self,
            object,
            doorbell: Signal(word(std::mem::offset_of!(hsa_sys::hsa_queue_t, doorbell_signal))),
            ring: word(std::mem::offset_of!(hsa_sys::hsa_queue_t, base_address)),
            slots,
            real,
        }
    }

    /// Ends the process: gives the dispatch records and the summary.
    pub(super) fn finish(self) -> (Vec<Dispatch>, Summary) {
        self.engine.stop();
        let records = self.records();
        self.fake.stop();
        self.fake.check();
        let summary = records.iter().rev().find_map(|record| match record {
            Record::Summary(summary) => Some(summary.clone()),
            _ => None,
        });
        let dispatches = records.into_iter().filter_map(|record| match record {
            Record::Dispatch(dispatch) => Some(*dispatch),
            _ => None,
        });
        (dispatches.collect(), summary.expect("a summary"))
    }

    /// All records so far.
    pub(super) fn records(&self) -> Vec<Record> {
        let file = std::fs::File::open(self.folder.path().join("report.jsonl")).expect("a report");
        let mut reader = Reader::new(std::io::BufReader::new(file));
        let records = reader.by_ref().map(|record| record.expect("readable")).collect();
        assert_eq!(reader.problem_count(), 0, "the report has problems");
        records
    }
}

impl Drop for Rig {
    /// A test that fails with something held would otherwise end no sooner than the window that waits for it.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.fake.release();
            self.fake.resume();
        }
    }
}

impl AppQueue<'_> {
    /// Writes a packet into the next slot, header last, without ringing. Waits for a free slot as applications do.
    pub(super) fn write(&self, words: [u64; 8]) -> u64 {
        let engine = &self.rig.engine;
        let index = engine.add_write_index(self.object, 1).expect("is ours");
        self.write_at(index, words);
        index
    }

    /// Writes a packet into a reserved slot.
    pub(super) fn write_at(&self, index: u64, words: [u64; 8]) {
        let engine = &self.rig.engine;
        self.rig.fake.wait_for("a free slot", |_| {
            index - engine.load_read_index(self.object).expect("is ours") < self.slots
        });
        let slot = self.ring + (index % self.slots) * 64;
        for (at, word) in (slot..).step_by(8).zip(words).skip(1) {
            self.rig.fake.store_word(at, word);
        }
        self.rig.fake.store_word(slot, words[0]);
    }

    /// Header of a slot now.
    pub(super) fn header(&self, index: u64) -> u64 {
        self.rig.fake.load_word(self.ring + (index % self.slots) * 64) & 0xffff
    }

    pub(super) fn ring(&self, value: u64) {
        assert!(self.rig.engine.store_doorbell(self.doorbell, value.cast_signed()), "the doorbell is ours");
    }

    /// Rings as every write but a plain store does.
    pub(super) fn ring_by_update(&self) {
        let engine = &self.rig.engine;
        engine.write_signal(self.doorbell, SignalWrite::Add(1), || ());
    }

    /// Writes a packet and rings.
    pub(super) fn submit(&self, words: [u64; 8]) {
        let index = self.write(words);
        self.ring(index);
    }

    /// Dispatches a kernel with these argument words and gives its completion signal.
    pub(super) fn dispatch(&self, symbol: &str, arguments: &[u64]) -> Signal {
        let signal = self.rig.fake.new_signal(1);
        self.submit(self.packet(symbol, arguments, signal));
        signal
    }

    /// A dispatch packet: one dimension, 64 work items, agent-scope fences as HIP has them.
    pub(super) fn packet(&self, symbol: &str, arguments: &[u64], signal: Signal) -> [u64; 8] {
        let kernarg = self.rig.arguments(arguments);
        [
            0x0b02 | 1 << 16 | 64 << 32,
            1 | 64 << 32,
            1 | 1 << 32,
            0,
            self.rig.kernel(symbol),
            kernarg,
            0,
            signal.0,
        ]
    }

    /// A barrier-AND with one dependency.
    pub(super) fn barrier(dependency: Signal, completion: Signal) -> [u64; 8] {
        [3 | 1 << 8, dependency.0, 0, 0, 0, 0, 0, completion.0]
    }

    /// Packets that have left the software queue.
    pub(super) fn forwarded(&self) -> u64 {
        self.rig.engine.load_read_index(self.object).expect("is ours")
    }

    pub(super) fn wait(&self, signal: Signal) {
        self.rig.fake.wait_for_signal(signal);
    }

    /// Dispatches and waits.
    pub(super) fn run(&self, symbol: &str, arguments: &[u64]) {
        let signal = self.dispatch(symbol, arguments);
        self.wait(signal);
        assert_eq!(signal_value(signal), 0, "completed exactly once");
    }

    pub(super) fn destroy(self) {
        self.rig.engine.destroy_queue(self.object, true).expect("is ours").expect("destroyed");
    }
}
