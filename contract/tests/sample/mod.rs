//! Sample records that between them use every field with a value and every optional field with null.

use hsa_replay_contract::record::*;
use hsa_replay_contract::{Layer, OptionId, Settings};

pub fn settings() -> Settings {
    let mut options = Layer::default();
    for (id, text) in [
        (OptionId::Passes, "3"),
        (OptionId::Kernel, "saxpy|count"),
        (OptionId::LaunchCount, "100"),
        (OptionId::Budget, "2G"),
        (OptionId::Allow, "hostcall"),
        (OptionId::Log, "info"),
        (OptionId::LogFile, "replay.log"),
        (OptionId::Runtime, "/opt/rocm/lib/libhsa-runtime64.so.1"),
    ] {
        options.set_option(id, text);
    }
    Settings::resolve(options, [], |_| unreachable!("no config file is named")).expect("valid")
}

pub fn session() -> Session {
    let runtime = Runtime {
        path: Some("/opt/rocm/lib/libhsa-runtime64.so.1.18.70204".into()),
        version: Some("1.18".into()),
    };
    let agents = vec![
        Agent { index: 0, name: "gfx942".into(), node: Some(1), uuid: Some("GPU-1e46ac3cd9c19f0b".into()) },
        Agent { index: 1, name: "gfx942".into(), node: None, uuid: None },
    ];
    let mut session = Session::new(4711, runtime, agents, &settings());
    session.version = "0.1.0".into();
    session.command = Some(vec!["./program".into(), "--size".into(), "1024".into()]);
    session.rank = None;
    session
}

pub fn begin(id: u64) -> Begin {
    let dispatch = replayed(id);
    Begin {
        pid: dispatch.pid,
        id: dispatch.id,
        kernel: dispatch.kernel,
        launch: id,
        grid: Some(dispatch.grid),
        workgroup: Some(dispatch.workgroup),
        arguments: dispatch.arguments,
    }
}

pub fn replayed(id: u64) -> Dispatch {
    let hash = Some(ContentHash(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef));
    let pass = |index: u32, ns: u64| Pass {
        index,
        ticks: Some([1_000_000 + u64::from(index) * 10_000, 1_000_000 + u64::from(index) * 10_000 + ns / 10]),
        ns: Some(ns),
        hash,
    };
    let passes = vec![pass(0, 8_120), pass(1, 7_990), pass(2, 8_050)];
    let argument = |index: u32, type_name: &str, kind, offset, bytes: &str, value: &str| Argument {
        index,
        name: None,
        type_name: Some(type_name.into()),
        kind,
        offset,
        size: bytes.len() as u64 / 2,
        bytes: Some(bytes.into()),
        value: Some(value.into()),
        points_to: vec![],
    };
    let target = |class, base: u64, offset| Target { at: 0, class, name: None, base, size: 4096, offset };
    let mut arguments = vec![
        argument(0, "int", ArgumentKind::Value, 0, "ff030000", "1023"),
        argument(1, "float", ArgumentKind::Value, 4, "00002040", "2.5"),
        argument(2, "float const*", ArgumentKind::Pointer, 8, "001003004c7f0000", "0x7f4c00031000"),
        argument(3, "float*", ArgumentKind::Pointer, 16, "000000004c7f0000", "0x7f4c00000000"),
    ];
    arguments[2].name = Some("x".into());
    arguments[2].points_to = vec![target(MemoryClass::Host, 0x7f4c_0003_0000, 4096)];
    arguments[3].points_to = vec![target(MemoryClass::Device, 0x7f4c_0000_0000, 0)];
    let stage = |stage, pass, start_ns, ns| StageTime { stage, pass, start_ns, ns };
    let window = Window {
        start_unix_ns: 1_764_000_000_000_000_000 + id * 1_000_000,
        ns: 210_000,
        stages: vec![
            stage(Stage::Decide, None, 0, 1_500),
            stage(Stage::Drain, None, 1_600, 9_000),
            stage(Stage::Snapshot, None, 11_000, 41_200),
            stage(Stage::Pass, Some(0), 55_000, 12_000),
            stage(Stage::Compare, Some(0), 67_500, 20_000),
            stage(Stage::Restore, Some(0), 88_000, 7_900),
            stage(Stage::Pass, Some(1), 97_000, 11_000),
        ],
    };
    Dispatch {
        pid: 4711,
        id,
        kernel: "saxpy(int, float, float const*, float*)".into(),
        symbol: "_Z5saxpyifPKfPf".into(),
        agent: 0,
        queue: 2,
        launch: id,
        grid: [1024, 1, 1],
        workgroup: [256, 1, 1],
        range: None,
        arguments: Some(arguments),
        outcome: Outcome::Replayed,
        reason: None,
        detail: None,
        allowed: vec![],
        time_ns: TimeNs::of_passes(&passes),
        passes,
        window: Some(window),
        snapshot: Some(Snapshot { tier: Tier::Host, regions: 3, bytes: 12_288, ns: 41_200 }),
        restore: Some(Restore { regions: 2, bytes: 8_200, ns: 15_800, skipped: 1, failed: 0 }),
        writes: Some(vec![
            Write {
                kind: WriteKind::Allocation,
                name: None,
                arg: Some(3),
                base: 0x7f4c_0000_0000,
                size: 4096,
                ranges: vec![[0, 4092]],
                merged: false,
                bytes: 4092,
                hash: Some(ContentHash(0xa11)),
                dump: Some("/home/me/dumps/4711-0-7f4c00000000.dump".into()),
            },
            Write {
                kind: WriteKind::ModuleVariable,
                name: Some("counter".into()),
                arg: None,
                base: 0x7f4c_0010_0040,
                size: 4,
                ranges: vec![[0, 1]],
                merged: false,
                bytes: 1,
                hash: Some(ContentHash(0xc0)),
                dump: None,
            },
        ]),
        deterministic: Some(true),
        divergence: Some(vec![]),
    }
}

pub fn diverging(id: u64) -> Dispatch {
    let mut dispatch = replayed(id);
    dispatch.kernel = "stamp(unsigned long*)".into();
    dispatch.symbol = "_Z5stampPm".into();
    dispatch.launch = 0;
    dispatch.allowed = vec![Allow::Hostcall];
    dispatch.detail = Some("argument 0 is `out`".into());
    for (pass, hash) in dispatch.passes.iter_mut().zip(1_u128..) {
        pass.hash = Some(ContentHash(hash << 64));
    }
    dispatch.writes = Some(vec![Write {
        kind: WriteKind::Allocation,
        name: None,
        arg: Some(0),
        base: 0x7f4c_0020_0000,
        size: 65_536,
        ranges: (0..6).map(|index| [index * 64, 3]).collect(),
        merged: true,
        bytes: 18,
        hash: None,
        dump: None,
    }]);
    dispatch.deterministic = Some(false);
    dispatch.divergence = Some(vec![
        Divergence { write: 0, pass: 1, offset: 0, bytes: 2 },
        Divergence { write: 0, pass: 2, offset: 64, bytes: 1 },
    ]);
    dispatch
}

pub fn declined(id: u64, reason: Reason) -> Dispatch {
    Dispatch {
        kernel: "report_progress(int*)".into(),
        symbol: "_Z15report_progressPi".into(),
        launch: 0,
        outcome: Outcome::Declined,
        reason: Some(reason),
        detail: Some("argument 0 points into host memory".into()),
        passes: vec![Pass { index: 0, ticks: None, ns: None, hash: None }],
        time_ns: None,
        arguments: None,
        window: None,
        snapshot: None,
        restore: None,
        writes: None,
        deterministic: None,
        divergence: None,
        ..replayed(id)
    }
}

/// A process from beginning to end: four candidates, one of each important kind.
pub fn process() -> Vec<Record> {
    let mut tainted = replayed(3);
    tainted.outcome = Outcome::Tainted;
    tainted.reason = Some(Reason::RestoreFailed);
    tainted.detail = Some("0x7f4c00000000+0..4092 could not be put back".into());
    let dispatches = [replayed(0), diverging(1), declined(2, Reason::UntrackedMemory), tainted];
    let mut summary = Summary::new(4711);
    let mut records = vec![session().into()];
    for dispatch in dispatches {
        summary.count(&dispatch);
        if dispatch.outcome != Outcome::Declined {
            let begin =
                Begin { kernel: dispatch.kernel.clone(), launch: dispatch.launch, ..begin(dispatch.id) };
            records.push(begin.into());
        }
        records.push(dispatch.into());
    }
    summary.filtered = 12;
    records.push(summary.into());
    records
}
