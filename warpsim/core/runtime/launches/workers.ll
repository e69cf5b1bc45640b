; Workers: threads that wait for launches and help with them. One launch at a time has them; its caller takes chunks
; from the first moment, and waits in the end for those alone that a worker has taken.
; @now, @give_way, @sleep, @wake_sleepers, @prepare_sleep, @this_thread, @this_core and @keep_off are the
; system's (pool_code.py).

; ---- Waiting -----------------------------------------------------------------------------------

; A number that threads wait to see changed, and how many of them sleep.
%Signal = type { i32, i32, [56 x i8] }
@round = internal global %Signal zeroinitializer, align 64     ; how many launches there have been
@finished = internal global %Signal zeroinitializer, align 64  ; chunks of the launch that workers have run

; Until this moment [ns] other processes want the cores, as far as seen; and how long that was thought to last.
@busy.until = internal global i64 0, align 64
@busy.span = internal global i64 0

@workers = internal global i32 0, align 64  ; workers there are
@process = internal global i32 0            ; rises in a forked child, which none of its parent's workers are in

; Somebody lost a core: do not spin for a millisecond, or twice as long as the last time, if that is not long ago.
define internal void @disturbed(i64 %moment) {
entry:
  %until = load atomic i64, ptr @busy.until monotonic, align 8
  %known = icmp slt i64 %moment, %until
  br i1 %known, label %done, label %new
new:
  %span = load atomic i64, ptr @busy.span monotonic, align 8
  %calm = sub i64 %moment, %until
  %long = mul i64 %span, 16
  %forgotten = icmp sgt i64 %calm, %long
  %twice = mul i64 %span, 2
  %longer = call i64 @llvm.smin.i64(i64 %twice, i64 128000000)
  %next = select i1 %forgotten, i64 1000000, i64 %longer
  store atomic i64 %next, ptr @busy.span monotonic, align 8
  %end = add i64 %moment, %next
  store atomic i64 %end, ptr @busy.until monotonic, align 8
  br label %done
done:
  ret void
}

; Wait until the signal is no longer `seen`: turn for 60 us, or not at all on a busy machine, then sleep. Each turn
; gives the core to whoever wants it. Who comes back late was one of too many.
define internal void @await(ptr %signal, i32 %seen) {
entry:
  %start = call i64 @now()
  %until = load atomic i64, ptr @busy.until monotonic, align 8
  %calm = icmp sge i64 %start, %until
  %patience = select i1 %calm, i64 60000, i64 0
  %limit = add i64 %start, %patience
  br label %turn
turn:
  %last = phi i64 [ %start, %entry ], [ %moment, %patient ]
  %value = load atomic i32, ptr %signal acquire, align 4
  %same = icmp eq i32 %value, %seen
  br i1 %same, label %yield, label %done
yield:
  call void @give_way()
  %moment = call i64 @now()
  %gap = sub i64 %moment, %last
  %lost = icmp sgt i64 %gap, 100000
  br i1 %lost, label %mark, label %look
mark:
  call void @disturbed(i64 %moment)
  br label %rest
look:
  %late = icmp sgt i64 %moment, %limit
  br i1 %late, label %rest, label %patient
patient:
  br label %turn
rest:
  %sleepers.at = getelementptr %Signal, ptr %signal, i64 0, i32 1
  %before = atomicrmw add ptr %sleepers.at, i32 1 seq_cst
  call void @sleep(ptr %signal, i32 %seen)
  %after = atomicrmw sub ptr %sleepers.at, i32 1 seq_cst
  ret void
done:
  ret void
}

; Wake up to `count` of those who sleep. The signal has been changed before.
define internal void @wake(ptr %signal, i32 %count) {
entry:
  %sleepers.at = getelementptr %Signal, ptr %signal, i64 0, i32 1
  %sleepers = load atomic i32, ptr %sleepers.at seq_cst, align 4
  %any = icmp sgt i32 %sleepers, 0
  br i1 %any, label %call, label %done
call:
  call void @wake_sleepers(ptr %signal, i32 %count)
  br label %done
done:
  ret void
}

; Whether some worker would see a launch without being woken.
define internal i1 @someone_is_awake() {
  %sleepers.at = getelementptr %Signal, ptr @round, i64 0, i32 1
  %sleepers = load atomic i32, ptr %sleepers.at monotonic, align 4
  %all = load atomic i32, ptr @workers monotonic, align 4
  %awake = icmp slt i32 %sleepers, %all
  ret i1 %awake
}

; ---- Cores of workers --------------------------------------------------------------------------

; Systems like to wake a thread on the core of who wakes it, all the more in a virtual machine, where idle cores look
; taken. There it waits for its caller to pause, which may be milliseconds. So callers keep workers off their own core.

; A worker: its thread, the core that it is kept off (-1: none), and all that it may run on.
%Place = type { i64, i32, [128 x i8] }
@places = internal global [1024 x %Place] zeroinitializer, align 64

; Enter a new worker, of which there were `before`.
define internal void @settle(i32 %before) {
entry:
  %some = icmp ult i32 %before, 1024
  br i1 %some, label %place, label %done
place:
  %mine = getelementptr [1024 x %Place], ptr @places, i64 0, i32 %before
  %off.at = getelementptr %Place, ptr %mine, i64 0, i32 1
  store i32 -1, ptr %off.at
  %cores = getelementptr %Place, ptr %mine, i64 0, i32 2
  %thread = call i64 @this_thread(ptr %cores)
  store atomic i64 %thread, ptr %mine release, align 8
  br label %done
done:
  ret void
}

; Keep workers off this core, up to eight of them that are not yet: the next launch does so with others.
define internal void @clear_core() {
entry:
  %sleepers.at = getelementptr %Signal, ptr @round, i64 0, i32 1
  %sleepers = load atomic i32, ptr %sleepers.at seq_cst, align 4
  %any = icmp sgt i32 %sleepers, 0
  br i1 %any, label %look, label %done
look:
  %core = call i32 @this_core()
  %all = load atomic i32, ptr @workers monotonic, align 4
  br label %next
next:
  %k = phi i32 [ 0, %look ], [ %following, %seen ]
  %moves = phi i32 [ 0, %look ], [ %sum, %seen ]
  %in.list = icmp slt i32 %k, %all
  %in.table = icmp slt i32 %k, 1024
  %in.both = and i1 %in.list, %in.table
  %few = icmp slt i32 %moves, 8
  %more = and i1 %in.both, %few
  br i1 %more, label %compare, label %done
compare:
  %place = getelementptr [1024 x %Place], ptr @places, i64 0, i32 %k
  %thread = load atomic i64, ptr %place acquire, align 8
  %off.at = getelementptr %Place, ptr %place, i64 0, i32 1
  %off = load i32, ptr %off.at
  %near = icmp ne i32 %off, %core
  %known = icmp ne i64 %thread, 0
  %movable = and i1 %near, %known
  br i1 %movable, label %move, label %seen
move:
  %cores = getelementptr %Place, ptr %place, i64 0, i32 2
  call void @keep_off(i64 %thread, i32 %core, ptr %cores)
  store i32 %core, ptr %off.at
  br label %seen
seen:
  %one = zext i1 %movable to i32
  %sum = add i32 %moves, %one
  %following = add i32 %k, 1
  br label %next
done:
  ret void
}

; ---- Chunks to take ----------------------------------------------------------------------------

@owned = internal global i32 0, align 64       ; 1 while a launch has the workers
@launch.command = internal global ptr null     ; that launch
@launch.first = internal global i64 0          ; its first chunk that may be taken
@launch.grain = internal global i64 1          ; how many chunks are worth a look at what is left

; What is left: bits 0 to 23 the end of its chunks, 24 to 47 their beginning, 48 to 63 how many workers may still join.
; The data of the launch above are read by those alone who have taken a chunk: it lasts until they have said that
; they are through, so a worker that comes late reads nothing of a launch that is over. (Its grain does no harm.)
@left = internal global i64 0, align 64

%Taken = type { i64, i32 }  ; the first of some chunks, and how many

; Chunks from the front for the caller, from the back for workers: in launches one after the other each finds what it
; has in its cache. As many as the grain, near the end fewer, to a quarter of it; none if none is left, or if a worker
; is `joining` and no seat is free.
define internal %Taken @take(i1 %in.front, i64 %joining) {
entry:
  %first = load atomic i64, ptr @left monotonic, align 8
  %grain = load atomic i64, ptr @launch.grain monotonic, align 8
  br label %try
try:
  %word = phi i64 [ %first, %entry ], [ %found, %swap ]
  %end = and i64 %word, 16777215
  %rest = lshr i64 %word, 24
  %begin = and i64 %rest, 16777215
  %some = icmp ult i64 %begin, %end
  %free = lshr i64 %word, 48
  %room = icmp uge i64 %free, %joining
  %open = and i1 %some, %room
  br i1 %open, label %swap, label %none
swap:
  %length = sub i64 %end, %begin
  %quarter = lshr i64 %length, 2
  %fair = call i64 @llvm.smin.i64(i64 %quarter, i64 %grain)
  %least = lshr i64 %grain, 2
  %wanted = call i64 @llvm.smax.i64(i64 %fair, i64 %least)
  %capped = call i64 @llvm.smin.i64(i64 %wanted, i64 %length)
  %count = call i64 @llvm.smax.i64(i64 %capped, i64 1)
  %forwards = shl i64 %count, 24
  %backwards = sub i64 0, %count
  %step = select i1 %in.front, i64 %forwards, i64 %backwards
  %seat = shl i64 %joining, 48
  %moved = add i64 %word, %step
  %new = sub i64 %moved, %seat
  %pair = cmpxchg ptr @left, i64 %word, i64 %new seq_cst seq_cst
  %found = extractvalue { i64, i1 } %pair, 0
  %taken = extractvalue { i64, i1 } %pair, 1
  br i1 %taken, label %mine, label %try
mine:
  %last = sub i64 %end, %count
  %chunk = select i1 %in.front, i64 %begin, i64 %last
  %number = trunc i64 %count to i32
  %with.first = insertvalue %Taken poison, i64 %chunk, 0
  %with.count = insertvalue %Taken %with.first, i32 %number, 1
  ret %Taken %with.count
none:
  ret %Taken zeroinitializer
}

; Run these chunks, and all that can be taken after them: how many.
define internal i32 @run_taken(%Taken %given, i1 %in.front) {
entry:
  %number = extractvalue %Taken %given, 1
  %any = icmp sgt i32 %number, 0
  br i1 %any, label %read, label %nothing
nothing:
  ret i32 0
read:
  %command = load ptr, ptr @launch.command
  %base = load i64, ptr @launch.first
  br label %next
next:
  %taken = phi %Taken [ %given, %read ], [ %another, %more ]
  %sum = phi i32 [ 0, %read ], [ %counted, %more ]
  %offset = extractvalue %Taken %taken, 0
  %count = extractvalue %Taken %taken, 1
  %counted = add i32 %sum, %count
  %first = add i64 %base, %offset
  %length = zext i32 %count to i64
  %beyond = add i64 %first, %length
  br label %chunk
chunk:
  %k = phi i64 [ %first, %next ], [ %following, %chunk ]
  call void @run_chunk(ptr %command, i64 %k, i64 1)
  %following = add i64 %k, 1
  %through = icmp sge i64 %following, %beyond
  br i1 %through, label %more, label %chunk
more:
  %another = call %Taken @take(i1 %in.front, i64 0)
  %number.left = extractvalue %Taken %another, 1
  %again = icmp sgt i32 %number.left, 0
  br i1 %again, label %next, label %done
done:
  ret i32 %counted
}

; ---- The two sides of a launch -----------------------------------------------------------------

; Join the launch that is going on, if it still wants somebody, in the standard floating-point mode, whatever the
; thread began with or a kernel's callee left behind. Who joins wakes two more, so that the caller need not wake all.
define internal void @help() {
entry:
  %taken = call %Taken @take(i1 false, i64 1)
  %number = extractvalue %Taken %taken, 1
  %late = icmp eq i32 %number, 0
  br i1 %late, label %done, label %join
join:
  %word = load atomic i64, ptr @left monotonic, align 8
  call void @invite(i64 %word)
  %mode = call i64 @enter_float_mode()
  %count = call i32 @run_taken(%Taken %taken, i1 false)
  %before = atomicrmw add ptr @finished, i32 %count seq_cst
  call void @wake(ptr @finished, i32 1)
  br label %done
done:
  ret void
}

; Wake two workers, as far as seats are free.
define internal void @invite(i64 %word) {
entry:
  %free = lshr i64 %word, 48
  %few = call i64 @llvm.smin.i64(i64 %free, i64 2)
  %any = icmp sgt i64 %few, 0
  br i1 %any, label %call, label %done
call:
  %count = trunc i64 %few to i32
  call void @wake(ptr @round, i32 %count)
  br label %done
done:
  ret void
}

; The life of a worker, which ends in a forked child only: if it is the thread that forked.
define void @ws_work() {
entry:
  %process = load atomic i32, ptr @process monotonic, align 4
  %before = atomicrmw add ptr @workers, i32 1 seq_cst
  call void @settle(i32 %before)
  br label %next
next:
  %seen = load atomic i32, ptr @round seq_cst, align 4
  call void @help()
  %now = load atomic i32, ptr @process monotonic, align 4
  %home = icmp eq i32 %now, %process
  br i1 %home, label %wait, label %done
wait:
  call void @await(ptr @round, i32 %seen)
  br label %next
done:
  ret void
}

; Run `count` chunks from `first` on, as the owner of the workers, with up to team - 1 of them.
define internal void @lead(ptr %command, i64 %first, i64 %count, i64 %team, i64 %grain) {
entry:
  %process = load atomic i32, ptr @process monotonic, align 4
  %start = call i64 @now()
  store ptr %command, ptr @launch.command
  store i64 %first, ptr @launch.first
  store atomic i64 %grain, ptr @launch.grain monotonic, align 8
  store atomic i32 0, ptr @finished monotonic, align 4
  %others = sub i64 %team, 1
  %seats = call i64 @llvm.smin.i64(i64 %others, i64 65535)
  %high = shl i64 %seats, 48
  %word = or i64 %high, %count
  store atomic i64 %word, ptr @left seq_cst, align 8
  call void @clear_core()
  %round = atomicrmw add ptr @round, i32 1 seq_cst
  call void @invite(i64 %word)
  %taken = call %Taken @take(i1 true, i64 0)
  %mine = call i32 @run_taken(%Taken %taken, i1 true)
  %all = trunc i64 %count to i32
  %theirs = sub i32 %all, %mine
  %through = call i64 @now()
  br label %look
look:
  %done.yet = load atomic i32, ptr @finished acquire, align 4
  %complete = icmp eq i32 %done.yet, %theirs
  br i1 %complete, label %judge, label %wait
wait:
  %now = load atomic i32, ptr @process monotonic, align 4
  %home = icmp eq i32 %now, %process
  br i1 %home, label %sleep, label %done
sleep:
  call void @await(ptr @finished, i32 %done.yet)
  br label %look
judge:
  ; A worker that held up its caller for longer than all the rest took has lost its core.
  %end = call i64 @now()
  %waited = sub i64 %end, %through
  %worked = sub i64 %through, %start
  %bearable = add i64 %worked, 200000
  %held = icmp sgt i64 %waited, %bearable
  br i1 %held, label %mark, label %done
mark:
  call void @disturbed(i64 %end)
  br label %done
done:
  ret void
}

; The chunks from `first` on, with the workers as soon as no other launch has them: until then one by one.
define internal void @fork(ptr %command, i64 %first, i64 %chunks, i64 %team, i64 %grain) {
entry:
  br label %next
next:
  %chunk = phi i64 [ %first, %entry ], [ %following, %alone ], [ %beyond, %together ]
  %more = icmp slt i64 %chunk, %chunks
  br i1 %more, label %ask, label %done
ask:
  %taken = atomicrmw xchg ptr @owned, i32 1 seq_cst
  %free = icmp eq i32 %taken, 0
  br i1 %free, label %together, label %alone
together:
  %rest = sub i64 %chunks, %chunk
  %count = call i64 @llvm.smin.i64(i64 %rest, i64 16777215)
  call void @lead(ptr %command, i64 %chunk, i64 %count, i64 %team, i64 %grain)
  store atomic i32 0, ptr @owned seq_cst, align 4
  %beyond = add i64 %chunk, %count
  br label %next
alone:
  call void @run_chunk(ptr %command, i64 %chunk, i64 0)
  %following = add i64 %chunk, 1
  br label %next
done:
  ret void
}

; At first, and in a forked child: there are no workers, and no launch has them.
define void @ws_forget_workers() {
  call void @prepare_sleep()
  %before = atomicrmw add ptr @process, i32 1 seq_cst
  store atomic i64 0, ptr @left seq_cst, align 8
  store atomic i32 0, ptr @owned seq_cst, align 4
  store atomic i32 0, ptr @workers seq_cst, align 4
  %bytes = ptrtoint ptr getelementptr ([1024 x %Place], ptr null, i64 1) to i64
  call void @llvm.memset.p0.i64(ptr @places, i8 0, i64 %bytes, i1 false)
  %round.sleepers = getelementptr %Signal, ptr @round, i64 0, i32 1
  store atomic i32 0, ptr %round.sleepers seq_cst, align 4
  %finished.sleepers = getelementptr %Signal, ptr @finished, i64 0, i32 1
  store atomic i32 0, ptr %finished.sleepers seq_cst, align 4
  ret void
}
