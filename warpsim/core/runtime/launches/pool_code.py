"""The native code of the thread pool: LLVM text for this system, assembled once per machine.

pool.ll has lists of launches, workers.ll the threads that help with them, forks.ll the choice between the two,
copies.ll what adds up sums, moves.ll what copies and clears memory. What they need of the system is written here: a
clock, threads, a way to give up the core for a moment, to sleep until a number changes (a futex on Linux, a mutex and a
condition elsewhere), and, on Linux, to keep a thread off a core.
"""

from __future__ import annotations

import os
import platform
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from ....config import config
from ....errors import CompilerError
from ....forks import fork_safe
from ...emit.cpu import float_mode
from ...emit.native.linker import NativeObject
from ...emit.native.own_code import own_object_code
from ...emit.native.stacks import with_compiler_room

HAS_THREADS = os.name == "posix"
"""Whether there are workers. Nobody has tried another system than POSIX: launches are serial there."""

_PARTS = ("pool.ll", "workers.ll", "forks.ll", "copies.ll", "moves.ll")
_FUTEX_CALL = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "ppc64le": 221, "s390x": 238}
_PTHREAD_BYTES = 128  # a mutex has 40 to 64 of them, a condition 48, attributes of a thread 56 to 64
_WORKER_STACK = 2 << 20  # [bytes] of addresses: a kernel takes half a megabyte at most, and may call another program

_CLOCK = """
declare i32 @clock_gettime(i32, ptr)
define internal i64 @now() {{
  %time = alloca [2 x i64]
  %status = call i32 @clock_gettime(i32 {clock}, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}}

declare i32 @sched_yield()
define internal void @give_way() {{
  %status = call i32 @sched_yield()
  ret void
}}
"""

_FUTEX = """
declare i64 @syscall(i64, ...)
define internal void @sleep(ptr %signal, i32 %seen) {{
entry:
  br label %look
look:
  %value = load atomic i32, ptr %signal seq_cst, align 4
  %same = icmp eq i32 %value, %seen
  br i1 %same, label %wait, label %done
wait:
  %woken = call i64 (i64, ...) @syscall(i64 {call}, ptr %signal, i64 128, i32 %seen, ptr null, ptr null, i64 0)
  br label %look
done:
  ret void
}}
define internal void @wake_sleepers(ptr %signal, i32 %count) {{
  %woken = call i64 (i64, ...) @syscall(i64 {call}, ptr %signal, i64 129, i32 %count, ptr null, ptr null, i64 0)
  ret void
}}
define internal void @prepare_sleep() {{
  ret void
}}
"""

# Workers are threads of the system, and not of Python: their stack is ours to choose, and no `threading.stack_size`
# changes it. 0 if one has begun.
_THREADS = """
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
define internal ptr @begin_work(ptr %nothing) {{
  call void @ws_work()
  ret ptr null
}}
define i32 @ws_start_worker() {{
entry:
  %thread = alloca i64
  %attributes = alloca [{bytes} x i8], align 16
  %made = call i32 @pthread_attr_init(ptr %attributes)
  %sized = call i32 @pthread_attr_setstacksize(ptr %attributes, i64 {stack})
  %refused = call i32 @pthread_create(ptr %thread, ptr %attributes, ptr @begin_work, ptr null)
  %gone = call i32 @pthread_attr_destroy(ptr %attributes)
  %there = icmp eq i32 %refused, 0
  br i1 %there, label %leave, label %done
leave:
  %number = load i64, ptr %thread
  %detached = call i32 @pthread_detach(i64 %number)
  br label %done
done:
  ret i32 %refused
}}
"""

# Cores are bits of 128 bytes: @this_thread says on which this one may run, @keep_off leaves one of them out.
_CORES = """
declare i64 @pthread_self()
declare i32 @sched_getcpu()
declare i32 @pthread_getaffinity_np(i64, i64, ptr)
declare i32 @pthread_setaffinity_np(i64, i64, ptr)
define internal i64 @this_thread(ptr %cores) {
  %thread = call i64 @pthread_self()
  %status = call i32 @pthread_getaffinity_np(i64 %thread, i64 128, ptr %cores)
  %known = icmp eq i32 %status, 0
  %result = select i1 %known, i64 %thread, i64 0
  ret i64 %result
}
define internal i32 @this_core() {
  %core = call i32 @sched_getcpu()
  ret i32 %core
}
define internal void @keep_off(i64 %thread, i32 %core, ptr %cores) {
entry:
  %others = alloca [128 x i8], align 8
  %listed = icmp ult i32 %core, 1024
  br i1 %listed, label %change, label %done
change:
  call void @llvm.memcpy.p0.p0.i64(ptr %others, ptr %cores, i64 128, i1 false)
  %byte = lshr i32 %core, 3
  %byte.at = getelementptr i8, ptr %others, i32 %byte
  %place = and i32 %core, 7
  %shift = trunc i32 %place to i8
  %bit = shl i8 1, %shift
  %mask = xor i8 %bit, -1
  %bits = load i8, ptr %byte.at
  %rest = and i8 %bits, %mask
  store i8 %rest, ptr %byte.at
  %status = call i32 @pthread_setaffinity_np(i64 %thread, i64 128, ptr %others)  ; refused where none is left
  br label %done
done:
  ret void
}
"""

_NO_CORES = """
define internal i64 @this_thread(ptr %cores) {
  ret i64 0
}
define internal i32 @this_core() {
  ret i32 -1
}
define internal void @keep_off(i64 %thread, i32 %core, ptr %cores) {
  ret void
}
"""

# All sleepers share the condition, so all are woken: `count` would choose among those of other signals too.
_CONDITION = """
@mutex = internal global [{bytes} x i8] zeroinitializer, align 64
@condition = internal global [{bytes} x i8] zeroinitializer, align 64
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
define internal void @sleep(ptr %signal, i32 %seen) {{
entry:
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  br label %look
look:
  %value = load atomic i32, ptr %signal seq_cst, align 4
  %same = icmp eq i32 %value, %seen
  br i1 %same, label %wait, label %done
wait:
  %woken = call i32 @pthread_cond_wait(ptr @condition, ptr @mutex)
  br label %look
done:
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}}
define internal void @wake_sleepers(ptr %signal, i32 %count) {{
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  %woken = call i32 @pthread_cond_broadcast(ptr @condition)
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}}
define internal void @prepare_sleep() {{
  %mutex = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %condition = call i32 @pthread_cond_init(ptr @condition, ptr null)
  ret void
}}
"""

_NO_SYSTEM = """
define i32 @ws_start_worker() {
  ret i32 1
}
define internal i64 @now() {
  ret i64 0
}
define internal void @give_way() {
  ret void
}
define internal void @sleep(ptr %signal, i32 %seen) {
  ret void
}
define internal void @wake_sleepers(ptr %signal, i32 %count) {
  ret void
}
define internal void @prepare_sleep() {
  ret void
}
"""


_compiling = fork_safe(threading.Lock())  # who comes second finds on disk what the first one compiled


def begin() -> None:
    """Let another thread compile the code for `load_code`, if there is a disk cache to leave it in."""
    if config.cache_kernels:
        threading.Thread(target=_compile_ahead, name="warpsim compiles its pool").start()


def _compile_ahead() -> None:
    with suppress(CompilerError), _compiling:  # `load_code` raises it again
        _object_code()


def load_code() -> NativeObject:
    """The code, linked: from the disk cache, else compiled (100 ms) and kept there."""
    with _compiling:
        return NativeObject(_object_code())


def _object_code() -> bytes:
    return with_compiler_room(lambda: own_object_code(source(), "warpsim launcher", opt=2))


def source() -> str:
    """The whole text."""
    here = Path(__file__).parent
    parts = ((here / name).read_text(encoding="utf-8") for name in _PARTS)
    return "\n".join((*parts, float_mode.functions(), system_part()))


def system_part() -> str:
    """The functions that the system gives."""
    if not HAS_THREADS:
        return _NO_SYSTEM + _NO_CORES
    clock = _CLOCK.format(clock=time.CLOCK_MONOTONIC)
    call = _FUTEX_CALL.get(platform.machine()) if sys.platform == "linux" else None
    sleep = _FUTEX.format(call=call) if call else _CONDITION.format(bytes=_PTHREAD_BYTES)
    threads = _THREADS.format(bytes=_PTHREAD_BYTES, stack=_WORKER_STACK)
    return clock + sleep + threads + (_CORES if sys.platform == "linux" else _NO_CORES)
