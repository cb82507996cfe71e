//! Which table rows, and which of their forms, the tests execute and check.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::Target;
use crate::instruction::{Encoding, Inst};

thread_local! {
    /// Mnemonics executed on this thread, while somebody counts.
    static EXECUTED: RefCell<Option<BTreeSet<&'static str>>> = const { RefCell::new(None) };
    /// The same with the suffix of the form.
    static FORMS: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

/// Called for each instruction that a test's wave executes.
pub(crate) fn note(inst: &Inst) {
    EXECUTED.with_borrow_mut(|executed| {
        if let Some(executed) = executed {
            executed.insert(inst.row.mnemonic);
            FORMS.with_borrow_mut(|forms| forms.insert(inst.mnemonic()));
        }
    });
}

/// Every test that compares what instructions do with what they should do.
const CHECKS: &[fn()] = &[
    super::comparisons::vector_comparisons_do_what_their_names_say,
    super::comparisons::class_tests_look_at_one_bit_of_the_second_source,
    super::comparisons::scalar_comparisons_do_what_their_names_say,
    super::comparisons::bit_comparisons_test_the_bit_that_the_second_operand_names,
    super::control::branches_count_words_from_the_next_instruction,
    super::control::calls_leave_the_return_address,
    super::control::a_budget_stops_an_endless_loop_and_it_can_go_on,
    super::control::traps_messages_and_unknown_code_end_the_wave_by_name,
    super::control::code_beyond_memory_is_a_fetch_fault,
    super::control::changed_code_is_decoded_again_after_an_invalidation,
    super::control::registers_beyond_the_allocation_are_refused,
    super::control::a_group_passes_its_barrier_when_every_live_wave_has_arrived,
    super::exceptions::single_precision_records_what_ieee_raises,
    super::exceptions::a_quotient_out_of_range_has_over_or_underflowed,
    super::exceptions::the_last_step_of_a_division_raises_what_its_moved_result_raises,
    super::exceptions::zero_times_infinity_is_no_invalid_operation_of_the_legacy_forms,
    super::exceptions::the_vector_unit_clears_what_it_recorded,
    super::exceptions::other_formats_and_packed_forms_record_too,
    super::exceptions::a_flushed_result_has_underflowed_and_a_flushed_source_is_no_denormal,
    super::exceptions::exceptions_stay_until_they_are_cleared_and_inactive_lanes_raise_none,
    super::exceptions::a_wave_records_once_it_has_written_the_register,
    super::exceptions::an_enabled_exception_ends_the_wave_before_it_writes,
    super::exceptions::a_word_that_reads_the_register_is_recognised,
    super::float::rounding_modes_decide_inexact_results,
    super::float::denormals_are_flushed_when_mode_says_so,
    super::float::minimum_and_maximum_order_zeros_and_prefer_numbers,
    super::float::invalid_operations_give_the_negative_quiet_nan,
    super::float::clamp_and_output_multiplier_apply_to_the_result,
    super::float::modifiers_negate_and_take_absolute_values,
    super::float::division_steps_give_the_correctly_rounded_quotient,
    super::float::classes_are_one_hot,
    super::float::mantissa_exponent_and_scaling_are_exact,
    super::float::argument_reduction_pieces_join_to_two_over_pi,
    super::float::halves_round_trip_and_round_once,
    super::float::eight_bit_floats_round_trip,
    super::float::packed_halves_select_and_negate_their_halves,
    super::formats::typed_loads_convert_and_stores_give_the_bytes_back,
    super::formats::integers_load_as_they_are_and_refuse_to_be_cut,
    super::formats::untyped_loads_take_format_and_order_from_the_resource,
    super::formats::halves_are_packed_in_pairs,
    super::formats::every_number_of_components_loads_and_stores,
    super::forms::the_long_form_does_what_the_short_one_does_and_changes_signs,
    super::forms::sdwa_forms_take_and_write_parts,
    super::forms::dpp_forms_take_the_first_source_from_other_lanes,
    super::gfx90a::each_target_refuses_what_only_the_other_has,
    super::gfx90a::flat_scratch_starts_empty_and_is_what_the_kernel_puts_there,
    super::gfx90a::private_memory_through_a_swizzled_buffer_is_interleaved,
    super::gfx90a::loads_to_lds_have_a_bit_and_lds_can_be_stored_to_a_buffer,
    super::gfx90a::multiply_add_rounds_twice_and_has_no_denormals,
    super::gfx90a::narrow_products_take_denormals_for_zero_on_gfx90a_only,
    super::gfx90a::brain_floats_come_in_pairs_and_in_fours,
    super::gfx90a::lds_atomics_of_packed_halves_do_not_exist,
    super::lanes::inactive_lanes_are_not_written,
    super::lanes::comparisons_give_zero_for_inactive_lanes_and_may_write_exec,
    super::lanes::carries_go_through_masks,
    super::lanes::scalars_are_read_from_and_written_to_lanes,
    super::lanes::dpp_takes_values_from_other_lanes,
    super::lanes::sdwa_selects_parts_of_sources_and_destination,
    super::lanes::data_share_permutes_lanes,
    super::lanes::the_index_mode_moves_vector_registers,
    super::matrices::every_shape_multiplies_and_adds_in_ascending_order_of_depth,
    super::matrix::single_precision_shapes_multiply,
    super::matrix::narrow_elements_are_packed_along_the_depth,
    super::matrix::doubles_and_their_signs,
    super::memory::loads_and_stores_of_every_width,
    super::memory::faults_name_address_access_and_pc_and_leave_registers_alone,
    super::memory::atomics_happen_in_lane_order_and_return_the_old_value,
    super::memory::flat_addresses_reach_lds_and_scratch_through_their_apertures,
    super::memory::scratch_is_each_lanes_own_and_bounded,
    super::memory::data_share_of_every_width_and_out_of_bounds,
    super::memory::scalar_loads_add_base_immediate_and_register,
    super::memory::buffers_check_their_bounds,
    super::memory::buffer_bounds_count_the_bytes_that_are_accessed_and_the_scalar_offset,
    super::modes::results_are_rounded_and_flushed_as_mode_says,
    super::modifiers::inline_floats_of_packed_integers_are_single_precision,
    super::modifiers::half_dot_products_select_and_negate_their_halves,
    super::modifiers::half_dot_products_take_constants_as_halves,
    super::modifiers::integer_dot_products_have_no_modifiers,
    super::modifiers::clamped_16_bit_sums_saturate_in_the_half_that_is_written,
    super::modifiers::a_debug_trap_without_a_debugger_goes_on,
    super::modifiers::sign_modifiers_of_integers_are_refused_in_every_form,
    super::modifiers::forms_that_do_not_exist_are_refused,
    super::modifiers::the_index_mode_keeps_all_registers_of_an_operand_in_the_file,
    super::rare::scalar_stores_write_global_buffer_and_scratch_memory,
    super::rare::scalar_atomics_return_the_value_before_when_asked,
    super::rare::scalar_compare_and_swap_takes_the_new_value_first,
    super::rare::forks_run_the_smaller_part_first_and_join_both,
    super::rare::vector_instructions_are_skipped_while_vskip_is_on,
    super::rare::privileged_and_graphics_instructions_are_refused_by_name,
    super::rare::swizzles_rotate_and_reverse,
    super::rare::quad_sums_of_differences_mask_zero_bytes_and_keep_32_bits,
    super::rare::half_multiply_add_with_a_literal_rounds_twice,
    super::rare::halves_too_large_saturate_under_fp16_ovfl,
    super::rare::numbers_too_large_for_8_bits_saturate_under_fp16_ovfl,
    super::rare::sparse_products_pick_two_of_four_along_the_depth,
    super::reference::integers_of_32_bits,
    super::reference::bits_of_32_bits,
    super::reference::integers_and_bits_of_64_bits,
    super::reference::integers_of_16_bits_clear_the_upper_half,
    super::reference::conversions_saturate_and_turn_nan_into_zero,
    super::reference::float_arithmetic_equals_the_hosts_except_for_the_bits_of_nan,
    super::scalar::additions_and_subtractions_report_carry_or_signed_overflow,
    super::scalar::minimum_and_maximum_say_which_operand_was_taken,
    super::scalar::bit_fields_take_offset_and_width_from_one_operand,
    super::scalar::shifts_use_the_low_bits_of_the_count,
    super::scalar::one_operand_bit_searches_give_minus_one_for_none,
    super::scalar::saving_exec_combines_it_with_the_source,
    super::scalar::immediates_and_literals_extend_as_the_operand_asks,
    super::scalar::hardware_registers_are_read_and_written_by_field,
    super::scalar_table::logic_says_whether_anything_is_left,
    super::scalar_table::integer_arithmetic,
    super::scalar_table::bits_of_one_operand,
    super::scalar_table::saved_masks_combine_source_and_exec,
    super::scalar_table::branches_go_by_what_their_names_say,
    super::scalar_table::addresses_of_code_are_read_and_exchanged,
    super::scalar_table::waits_priorities_and_counters_change_nothing,
    super::scalar_table::registers_move_by_m0,
    super::scalar_table::scalar_memory_of_every_width,
    super::spaces::loads_and_stores_move_the_bytes_that_their_names_say,
    super::spaces::atomics_combine_as_their_names_say_and_return_the_old_value,
    super::spaces::data_share_atomics_combine_as_their_names_say,
    super::spaces::two_address_forms_count_elements_or_64_of_them,
    super::spaces::data_share_counts_lanes_addresses_by_lane_and_exchanges_by_condition,
    super::spaces::loads_to_lds_go_to_m0_by_lane,
    super::spaces::cache_control_and_hints_change_nothing,
    super::sync::a_barrier_holds_every_wave_until_the_last_has_come_twice,
    super::sync::the_counter_is_set_from_the_first_active_lane_by_another_program,
    super::sync::a_semaphore_lets_as_many_pass_as_are_given,
    super::sync::a_queue_without_resources_says_so,
    super::table::single_and_double_arithmetic,
    super::table::half_arithmetic,
    super::table::integers_of_16_and_24_bits,
    super::table::integers_and_bits_of_32_bits,
    super::table::conversions,
    super::table::conversions_of_8_bit_floats,
    super::table::cube_maps_choose_the_largest_coordinate,
    super::table::division_steps_of_doubles_and_halves_join,
    super::table::packed_16_bit_operations,
    super::table::packed_singles_select_halves_of_pairs,
    super::table::mixed_precision_writes_one_half,
    super::table::dot_products_of_integers,
    super::table::moves_between_files_and_registers,
    super::table::literals_and_borrows,
];

#[test]
fn every_row_is_executed_by_a_test_that_checks_it() {
    EXECUTED.set(Some(BTreeSet::new()));
    for check in CHECKS {
        check();
    }
    let executed = EXECUTED.take().unwrap_or_default();
    let mut rows = BTreeSet::new();
    for target in Target::ALL {
        for encoding in Encoding::ALL {
            rows.extend(crate::tables::rows(target, encoding).map(|row| row.mnemonic));
        }
    }
    let never: Vec<_> = rows.difference(&executed).collect();
    println!(
        "{} of {} mnemonics are executed and checked; never: {never:?}",
        rows.len() - never.len(),
        rows.len()
    );
    assert!(never.is_empty(), "{} without a test: {never:?}", never.len());
    let (all, executed) = (super::forms::all(), FORMS.take());
    let never: Vec<_> = all.difference(&executed).collect();
    println!(
        "{} of {} forms of vector instructions are executed and checked; never: {never:?}",
        all.len() - never.len(),
        all.len()
    );
    assert!(never.is_empty(), "{} forms without a test: {never:?}", never.len());
}
