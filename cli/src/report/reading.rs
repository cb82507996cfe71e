//! Reads the records of one report in order, and parses them on as many threads as there are processors: parsing is nearly
//! all the work there is with a long report.
//!
//! The input is cut into blocks of whole lines. A thread reads, others parse, and the caller's thread takes the blocks in their
//! order; a few are under way at a time, and a few megabytes, so that memory stays bounded. A report of one block takes no thread.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use hsa_replay_contract::Record;
use hsa_replay_contract::report::{LONGEST_LINE, Problem, Reader, TornDispatch};

use super::under_way::{Share, UnderWay};

/// Bytes of a block, but for the end of its last line.
const BLOCK: usize = 1 << 18;

/// Parsing threads, at most: the caller's own cannot keep up with more.
const MOST_THREADS: usize = 8;

/// Problems that are kept with their description, as a reader keeps them.
const DESCRIBED: usize = 16;

/// What a line holds.
#[derive(Debug)]
pub enum Item {
    /// A record.
    Record(Record),
    /// The beginning of a dispatch record.
    Torn(TornDispatch),
}

/// Lines that could not be read.
#[derive(Debug, Default)]
pub struct Problems {
    /// The first of them.
    pub described: Vec<Problem>,
    /// How many there are.
    pub count: u64,
}

/// Whole lines, and where in the input they stand.
#[derive(Debug, Default)]
struct Block {
    bytes: Vec<u8>,
    /// Lines and bytes in front of it.
    lines: u64,
    offset: u64,
}

/// A block's records.
#[derive(Debug, Default)]
struct Parsed {
    items: Vec<Item>,
    problems: Problems,
}

/// Gives each item of the report to `each`, in order. An error of `each` ends it, as does one of the input. `problems` has what was
/// wrong up to there.
pub fn read<E: From<io::Error>>(
    input: impl Read + Send + 'static,
    problems: &mut Problems,
    mut each: impl FnMut(Item) -> Result<(), E>,
) -> Result<(), E> {
    let mut take = |parsed: Parsed| {
        problems.count += parsed.problems.count;
        let room = DESCRIBED.saturating_sub(problems.described.len());
        problems.described.extend(parsed.problems.described.into_iter().take(room));
        parsed.items.into_iter().try_for_each(&mut each)
    };
    let mut blocks = Blocks::new(input);
    let Some(first) = blocks.next()? else { return Ok(()) };
    take(parse(&first))?;
    drop(first);
    let threads = if blocks.ended { 0 } else { thread::available_parallelism().map_or(1, usize::from) };
    match parse_on(threads.min(MOST_THREADS), blocks) {
        Ok(coming) => {
            for parsed in coming {
                let (parsed, _share) =
                    parsed?.recv().map_err(|_| io::Error::other("a thread that parses has failed"))?;
                take(parsed)?;
            }
        }
        Err(mut blocks) => {
            while let Some(block) = blocks.next()? {
                take(parse(&block))?;
            }
        }
    }
    Ok(())
}

fn parse(block: &Block) -> Parsed {
    let mut reader = Reader::new(&block.bytes[..]).starting_behind(block.lines, block.offset);
    let mut items = Vec::new();
    // Memory does not fail.
    while let Some(Ok(record)) = reader.next() {
        items.extend(reader.take_torn().into_iter().map(Item::Torn));
        items.push(Item::Record(record));
    }
    items.extend(reader.take_torn().into_iter().map(Item::Torn));
    let problems = Problems { described: reader.problems().to_vec(), count: reader.problem_count() };
    Parsed { items, problems }
}

/// What comes from the reading thread: for each block, the end of a channel on which its records will be.
type Coming = Receiver<io::Result<Receiver<(Parsed, Share)>>>;

/// A block and where its records go.
type Job = (Block, Share, SyncSender<(Parsed, Share)>);

/// Reads and parses on threads of its own. Gives the blocks back where only one processor, or no thread, is to be had.
///
/// The threads end when the input does or when nobody wants more of it. Nobody waits for them: one may be reading from a
/// pipe that never ends, while the caller has failed.
fn parse_on<R: Read + Send + 'static>(threads: usize, blocks: Blocks<R>) -> Result<Coming, Blocks<R>> {
    if threads < 2 {
        return Err(blocks);
    }
    let under_way = 2 * threads;
    let (jobs, waiting) = sync_channel::<Job>(under_way);
    let waiting = Arc::new(Mutex::new(waiting));
    let parsing = (0..threads)
        .filter_map(|_| {
            let waiting = Arc::clone(&waiting);
            thread::Builder::new().spawn(move || parse_all(&waiting)).ok()
        })
        .count();
    if parsing == 0 {
        return Err(blocks);
    }
    let (order, coming) = sync_channel(under_way);
    // The blocks come back if there is no thread for them.
    let (handing, handed) = sync_channel(1);
    let reading = thread::Builder::new().spawn(move || {
        if let Ok(blocks) = handed.recv() {
            read_all(blocks, &jobs, &order);
        }
    });
    if reading.is_err() {
        return Err(blocks);
    }
    match handing.send(blocks) {
        Ok(()) => Ok(coming),
        Err(refused) => Err(refused.0),
    }
}

fn read_all<R: Read>(
    mut blocks: Blocks<R>,
    jobs: &SyncSender<Job>,
    order: &SyncSender<io::Result<Receiver<(Parsed, Share)>>>,
) {
    let under_way = Arc::new(UnderWay::default());
    loop {
        under_way.wait();
        let block = match blocks.next() {
            Ok(Some(block)) => block,
            Ok(None) => return,
            Err(error) => {
                let _nobody_listens = order.send(Err(error));
                return;
            }
        };
        let (done, result) = sync_channel(1);
        let share = under_way.add(block.bytes.len());
        if order.send(Ok(result)).is_err() || jobs.send((block, share, done)).is_err() {
            return;
        }
    }
}

fn parse_all(waiting: &Mutex<Receiver<Job>>) {
    loop {
        let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((block, share, done)) = job else { return };
        let parsed = parse(&block);
        drop(block);
        let _nobody_listens = done.send((parsed, share));
    }
}

/// Cuts an input into blocks.
#[derive(Debug)]
struct Blocks<R> {
    input: R,
    /// What was read behind the last whole line, and where it stands.
    rest: Block,
    block: usize,
    longest: usize,
    ended: bool,
}

impl<R: Read> Blocks<R> {
    fn new(input: R) -> Self {
        Self { input, rest: Block::default(), block: BLOCK, longest: LONGEST_LINE, ended: false }
    }

    /// The next block; none at the end.
    fn next(&mut self) -> io::Result<Option<Block>> {
        // Bytes of a line that is longer than any record are left out of the block, but count.
        let mut left_out = 0;
        let mut looked_at = 0;
        loop {
            if self.rest.bytes.len() >= self.block || self.ended {
                let fresh = &self.rest.bytes[looked_at..];
                // A line of which a part is left out ends its block: places behind it could not be told.
                let line_end =
                    if left_out > 0 { memchr::memchr(b'\n', fresh) } else { memchr::memrchr(b'\n', fresh) };
                let line_end = line_end.map(|at| looked_at + at);
                if let Some(end) = line_end.map(|at| at + 1).or(self.ended.then_some(self.rest.bytes.len())) {
                    return Ok((end > 0).then(|| self.cut(end, left_out)));
                }
                looked_at = self.rest.bytes.len();
                if looked_at > self.longest {
                    let kept = self.longest + 1;
                    left_out += u64::try_from(looked_at - kept).unwrap_or(u64::MAX);
                    self.rest.bytes.truncate(kept);
                    looked_at = kept;
                }
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let length = self.rest.bytes.len();
        self.rest.bytes.resize(length + self.block, 0);
        let result = loop {
            match self.input.read(&mut self.rest.bytes[length..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        self.rest.bytes.truncate(length + result.as_ref().copied().unwrap_or(0));
        self.ended = result? == 0;
        Ok(())
    }

    /// Takes the bytes up to `end` as a block.
    fn cut(&mut self, end: usize, left_out: u64) -> Block {
        let behind = self.rest.bytes.split_off(end);
        let mut block = std::mem::replace(&mut self.rest, Block { bytes: behind, ..Block::default() });
        block.bytes.shrink_to_fit();
        let lines = memchr::memchr_iter(b'\n', &block.bytes).count();
        self.rest.lines = block.lines + u64::try_from(lines).unwrap_or(u64::MAX);
        self.rest.offset = block.offset + u64::try_from(end).unwrap_or(u64::MAX) + left_out;
        block
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Gives a byte or a few at a time.
    struct Slowly(io::Cursor<Vec<u8>>, usize);

    impl Read for Slowly {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = buffer.len().min(self.1);
            self.0.read(&mut buffer[..length])
        }
    }

    const GOLDEN: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../contract/tests/data/complete.jsonl"));

    fn damaged() -> Vec<u8> {
        let mut bytes = b"\xef\xbb\xbf".to_vec();
        for (number, line) in GOLDEN.repeat(40).lines().enumerate() {
            match number % 7 {
                3 => bytes.extend(b"no record\n"),
                // The writer died in the middle, and the next record is behind.
                5 => bytes.extend(&line.as_bytes()[..60.min(line.len())]),
                _ => {}
            }
            bytes.extend(line.as_bytes());
            bytes.push(b'\n');
        }
        bytes.extend(b"{\"record\":\"disp");
        bytes
    }

    fn described<T: std::fmt::Debug>(items: &[T]) -> Vec<String> {
        items.iter().map(|item| format!("{item:?}")).collect()
    }

    #[test]
    fn blocks_and_threads_change_nothing_of_what_is_read() {
        let bytes = damaged();
        let whole = parse(&Block { bytes: bytes.clone(), ..Block::default() });
        assert!(bytes.len() > BLOCK, "there are several blocks");
        let mut items = Vec::new();
        let mut problems = Problems::default();
        let result = read::<io::Error>(io::Cursor::new(bytes.clone()), &mut problems, |item| {
            items.push(item);
            Ok(())
        });
        result.expect("memory does not fail");
        assert_eq!(described(&items), described(&whole.items));
        assert_eq!(problems.described, whole.problems.described);
        assert_eq!(problems.count, whole.problems.count);
        // Blocks of any size, filled in pieces of any size.
        for (block, piece) in [(1, 1), (100, 7), (5000, 999)] {
            let bytes = bytes[..8000].to_vec();
            let whole = parse(&Block { bytes: bytes.clone(), ..Block::default() });
            let mut blocks = Blocks { block, ..Blocks::new(Slowly(io::Cursor::new(bytes), piece)) };
            let (mut items, mut problems) = (Vec::new(), Vec::new());
            while let Some(block) = blocks.next().expect("memory does not fail") {
                let parsed = parse(&block);
                items.extend(parsed.items);
                problems.extend(parsed.problems.described);
            }
            assert_eq!(described(&items), described(&whole.items), "{block} {piece}");
            assert_eq!(problems, whole.problems.described, "{block} {piece}");
        }
    }

    #[test]
    fn a_line_longer_than_any_record_is_not_kept_and_what_is_behind_it_keeps_its_place() {
        let mut bytes = vec![b'x'; 10_000];
        bytes.extend(b"\nno record\n");
        let mut blocks = Blocks { block: 64, longest: 1000, ..Blocks::new(io::Cursor::new(bytes)) };
        let mut found = Vec::new();
        while let Some(block) = blocks.next().expect("memory does not fail") {
            assert!(block.bytes.len() < 1200, "{}", block.bytes.len());
            found.extend(parse(&block).problems.described);
        }
        let places: Vec<(u64, u64)> = found.iter().map(|problem| (problem.line, problem.offset)).collect();
        assert_eq!(places, [(1, 0), (2, 10_001)]);
    }

    struct Counted(io::Cursor<Vec<u8>>, Arc<AtomicUsize>);

    impl Read for Counted {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.0.read(buffer)?;
            self.1.fetch_add(length, Ordering::SeqCst);
            Ok(length)
        }
    }

    #[test]
    fn of_long_lines_few_are_read_before_their_records_are_taken() {
        let line = format!(
            "{{\"record\":\"begin\",\"pid\":1,\"id\":2,\"kernel\":\"{}\",\"launch\":3}}\n",
            "k".repeat(5 << 20)
        );
        let (mut seen, already) = (0, Arc::new(AtomicUsize::new(0)));
        let input = Counted(io::Cursor::new(line.repeat(16).into_bytes()), Arc::clone(&already));
        let result = read::<io::Error>(input, &mut Problems::default(), |_| {
            seen += line.len();
            let ahead = already.load(Ordering::SeqCst) - seen;
            assert!(ahead <= super::super::under_way::MOST + 2 * BLOCK, "{ahead}");
            Ok(())
        });
        assert!(result.is_ok() && seen == 16 * line.len());
    }

    #[test]
    fn an_error_of_the_input_comes_behind_what_was_read_before_it() {
        struct Broken(io::Cursor<Vec<u8>>);
        impl Read for Broken {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                match self.0.read(buffer)? {
                    0 => Err(io::Error::other("the disk is gone")),
                    length => Ok(length),
                }
            }
        }
        let mut count = 0;
        let mut problems = Problems::default();
        let bytes = ["no record\n", &GOLDEN.repeat(200)].concat().into_bytes();
        let result = read::<io::Error>(Broken(io::Cursor::new(bytes)), &mut problems, |_| {
            count += 1;
            Ok(())
        });
        assert_eq!(result.expect_err("fails").to_string(), "the disk is gone");
        assert!(count > 1000 && problems.count == 1, "{count} {problems:?}");
    }

    #[test]
    fn an_input_that_never_ends_holds_nobody_up_who_has_failed() {
        let (reader, mut writer) = io::pipe().expect("pipe");
        let text = GOLDEN.repeat(200);
        let writing = thread::spawn(move || {
            // Fails when the other end is gone, at the latest.
            let _gone = io::Write::write_all(&mut writer, text.as_bytes());
            writer
        });
        let result = read::<io::Error>(reader, &mut Problems::default(), |_| Err(io::Error::other("enough")));
        assert_eq!(result.expect_err("fails").to_string(), "enough");
        drop(writing);
    }
}
