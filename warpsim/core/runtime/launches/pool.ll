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

; What earlier launches of a kernel tell of the next one. Kernels that meet in a slot forget each other.
;   0 kernel
;   1 rate: serial time of a thread [ns]
;   2 cost: what the last fork took beyond a perfect division of the work [ns]
;   3 streak: time of the serial launches since the last fork [ns]; negative, of the forks since the last serial one
%History = type [4 x double]
@histories = internal global [256 x %History] zeroinitializer, align 64

; The most that a fork is thought to cost [ns]. Launches that take twice as long fork in any case, so a
; negative number makes all of them fork.
@most_cost = internal global double 500000.0, align 64

declare i64 @llvm.smin.i64(i64, i64)
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
; It looks at the clock after 1, 2, 4, 8 ... chunks, because a chunk may be shorter than a look.
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
  %is.power = icmp eq i64 %common, 0
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
define internal void @run_parallel(ptr %command, i64 %first, i64 %chunks, ptr %parallel_for, i64 %team) {
  %launch = alloca %Launch, align 64
  %args = alloca ptr
  %dims = alloca i64
  %steps = alloca i64
  store ptr %command, ptr %launch
  %chunks.at = getelementptr %Launch, ptr %launch, i64 0, i32 1
  store i64 %chunks, ptr %chunks.at
  %next.at = getelementptr %Launch, ptr %launch, i64 0, i32 3
  store i64 %first, ptr %next.at
  store ptr null, ptr %args
  store i64 %team, ptr %dims
  store i64 0, ptr %steps
  %threads = trunc i64 %team to i32
  call void %parallel_for(ptr @worker, ptr %args, ptr %dims, ptr %steps, ptr %launch,
                          i64 0, i64 1, i32 %threads)
  ret void
}

; The chunks from `first` on, by several threads if the gate is open.
define internal void @fork(ptr %command, i64 %first, i64 %chunks, ptr %parallel_for, i64 %team) {
entry:
  %before = atomicrmw add ptr @in_flight, i64 1 seq_cst
  %closed = load atomic i64, ptr @closed seq_cst, align 8
  %open = icmp eq i64 %closed, 0
  br i1 %open, label %threaded, label %refused
threaded:
  call void @run_parallel(ptr %command, i64 %first, i64 %chunks, ptr %parallel_for, i64 %team)
  %left = atomicrmw sub ptr @in_flight, i64 1 seq_cst
  ret void
refused:
  %withdrawn = atomicrmw sub ptr @in_flight, i64 1 seq_cst
  call void @run_serial(ptr %command, i64 %first, i64 %chunks)
  ret void
}

; ---- To fork or not ----------------------------------------------------------------------------

define internal double @known(ptr %history, i64 %field) alwaysinline {
  %at = getelementptr double, ptr %history, i64 %field
  %value = load atomic double, ptr %at monotonic, align 8
  ret double %value
}

define internal void @learn(ptr %history, i64 %field, double %value) alwaysinline {
  %at = getelementptr double, ptr %history, i64 %field
  store atomic double %value, ptr %at monotonic, align 8
  ret void
}

define internal ptr @history(ptr %kernel) alwaysinline {
entry:
  %address = ptrtoint ptr %kernel to i64
  %low = lshr i64 %address, 6
  %high = lshr i64 %address, 14
  %mixed = xor i64 %low, %high
  %slot = and i64 %mixed, 255
  %history = getelementptr %History, ptr @histories, i64 %slot
  %owner = load atomic ptr, ptr %history monotonic, align 8
  %same = icmp eq ptr %owner, %kernel
  br i1 %same, label %done, label %fresh
fresh:
  store atomic ptr %kernel, ptr %history monotonic, align 8
  call void @learn(ptr %history, i64 1, double 0.0)
  call void @learn(ptr %history, i64 2, double 0.0)
  call void @learn(ptr %history, i64 3, double 0.0)
  br label %done
done:
  ret ptr %history
}

; Whether a launch forks that takes `serial` ns on one thread: where `team` threads gain more than a fork cost the
; last time. After 32 times what the other way would take, that one has a turn, because costs change with what
; else runs; but long launches never go serially.
define internal i1 @forks(ptr %history, double %serial, double %team) alwaysinline {
  %most = load atomic double, ptr @most_cost monotonic, align 8
  %known.cost = call double @known(ptr %history, i64 2)
  %cost = call double @llvm.minnum.f64(double %known.cost, double %most)
  %share = fdiv double %serial, %team
  %gain = fsub double %serial, %share
  %pays = fcmp ogt double %gain, %cost
  %streak = call double @known(ptr %history, i64 3)
  %negative = fneg double %streak
  %since = select i1 %pays, double %negative, double %streak
  %other = call double @llvm.maxnum.f64(double %serial, double %cost)
  %bearable = fmul double %other, 32.0
  %due = fcmp ogt double %since, %bearable
  %long.from = fmul double %most, 2.0
  %short = fcmp olt double %serial, %long.from
  %turn = and i1 %due, %short
  %way = xor i1 %pays, %turn
  ret i1 %way
}

; Learn from `threads` threads that took `time` ns serially. One that lost its core for a while looks slow, so a known
; rate rises by an eighth at a time, and at once only for a launch that was `cut` because it is long.
define internal void @learn_rate(ptr %history, double %time, double %threads, i1 %cut) alwaysinline {
  %rate = fdiv double %time, %threads
  %known = call double @known(ptr %history, i64 1)
  %raised = fmul double %known, 1.125
  %low = call double @llvm.minnum.f64(double %rate, double %raised)
  %unknown = fcmp oeq double %known, 0.0
  %plain = or i1 %unknown, %cut
  %new = select i1 %plain, double %rate, double %low
  call void @learn(ptr %history, i64 1, double %new)
  ret void
}

; Learn from a launch of `threads` threads that was forked and took `time` ns: it had at most `team` times as much
; work in it.
define internal void @learn_cost(ptr %history, double %time, double %threads, double %team) alwaysinline {
  %work = fmul double %time, %team
  %bound = fdiv double %work, %threads
  %known = call double @known(ptr %history, i64 1)
  %rate = call double @llvm.minnum.f64(double %known, double %bound)
  call void @learn(ptr %history, i64 1, double %rate)
  %serial = fmul double %rate, %threads
  %share = fdiv double %serial, %team
  %cost = fsub double %time, %share
  call void @learn(ptr %history, i64 2, double %cost)
  ret void
}

; A launch of several chunks on as many threads as pays.
define internal void @run_fast(ptr %command, i64 %chunks, ptr %parallel_for, i64 %team) {
entry:
  %kernel = load ptr, ptr %command
  %history = call ptr @history(ptr %kernel)
  %size.whole = call i64 @chunk_size(ptr %command)
  %size = sitofp i64 %size.whole to double
  %chunks.all = sitofp i64 %chunks to double
  %threads = fmul double %size, %chunks.all
  %rate = call double @known(ptr %history, i64 1)
  %expected = fmul double %rate, %threads
  %team.real = sitofp i64 %team to double
  %streak = call double @known(ptr %history, i64 3)
  %forked = call i1 @forks(ptr %history, double %expected, double %team.real)
  %start = call i64 @now()
  br i1 %forked, label %parallel, label %serial

parallel:
  call void @fork(ptr %command, i64 0, i64 %chunks, ptr %parallel_for, i64 %team)
  %joined = call i64 @now()
  %joined.spent = sub i64 %joined, %start
  %joined.time = sitofp i64 %joined.spent to double
  call void @learn_cost(ptr %history, double %joined.time, double %threads, double %team.real)
  %longer.fork = fsub double %streak, %joined.time
  %was.serial = fcmp ogt double %streak, 0.0
  %streak.fork = select i1 %was.serial, double 0.0, double %longer.fork
  call void @learn(ptr %history, i64 3, double %streak.fork)
  ret void

serial:
  %most = load atomic double, ptr @most_cost monotonic, align 8
  %patience = fptosi double %most to i64
  %deadline = add i64 %start, %patience
  %run = call i64 @run_until(ptr %command, i64 %chunks, i64 %deadline)
  %end = call i64 @now()
  %spent = sub i64 %end, %start
  %time = sitofp i64 %spent to double
  %run.real = sitofp i64 %run to double
  %run.threads = fmul double %run.real, %size
  %cut = icmp slt i64 %run, %chunks
  call void @learn_rate(ptr %history, double %time, double %run.threads, i1 %cut)
  %longer.serial = fadd double %streak, %time
  %was.forked = fcmp olt double %streak, 0.0
  %streak.serial = select i1 %was.forked, double 0.0, double %longer.serial
  call void @learn(ptr %history, i64 3, double %streak.serial)
  br i1 %cut, label %rest, label %done
rest:
  call void @fork(ptr %command, i64 %run, i64 %chunks, ptr %parallel_for, i64 %team)
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
  br i1 %parallel, label %fast, label %serial
fast:
  %team = call i64 @llvm.smin.i64(i64 %chunks, i64 %threads)
  call void @run_fast(ptr %command, i64 %chunks, ptr %parallel_for, i64 %team)
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

; Close (delta 1), open (-1) or look at (0) the gate; the number of parallel launches in flight.
define i64 @ws_gate(i64 %delta) {
  %before = atomicrmw add ptr @closed, i64 %delta seq_cst
  %count = load atomic i64, ptr @in_flight seq_cst, align 8
  ret i64 %count
}

; From now on a fork is thought to cost at most `most` ns; a negative number makes every launch fork that can.
define void @ws_most_cost(i64 %most) {
  %real = sitofp i64 %most to double
  store atomic double %real, ptr @most_cost monotonic, align 8
  ret void
}
