; Runs lists of kernel launches: on the calling thread, or with the help of workers (workers.ll) where that pays
; (forks.ll). The docstring of pool.py says what a caller of @ws_run may rely on.
;
; A kernel is   void kernel(ptr args, i64 begin, i64 end, i64 flags)   and runs threads begin..end-1.
; Flag bit 0 is set while several threads run the same launch: its atomics must then be real.

; One launch. Chunk c runs threads c*chunk_size .. min(n, (c+1)*chunk_size) - 1
; on the argument block at args + c*args_stride. Bits 32 to 47 of the flags say which chunk is the first,
; bits 48 to 63 how far it is from one to the next (0 means 1): the kernel sees the bits below.
;                  0 kernel, 1 args, 2 args_stride, 3 n, 4 chunk_size, 5 flags
%Command = type { ptr, ptr, i64, i64, i64, i64 }

declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare double @llvm.minnum.f64(double, double)
declare double @llvm.maxnum.f64(double, double)

; ---- One chunk ---------------------------------------------------------------------------------

; The chunk size that is meant: without a positive one the launch is a single chunk.
define internal i64 @chunk_size(ptr %command) alwaysinline {
  %n.at = getelementptr %Command, ptr %command, i64 0, i32 3
  %n = load i64, ptr %n.at
  %size.at = getelementptr %Command, ptr %command, i64 0, i32 4
  %size = load i64, ptr %size.at
  %given = icmp sgt i64 %size, 0
  %meant = select i1 %given, i64 %size, i64 %n
  ret i64 %meant
}

; ceil(n / size), written so that it cannot overflow; 0 for an empty launch.
define internal i64 @chunk_count(ptr %command) alwaysinline {
entry:
  %n.at = getelementptr %Command, ptr %command, i64 0, i32 3
  %n = load i64, ptr %n.at
  %empty = icmp sle i64 %n, 0
  br i1 %empty, label %none, label %some
none:
  ret i64 0
some:
  %size = call i64 @chunk_size(ptr %command)
  %last = sub i64 %n, 1
  %last.chunk = udiv i64 %last, %size
  %first = call i64 @first_chunk(ptr %command)
  %beyond = icmp sgt i64 %first, %last.chunk
  br i1 %beyond, label %none, label %several
several:
  %span = sub i64 %last.chunk, %first
  %step = call i64 @chunk_step(ptr %command)
  %whole = udiv i64 %span, %step
  %count = add i64 %whole, 1
  ret i64 %count
}

define internal i64 @first_chunk(ptr %command) alwaysinline {
  %flags.at = getelementptr %Command, ptr %command, i64 0, i32 5
  %flags = load i64, ptr %flags.at
  %upper = lshr i64 %flags, 32
  %first = and i64 %upper, 65535
  ret i64 %first
}

define internal i64 @chunk_step(ptr %command) alwaysinline {
  %flags.at = getelementptr %Command, ptr %command, i64 0, i32 5
  %flags = load i64, ptr %flags.at
  %given = lshr i64 %flags, 48
  %none = icmp eq i64 %given, 0
  %step = select i1 %none, i64 1, i64 %given
  ret i64 %step
}

; The `turn`-th of the chunks that are meant.
define internal void @run_chunk(ptr %command, i64 %turn, i64 %shared) alwaysinline {
  %kernel = load ptr, ptr %command
  %args.at = getelementptr %Command, ptr %command, i64 0, i32 1
  %args = load ptr, ptr %args.at
  %stride.at = getelementptr %Command, ptr %command, i64 0, i32 2
  %stride = load i64, ptr %stride.at
  %n.at = getelementptr %Command, ptr %command, i64 0, i32 3
  %n = load i64, ptr %n.at
  %flags.at = getelementptr %Command, ptr %command, i64 0, i32 5
  %flags = load i64, ptr %flags.at

  %first = call i64 @first_chunk(ptr %command)
  %step = call i64 @chunk_step(ptr %command)
  %skipped = mul i64 %turn, %step
  %chunk = add i64 %first, %skipped
  %offset = mul i64 %chunk, %stride
  %block = getelementptr i8, ptr %args, i64 %offset
  %size = call i64 @chunk_size(ptr %command)
  %begin = mul i64 %chunk, %size
  %left = sub i64 %n, %begin
  %length = call i64 @llvm.smin.i64(i64 %left, i64 %size)
  %end = add i64 %begin, %length
  %others = and i64 %flags, 4294967294
  %all = or i64 %others, %shared
  call void %kernel(ptr %block, i64 %begin, i64 %end, i64 %all)
  ret void
}

; ---- Several launches as one -------------------------------------------------------------------

; A kernel that runs several, strip by strip: a strip of threads goes through all of them before the next one does.
; args: {i64 count, i64 threads of a strip, {kernel, args}...}
define void @ws_strips(ptr %args, i64 %begin, i64 %end, i64 %flags) {
entry:
  %count = load i64, ptr %args
  %size.at = getelementptr i64, ptr %args, i64 1
  %size = load i64, ptr %size.at
  %parts = getelementptr i64, ptr %args, i64 2
  br label %next
next:
  %first = phi i64 [ %begin, %entry ], [ %last, %through ]
  %more = icmp slt i64 %first, %end
  br i1 %more, label %strip, label %done
strip:
  %beyond = add i64 %first, %size
  %last = call i64 @llvm.smin.i64(i64 %beyond, i64 %end)
  br label %part
part:
  %k = phi i64 [ 0, %strip ], [ %following, %part ]
  %kernel.at = getelementptr { ptr, ptr }, ptr %parts, i64 %k, i32 0
  %kernel = load ptr, ptr %kernel.at
  %block.at = getelementptr { ptr, ptr }, ptr %parts, i64 %k, i32 1
  %block = load ptr, ptr %block.at
  call void %kernel(ptr %block, i64 %first, i64 %last, i64 %flags)
  %following = add i64 %k, 1
  %some = icmp slt i64 %following, %count
  br i1 %some, label %part, label %through
through:
  br label %next
done:
  ret void
}

; What tells a launch from others that take another time: its kernel, also if that adds into copies, all of several, or
; which memory is moved.
define internal ptr @identity(ptr %command) alwaysinline {
entry:
  %kernel = load ptr, ptr %command
  %args.at = getelementptr %Command, ptr %command, i64 0, i32 1
  %args = load ptr, ptr %args.at
  %several = icmp eq ptr %kernel, @ws_strips
  br i1 %several, label %strips, label %single
strips:
  ret ptr %args
single:
  %copied = icmp eq ptr %kernel, @ws_into_copy
  br i1 %copied, label %inner, label %other
inner:
  %meant = load ptr, ptr %args
  ret ptr %meant
other:
  %copies = icmp eq ptr %kernel, @ws_copy_bytes
  %clears = icmp eq ptr %kernel, @ws_clear_bytes
  %moves = or i1 %copies, %clears
  %own = select i1 %moves, ptr %args, ptr %kernel
  ret ptr %own
}

; ---- One launch --------------------------------------------------------------------------------

define internal void @run_serial(ptr %command, i64 %first, i64 %chunks) alwaysinline {
entry:
  br label %next
next:
  %chunk = phi i64 [ %first, %entry ], [ %following, %run ]
  %more = icmp slt i64 %chunk, %chunks
  br i1 %more, label %run, label %done
run:
  call void @run_chunk(ptr %command, i64 %chunk, i64 0)
  %following = add i64 %chunk, 1
  br label %next
done:
  ret void
}

; As @run_serial from the first chunk on, but no further once the clock is past `deadline`: how many have run.
; It looks at the clock after 1, 8, 64 ... chunks, because a chunk may be shorter than a look.
define internal i64 @run_until(ptr %command, i64 %chunks, i64 %deadline) {
entry:
  br label %next
next:
  %chunk = phi i64 [ 0, %entry ], [ %following, %run ], [ %following, %look ]
  %more = icmp slt i64 %chunk, %chunks
  br i1 %more, label %run, label %done
run:
  call void @run_chunk(ptr %command, i64 %chunk, i64 0)
  %following = add i64 %chunk, 1
  %common = and i64 %chunk, %following
  %is.power.of.2 = icmp eq i64 %common, 0
  %third.bits = and i64 %following, 1317624576693539401
  %is.of.8 = icmp ne i64 %third.bits, 0
  %is.power = and i1 %is.power.of.2, %is.of.8
  br i1 %is.power, label %look, label %next
look:
  %moment = call i64 @now()
  %late = icmp sgt i64 %moment, %deadline
  br i1 %late, label %stop, label %next
stop:
  ret i64 %following
done:
  ret i64 %chunks
}

; ---- Entry points ------------------------------------------------------------------------------

; Run `count` commands, each after the one before has finished. Launches of more than one chunk use up to `threads`
; threads, the caller's among them. All compute in the standard floating-point mode (float_mode.py).
define void @ws_run(ptr %commands, i64 %count, i64 %threads) {
entry:
  %standard = call i1 @float_mode_is_standard()
  br i1 %standard, label %plain, label %other
plain:
  tail call void @run_all(ptr %commands, i64 %count, i64 %threads)
  ret void
other:
  %found = call i64 @enter_float_mode()
  call void @run_all(ptr %commands, i64 %count, i64 %threads)
  call void @leave_float_mode(i64 %found)
  ret void
}

define internal void @run_all(ptr %commands, i64 %count, i64 %threads) noinline {
entry:
  %allowed = icmp sgt i64 %threads, 1
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %following, %finished ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %choose, label %done
choose:
  %command = getelementptr %Command, ptr %commands, i64 %i
  %chunks = call i64 @chunk_count(ptr %command)
  %several = icmp sgt i64 %chunks, 1
  %may.fork = and i1 %allowed, %several
  br i1 %may.fork, label %fast, label %serial
fast:
  %team = call i64 @llvm.smin.i64(i64 %chunks, i64 %threads)
  call void @run_fast(ptr %command, i64 %chunks, i64 %team)
  br label %finished
serial:
  call void @run_serial(ptr %command, i64 0, i64 %chunks)
  br label %finished
finished:
  %following = add i64 %i, 1
  br label %next
done:
  ret void
}

; 1 when any of the commands has more than one chunk, else 0.
define i64 @ws_wants_threads(ptr %commands, i64 %count) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %following, %look ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %look, label %no
look:
  %command = getelementptr %Command, ptr %commands, i64 %i
  %chunks = call i64 @chunk_count(ptr %command)
  %several = icmp sgt i64 %chunks, 1
  %following = add i64 %i, 1
  br i1 %several, label %yes, label %next
yes:
  ret i64 1
no:
  ret i64 0
}
