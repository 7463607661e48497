//! What Rust cannot say: functions of any number of arguments.
#![expect(unsafe_code, reason = "an interface of C")]

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};

use crate::kmpc;

/// Arguments of an outlined function as `__kmpc_fork_call` has them: the first in registers that
/// have been stored, the rest on its caller's stack.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Arguments {
    pub count: usize,
    pub registers: *const *mut c_void,
    pub stack: *const *mut c_void,
}

/// `__kmpc_fork_call(location, argc, function, ...)`: stores the registers, and calls
/// [`kmpc::fork_call`] with where the arguments are.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(export_name = "__kmpc_fork_call")]
unsafe extern "C" fn fork_call() {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 40",
        ".cfi_adjust_cfa_offset 40",
        "mov [rsp], rcx",
        "mov [rsp + 8], r8",
        "mov [rsp + 16], r9",
        "mov rcx, rsp",
        "lea r8, [rsp + 48]",
        "call {fork_call}",
        "add rsp, 40",
        ".cfi_adjust_cfa_offset -40",
        "ret",
        ".cfi_endproc",
        fork_call = sym kmpc::fork_call,
    )
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(export_name = "__kmpc_fork_call")]
unsafe extern "C" fn fork_call() {
    naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-64]!",
        ".cfi_def_cfa_offset 64",
        ".cfi_offset x29, -64",
        ".cfi_offset x30, -56",
        "mov x29, sp",
        "stp x3, x4, [sp, #16]",
        "stp x5, x6, [sp, #32]",
        "str x7, [sp, #48]",
        "add x3, sp, #16",
        "add x4, sp, #64",
        "bl {fork_call}",
        "ldp x29, x30, [sp], #64",
        "ret",
        ".cfi_endproc",
        fork_call = sym kmpc::fork_call,
    )
}

/// Calls an outlined function: `function(gtid, tid, arguments...)`.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub unsafe extern "C" fn call_outlined(
    function: *const c_void,
    gtid: *mut c_int,
    tid: *mut c_int,
    arguments: &Arguments,
) {
    // Four arguments are in registers: three that were in registers, and the first of the stack.
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov r10, [rcx + 8]",
        "mov r11, [rcx + 16]",
        "mov rdx, [rcx]",
        "sub rdx, 4",
        "jle 3f",
        "lea rcx, [rdx + 1]",
        "and rcx, -2",
        "shl rcx, 3",
        "sub rsp, rcx",
        "2:",
        "mov rcx, [r11 + 8 * rdx]",
        "mov [rsp + 8 * rdx - 8], rcx",
        "dec rdx",
        "jnz 2b",
        "3:",
        "mov rdx, [r10]",
        "mov rcx, [r10 + 8]",
        "mov r8, [r10 + 16]",
        "mov r9, [r11]",
        "call rax",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub unsafe extern "C" fn call_outlined(
    function: *const c_void,
    gtid: *mut c_int,
    tid: *mut c_int,
    arguments: &Arguments,
) {
    // Six arguments are in registers: five that were in registers, and the first of the stack.
    naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mov x29, sp",
        ".cfi_def_cfa_register x29",
        "mov x9, x0",
        "mov x0, x1",
        "mov x1, x2",
        "ldr x12, [x3]",
        "ldr x10, [x3, #8]",
        "ldr x11, [x3, #16]",
        "subs x12, x12, #6",
        "b.le 3f",
        "add x13, x12, #1",
        "and x13, x13, #-2",
        "sub sp, sp, x13, lsl #3",
        "mov x14, sp",
        "2:",
        "ldr x15, [x11, x12, lsl #3]",
        "sub x12, x12, #1",
        "str x15, [x14, x12, lsl #3]",
        "cbnz x12, 2b",
        "3:",
        "ldp x2, x3, [x10]",
        "ldp x4, x5, [x10, #16]",
        "ldr x6, [x10, #32]",
        "ldr x7, [x11]",
        "blr x9",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        "ret",
        ".cfi_endproc",
    )
}
