; Runs lists of kernel launches on all cores. pool.py compiles this once per machine and calls
; @ws_run; that file's docstring says what a caller may rely on.
;
; A kernel is   void kernel(ptr args, i64 begin, i64 end, i64 flags)   and runs threads begin..end-1.
; Flag bit 0 is set while several threads run the same launch: its atomics must then be real.

; One launch. Chunk c runs threads c*chunk_size .. min(n, (c+1)*chunk_size) - 1
; on the argument block at args + c*args_stride. Bits 32 to 47 of the flags say which chunk is the first,
; bits 48 to 63 how far it is from one to the next (0 means 1): the kernel sees the bits below.
;                  0 kernel, 1 args, 2 args_stride, 3 n, 4 chunk_size, 5 flags
%Command = type { ptr, ptr, i64, i64, i64, i64 }

; What the threads of one launch share, on the stack of the caller of @ws_run. The counter has a
; cache line (64 bytes) of its own: every thread writes to it, and all read the rest.
;               0 command, 1 chunks, 2 padding, 3 next chunk to run
%Launch = type { ptr, i64, [48 x i8], i64 }

; The gate that a fork closes. A launch counts itself in flight, then looks whether the gate is
; closed; a fork closes it, then looks for launches in flight. In this order one always sees the
; other, so after @ws_gate has returned 0 no launch enters the thread pool.
@in_flight = internal global i64 0, align 64
@closed = internal global i64 0, align 64

; A parallel launch that takes many times its estimate has waited for cores that others use: the next launches
; are serial until a moment [ns, 0 for none]. One launch of the same kernel and size tells whether that was right:
; if it takes longer than the slow one did, nobody is suspected before another moment.
@serial_until = internal global i64 0, align 64
@trusted_until = internal global i64 0
@slow_kernel = internal global ptr null
@slow_n = internal global i64 0
@slow_time = internal global i64 0

declare i64 @llvm.smin.i64(i64, i64)

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

; ---- One launch --------------------------------------------------------------------------------

define internal void @run_serial(ptr %command, i64 %chunks) alwaysinline {
entry:
  br label %next
next:
  %chunk = phi i64 [ 0, %entry ], [ %following, %run ]
  %more = icmp slt i64 %chunk, %chunks
  br i1 %more, label %run, label %done
run:
  call void @run_chunk(ptr %command, i64 %chunk, i64 0)
  %following = add i64 %chunk, 1
  br label %next
done:
  ret void
}

; The loop body that the threading layer calls: take the next chunk until none is left. It ignores
; which part of the loop it was given (args, dims, steps), so it does not matter how often a layer
; calls it, on how many threads, or with how many iterations at a time.
define internal void @worker(ptr %args, ptr %dims, ptr %steps, ptr %launch) {
entry:
  %command = load ptr, ptr %launch
  %chunks.at = getelementptr %Launch, ptr %launch, i64 0, i32 1
  %chunks = load i64, ptr %chunks.at
  %next.at = getelementptr %Launch, ptr %launch, i64 0, i32 3
  br label %next
next:
  %chunk = atomicrmw add ptr %next.at, i64 1 monotonic
  %more = icmp slt i64 %chunk, %chunks
  br i1 %more, label %run, label %done
run:
  call void @run_chunk(ptr %command, i64 %chunk, i64 1)
  br label %next
done:
  ret void
}

; A loop of `team` iterations for the threading layer, whose entry point is
;   parallel_for(body, args, dims, steps, data, inner_ndim = 0, array_count = 1, threads)
define internal void @run_parallel(ptr %command, i64 %chunks, ptr %parallel_for, i64 %team) {
  %launch = alloca %Launch, align 64
  %args = alloca ptr
  %dims = alloca i64
  %steps = alloca i64
  store ptr %command, ptr %launch
  %chunks.at = getelementptr %Launch, ptr %launch, i64 0, i32 1
  store i64 %chunks, ptr %chunks.at
  %next.at = getelementptr %Launch, ptr %launch, i64 0, i32 3
  store i64 0, ptr %next.at
  store ptr null, ptr %args
  store i64 %team, ptr %dims
  store i64 0, ptr %steps
  %threads = trunc i64 %team to i32
  call void %parallel_for(ptr @worker, ptr %args, ptr %dims, ptr %steps, ptr %launch,
                          i64 0, i64 1, i32 %threads)
  ret void
}

; ---- Crowded cores -----------------------------------------------------------------------------

; As @run_parallel, with a look at the clock. An estimate is 4096 ns for each chunk, but for launches of 128
; chunks, whose estimate is not known here and which are long enough to bear a wait.
define internal void @run_watched(ptr %command, i64 %chunks, ptr %parallel_for, i64 %team) {
  %start = call i64 @now()
  call void @run_parallel(ptr %command, i64 %chunks, ptr %parallel_for, i64 %team)
  %end = call i64 @now()
  %spent = sub i64 %end, %start
  %estimate = mul i64 %chunks, 32768
  %limit = add i64 %estimate, 300000
  %late = icmp sgt i64 %spent, %limit
  %short = icmp slt i64 %chunks, 128
  %trusted = load atomic i64, ptr @trusted_until monotonic, align 8
  %open = icmp sgt i64 %end, %trusted
  %both = and i1 %late, %short
  %slow = and i1 %both, %open
  br i1 %slow, label %suspect, label %done
suspect:
  %kernel = load ptr, ptr %command
  %n.at = getelementptr %Command, ptr %command, i64 0, i32 3
  %n = load i64, ptr %n.at
  store atomic ptr %kernel, ptr @slow_kernel monotonic, align 8
  store atomic i64 %n, ptr @slow_n monotonic, align 8
  store atomic i64 %spent, ptr @slow_time monotonic, align 8
  %until = add i64 %end, 10000000
  store atomic i64 %until, ptr @serial_until monotonic, align 8
  br label %done
done:
  ret void
}

; A launch that would be parallel while cores are crowded.
define internal void @run_crowded(ptr %command, i64 %chunks) {
  %start = call i64 @now()
  call void @run_serial(ptr %command, i64 %chunks)
  %end = call i64 @now()
  %spent = sub i64 %end, %start
  %kernel = load ptr, ptr %command
  %n.at = getelementptr %Command, ptr %command, i64 0, i32 3
  %n = load i64, ptr %n.at
  %slow.kernel = load atomic ptr, ptr @slow_kernel monotonic, align 8
  %slow.n = load atomic i64, ptr @slow_n monotonic, align 8
  %slow.time = load atomic i64, ptr @slow_time monotonic, align 8
  %same.kernel = icmp eq ptr %kernel, %slow.kernel
  %same.n = icmp eq i64 %n, %slow.n
  %longer = icmp sge i64 %spent, %slow.time
  %same = and i1 %same.kernel, %same.n
  %wrong = and i1 %same, %longer
  br i1 %wrong, label %trust, label %done
trust:
  %until = add i64 %end, 100000000
  store atomic i64 %until, ptr @trusted_until monotonic, align 8
  store atomic i64 0, ptr @serial_until monotonic, align 8
  br label %done
done:
  ret void
}

; ---- Entry points ------------------------------------------------------------------------------

; Run `count` commands, each after the one before has finished. Launches of more than one chunk use
; up to `threads` threads of the layer whose parallel_for is given; null means none.
define void @ws_run(ptr %commands, i64 %count, ptr %parallel_for, i64 %threads) {
entry:
  %layer = icmp ne ptr %parallel_for, null
  %several = icmp sgt i64 %threads, 1
  %allowed = and i1 %layer, %several
  br label %next

next:
  %i = phi i64 [ 0, %entry ], [ %following, %finished ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %choose, label %done
choose:
  %command = getelementptr %Command, ptr %commands, i64 %i
  %chunks = call i64 @chunk_count(ptr %command)
  %worthwhile = icmp sgt i64 %chunks, 1
  %parallel = and i1 %allowed, %worthwhile
  br i1 %parallel, label %consider, label %serial

consider:
  %until = load atomic i64, ptr @serial_until monotonic, align 8
  %calm = icmp eq i64 %until, 0
  br i1 %calm, label %enter, label %look
look:
  %moment = call i64 @now()
  %crowded = icmp slt i64 %moment, %until
  br i1 %crowded, label %alone, label %again
alone:
  call void @run_crowded(ptr %command, i64 %chunks)
  br label %finished
again:
  store atomic i64 0, ptr @serial_until monotonic, align 8
  br label %enter

enter:
  %before = atomicrmw add ptr @in_flight, i64 1 seq_cst
  %closed = load atomic i64, ptr @closed seq_cst, align 8
  %open = icmp eq i64 %closed, 0
  br i1 %open, label %threaded, label %refused
threaded:
  %team = call i64 @llvm.smin.i64(i64 %chunks, i64 %threads)
  call void @run_watched(ptr %command, i64 %chunks, ptr %parallel_for, i64 %team)
  %left = atomicrmw sub ptr @in_flight, i64 1 seq_cst
  br label %finished
refused:
  %withdrawn = atomicrmw sub ptr @in_flight, i64 1 seq_cst
  br label %serial

serial:
  call void @run_serial(ptr %command, i64 %chunks)
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

; Close (delta 1), open (-1) or look at (0) the gate; the number of parallel launches in flight.
define i64 @ws_gate(i64 %delta) {
  %before = atomicrmw add ptr @closed, i64 %delta seq_cst
  %count = load atomic i64, ptr @in_flight seq_cst, align 8
  ret i64 %count
}
