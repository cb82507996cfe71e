//! What the reader says of code objects that the real compiler made; `data/regenerate` makes them again.

use code_object::{
    Access, AddressSpace, CodeObject, HiddenKind, HostCalls, Kernel, Segment, ValueKind, Version,
};

const VARIABLES_V4: &[u8] = include_bytes!("data/variables-v4.co");
const VARIABLES_V5: &[u8] = include_bytes!("data/variables-v5.co");
const VARIABLES_V6: &[u8] = include_bytes!("data/variables-v6.co");
const HOSTCALL_V5: &[u8] = include_bytes!("data/hostcall-v5.co");
const UNOPTIMISED_V4: &[u8] = include_bytes!("data/unoptimised-v4.co");
const UNOPTIMISED_LLVM15: &[u8] = include_bytes!("data/unoptimised-llvm15.co");
const UNOPTIMISED_V5: &[u8] = include_bytes!("data/unoptimised-v5.co");

fn parse(bytes: &[u8]) -> CodeObject {
    CodeObject::parse(bytes).expect("a code object of the real compiler is readable")
}

fn kernel<'a>(object: &'a CodeObject, mangled: &str) -> &'a Kernel {
    object
        .kernels()
        .iter()
        .find(|kernel| kernel.mangled() == mangled)
        .unwrap_or_else(|| panic!("no kernel {mangled}"))
}

#[test]
fn version_and_target_come_from_the_file() {
    for (bytes, version, target) in [
        (VARIABLES_V4, Version::V4, "amdgcn-amd-amdhsa--gfx942"),
        (VARIABLES_V5, Version::V5, "amdgcn-amd-amdhsa--gfx942"),
        (VARIABLES_V6, Version::V6, "amdgcn-amd-amdhsa--gfx9-4-generic"),
    ] {
        let object = parse(bytes);
        assert_eq!(object.version(), version);
        assert_eq!(object.target(), Some(target));
    }
}

#[test]
fn a_template_kernel_has_its_signature_and_arguments() {
    for bytes in [VARIABLES_V4, VARIABLES_V5, VARIABLES_V6] {
        let object = parse(bytes);
        let scale = kernel(&object, "_Z5scaleIfEvPT_PKS0_S0_i");
        assert_eq!(scale.symbol(), "_Z5scaleIfEvPT_PKS0_S0_i.kd");
        assert_eq!(scale.demangled(), "void scale<float>(float*, float const*, float, int)");
        assert_eq!(scale.language.as_deref(), Some("OpenCL C"));
        assert_eq!(scale.kernarg_segment_align, 8);
        let arguments: Vec<_> =
            scale.explicit_arguments().map(|a| (a.offset, a.size, a.value_kind.clone())).collect();
        assert_eq!(
            arguments,
            [
                (0, 8, ValueKind::GlobalBuffer),
                (8, 8, ValueKind::GlobalBuffer),
                (16, 4, ValueKind::ByValue),
                (20, 4, ValueKind::ByValue),
            ]
        );
        let input = &scale.arguments[1];
        assert_eq!(input.address_space, Some(AddressSpace::Global));
        let access = input.access.as_ref().or(input.actual_access.as_ref());
        assert_eq!(access, Some(&Access::ReadOnly));
    }
}

#[test]
fn hidden_arguments_are_told_apart() {
    let object = parse(VARIABLES_V5);
    let scale = kernel(&object, "_Z5scaleIfEvPT_PKS0_S0_i");
    let offset = |kind| scale.hidden_argument(&kind).map(|argument| argument.offset);
    assert_eq!(offset(HiddenKind::BlockCountX), Some(24));
    assert_eq!(offset(HiddenKind::GridDims), Some(88));
    assert_eq!(offset(HiddenKind::HostcallBuffer), None);
}

#[test]
fn group_memory_agrees_between_metadata_and_descriptor() {
    let object = parse(VARIABLES_V5);
    let count = kernel(&object, "_Z5countPi4Pair");
    assert_eq!(count.group_segment_fixed_size, 128);
    for kernel in object.kernels() {
        let descriptor = kernel.descriptor();
        assert_eq!(u64::from(descriptor.group_segment_fixed_size), kernel.group_segment_fixed_size);
        assert_eq!(u64::from(descriptor.kernarg_size), kernel.kernarg_segment_size);
        assert_eq!(descriptor.wavefront_size(), kernel.wavefront_size);
        assert!(!kernel.uses_dynamic_stack);
    }
}

#[test]
fn the_descriptor_lies_at_its_symbol_and_leads_to_the_code() {
    let object = parse(VARIABLES_V5);
    let scale = kernel(&object, "_Z5scaleIfEvPT_PKS0_S0_i");
    // The values of the symbols `…​.kd` and of the function, as the symbol table lists them.
    assert_eq!(scale.descriptor_address(), 0xb00);
    assert_eq!(scale.descriptor().kernel_code_entry_byte_offset, 0x2200 - 0xb00);
}

#[test]
fn writable_segments_leave_out_what_becomes_read_only() {
    assert_eq!(parse(VARIABLES_V5).writable_segments(), [Segment { address: 0x42e8, size: 0x114 }]);
    assert_eq!(parse(HOSTCALL_V5).writable_segments(), []);
}

#[test]
fn variables_of_every_linkage_are_named() {
    for bytes in [VARIABLES_V4, VARIABLES_V5, VARIABLES_V6] {
        let object = parse(bytes);
        let named = |name: &str| {
            let variable = object
                .variables()
                .iter()
                .find(|variable| code_object::demangle(&variable.name) == name)
                .unwrap_or_else(|| panic!("no variable {name}"));
            assert!(
                object
                    .writable_segments()
                    .iter()
                    .any(|segment| segment.contains(variable.address, variable.size))
            );
            variable.size
        };
        assert_eq!(named("counter"), 4);
        assert_eq!(named("table"), 256);
        assert_eq!(named("hidden_counter"), 4);
        assert_eq!(named("(anonymous namespace)::anonymous_counter"), 4);
        assert_eq!(named("count(int*, Pair)::local_calls"), 4);
    }
}

#[test]
fn variables_ascend_and_no_address_is_named_twice() {
    let object = parse(VARIABLES_V6);
    let addresses: Vec<u64> = object.variables().iter().map(|v| v.address).collect();
    assert!(addresses.is_sorted_by(|a, b| a < b), "{addresses:x?}");
}

#[test]
fn optimised_metadata_tells_which_kernel_calls_the_host() {
    let object = parse(HOSTCALL_V5);
    assert_eq!(kernel(&object, "_Z5speaki").host_calls(), HostCalls::Yes);
    assert_eq!(kernel(&object, "_Z5quietPi").host_calls(), HostCalls::No);
    assert!(object.kernels().iter().all(Kernel::lists_exact_hidden_arguments));
}

#[test]
fn metadata_of_llvm_15_without_optimisation_leaves_host_calls_open() {
    let object = parse(UNOPTIMISED_LLVM15);
    assert_eq!(kernel(&object, "_Z5quietPi").host_calls(), HostCalls::Unknown);
}

#[test]
fn unoptimised_metadata_leaves_host_calls_open() {
    for bytes in [UNOPTIMISED_V4, UNOPTIMISED_V5] {
        let object = parse(bytes);
        let quiet = kernel(&object, "_Z5quietPi");
        assert_eq!(quiet.host_calls(), HostCalls::Unknown);
        assert!(!quiet.lists_exact_hidden_arguments());
    }
}

#[test]
fn an_object_with_a_client_for_remote_calls_may_call_the_host_from_every_kernel() {
    let mut bytes = VARIABLES_V5.to_vec();
    let name = b"_ZL14hidden_counter\0";
    let at = bytes.windows(name.len()).position(|window| window == name).expect("the variable has a name");
    bytes[at..at + 18].copy_from_slice(b"__llvm_rpc_client\0");
    assert!(parse(&bytes).kernels().iter().all(|kernel| kernel.host_calls() == HostCalls::Yes));
    assert!(parse(VARIABLES_V5).kernels().iter().all(|kernel| kernel.host_calls() == HostCalls::No));
}

#[test]
fn the_bytes_may_start_at_any_address() {
    let mut shifted = vec![0; VARIABLES_V5.len() + 1];
    shifted[1..].copy_from_slice(VARIABLES_V5);
    assert_eq!(parse(&shifted[1..]).kernels().len(), 2);
}
