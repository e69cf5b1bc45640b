; To fork or not: a launch has workers where that took less time than without them, as earlier launches of the kernel
; tell, and once in a while to see whether that has changed.

; What earlier launches of a kernel tell of the next one. Kernels that meet in a slot forget each other.
;   0 kernel
;   1 rate: time of one thread of the launch on one core [ns]
;   2 cost of a fork that found workers awake: what it took beyond a perfect division of the work [ns]
;   3 the same where all slept
;   4 streak: time of the serial launches since the last fork [ns]; negative, of the forks since the last serial one
;   5 whether workers were woken for launches to come, of which none has found them awake so far
;   6 how many launches have run untimed since the last one that was timed
;   7 the cost of the last fork, or half of what stood here before if that is more [ns]
%History = type [8 x double]
@histories = internal global [256 x %History] zeroinitializer, align 64

; The most that a fork is thought to cost [ns]. Launches that take twice as long fork in any case, so a
; negative number makes all of them fork.
@most_cost = internal global double 500000.0, align 64

; When the last launch that might have forked ended.
@last.end = internal global i64 0, align 64

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
  call void @learn(ptr %history, i64 4, double 0.0)
  call void @learn(ptr %history, i64 5, double 0.0)
  call void @learn(ptr %history, i64 6, double 0.0)
  call void @learn(ptr %history, i64 7, double 0.0)
  br label %done
done:
  ret ptr %history
}

; Whether a launch forks that takes `serial` ns on one thread: where `team` threads gain more than forks cost of late.
; After a hundred times as long, or twenty times what a fork has cost, the other way has a turn, because costs change
; with what else runs. Sleeping workers are woken early where launches come close together and forks would pay if they
; were awake; but not again if that was in vain. On a busy machine short launches stay alone. Long launches always
; fork.
define internal i1 @forks(ptr %history, double %serial, double %team, i1 %awake, i64 %start) alwaysinline {
  %most = load atomic double, ptr @most_cost monotonic, align 8
  %long.from = fmul double %most, 2.0
  %long = fcmp oge double %serial, %long.from
  %share = fdiv double %serial, %team
  %gain = fsub double %serial, %share

  %cost.awake = call double @known(ptr %history, i64 2)
  %cost.asleep = call double @known(ptr %history, i64 3)
  %cost = select i1 %awake, double %cost.awake, double %cost.asleep
  %pays.now = fcmp ogt double %gain, %cost
  %pays = or i1 %pays.now, %long

  %streak = call double @known(ptr %history, i64 4)
  %negative = fneg double %streak
  %since = select i1 %pays, double %negative, double %streak
  %lately = call double @known(ptr %history, i64 7)
  %bounded = call double @llvm.minnum.f64(double %lately, double %most)
  %one.percent = fmul double %serial, 100.0
  %five.percent = fmul double %bounded, 20.0
  %bearable = call double @llvm.maxnum.f64(double %one.percent, double %five.percent)
  %turn = fcmp ogt double %since, %bearable
  %way = xor i1 %pays, %turn

  %last = load atomic i64, ptr @last.end monotonic, align 8
  %pause = sub i64 %start, %last
  %dense = icmp slt i64 %pause, 60000
  %would.pay = fcmp ogt double %gain, %cost.awake
  %vain = call double @known(ptr %history, i64 5)
  %untried = fcmp oeq double %vain, 0.0
  %worth = and i1 %would.pay, %untried
  %early = and i1 %dense, %worth
  %wanted = or i1 %way, %early

  %until = load atomic i64, ptr @busy.until monotonic, align 8
  %calm = icmp sge i64 %start, %until
  %short.fork = and i1 %wanted, %calm
  %fork = or i1 %long, %short.fork
  ret i1 %fork
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
; work in it. A cost is a running mean, to which a single fork adds at most 2 us, because it may have met with an
; accident. One very long adds up to 50 us, and may be the launch's own doing: the next is timed serially, so that it is
; known. Once workers have been woken, forks that find them awake are tried again.
define internal void @learn_cost(ptr %history, i1 %awake, double %time, double %threads, double %team) alwaysinline {
entry:
  %work = fmul double %time, %team
  %bound = fdiv double %work, %threads
  %known.rate = call double @known(ptr %history, i64 1)
  %unknown = fcmp oeq double %known.rate, 0.0
  %guess = select i1 %unknown, double %bound, double %known.rate
  %rate = call double @llvm.minnum.f64(double %guess, double %bound)
  call void @learn(ptr %history, i64 1, double %rate)
  %serial = fmul double %rate, %threads
  %share = fdiv double %serial, %team
  %found = fsub double %time, %share
  %lately = call double @known(ptr %history, i64 7)
  %half = fmul double %lately, 0.5
  %recent = call double @llvm.maxnum.f64(double %half, double %found)
  call void @learn(ptr %history, i64 7, double %recent)
  %field = select i1 %awake, i64 2, i64 3
  %known = call double @known(ptr %history, i64 %field)
  %difference = fsub double %found, %known
  %most = load atomic double, ptr @most_cost monotonic, align 8
  %is.long = fcmp ogt double %found, %most
  %bound.of.one = select i1 %is.long, double 100000.0, double 4000.0
  %bounded = call double @llvm.minnum.f64(double %difference, double %bound.of.one)
  %part = fmul double %bounded, 0.5
  %cost = fadd double %known, %part
  call void @learn(ptr %history, i64 %field, double %cost)
  %untimed = select i1 %is.long, double 3.0, double 0.0
  call void @learn(ptr %history, i64 6, double %untimed)
  br i1 %awake, label %found.awake, label %found.asleep
found.awake:
  call void @learn(ptr %history, i64 5, double 0.0)
  ret void
found.asleep:
  call void @learn(ptr %history, i64 2, double 0.0)
  call void @learn(ptr %history, i64 5, double 1.0)
  ret void
}

; Whether a launch is so short that reading the clock would show: three of four run serially without.
define internal i1 @is_too_short_to_time(double %expected, double %untimed) alwaysinline {
  %most = load atomic double, ptr @most_cost monotonic, align 8
  %is.choice = fcmp ogt double %most, 0.0
  %known = fcmp ogt double %expected, 0.0
  %short = fcmp olt double %expected, 3000.0
  %recent = fcmp olt double %untimed, 3.0
  %small = and i1 %known, %short
  %free = and i1 %recent, %is.choice
  %both = and i1 %small, %free
  ret i1 %both
}

; Whether the last fork took so long that the next launch is to be serial.
define internal i1 @next_is_serial(ptr %history) alwaysinline {
  %untimed = call double @known(ptr %history, i64 6)
  %accident = fcmp oeq double %untimed, 3.0
  ret i1 %accident
}

; How many chunks of a launch take about 4 us; 1 where nothing is known, and where races are looked for.
define internal i64 @grain(double %expected, double %chunks) alwaysinline {
  %most = load atomic double, ptr @most_cost monotonic, align 8
  %is.choice = fcmp ogt double %most, 0.0
  %known = fcmp ogt double %expected, 0.0
  %usable = and i1 %is.choice, %known
  %work = select i1 %usable, double %expected, double 1.0e18
  %pieces = fdiv double %work, 4000.0
  %grain.real = fdiv double %chunks, %pieces
  %bounded = call double @llvm.minnum.f64(double %grain.real, double 1.0e6)
  %whole = fptosi double %bounded to i64
  %grain = call i64 @llvm.smax.i64(i64 %whole, i64 1)
  ret i64 %grain
}

; A launch of several chunks on as many threads as pays. Forked, it is taken in pieces of about 4 us.
define internal void @run_fast(ptr %command, i64 %chunks, i64 %team) {
entry:
  %kernel = call ptr @identity(ptr %command)
  %history = call ptr @history(ptr %kernel)
  %size.whole = call i64 @chunk_size(ptr %command)
  %size = sitofp i64 %size.whole to double
  %chunks.all = sitofp i64 %chunks to double
  %threads = fmul double %size, %chunks.all
  %rate = call double @known(ptr %history, i64 1)
  %expected = fmul double %rate, %threads
  %streak = call double @known(ptr %history, i64 4)
  %number = call double @known(ptr %history, i64 6)
  %is.short = call i1 @is_too_short_to_time(double %expected, double %number)
  br i1 %is.short, label %untimed, label %timed

untimed:
  %one.more = fadd double %number, 1.0
  call void @learn(ptr %history, i64 6, double %one.more)
  call void @run_serial(ptr %command, i64 0, i64 %chunks)
  ret void

timed:
  call void @learn(ptr %history, i64 6, double 0.0)
  %team.real = sitofp i64 %team to double
  %awake = call i1 @someone_is_awake()
  %start = call i64 @now()
  %forked = call i1 @forks(ptr %history, double %expected, double %team.real, i1 %awake, i64 %start)
  br i1 %forked, label %parallel, label %serial

parallel:
  %grain = call i64 @grain(double %expected, double %chunks.all)
  call void @fork(ptr %command, i64 0, i64 %chunks, i64 %team, i64 %grain)
  %joined = call i64 @now()
  store atomic i64 %joined, ptr @last.end monotonic, align 8
  %joined.spent = sub i64 %joined, %start
  %joined.time = sitofp i64 %joined.spent to double
  call void @learn_cost(ptr %history, i1 %awake, double %joined.time, double %threads, double %team.real)
  %longer.fork = fsub double %streak, %joined.time
  %was.serial = fcmp ogt double %streak, 0.0
  %streak.fork = select i1 %was.serial, double 0.0, double %longer.fork
  %is.last = call i1 @next_is_serial(ptr %history)
  %streak.known = select i1 %is.last, double -1.0e18, double %streak.fork
  call void @learn(ptr %history, i64 4, double %streak.known)
  ret void

serial:
  %most = load atomic double, ptr @most_cost monotonic, align 8
  %patience = fptosi double %most to i64
  %deadline = add i64 %start, %patience
  %run = call i64 @run_until(ptr %command, i64 %chunks, i64 %deadline)
  %end = call i64 @now()
  store atomic i64 %end, ptr @last.end monotonic, align 8
  %spent = sub i64 %end, %start
  %time = sitofp i64 %spent to double
  %run.real = sitofp i64 %run to double
  %run.threads = fmul double %run.real, %size
  %cut = icmp slt i64 %run, %chunks
  call void @learn_rate(ptr %history, double %time, double %run.threads, i1 %cut)
  %longer.serial = fadd double %streak, %time
  %was.forked = fcmp olt double %streak, 0.0
  %streak.serial = select i1 %was.forked, double 0.0, double %longer.serial
  call void @learn(ptr %history, i64 4, double %streak.serial)
  br i1 %cut, label %rest, label %done
rest:
  call void @fork(ptr %command, i64 %run, i64 %chunks, i64 %team, i64 1)
  br label %done
done:
  ret void
}

; From now on a fork is thought to cost at most `most` ns; a negative number makes every launch fork that can.
define void @ws_most_cost(i64 %most) {
  %real = sitofp i64 %most to double
  store atomic double %real, ptr @most_cost monotonic, align 8
  ret void
}
